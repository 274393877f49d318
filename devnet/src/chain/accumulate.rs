//! Accumulation on chain: the services' code, or our service's rule natively, applied to the services' entries.

use super::{Rules, State};
use crate::{execution::Services, genesis::count_storage};
use jam::{
    PackageHash, Params, WorkReport,
    codec::{Decode, Encode},
    rules::{
        accumulation::{self, Taken},
        assurances::Availability,
    },
    spec::StateKey,
    state::{ServiceInfo, service_key},
};
use pvm::{Accounts, Accumulated, Block, Fault, Limits, PartialState};
use service::accumulate::{ServiceState, claim_of};
use std::{collections::BTreeMap, sync::Arc};

/// Work items accumulated and the gas for it, by service.
pub(super) type Counts = BTreeMap<u32, (u32, u64)>;

/// Accumulates what a block made available: ω, ξ, θ and the services' entries move on. Fails only where this machine fails.
pub(super) fn apply(
    rules: &Rules,
    state: &mut State,
    availability: &Availability,
    prior_slot: u32,
) -> Result<Counts, Fault> {
    let available = availability.reports().collect::<Vec<_>>();
    match rules.execution.services() {
        Services::Code => by_code(rules, state, &available, prior_slot),
        Services::Native => Ok(natively(rules, state, &available, prior_slot)),
    }
}

/// All services, by the code that stands on chain.
fn by_code(
    rules: &Rules,
    state: &mut State,
    available: &[&WorkReport],
    prior_slot: u32,
) -> Result<Counts, Fault> {
    let (params, slot) = (&rules.params, state.slot);
    let already = |package: &PackageHash| state.accumulated.contains(package);
    let reports = accumulation::order(params, &state.ready, &already, available, slot);
    let reports = reports.iter().collect::<Vec<_>>();
    let before = PartialState {
        accounts: Accounts::new(params, &state.services),
        designated: Arc::clone(&state.designated),
        queues: Arc::clone(&state.queues),
        privileges: Arc::clone(&state.privileges),
    };
    // The gas of a block bounds the time.
    let block = Block { params, slot, entropy: state.entropy.now, reports: &reports, limits: Limits::NONE };
    let Accumulated { reports: count, state: after, outputs, counts } =
        rules.execution.machines().accumulate(&block, before)?;
    let PartialState { accounts, designated, queues, privileges } = after;
    let changes = accounts.into_changes();
    (state.designated, state.queues, state.privileges) = (designated, queues, privileges);
    state.outputs = outputs;
    if !changes.is_empty() {
        let entries = Arc::make_mut(&mut state.services);
        for (key, value) in changes {
            match value {
                Some(value) => entries.insert(key, value),
                None => entries.remove(&key),
            };
        }
    }
    advance(params, state, available, prior_slot, Taken::First(count));
    Ok(counts)
}

/// ω and ξ move on. Gives the packages that are accumulated.
fn advance(
    params: &Params,
    state: &mut State,
    available: &[&WorkReport],
    prior_slot: u32,
    taken: Taken,
) -> Vec<PackageHash> {
    let slot = state.slot;
    let (ready, accumulated) = (Arc::make_mut(&mut state.ready), Arc::make_mut(&mut state.accumulated));
    accumulation::apply(params, ready, accumulated, available, prior_slot, slot, taken).accumulated
}

/// Our service natively. It is not metered, so the gas is what the items brought along.
fn natively(rules: &Rules, state: &mut State, available: &[&WorkReport], prior_slot: u32) -> Counts {
    let params = &rules.params;
    let waited = Arc::clone(&state.ready);
    let taken = Taken::WithinGas(accumulation::block_gas(params));
    let outcome = advance(params, state, available, prior_slot, taken);
    let find = |package: &PackageHash| -> Option<&WorkReport> {
        let now = available.iter().copied().find(|report| report.package() == *package);
        now.or_else(|| {
            let mut waiting = waited.slots.iter().flatten().map(|ready| &ready.report);
            waiting.find(|report| report.package() == *package)
        })
    };
    let reports = outcome.iter().filter_map(find).collect::<Vec<_>>();
    if !reports.is_empty() {
        run_service(params, &rules.service, state, &reports);
    }
    state.outputs.clear();
    count(&reports)
}

fn count(reports: &[&WorkReport]) -> Counts {
    let mut counts = Counts::new();
    for digest in reports.iter().flat_map(|report| &report.digests) {
        let (items, gas) = counts.entry(digest.service).or_default();
        *items += 1;
        *gas += digest.accumulate_gas;
    }
    counts
}

/// Our service takes the claims in order. Storage that is not its own, which no chain of ours has, is left alone.
fn run_service(params: &Params, config: &service::Config, state: &mut State, reports: &[&WorkReport]) {
    let id = config.service;
    let entry = |key: &StateKey| state.services.get(key).map(|value| &value[..]);
    let Ok(mut service) = ServiceState::from_storage(id, entry) else { return };
    let Some(info) = entry(&service_key(id)) else { return };
    let Ok(mut info) = ServiceInfo::decode(info, params) else { return };
    let digests = reports.iter().flat_map(|report| &report.digests);
    let mut ours = digests.filter(|digest| digest.service == id).peekable();
    if ours.peek().is_none() {
        return;
    }
    for claim in ours.filter_map(|digest| claim_of(digest, id)) {
        service.apply(&claim);
    }
    let entries = Arc::make_mut(&mut state.services);
    let before = count_storage(entries, id);
    for (key, value) in service.storage(id) {
        match value {
            Some(value) => entries.insert(key, value),
            None => entries.remove(&key),
        };
    }
    let after = count_storage(entries, id);
    info.last_accumulation_slot = state.slot;
    info.items = (info.items + after.0).saturating_sub(before.0);
    info.bytes = (info.bytes + after.1).saturating_sub(before.1);
    entries.insert(service_key(id), info.encode().into());
}
