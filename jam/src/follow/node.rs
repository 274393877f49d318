//! One block of the tree, with the rolling state after it.

use super::{Fate, Refused, branch::Branch, fate::Book};
use crate::{
    Block, HeaderHash, PackageHash, Params,
    rules::{
        accumulation::{self, Taken},
        assurances::{self, Availability, Pending},
        disputes,
        epoch::Epoch,
        history::{History, Remembered},
        reports::{self, ReportContext, Reported},
    },
    shuffle::Assignment,
    state::{DisputeRecords, PendingReport, ReadyQueue},
};
use std::{collections::HashSet, sync::Arc};

/// A block that was believed.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: HeaderHash,
    pub(super) height: u64,
    pub(super) children: Vec<HeaderHash>,
    /// What the block did to packages.
    pub(super) fates: Vec<(PackageHash, Fate)>,
    /// The reports that it accumulated, in order.
    pub(super) accumulated: Vec<Arc<PendingReport>>,
    pub(super) state: Rolling,
}

/// The part of the chain's state that decides about packages, after a block. What does not change is shared with the
/// block before.
#[derive(Clone, Debug)]
pub(super) struct Rolling {
    pub(super) slot: u32,
    pub(super) epoch: Arc<Epoch>,
    pub(super) disputes: Arc<DisputeRecords>,
    pub(super) pending: Pending,
    pub(super) history: History,
    pub(super) ready: Arc<ReadyQueue>,
    /// The cores of this slot's rotation and of the one before.
    pub(super) assignments: Arc<[Assignment; 2]>,
}

impl Rolling {
    /// The cores of the rotation that `slot` is in and of the one before it.
    pub(super) fn assignments_at(params: &Params, epoch: &Epoch, slot: u32) -> Arc<[Assignment; 2]> {
        Arc::new([epoch.assignment(params, slot), epoch.previous_assignment(params, slot)])
    }

    /// The state after the next block, and what the block did to packages; or why it is not believed. That the header
    /// commits to the extrinsic was checked before.
    pub(super) fn after(
        &self,
        params: &Params,
        hash: HeaderHash,
        block: &Block,
        seen: &Seen<'_>,
    ) -> Result<BlockOutcome, Refused> {
        let (header, extrinsic) = (&block.header, &block.extrinsic);
        if header.slot <= self.slot {
            return Err(Refused::Slot);
        }
        if !header.offenders.iter().copied().eq(extrinsic.disputes.offenders()) {
            return Err(Refused::Offenders);
        }
        let mut next = self.turned_to(params, block)?;
        if !next.history.note_state_root(header.prior_state_root) {
            return Err(Refused::StateRoot);
        }
        let condemned =
            disputes::apply(params, &self.epoch, &mut next.pending, &mut next.disputes, &extrinsic.disputes)?;
        let availability = assurances::apply(
            params,
            &mut next.pending,
            &self.epoch.current,
            &extrinsic.assurances,
            header.parent,
            header.slot,
        )?;
        let known = self.known(seen);
        let reported = next.report(params, block, &|package| known(package))?;
        let accumulated = next.accumulate(params, &availability, self.slot, seen);
        next.history.push(
            params,
            Remembered { hash, state_root: None, beefy_root: None, reported: Arc::new(reported.packages()) },
        );
        let fates = fates(hash, &self.ready, &next.ready, &condemned, &availability, &reported, &accumulated);
        let accumulated = self.reports_of(&accumulated, &availability);
        Ok(BlockOutcome { state: next, fates, accumulated })
    }

    /// The reports of packages that were just accumulated: they became available now, or waited for others.
    fn reports_of(&self, packages: &[PackageHash], availability: &Availability) -> Vec<Arc<PendingReport>> {
        let find = |package: &PackageHash| {
            let now = availability.available.iter().find(|pending| pending.report.package() == *package);
            let waited = || {
                let ready =
                    self.ready.slots.iter().flatten().find(|ready| ready.report.package() == *package)?;
                Some(Arc::new(PendingReport { report: ready.report.clone(), slot: self.slot }))
            };
            now.cloned().or_else(waited)
        };
        packages.iter().filter_map(find).collect()
    }

    /// Moves to the block's slot: epoch and rotation.
    fn turned_to(&self, params: &Params, block: &Block) -> Result<Self, Refused> {
        let mut next = self.clone();
        next.slot = block.header.slot;
        let rotation = |slot: u32| slot / u32::from(params.rotation_slots);
        let turned = self.epoch.after(params, &block.header)?;
        if turned.is_some() || rotation(next.slot) != rotation(self.slot) {
            next.epoch = turned.map_or_else(|| Arc::clone(&self.epoch), Arc::new);
            next.assignments = Self::assignments_at(params, &next.epoch, next.slot);
        }
        Ok(next)
    }

    /// Whether a package was reported, waits or was accumulated before the next block.
    fn known(&self, seen: &Seen<'_>) -> impl Fn(&PackageHash) -> bool {
        let waiting = self.pending.iter().flatten().map(|pending| pending.report.package());
        let ready = self.ready.slots.iter().flatten().map(|ready| ready.report.package());
        let waiting = waiting.chain(ready).collect::<HashSet<_>>();
        move |package| {
            waiting.contains(package)
                || self.history.reported(package).is_some()
                || seen.is_accumulated(package)
        }
    }

    fn report(
        &mut self,
        params: &Params,
        block: &Block,
        is_known: &dyn Fn(&PackageHash) -> bool,
    ) -> Result<Reported, Refused> {
        let context = ReportContext {
            params,
            slot: block.header.slot,
            epoch: &self.epoch,
            assignments: self.assignments.each_ref(),
            offenders: &self.disputes.offenders,
            history: &self.history,
            is_known,
            pools: None,
            services: None,
            is_ancestor: None,
        };
        Ok(reports::apply(&context, &mut self.pending, &block.extrinsic.guarantees)?)
    }

    fn accumulate(
        &mut self,
        params: &Params,
        availability: &Availability,
        prior_slot: u32,
        seen: &Seen<'_>,
    ) -> Vec<PackageHash> {
        let available = availability.reports().collect::<Vec<_>>();
        let alone = available.iter().all(|report| report.dependencies().next().is_none());
        let gas = accumulation::block_gas(params);
        if alone && self.ready.is_empty() {
            let asked = available.iter().map(|report| report.accumulate_gas()).fold(0, u64::saturating_add);
            if asked <= gas {
                return available.iter().map(|report| report.package()).collect();
            }
        }
        let ready = Arc::make_mut(&mut self.ready);
        let already = |package: &PackageHash| seen.is_accumulated(package);
        let taken = Taken::WithinGas(gas);
        accumulation::advance(params, ready, &already, &available, prior_slot, self.slot, taken).0.accumulated
    }
}

/// What a block came to.
pub(super) struct BlockOutcome {
    pub(super) state: Rolling,
    pub(super) fates: Vec<(PackageHash, Fate)>,
    pub(super) accumulated: Vec<Arc<PendingReport>>,
}

/// What is known of packages on the branch that a block extends.
pub(super) struct Seen<'a> {
    pub(super) book: &'a Book,
    pub(super) branch: Branch<'a>,
    /// The height of the block that comes.
    pub(super) height: u64,
}

impl Seen<'_> {
    fn is_accumulated(&self, package: &PackageHash) -> bool {
        self.book.is_accumulated(package, &self.branch, self.height)
    }
}

/// What a block did to packages, at most one fate each: the last thing that happened to it.
fn fates(
    block: HeaderHash,
    ready_before: &ReadyQueue,
    ready_after: &ReadyQueue,
    condemned: &[Arc<PendingReport>],
    availability: &Availability,
    reported: &Reported,
    accumulated: &[PackageHash],
) -> Vec<(PackageHash, Fate)> {
    let queued = |queue: &ReadyQueue| {
        queue.slots.iter().flatten().map(|ready| ready.report.package()).collect::<HashSet<_>>()
    };
    let done = accumulated.iter().copied().collect::<HashSet<_>>();
    let (before, after) = (queued(ready_before), queued(ready_after));
    let lost = before.into_iter().filter(|package| !after.contains(package) && !done.contains(package));
    let mut lost = lost.collect::<Vec<_>>();
    lost.sort();

    let packages = |reports: &[Arc<PendingReport>]| {
        reports.iter().map(|pending| pending.report.package()).collect::<Vec<_>>()
    };
    let made_available =
        packages(&availability.available).into_iter().filter(|package| !done.contains(package));
    let mut fates = Vec::new();
    fates.extend(
        packages(condemned).into_iter().chain(lost).map(|package| (package, Fate::Dropped { block })),
    );
    fates.extend(
        packages(&availability.timed_out).into_iter().map(|package| (package, Fate::TimedOut { block })),
    );
    fates.extend(made_available.map(|package| (package, Fate::Available { block })));
    fates.extend(accumulated.iter().map(|package| (*package, Fate::Accumulated { block })));
    let core_of = |pending: &Arc<PendingReport>| Fate::Reported { core: pending.report.core, block };
    fates.extend(reported.reports.iter().map(|pending| (pending.report.package(), core_of(pending))));
    fates
}
