//! Where following begins, and how much is kept.

use super::Fate;
use crate::{
    Hash, HeaderHash, PackageHash, Params,
    codec::Bytes,
    rules::{epoch::Epoch, history::History},
    spec::StateKey,
    state::{
        Accumulated, DisputeRecords, Entropy, PendingReports, ReadyQueue, RecentBlock, RecentBlocks, Safrole,
        StateError, StateIndex, Validators, state_part,
    },
};
use std::collections::BTreeMap;

/// How much is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Blocks above the finalized one.
    pub unfinalized_max: usize,
    /// Blocks that wait for an ancestor.
    pub orphans_max: usize,
    /// Bytes of blocks that wait for an ancestor.
    pub orphan_bytes_max: usize,
    /// Blocks that are asked for at once.
    pub wanted_max: usize,
    /// Words on finality of keys that are no validators as far as is known. They may become validators.
    pub strangers_max: usize,
    /// Hashes of blocks that were refused or have lost, so that they are not asked for again.
    pub refused_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unfinalized_max: 16_384,
            orphans_max: 1024,
            orphan_bytes_max: 256 << 20,
            wanted_max: 16,
            strangers_max: 4096,
            refused_max: 1024,
        }
    }
}

/// Where following begins: a final block, the state after it, and what is known of packages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// The block.
    pub hash: HeaderHash,
    /// Its slot.
    pub slot: u32,
    pub(super) height: u64,
    pub(super) epoch: Epoch,
    pub(super) disputes: DisputeRecords,
    pub(super) pending: PendingReports,
    pub(super) recent: History,
    pub(super) ready: ReadyQueue,
    /// What became of packages, and how many blocks ago.
    pub(super) fates: BTreeMap<PackageHash, (u64, Fate)>,
}

impl Start {
    /// From the state after block `hash`, as a chain specification or a peer gives it.
    pub fn from_state(
        params: &Params,
        hash: HeaderHash,
        state: &BTreeMap<StateKey, Bytes>,
    ) -> Result<Self, StateError> {
        let slot = state_part::<u32>(state, StateIndex::Slot, params)?;
        let epoch = Epoch::of_state(
            params,
            slot,
            &state_part::<Validators>(state, StateIndex::Validators, params)?,
            &state_part::<Validators>(state, StateIndex::PreviousValidators, params)?,
            &state_part::<Safrole>(state, StateIndex::Safrole, params)?,
            &state_part::<Entropy>(state, StateIndex::Entropy, params)?,
        );
        let recent = state_part::<RecentBlocks>(state, StateIndex::RecentBlocks, params)?;
        if let Some(newest) = recent.blocks.last().filter(|newest| newest.hash != hash) {
            return Err(StateError::OtherBlock { expected: hash, found: newest.hash });
        }
        let pending = state_part(state, StateIndex::PendingReports, params)?;
        let ready = state_part(state, StateIndex::ReadyQueue, params)?;
        let accumulated = state_part(state, StateIndex::Accumulated, params)?;
        Ok(Self {
            hash,
            slot,
            height: u64::from(params.epoch_slots),
            epoch,
            disputes: state_part(state, StateIndex::Disputes, params)?,
            recent: History::from(&recent),
            fates: fates(hash, &accumulated, &ready, &pending),
            pending,
            ready,
        })
    }

    /// Counts heights from here on, so that they mean the same as before a restart. Without it they begin where the
    /// chain's memory of accumulated packages ends, so that none is negative; a smaller height is not taken.
    #[must_use]
    pub fn at_height(mut self, height: u64) -> Self {
        self.height = self.height.max(height);
        self
    }

    /// A chain on which nothing has happened yet, except that `hash` began it. The log of accumulation outputs is
    /// taken to be empty.
    pub fn fresh(params: &Params, hash: HeaderHash, epoch: Epoch) -> Self {
        let mut recent = RecentBlocks::EMPTY;
        recent.blocks.push(RecentBlock {
            hash,
            beefy_root: recent.log.root(),
            state_root: Hash::ZERO,
            reported: BTreeMap::new(),
        });
        Self {
            hash,
            slot: 0,
            height: u64::from(params.epoch_slots),
            epoch,
            disputes: DisputeRecords::none(),
            pending: PendingReports::none(params),
            recent: History::from(&recent),
            ready: ReadyQueue::empty(params),
            fates: BTreeMap::new(),
        }
    }
}

/// What a state says became of packages. Which block did it the state does not say, so it is the block itself.
fn fates(
    block: HeaderHash,
    accumulated: &Accumulated,
    ready: &ReadyQueue,
    pending: &PendingReports,
) -> BTreeMap<PackageHash, (u64, Fate)> {
    let mut fates = BTreeMap::new();
    for (age, packages) in (0..).zip(accumulated.blocks.iter().rev()) {
        fates.extend(packages.iter().map(|package| (*package, (age, Fate::Accumulated { block }))));
    }
    let ready = ready.slots.iter().flatten().map(|ready| ready.report.package());
    fates.extend(ready.map(|package| (package, (0, Fate::Available { block }))));
    let reports = pending.cores.iter().flatten().map(|pending| &pending.report);
    let reported = |core| Fate::Reported { core, block };
    fates.extend(reports.map(|report| (report.package(), (0, reported(report.core)))));
    fates
}
