//! What readers see: the newest blocks with their states, the open block, the queue and the pool in numbers.
//!
//! A snapshot is published at once when blocks or bundles moved. Changes of the open block and of the pool's numbers alone
//! are published at most twenty times a second, and less often the larger the open block is, since to publish it is to copy
//! it.

use crate::{Blocks, Broken, Driver};
use std::sync::Arc;
use types::{BlockId, Duration, SlotCores, Time};

/// Changes of a small open block are published this often at most; every further 256 transactions add as much,
const PUBLISH_EVERY_MS: u64 = 50;
const SMALL_BLOCK_TXS: usize = 256;
/// up to this.
const PUBLISH_EVERY_MAX_MS: u64 = 250;

/// A best block so many slots old, while blocks are missing, means that we still catch up.
const SYNCED_SLOTS: u32 = 3;

/// The driver's state at one moment, for readers. Cheap to make: what is large is shared.
#[derive(Debug)]
pub struct Snapshot<B: Blocks> {
    /// The blocks in memory.
    pub blocks: B::View,
    /// The open block, if there is one.
    pub pending: Option<Arc<B::Pending>>,
    /// The newest of our blocks that the service applied.
    pub safe: BlockId,
    /// The newest block that is final.
    pub finalized: BlockId,
    /// The queue.
    pub queue: Arc<queue::Snapshot>,
    /// What lies ahead of the bundles.
    pub outlook: Arc<queue::Outlook>,
    /// The pool in numbers.
    pub pool: txpool::Stats,
    /// What a transaction must fulfil to be recovered.
    pub rules: txpool::Rules,
    /// How many transactions had been accepted.
    pub accepted: u64,
    /// Whether the operator paused sealing.
    pub is_paused: bool,
    /// The service's head, if it was not built here: then building has stopped.
    pub halted: Option<BlockId>,
    /// Connected validators.
    pub peers: usize,
    /// The slot of JAM's best block.
    pub best_slot: u32,
    /// The slot of JAM's final block.
    pub final_slot: u32,
    /// Whether the driver still catches up with JAM.
    pub is_syncing: bool,
    /// The cores in the last slots on the best branch, oldest first.
    pub cores: Arc<[SlotCores]>,
}

/// What was published last, and what changed since.
#[derive(Debug)]
pub(crate) struct View<B: Blocks> {
    pending: Option<Arc<B::Pending>>,
    /// Which open block, and how far it was, that `pending` shows.
    pending_of: Option<(u64, u64)>,
    is_stale: bool,
    pool_moved: bool,
    shown_at: Option<Time>,
    /// How much the follower had been told when that was last looked at.
    chain_news: u64,
    /// The slots of the best and of the final JAM block that were shown.
    slots: Option<(u32, u32)>,
    /// Connected validators.
    peers: usize,
}

impl<B: Blocks> Default for View<B> {
    fn default() -> Self {
        Self {
            pending: None,
            pending_of: None,
            is_stale: true,
            pool_moved: false,
            shown_at: None,
            chain_news: 0,
            slots: None,
            peers: 0,
        }
    }
}

impl<B: Blocks> View<B> {
    /// Blocks or bundles moved.
    pub(crate) const fn blocks_changed(&mut self) {
        self.is_stale = true;
    }

    /// The states have another base; readers must let go of the old one.
    pub(crate) const fn rebased(&mut self) {
        self.pending_of = None;
        self.is_stale = true;
    }

    /// The clock was corrected: the next snapshot does not wait for the time of the last one.
    pub(crate) const fn set_back(&mut self) {
        self.shown_at = None;
    }

    /// The pool's numbers moved.
    pub(crate) const fn pool_changed(&mut self) {
        self.pool_moved = true;
    }

    /// The follower was told something. Also a node that has nothing to do shows that blocks arrive.
    fn note_chain(&mut self, news: u64, slots: impl FnOnce() -> (u32, u32)) {
        if core::mem::replace(&mut self.chain_news, news) != news {
            self.is_stale |= self.slots != Some(slots());
        }
    }

    /// When a snapshot is due although no blocks or bundles moved, if the open block is this version.
    fn due(&self, open: Option<(u64, u64)>, now: Time, every: Duration) -> Option<Time> {
        let moved = self.pool_moved || open != self.pending_of;
        moved.then(|| self.shown_at.map_or(now, |at| at + every))
    }

    /// A snapshot with these slots is published now.
    const fn published(&mut self, now: Time, slots: (u32, u32)) {
        (self.is_stale, self.pool_moved) = (false, false);
        (self.shown_at, self.slots) = (Some(now), Some(slots));
    }

    /// How many validators are connected.
    pub(crate) const fn set_peers(&mut self, peers: usize) {
        self.is_stale |= self.peers != peers;
        self.peers = peers;
    }
}

impl<B: Blocks> Driver<B> {
    fn open_version(&self) -> Option<(u64, u64)> {
        self.open.as_ref().map(|open| (self.build_counter, open.changes()))
    }

    /// When a snapshot is due although nothing happens any more.
    pub(crate) fn show_due(&self) -> Option<Time> {
        self.view.due(self.open_version(), self.now(), self.publish_every())
    }

    fn publish_every(&self) -> Duration {
        let shown = self.open.as_ref().map_or(0, |open| open.transactions().len());
        let parts = 1 + (shown / SMALL_BLOCK_TXS) as u64;
        Duration::from_millis((PUBLISH_EVERY_MS * parts).min(PUBLISH_EVERY_MAX_MS))
    }

    /// Makes a snapshot, if one is due.
    pub(crate) fn show(&mut self) -> Result<(), Broken> {
        self.view.note_chain(self.chain.news(), || self.chain.slots());
        if self.view.is_stale || self.show_due().is_some_and(|due| due <= self.now()) {
            let snapshot = self.snapshot()?;
            self.outbox.show(snapshot);
        }
        Ok(())
    }

    /// What there is now.
    pub fn snapshot(&mut self) -> Result<Snapshot<B>, Broken> {
        self.show_open()?;
        let (best_slot, final_slot) = self.chain.slots();
        let snapshot = Snapshot {
            blocks: self.blocks.view(),
            pending: self.view.pending.clone(),
            safe: self.safe(),
            finalized: self.blocks.final_id(),
            queue: Arc::new(self.queue.snapshot()),
            outlook: Arc::new(self.queue.outlook(self.now())),
            pool: self.pool.stats(),
            rules: self.pool.rules(),
            accepted: self.outbox.accepted(),
            is_paused: self.sealing.is_paused(),
            halted: self.queue.halted(),
            peers: self.view.peers,
            best_slot,
            final_slot,
            is_syncing: !self.chain.follower().wanted().is_empty()
                && best_slot.saturating_add(SYNCED_SLOTS) < self.clock.slot_at(self.now()),
            cores: self.watch.slot_cores(),
        };
        self.view.published(self.time.now(), (best_slot, final_slot));
        Ok(snapshot)
    }

    fn show_open(&mut self) -> Result<(), Broken> {
        let version = self.open_version();
        if version == self.view.pending_of {
            return Ok(());
        }
        self.view.pending_of = version;
        let pending = self.open.as_ref().map(|open| self.blocks.pending(open.block()));
        self.view.pending = pending.transpose()?.map(Arc::new);
        Ok(())
    }

    /// The newest of our blocks that the service applied.
    fn safe(&self) -> BlockId {
        let head = self.chain.service().best.head();
        let finalized = self.blocks.final_id();
        let is_ours = self.blocks.id_of(head.number) == Some(head);
        if is_ours && head.number > finalized.number { head } else { finalized }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EvmBlocks;
    use state::{CodeSet, MemoryValues};

    type TestView = View<EvmBlocks<Arc<MemoryValues>, CodeSet>>;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// A view of which everything was published at a time.
    fn published(ms: u64) -> TestView {
        let mut view = TestView::default();
        assert!(view.is_stale, "nothing was published yet");
        view.published(at(ms), (5, 3));
        view
    }

    #[test]
    fn changes_of_the_pool_and_of_the_open_block_wait_a_moment() {
        let mut view = published(100);
        let every = Duration::from_millis(50);
        assert_eq!(view.due(None, at(101), every), None);
        assert_eq!(view.due(Some((1, 1)), at(101), every), Some(at(150)));
        view.pool_changed();
        assert_eq!((view.due(None, at(101), every), view.is_stale), (Some(at(150)), false));
        view.set_back();
        assert_eq!(view.due(None, at(7), every), Some(at(7)), "the last one was in a time that never was");
    }

    #[test]
    fn blocks_that_arrive_are_shown_once_their_slot_is_another() {
        let mut view = published(100);
        view.note_chain(0, || unreachable!("nothing was told"));
        view.note_chain(1, || (5, 3));
        assert!(!view.is_stale);
        view.note_chain(2, || (6, 3));
        assert!(view.is_stale);
    }

    #[test]
    fn whatever_moved_is_published() {
        let changes: [fn(&mut TestView); 3] =
            [TestView::blocks_changed, TestView::rebased, |view| view.set_peers(1)];
        for change in changes {
            let mut view = published(100);
            change(&mut view);
            assert!(view.is_stale);
        }
        let mut view = published(100);
        view.set_peers(0);
        assert!(!view.is_stale, "there are as many as before");
    }
}
