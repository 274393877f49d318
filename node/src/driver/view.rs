//! What readers see: the newest blocks with their states, the open block, the queue and the pool in numbers.
//!
//! A picture is made when blocks or bundles moved, at once; for the open block and the pool's numbers alone at most
//! twenty times a second, and the more seldom the larger the block is, since to show the open block is to copy it.

use super::{Broken, Driver, EvmCodes, EvmLayer};
use rpc::{Health, LayerState, OpenState, Parts, PendingBlock, RecentBlock, Snapshot, State, Tags};
use std::{collections::BTreeMap, sync::Arc};
use types::{BlockId, Duration, ReceiptedBlock, Time};

/// So often at most is a picture made for the open block alone, if it has few transactions; with each so many more it is
/// made as much later,
const SHOW_EVERY_MS: u64 = 50;
const FEW_TRANSACTIONS: usize = 256;
/// but not later than this.
const SHOW_EVERY_MAX_MS: u64 = 250;

/// A best block so many slots old, while blocks are missing, means that we still catch up.
const SYNCED_SLOTS: u32 = 3;

/// What was shown last, and what of it can be shown again.
#[derive(Default)]
pub(super) struct View {
    blocks: BTreeMap<u64, Arc<RecentBlock>>,
    pending: Option<Arc<PendingBlock>>,
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

impl core::fmt::Debug for View {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("View").field("blocks", &self.blocks.len()).field("peers", &self.peers).finish()
    }
}

impl View {
    /// Blocks or bundles moved.
    pub(super) const fn blocks_changed(&mut self) {
        self.is_stale = true;
    }

    /// The clock was corrected: the next snapshot does not wait for the time of the last one.
    pub(super) const fn set_back(&mut self) {
        self.shown_at = None;
    }

    /// The pool's numbers moved.
    pub(super) const fn pool_changed(&mut self) {
        self.pool_moved = true;
    }
}

impl Driver {
    /// How many validators are connected.
    pub(super) const fn show_peers(&mut self, peers: usize) {
        self.view.is_stale |= self.view.peers != peers;
        self.view.peers = peers;
    }

    /// How many transactions each of the blocks that readers see has, oldest first.
    pub(super) fn recent_blocks(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.view.blocks.values().map(|block| block.block.block.transactions().len())
    }

    /// Takes in blocks that were final before the start, oldest first.
    pub(super) fn remember(&mut self, blocks: impl IntoIterator<Item = ReceiptedBlock>) {
        for block in blocks {
            let number = block.block.id().number;
            if let Some(layer) = self.chain.states().get(&number) {
                let state = layer_state(layer, self.chain.codes());
                self.view.blocks.insert(number, RecentBlock::new(block, state));
            }
        }
    }

    /// The states have another base; readers must let go of the old one.
    pub(super) fn show_rebased(&mut self) {
        let states = self.chain.states();
        self.view.blocks.retain(|number, _| states.contains_key(number));
        for (number, block) in &mut self.view.blocks {
            if let Some(layer) = states.get(number) {
                *block = block.with_state(layer_state(layer, self.chain.codes()));
            }
        }
        self.view.pending_of = None;
        self.view.is_stale = true;
    }

    fn open_version(&self) -> Option<(u64, u64)> {
        self.open.as_ref().map(|open| (self.build_counter, open.changes))
    }

    /// When a picture is to be made although nothing happens any more.
    pub(super) fn show_due(&self) -> Option<Time> {
        let view = &self.view;
        let moved = view.pool_moved || self.open_version() != view.pending_of;
        moved.then(|| view.shown_at.map_or(self.now, |at| at + self.show_every()))
    }

    fn show_every(&self) -> Duration {
        let shown = self.open.as_ref().map_or(0, |open| open.block.transactions().len());
        let parts = 1 + (shown / FEW_TRANSACTIONS) as u64;
        Duration::from_millis((SHOW_EVERY_MS * parts).min(SHOW_EVERY_MAX_MS))
    }

    /// Makes a picture, if it is time for one.
    pub(super) fn show(&mut self) -> Result<(), Broken> {
        // Also a node that has nothing to do shows that blocks arrive.
        if self.view.chain_news != self.chain_news {
            self.view.chain_news = self.chain_news;
            self.view.is_stale |= self.view.slots != Some(self.slots());
        }
        if self.view.is_stale || self.show_due().is_some_and(|due| due <= self.now) {
            self.output.news.snapshot = Some(self.picture()?);
        }
        Ok(())
    }

    /// What there is now.
    pub fn picture(&mut self) -> Result<Snapshot, Broken> {
        self.follow_blocks();
        self.show_open()?;
        let finalized = self.chain.final_id();
        let blocks = self.view.blocks.values().cloned().collect::<Vec<_>>();
        let parts = Parts {
            tags: Tags { safe: self.safe(), finalized },
            pending: self.view.pending.clone(),
            queue: Arc::new(self.queue.snapshot()),
            pool: self.pool.stats(),
            rules: self.pool.rules(),
            health: self.health(),
            insight: self.insight(),
        };
        let snapshot = Snapshot::new(blocks, parts).map_err(|why| Broken::State(why.to_string()))?;
        self.view.is_stale = false;
        self.view.pool_moved = false;
        self.view.shown_at = Some(self.now);
        self.view.slots = Some(self.slots());
        Ok(snapshot)
    }

    /// The slots of the best and of the final JAM block.
    fn slots(&self) -> (u32, u32) {
        (self.follower.view().head().slot, self.follower.finalized().slot)
    }

    /// Brings the shown blocks in line with the chain.
    pub(super) fn follow_blocks(&mut self) {
        let newest = self.chain.newest_id().number;
        let states = self.chain.states();
        self.view.blocks.retain(|number, _| *number <= newest && states.contains_key(number));
        for built in self.chain.unfinished() {
            let id = built.draft.id();
            let is_shown = self.view.blocks.get(&id.number).is_some_and(|shown| shown.id() == id);
            if let (false, Some(layer)) = (is_shown, states.get(&id.number)) {
                let state = layer_state(layer, self.chain.codes());
                self.view.blocks.insert(id.number, RecentBlock::new(built.receipted(), state));
            }
        }
    }

    fn show_open(&mut self) -> Result<(), Broken> {
        let version = self.open_version();
        if version == self.view.pending_of {
            return Ok(());
        }
        self.view.pending_of = version;
        self.view.pending = None;
        if let Some(open) = &self.open {
            let changes = open.block.state().changes().map_err(|why| Broken::State(why.to_string()))?;
            let layer = self.chain.newest_state()?.clone();
            self.view.pending = Some(Arc::new(PendingBlock {
                header: open.block.header().clone(),
                transactions: open.block.transactions().into(),
                receipts: open.block.receipts().into(),
                state: Arc::new(OpenState::new(layer, self.chain.codes().clone(), changes)),
            }));
        }
        Ok(())
    }

    /// The newest of our blocks that the service applied.
    fn safe(&self) -> BlockId {
        let head = self.service.best.head();
        let applied = self.view.blocks.get(&head.number).map(|block| block.id());
        let finalized = self.chain.final_id();
        applied.filter(|id| *id == head && id.number > finalized.number).unwrap_or(finalized)
    }

    fn health(&self) -> Health {
        let (best_slot, final_slot) = self.slots();
        let halted = self.queue.halted();
        Health {
            paused: self.is_paused,
            halted: halted.map(|head| format!("the service's head {head} was not built here")),
            peers: self.view.peers,
            best_slot: Some(best_slot),
            final_slot: Some(final_slot),
            syncing: !self.follower.wanted().is_empty()
                && best_slot.saturating_add(SYNCED_SLOTS) < self.clock.slot_at(self.now),
        }
    }
}

fn layer_state(layer: &EvmLayer, codes: &EvmCodes) -> Arc<dyn State> {
    Arc::new(LayerState::new(layer.clone(), codes.clone()))
}
