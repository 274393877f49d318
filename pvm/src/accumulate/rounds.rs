//! A block's accumulation: rounds of services, and what they come to together (Δ+, Δ*; section 12.2).

use super::{
    PartialState, Transfer,
    context::{One, Scene},
    operand::Operand,
};
use crate::{
    machine::Machines,
    run::{Fault, Limits},
};
use alloy_primitives::Bytes;
use jam::{
    Hash, Params, WorkReport,
    state::{AccumulationOutput, Privileges},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What a block accumulates.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The chain's parameters.
    pub params: &'a Params,
    /// The block's slot (τ').
    pub slot: u32,
    /// The randomness after it (η₀').
    pub entropy: Hash,
    /// The reports that can be accumulated, in their order (R*).
    pub reports: &'a [&'a WorkReport],
    /// What this machine gives.
    pub limits: Limits<'a>,
}

/// What a block's accumulation came to.
#[derive(Clone, Debug)]
pub struct Accumulated<'a> {
    /// How many reports the gas was enough for.
    pub reports: usize,
    /// The state after it.
    pub state: PartialState<'a>,
    /// What services said (θ').
    pub outputs: Vec<AccumulationOutput>,
    /// By service: work items accumulated and the gas that it took (S).
    pub counts: BTreeMap<u32, (u32, u64)>,
}

/// Services that accumulate although they have no work, and the gas for it (f).
type FreeGas = BTreeMap<u32, u64>;

/// One round's services.
struct Round<'a> {
    scene: Scene<'a>,
    reports: &'a [&'a WorkReport],
    transfers: &'a [Transfer],
    free_gas: &'a FreeGas,
}

/// What one round came to.
struct Merged<'a> {
    state: PartialState<'a>,
    transfers: Vec<Transfer>,
    outputs: Vec<(u32, Hash)>,
    gas_used: Vec<(u32, u64)>,
}

impl Machines {
    /// Accumulates a block's reports as far as its gas is enough.
    pub fn accumulate<'a>(
        &self,
        block: &Block<'_>,
        state: PartialState<'a>,
    ) -> Result<Accumulated<'a>, Fault> {
        let Block { params, slot, entropy, limits, .. } = *block;
        let scene = Scene { params, slot, entropy, limits };
        let mut free_gas = state.privileges.always_accumulate.clone();
        let mut gas = block_gas(params, &free_gas);
        let (mut done, mut transfers) = (0, Vec::new());
        let mut result = Accumulated { reports: 0, state, outputs: vec![], counts: BTreeMap::new() };
        let mut outputs = BTreeSet::new();
        loop {
            let count = fitting(&block.reports[done..], gas);
            if count + transfers.len() + free_gas.len() == 0 {
                break;
            }
            let reports = &block.reports[done..done + count];
            let round = Round { scene, reports, transfers: &transfers, free_gas: &free_gas };
            let merged = self.round(&round, result.state)?;
            let used = merged.gas_used.iter().fold(0, |sum: u64, (_, gas)| sum.saturating_add(*gas));
            let given = transfers.iter().fold(0, |sum: u64, transfer| sum.saturating_add(transfer.gas));
            gas = gas.saturating_add(given).saturating_sub(used);
            count_gas(&mut result.counts, &merged.gas_used);
            outputs.extend(merged.outputs);
            (result.state, transfers, done) = (merged.state, merged.transfers, done + count);
            free_gas = FreeGas::new();
        }
        result.reports = done;
        result.outputs =
            outputs.into_iter().map(|(service, output)| AccumulationOutput { service, output }).collect();
        result.finish(&block.reports[..done], slot);
        Ok(result)
    }

    /// One round: each service on the same state, and their changes merged (Δ*).
    fn round<'a>(&self, round: &Round<'_>, before: PartialState<'a>) -> Result<Merged<'a>, Fault> {
        let mut ones = BTreeMap::new();
        for service in round.services() {
            let operands = round.operands(service);
            let free = round.free_gas.get(&service).copied().unwrap_or(0);
            let gas = operands.iter().fold(free, |sum, operand| sum.saturating_add(operand.gas()));
            let one = self.accumulate_one(round.scene, before.clone(), service, gas, &operands)?;
            ones.insert(service, one);
        }
        Ok(merge(before, ones, round.scene.slot))
    }
}

impl Accumulated<'_> {
    /// Counts the work items, and notes which services accumulated.
    fn finish(&mut self, reports: &[&WorkReport], slot: u32) {
        for digest in reports.iter().flat_map(|report| &report.digests) {
            self.counts.entry(digest.service).or_default().0 += 1;
        }
        self.counts.retain(|_, (items, gas)| u64::from(*items) + *gas != 0);
        for service in self.counts.keys() {
            self.state.accounts.note_accumulated(*service, slot);
        }
    }
}

impl Round<'_> {
    /// Who accumulates in this round.
    fn services(&self) -> BTreeSet<u32> {
        let working = self.reports.iter().flat_map(|report| &report.digests).map(|digest| digest.service);
        let receiving = self.transfers.iter().map(|transfer| transfer.destination);
        working.chain(receiving).chain(self.free_gas.keys().copied()).collect()
    }

    /// What a service is given: transfers, then work items.
    fn operands(&self, service: u32) -> Vec<Operand<'_>> {
        let transfers = self.transfers.iter().filter(|transfer| transfer.destination == service);
        let items = self.reports.iter().flat_map(|report| {
            let digests = report.digests.iter().filter(move |digest| digest.service == service);
            digests.map(move |digest| Operand::Work(report, digest))
        });
        transfers.map(Operand::Transfer).chain(items).collect()
    }
}

/// The gas of a block.
fn block_gas(params: &Params, free_gas: &FreeGas) -> u64 {
    let free = free_gas.values().fold(0, |sum: u64, gas| sum.saturating_add(*gas));
    let cores = params.accumulate_gas_max.saturating_mul(params.cores.into());
    params.block_gas_max.max(cores.saturating_add(free))
}

/// The length of the longest beginning whose gas fits.
fn fitting(reports: &[&WorkReport], gas: u64) -> usize {
    let mut left = gas;
    let fits = |report: &&&WorkReport| {
        let rest = left.checked_sub(report.accumulate_gas());
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    reports.iter().take_while(fits).count()
}

fn count_gas(counts: &mut BTreeMap<u32, (u32, u64)>, used: &[(u32, u64)]) {
    for (service, gas) in used {
        let count = &mut counts.entry(*service).or_default().1;
        *count = count.saturating_add(*gas);
    }
}

fn merge<'a>(before: PartialState<'a>, ones: BTreeMap<u32, One>, slot: u32) -> Merged<'a> {
    let mut merged = Merged { state: before, transfers: vec![], outputs: vec![], gas_used: vec![] };
    merge_privileges(&mut merged.state, &ones);
    let mut provisions = BTreeSet::<(u32, Bytes)>::new();
    let mut gone = vec![];
    let accounts = &mut merged.state.accounts;
    for (service, one) in ones {
        merged.gas_used.push((service, one.gas_used));
        merged.outputs.extend(one.output.map(|output| (service, output)));
        merged.transfers.extend(one.transfers);
        provisions.extend(one.provisions);
        // No two services change the same entry, except that one may eject another that only received something.
        for (key, value) in one.changes {
            match value {
                Some(_) => accounts.set(key, value),
                None => gone.push(key),
            }
        }
    }
    gone.into_iter().for_each(|key| accounts.set(key, None));
    for (service, blob) in &provisions {
        accounts.integrate(*service, blob, slot);
    }
    accounts.settle();
    merged
}

/// The manager may change all privileges. The holder of one of them may hand it on, unless the manager changed it (R).
fn merge_privileges(state: &mut PartialState<'_>, ones: &BTreeMap<u32, One>) {
    let before = Arc::clone(&state.privileges);
    let after = |service: u32| ones.get(&service).map_or(&before, |one| &one.privileges);
    let managed = after(before.bless);
    let handed = |old: u32, managed: u32, own: u32| if managed == old { own } else { managed };
    let assign = before.assign.iter().enumerate().map(|(core, old)| {
        let of = |privileges: &Privileges| privileges.assign.get(core).copied().unwrap_or(*old);
        handed(*old, of(managed), of(after(*old)))
    });
    let privileges = Privileges {
        bless: managed.bless,
        assign: assign.collect(),
        designate: handed(before.designate, managed.designate, after(before.designate).designate),
        register: handed(before.register, managed.register, after(before.register).register),
        always_accumulate: managed.always_accumulate.clone(),
    };
    if let Some(delegator) = ones.get(&before.designate) {
        state.designated = Arc::clone(&delegator.designated);
    }
    for (core, assigner) in before.assign.iter().enumerate() {
        let named = ones.get(assigner).and_then(|one| one.queues.cores.get(core));
        let changed = named.filter(|named| state.queues.cores.get(core) != Some(*named)).cloned();
        if let Some(queue) = changed {
            Arc::make_mut(&mut state.queues).cores[core] = queue;
        }
    }
    if privileges != *before {
        state.privileges = Arc::new(privileges);
    }
}
