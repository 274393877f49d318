//! Recorded accumulations of other implementations: the public vectors of `accumulate`, and steps of public traces.
//!
//! Both have real services in them, so a gas counter that is off by one instruction, or an entry that is off by a byte, shows.

#[cfg(test)]
mod tests;

use crate::{Accounts, Accumulated, Block, Changes, Entries, Limits, Machines, PartialState};
use alloy_primitives::Bytes;
use jam::{
    Hash, Params, WorkReport,
    codec::{Decode, DecodeError, Decoder},
    rules::{
        accumulation::{self, Taken},
        history,
        statistics::{ServiceRecord, Statistics},
    },
    state::{
        AccumulationOutput, AuthQueue, AuthQueues, Entropy, Privileges, ReadyQueue, ServiceInfo, StateIndex,
        Validators, preimage_key, request_key, service_key, state_part, storage_key,
    },
};
use std::{collections::BTreeMap, sync::Arc};

/// Nothing to say, or what differs.
pub type Verdict = Result<(), String>;

/// Judges one file of the vectors' family `accumulate`.
pub fn judge_vector(machines: &Machines, bytes: &[u8], params: &Params) -> Verdict {
    let vector = Vector::decode(bytes, params).map_err(|error| error.to_string())?;
    let Vector { slot, reports, before, root, after } = vector;
    let step = Step { machines, params, slot, entropy: before.entropy, reports: reports.iter().collect() };
    let state = PartialState {
        accounts: Accounts::new(params, &before.accounts),
        designated: Arc::new(Validators { keys: vec![] }),
        queues: Arc::new(AuthQueues { cores: vec![AuthQueue { authorizers: vec![] }; params.cores.into()] }),
        privileges: Arc::new(before.privileges),
    };
    let (ready, accumulated) = (before.ready, before.accumulated);
    let done = step.run(state, ready, accumulated, before.slot)?;
    same("ω", &done.ready, &after.ready)?;
    same("ξ", &done.accumulated, &after.accumulated)?;
    same("χ", &*done.result.state.privileges, &after.privileges)?;
    same("root of θ", &history::accumulate_root(&done.result.outputs), &root)?;
    let gas = after.statistics.iter().map(|(service, record)| (*service, counted(record)));
    same("π", &done.result.counts, &gas.filter(|(_, count)| *count != (0, 0)).collect())?;
    same_entries(&before.accounts, done.result.state.accounts.into_changes(), &after.accounts)
}

/// Judges a block of a trace: the reports that it made available, accumulated on the state before it.
pub fn judge_step(
    machines: &Machines,
    params: &Params,
    block: &jam::Block,
    available: Vec<&WorkReport>,
    before: &Entries,
    after: &Entries,
) -> Verdict {
    let text = |error: jam::state::StateError| error.to_string();
    let header = &block.header;
    let entropy: Entropy = state_part(after, StateIndex::Entropy, params).map_err(text)?;
    let step = Step { machines, params, slot: header.slot, entropy: entropy.now, reports: available };
    let services = services(before);
    let state = PartialState {
        accounts: Accounts::new(params, &services),
        designated: Arc::new(state_part(before, StateIndex::NextValidators, params).map_err(text)?),
        queues: Arc::new(state_part(before, StateIndex::AuthQueues, params).map_err(text)?),
        privileges: Arc::new(state_part(before, StateIndex::Privileges, params).map_err(text)?),
    };
    let ready = state_part(before, StateIndex::ReadyQueue, params).map_err(text)?;
    let accumulated = state_part(before, StateIndex::Accumulated, params).map_err(text)?;
    let prior = state_part(before, StateIndex::Slot, params).map_err(text)?;
    let mut done = step.run(state, ready, accumulated, prior)?;
    for preimage in &block.extrinsic.preimages {
        done.result.state.accounts.integrate(preimage.requester, &preimage.blob, header.slot);
    }
    done.check_parts(params, after)?;
    same_entries(&services, done.result.state.accounts.into_changes(), &self::services(after))
}

/// The entries that belong to services.
fn services(state: &Entries) -> Entries {
    let is_part = |key: &[u8]| (1..=16).contains(&key[0]) && key[1..].iter().all(|byte| *byte == 0);
    state
        .iter()
        .filter(|(key, _)| !is_part(key.as_slice()))
        .map(|(key, value)| (*key, value.clone()))
        .collect()
}

/// What a block accumulates.
struct Step<'a> {
    machines: &'a Machines,
    params: &'a Params,
    slot: u32,
    entropy: Hash,
    reports: Vec<&'a WorkReport>,
}

struct Done<'a> {
    result: Accumulated<'a>,
    ready: ReadyQueue,
    accumulated: jam::state::Accumulated,
}

impl<'a> Step<'a> {
    fn run(
        &self,
        state: PartialState<'a>,
        mut ready: ReadyQueue,
        mut accumulated: jam::state::Accumulated,
        prior: u32,
    ) -> Result<Done<'a>, String> {
        let (params, slot, available) = (self.params, self.slot, &self.reports);
        let order =
            accumulation::order(params, &ready, &|package| accumulated.contains(package), available, slot);
        let reports = order.iter().collect::<Vec<_>>();
        let block = Block { params, slot, entropy: self.entropy, reports: &reports, limits: Limits::NONE };
        let result = self.machines.accumulate(&block, state).map_err(|fault| fault.to_string())?;
        let taken = Taken::First(result.reports);
        accumulation::apply(params, &mut ready, &mut accumulated, available, prior, slot, taken);
        Ok(Done { result, ready, accumulated })
    }
}

impl Done<'_> {
    fn check_parts(&self, params: &Params, after: &Entries) -> Verdict {
        fn part<T: Decode>(after: &Entries, index: StateIndex, params: &Params) -> Result<T, String> {
            state_part(after, index, params).map_err(|error| error.to_string())
        }
        let state = &self.result.state;
        same("ω", &self.ready, &part(after, StateIndex::ReadyQueue, params)?)?;
        same("ξ", &self.accumulated, &part(after, StateIndex::Accumulated, params)?)?;
        same("χ", &*state.privileges, &part(after, StateIndex::Privileges, params)?)?;
        same("φ", &*state.queues, &part(after, StateIndex::AuthQueues, params)?)?;
        same("ι", &*state.designated, &part(after, StateIndex::NextValidators, params)?)?;
        let outputs: Vec<AccumulationOutput> = part(after, StateIndex::AccumulationOutputs, params)?;
        same("θ", &self.result.outputs, &outputs)?;
        let statistics: Statistics = part(after, StateIndex::Statistics, params)?;
        let gas = statistics.services.iter().map(|(service, record)| (*service, counted(record)));
        let recorded = gas.filter(|(_, count)| *count != (0, 0)).collect::<BTreeMap<_, _>>();
        same("π", &self.result.counts, &recorded)
    }
}

const fn counted(record: &ServiceRecord) -> (u32, u64) {
    (record.accumulations, record.accumulate_gas)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, recorded: &T) -> Verdict {
    if ours == recorded {
        return Ok(());
    }
    let short = |value: &T| format!("{value:?}").chars().take(400).collect::<String>();
    Err(format!("another {what}: {} and not {}", short(ours), short(recorded)))
}

fn same_entries(before: &Entries, changes: Changes, recorded: &Entries) -> Verdict {
    let mut ours = before.clone();
    for (key, value) in changes {
        match value {
            Some(value) => ours.insert(key, value),
            None => ours.remove(&key),
        };
    }
    let keys = ours.keys().chain(recorded.keys());
    match keys.into_iter().find(|key| ours.get(*key) != recorded.get(*key)) {
        Some(key) => Err(format!("entry {key}: {:?} and not {:?}", ours.get(key), recorded.get(key))),
        None => Ok(()),
    }
}

/// A file of the vectors.
struct Vector {
    slot: u32,
    reports: Vec<WorkReport>,
    before: Recorded,
    root: Hash,
    after: Recorded,
}

/// The part of a state that is recorded.
struct Recorded {
    slot: u32,
    entropy: Hash,
    ready: ReadyQueue,
    accumulated: jam::state::Accumulated,
    privileges: Privileges,
    statistics: BTreeMap<u32, ServiceRecord>,
    accounts: Entries,
}

impl Decode for Vector {
    const MIN_BYTES: usize = 0;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let (slot, reports) = <(u32, Vec<WorkReport>)>::decode_from(input)?;
        let before = Recorded::decode_from(input)?;
        // No recorded accumulation is refused.
        let root = if input.byte()? == 0 { Hash::decode_from(input)? } else { Hash::ZERO };
        Ok(Self { slot, reports, before, root, after: Recorded::decode_from(input)? })
    }
}

impl Decode for Recorded {
    const MIN_BYTES: usize = 0;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let (slot, entropy) = <(u32, Hash)>::decode_from(input)?;
        let (ready, accumulated) = (Decode::decode_from(input)?, Decode::decode_from(input)?);
        let (privileges, statistics) = (Decode::decode_from(input)?, Decode::decode_from(input)?);
        let mut accounts = Entries::new();
        for _ in 0..input.length(1, usize::MAX)? {
            read_account(input, &mut accounts)?;
        }
        Ok(Self { slot, entropy, ready, accumulated, privileges, statistics, accounts })
    }
}

fn read_account(input: &mut Decoder<'_>, entries: &mut Entries) -> Result<(), DecodeError> {
    use jam::codec::Encode;
    let (service, info) = <(u32, ServiceInfo)>::decode_from(input)?;
    entries.insert(service_key(service), info.encode().into());
    for (name, value) in Vec::<(Bytes, Bytes)>::decode_from(input)? {
        entries.insert(storage_key(service, &name), value);
    }
    for (hash, blob) in Vec::<(Hash, Bytes)>::decode_from(input)? {
        entries.insert(preimage_key(service, hash), blob);
    }
    for ((hash, len), slots) in Vec::<((Hash, u32), Vec<u32>)>::decode_from(input)? {
        entries.insert(request_key(service, hash, len), slots.encode().into());
    }
    Ok(())
}
