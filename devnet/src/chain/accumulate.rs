//! Accumulation on chain: our service's rule, applied to its storage.

use super::State;
use crate::genesis::measure;
use jam::{
    PackageHash, Params, WorkReport,
    codec::{Decode, Encode},
    rules::{
        accumulation::{self, Taken},
        assurances::Availability,
    },
    spec::StateKey,
    state::{ServiceInfo, preimage_key, service_key},
};
use service::accumulate::{ServiceState, claim_of};
use std::{collections::BTreeMap, sync::Arc};

/// Work items accumulated and the gas for it, by service. Services run natively and are not metered, so the gas is
/// what the items brought along.
pub(super) type Counts = BTreeMap<u32, (u32, u64)>;

/// Accumulates what a block made available: ω, ξ and the services' entries move on.
pub(super) fn apply(
    params: &Params,
    service: &service::Config,
    state: &mut State,
    availability: &Availability,
    prior_slot: u32,
) -> Counts {
    let available = availability.reports().collect::<Vec<_>>();
    let waited = Arc::clone(&state.ready);
    let taken = Taken::WithinGas(accumulation::block_gas(params));
    let slot = state.slot;
    let (ready, accumulated) = (Arc::make_mut(&mut state.ready), Arc::make_mut(&mut state.accumulated));
    let outcome =
        accumulation::apply(params, ready, accumulated, &available, prior_slot, slot, taken).accumulated;
    let find = |package: &PackageHash| -> Option<&WorkReport> {
        let now = available.iter().copied().find(|report| report.package() == *package);
        now.or_else(|| {
            let mut waiting = waited.slots.iter().flatten().map(|ready| &ready.report);
            waiting.find(|report| report.package() == *package)
        })
    };
    let reports = outcome.iter().filter_map(find).collect::<Vec<_>>();
    if !reports.is_empty() {
        run_service(params, service, state, &reports);
    }
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
    for claim in ours.filter_map(|digest| claim_of(digest, id, config.code_hash)) {
        service.apply(&claim);
    }
    let entries = Arc::make_mut(&mut state.services);
    for (key, value) in service.storage(id) {
        match value {
            Some(value) => entries.insert(key, value),
            None => entries.remove(&key),
        };
    }
    let code = entries.get(&preimage_key(id, info.code_hash)).map_or(0, |code| code.len());
    info.last_accumulation_slot = state.slot;
    measure(&mut info, code, entries, id);
    entries.insert(service_key(id), info.encode().into());
}
