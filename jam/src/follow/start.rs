//! Where following begins, and how much is kept.

use crate::{
    Hash, HeaderHash, Params,
    codec::Bytes,
    rules::epoch::Epoch,
    spec::StateKey,
    state::{
        Accumulated, DisputeRecords, Entropy, PendingReports, ReadyQueue, RecentBlock, RecentBlocks, Safrole,
        StateError, StateIndex, Validators, state_part,
    },
};
use std::collections::{BTreeMap, BTreeSet};

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
            refused_max: 1024,
        }
    }
}

/// Where following begins: a final block and the state after it.
#[derive(Clone, Debug)]
pub struct Start {
    /// The block.
    pub hash: HeaderHash,
    /// Its slot.
    pub slot: u32,
    pub(super) height: u64,
    pub(super) epoch: Epoch,
    pub(super) disputes: DisputeRecords,
    pub(super) pending: PendingReports,
    pub(super) recent: RecentBlocks,
    pub(super) ready: ReadyQueue,
    pub(super) accumulated: Accumulated,
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
        Ok(Self {
            hash,
            slot,
            height: u64::from(params.epoch_slots),
            epoch,
            disputes: state_part(state, StateIndex::Disputes, params)?,
            pending: state_part(state, StateIndex::PendingReports, params)?,
            recent: state_part(state, StateIndex::RecentBlocks, params)?,
            ready: state_part(state, StateIndex::ReadyQueue, params)?,
            accumulated: state_part(state, StateIndex::Accumulated, params)?,
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
        let nobody = BTreeSet::new();
        let disputes =
            DisputeRecords { good: [].into(), bad: [].into(), wonky: [].into(), offenders: nobody };
        Self {
            hash,
            slot: 0,
            height: u64::from(params.epoch_slots),
            epoch,
            disputes,
            pending: PendingReports::none(params),
            recent,
            ready: ReadyQueue::empty(params),
            accumulated: Accumulated::none(params),
        }
    }
}
