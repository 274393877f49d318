//! What the chain did with a package, learned from blocks alone.
//!
//! ```text
//!   blocks in any order ──▶ orphans ──▶ tree of believed blocks ──▶ ChainView (best) ──▶ Fate of a package
//!   words on finality   ──▶ claims  ──▶ finalized block: the rest of the tree goes
//! ```
//!
//! Nobody is believed because of who it is. A block counts if its guarantees and assurances carry valid signatures of
//! the validators assigned, and fit the state of its branch. A block is final if more than two thirds of the
//! validators of its epoch say so, and they are validators because a *final* block says so. The result depends on
//! *which* blocks and words came, not on their order.
//!
//! **States of a package** on a branch: see [`Fate`]. `Reported` is not final: the report may time out, its block may
//! lose, and then the package is as if it had never been sent.
//!
//! **Limits.** State is kept for unfinalized blocks only ([`Limits::unfinalized_max`]); when there are too many, the
//! lowest block that nothing builds on and nobody calls final goes, never one that more than a third of the validators
//! call final. If finality is farther away than that many blocks, or if more than a third of the validators have been
//! replaced since the last word that came, following cannot catch up: begin anew from a later state. Blocks that
//! wait for an ancestor are bounded in number and bytes, and so is what is asked for. Fates of final packages are
//! remembered as long as the chain itself remembers them: one epoch's number of blocks.
//!
//! **Cost.** An import costs its signatures and what differs from the best branch; how many unfinalized blocks are below
//! does not matter.
//!
//! **What is not checked:** seals and tickets (whether the author was allowed to author), the entropy that a header
//! adds, the validators that an epoch mark announces, state roots (unless the state [told](Follower::learn_roots)),
//! authorizers, service code and its minimum gas, lookup anchors' places, preimages.
//!
//! Therefore a liar without any validator's key *can* make up blocks without guarantees, and make the best branch one of
//! its own; from the second epoch mark of such a branch on the validators are its own too, and packages look reported and
//! accumulated there. It *cannot* show a package as reported by real validators that they did not report, cannot make
//! anything final, and cannot keep what real validators call final from being found. What must not be undone is
//! decided by [`ChainView::finalized_fate`]; with [`Follower::note_slot`] a made-up branch cannot be longer than the
//! slots that have passed.
//!
//! ```
//! use jam::{Block, Params, follow::{Follower, Limits, Start}};
//!
//! fn follow(start: Start, blocks: impl Iterator<Item = Block>) {
//!     let mut follower = Follower::new(Params::TINY, start, Limits::default());
//!     for block in blocks {
//!         for package in follower.import(block).changed {
//!             println!("{package}: {:?}", follower.view().fate(package));
//!         }
//!         for hash in follower.wanted() {
//!             println!("a peer should be asked for {hash}");
//!         }
//!     }
//! }
//! ```

mod best;
mod branch;
mod claims;
mod fate;
mod finality;
mod import;
mod node;
mod orphans;
mod outcome;
mod refusals;
mod start;
mod stored;
#[cfg(test)]
mod tests;
mod view;

pub use fate::Fate;
pub use outcome::{Refused, Update};
pub use start::{Limits, Start};
pub use view::{BlockRef, ChainView, Occupied};

use crate::{
    Ed25519Key, HeaderHash, Params,
    rules::epoch::Epoch,
    state::{DisputeRecords, PendingReport, PendingReports, ReadyQueue, RecentBlocks},
};
use branch::Trunk;
use claims::Claims;
use fate::Book;
use node::{Node, Rolling};
use orphans::Orphans;
use refusals::Refusals;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// Follows the chain. Pure: it is told blocks and words, and asked for what became of packages.
#[derive(Debug)]
pub struct Follower {
    params: Params,
    limits: Limits,
    nodes: HashMap<HeaderHash, Node>,
    best: HeaderHash,
    finalized: HeaderHash,
    book: Book,
    /// The unfinalized blocks below the best one, and it.
    trunk: Trunk,
    /// Blocks that nothing builds on, by height.
    leaves: BTreeSet<(u64, HeaderHash)>,
    orphans: Orphans,
    claims: Claims,
    refused: Refusals,
    /// The slot that it is, if anybody told.
    slot_now: Option<u32>,
}

impl Follower {
    /// Begins at a final block.
    pub fn new(params: Params, start: Start, limits: Limits) -> Self {
        let height = start.height;
        let book = Book::new(&start.fates, height, params.epoch_slots.into());
        let epoch = Arc::new(start.epoch);
        let state = Rolling {
            slot: start.slot,
            assignments: Rolling::assignments_at(&params, &epoch, start.slot),
            epoch,
            disputes: Arc::new(start.disputes),
            pending: start.pending.cores.into_iter().map(|pending| pending.map(Arc::new)).collect(),
            history: start.recent,
            ready: Arc::new(start.ready),
        };
        let node = Node {
            parent: HeaderHash::ZERO,
            height,
            children: vec![],
            fates: vec![],
            accumulated: vec![],
            state,
        };
        Self {
            params,
            limits,
            nodes: [(start.hash, node)].into(),
            best: start.hash,
            finalized: start.hash,
            book,
            trunk: Trunk::new(height),
            leaves: [(height, start.hash)].into(),
            orphans: Orphans::default(),
            claims: Claims::default(),
            refused: Refusals::default(),
            slot_now: None,
        }
    }

    /// The chain's parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The chain as seen from the best block: the highest one, of several the one with the smallest hash.
    pub fn view(&self) -> ChainView<'_> {
        ChainView::new(self, self.best, &self.nodes[&self.best])
    }

    /// The chain as seen from another block at or above the finalized one.
    pub fn view_from(&self, hash: HeaderHash) -> Option<ChainView<'_>> {
        Some(ChainView::new(self, hash, self.nodes.get(&hash)?))
    }

    /// The finalized block.
    pub fn finalized(&self) -> BlockRef {
        let node = &self.nodes[&self.finalized];
        BlockRef { hash: self.finalized, slot: node.state.slot, height: node.height }
    }

    /// Where another follower can go on: the finalized block and all that is known up to it. Blocks above it and words on
    /// finality are not part of it; they can be asked for again. It can be encoded and kept.
    pub fn checkpoint(&self) -> Start {
        let Node { height, state, .. } = &self.nodes[&self.finalized];
        let pending = state.pending.iter().map(|waiting| waiting.as_deref().cloned()).collect();
        Start {
            hash: self.finalized,
            slot: state.slot,
            height: *height,
            epoch: Epoch::clone(&state.epoch),
            disputes: DisputeRecords::clone(&state.disputes),
            pending: PendingReports { cores: pending },
            recent: state.history.clone(),
            ready: ReadyQueue::clone(&state.ready),
            fates: self.book.final_fates(*height),
        }
    }

    /// Whether a block is believed and at or above the finalized one.
    pub fn contains(&self, hash: HeaderHash) -> bool {
        self.nodes.contains_key(&hash)
    }

    /// The block before a block, as long as both are kept: from the finalized block on.
    pub fn parent(&self, hash: HeaderHash) -> Option<HeaderHash> {
        Some(self.nodes.get(&hash)?.parent).filter(|parent| self.contains(*parent))
    }

    /// The reports that a block accumulated, in order, as long as it is kept; those of blocks that finality went past
    /// are in the [`Update`]. Services see them in this order.
    pub fn accumulated(&self, hash: HeaderHash) -> &[Arc<PendingReport>] {
        self.nodes.get(&hash).map_or(&[], |node| &node.accumulated)
    }

    /// How much is kept: believed blocks, blocks that wait, packages remembered.
    pub fn size(&self) -> (usize, usize, usize) {
        (self.nodes.len(), self.orphans.len(), self.book.len())
    }

    /// Blocks to ask peers for: first those that more than a third of the validators call final, or the ancestor that
    /// they wait for; then missing ancestors of other blocks that came, what has been waited for the longest first.
    pub fn wanted(&self) -> Vec<HeaderHash> {
        let named = self.named_final().into_iter().filter_map(|hash| self.orphans.ancestry(hash).last());
        let mut listed = HashSet::new();
        let wanted = named
            .chain(self.orphans.missing())
            .filter(|hash| !self.contains(*hash) && !self.refused.contains(hash) && listed.insert(*hash));
        wanted.take(self.limits.wanted_max).collect()
    }

    /// Blocks that more than a third of the validators call final and that are not believed yet.
    fn named_final(&self) -> Vec<HeaderHash> {
        let (slot, sets) = (self.finalized().slot, self.trusted_sets());
        let named = sets.iter().flat_map(|set| self.claims.named(&self.params, set, slot));
        named.filter(|hash| !self.contains(*hash)).collect()
    }

    /// Nobody has this block, which is [wanted](Self::wanted): what waits for it goes. It may come again. A block that
    /// enough validators call final stays wanted.
    pub fn unavailable(&mut self, hash: HeaderHash) {
        self.orphans.drop_with_descendants(hash);
    }

    /// Tells which slot it is, plus whatever clocks may differ by. From now on blocks of later slots are refused, until
    /// a later slot is told; without a clock slots are believed.
    pub const fn note_slot(&mut self, slot: u32) {
        self.slot_now = Some(slot);
    }

    /// Takes a validator's word that a block is final. Whether the key is a validator's may become known later.
    pub fn claim_final(&mut self, validator: Ed25519Key, hash: HeaderHash, slot: u32) -> Update {
        let mut update = Update::default();
        if self.claims.note(validator, hash, slot) {
            self.claims.trim(&self.trusted_sets(), self.limits.strangers_max);
            if self.contains(hash) {
                self.finalize(&mut update);
            }
        }
        update
    }

    /// Takes roots that only the state tells, from the state (β) after any block. Only blocks that are known and whose
    /// roots are not yet are told; the caller vouches for the state. From then on blocks that contradict are refused;
    /// those that were believed before stay.
    pub fn learn_roots(&mut self, recent: &RecentBlocks) {
        // A block remembers its last ancestors, so only so many generations can remember the told ones.
        let known = |hash: HeaderHash| if self.contains(hash) { hash } else { self.finalized };
        let mut generation = recent.blocks.iter().map(|told| known(told.hash)).collect::<BTreeSet<_>>();
        for _ in 0..self.params.recent_blocks {
            let mut next = BTreeSet::new();
            for hash in generation {
                let Some(node) = self.nodes.get_mut(&hash) else { continue };
                recent.blocks.iter().for_each(|told| node.state.history.learn(told));
                next.extend(node.children.iter().copied());
            }
            generation = next;
        }
    }
}
