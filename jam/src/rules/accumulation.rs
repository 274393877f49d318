//! Which available reports are accumulated in a block, in which order, and which wait for others (ω, ξ).

use crate::{
    PackageHash, Params, WorkReport,
    state::{Accumulated, ReadyQueue, ReadyReport},
};
use std::collections::BTreeSet;

/// The gas that a block may spend on accumulating reports, unless services that always accumulate add to it.
pub fn block_gas(params: &Params) -> u64 {
    params.block_gas_max.max(params.accumulate_gas_max.saturating_mul(u64::from(params.cores)))
}

/// How far a block comes with the reports that it may accumulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// As far as the gas that they *ask for* fits. A service that uses less leaves room for more; whoever does not run
    /// services cannot know that, so beyond this gas the answer can lag behind the chain by a block.
    WithinGas(u64),
    /// So many, as whoever ran the services knows.
    First(usize),
}

/// What a block accumulated, as far as reports tell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// The packages accumulated, in order.
    pub accumulated: Vec<PackageHash>,
    /// The reports that became available but have to wait.
    pub waiting: Vec<PackageHash>,
}

/// Decides what a block accumulates: ω and ξ become ω' and ξ'.
pub fn apply(
    params: &Params,
    ready: &mut ReadyQueue,
    accumulated: &mut Accumulated,
    available: &[&WorkReport],
    prior_slot: u32,
    slot: u32,
    taken: Taken,
) -> Outcome {
    let already = |package: &PackageHash| accumulated.contains(package);
    let (outcome, done) = advance(params, ready, &already, available, prior_slot, slot, taken);
    accumulated.blocks.remove(0);
    accumulated.blocks.push(done);
    outcome
}

/// The reports that a block could accumulate if its gas were enough (R*), in their order, for a node that runs the services.
pub fn order(
    params: &Params,
    ready: &ReadyQueue,
    already: &dyn Fn(&PackageHash) -> bool,
    available: &[&WorkReport],
    slot: u32,
) -> Vec<WorkReport> {
    let (immediate, queued) = split(already, available);
    let order = accumulation_order(params, ready, &immediate, &queued, slot);
    let waiting = || ready.slots.iter().flatten().map(|ready| &ready.report);
    let find = |package: &PackageHash| {
        let mut all = available.iter().copied().chain(waiting());
        all.find(|report| report.package() == *package).cloned()
    };
    order.iter().filter_map(|(package, _)| find(package)).collect()
}

/// The reports that wait for nothing (R!), and the others with what they wait for (R^Q).
fn split<'a>(
    already: &dyn Fn(&PackageHash) -> bool,
    available: &[&'a WorkReport],
) -> (Vec<&'a WorkReport>, Vec<ReadyReport>) {
    let (immediate, queued): (Vec<_>, Vec<_>) =
        available.iter().copied().partition(|report| report.dependencies().next().is_none());
    let queued = queued.into_iter().filter(|report| !already(&report.package())).map(|report| {
        let waits_for = report.dependencies().filter(|package| !already(package)).collect();
        ReadyReport { report: report.clone(), waits_for }
    });
    (immediate, queued.collect())
}

/// The same as [`apply`] with a look-up instead of ξ, for a caller that keeps it in another form. Also gives what to add to ξ.
pub fn advance(
    params: &Params,
    ready: &mut ReadyQueue,
    already: &dyn Fn(&PackageHash) -> bool,
    available: &[&WorkReport],
    prior_slot: u32,
    slot: u32,
    taken: Taken,
) -> (Outcome, BTreeSet<PackageHash>) {
    let (immediate, queued) = split(already, available);
    let order = accumulation_order(params, ready, &immediate, &queued, slot);
    let accumulated = taken.of(order);
    let done = accumulated.iter().copied().collect::<BTreeSet<_>>();
    let waiting = queued.iter().map(|ready| ready.report.package()).filter(|p| !done.contains(p)).collect();
    turn_queue(params, ready, queued, &done, prior_slot, slot);
    (Outcome { accumulated, waiting }, done)
}

/// R*: what depends on nothing first, then what waited as long as everything it waits for is there.
fn accumulation_order(
    params: &Params,
    ready: &ReadyQueue,
    immediate: &[&WorkReport],
    queued: &[ReadyReport],
    slot: u32,
) -> Vec<(PackageHash, u64)> {
    let mut order =
        immediate.iter().map(|report| (report.package(), report.accumulate_gas())).collect::<Vec<_>>();
    if queued.is_empty() && ready.is_empty() {
        return order;
    }
    let now = (slot % params.epoch_slots) as usize;
    let (before, after) = ready.slots.split_at(now.min(ready.slots.len()));
    let waiting = after.iter().chain(before).flatten().chain(queued);
    let mut waiting = waiting
        .map(|ready| (ready.report.package(), ready.report.accumulate_gas(), ready.waits_for.clone()))
        .collect::<Vec<_>>();
    let mut fresh = order.iter().map(|(package, _)| *package).collect::<BTreeSet<_>>();
    loop {
        waiting.retain(|(package, ..)| !fresh.contains(package));
        waiting.iter_mut().for_each(|(.., waits_for)| waits_for.retain(|package| !fresh.contains(package)));
        let free = waiting.iter().filter(|(.., waits_for)| waits_for.is_empty());
        let free = free.map(|(package, gas, _)| (*package, *gas)).collect::<Vec<_>>();
        if free.is_empty() {
            return order;
        }
        fresh = free.iter().map(|(package, _)| *package).collect();
        order.extend(free);
    }
}

impl Taken {
    /// The packages of the beginning that is taken.
    fn of(self, order: Vec<(PackageHash, u64)>) -> Vec<PackageHash> {
        let count = match self {
            Self::First(count) => count,
            Self::WithinGas(gas) => fitting(&order, gas),
        };
        order.into_iter().take(count).map(|(package, _)| package).collect()
    }
}

/// The length of the longest beginning whose gas fits.
fn fitting(order: &[(PackageHash, u64)], gas: u64) -> usize {
    let mut left = gas;
    let fits = |(_, asked): &&(PackageHash, u64)| {
        let rest = left.checked_sub(*asked);
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    order.iter().take_while(fits).count()
}

/// ω': the new ones in this slot's place, slots without a block emptied, and nobody waits for what is done.
fn turn_queue(
    params: &Params,
    ready: &mut ReadyQueue,
    queued: Vec<ReadyReport>,
    done: &BTreeSet<PackageHash>,
    prior_slot: u32,
    slot: u32,
) {
    if queued.is_empty() && ready.is_empty() {
        return;
    }
    let len = params.epoch_slots as usize;
    let now = slot as usize % len;
    let skipped = (slot.saturating_sub(prior_slot) as usize).min(len);
    for back in 1..skipped {
        ready.slots[(now + len - back) % len].clear();
    }
    ready.slots[now] = queued;
    for waiting in &mut ready.slots {
        waiting.retain(|entry| !done.contains(&entry.report.package()));
        waiting.iter_mut().for_each(|entry| entry.waits_for.retain(|package| !done.contains(package)));
    }
}
