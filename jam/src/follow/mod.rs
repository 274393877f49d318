//! What the chain did with a package, learned from blocks alone.
//!
//! ```text
//!   blocks in any order ──▶ orphans ──▶ tree of believed blocks ──▶ ChainView (best) ──▶ Fate of a package
//!   words on finality   ──▶ claims  ──▶ finalized block: the rest of the tree goes
//! ```
//!
//! Nobody is believed because of who it is. A block counts if its guarantees and assurances carry valid signatures of
//! the validators assigned, and fit the state of its branch; a block is final if more than two thirds of the
//! validators of its epoch say so. The result depends on *which* blocks and words came, not on their order.
//!
//! **States of a package** on a branch: see [`Fate`]. `Reported` is not final: the report may time out, its block may
//! lose, and then the package is as if it had never been sent.
//!
//! **Limits.** State is kept for unfinalized blocks only ([`Limits::unfinalized_max`]); when there are too many, the
//! lowest block that nothing builds on goes. Blocks that wait for an ancestor are bounded in number and bytes, and so
//! is what is asked for. Fates of final packages are remembered as long as the chain itself remembers them: one
//! epoch's number of blocks.
//!
//! **What is not checked:** seals (whether the author was allowed to author), service code and authorizers. A made-up
//! block without guarantees is therefore possible; it can delay us, but never show a package as guaranteed that is
//! not, nor make it final.
//!
//! ```no_run
//! # use jam::{follow::{Follower, Limits, Start}, Block, Params};
//! # let (start, block): (Start, Block) = todo!();
//! let mut follower = Follower::new(Params::TINY, start, Limits::default());
//! let update = follower.import(block);
//! for package in update.changed {
//!     println!("{package}: {:?}", follower.view().fate(package));
//! }
//! for hash in follower.wanted() {
//!     // ask a peer for this block
//! }
//! ```

mod fate;
mod finality;
mod node;
mod orphans;
mod outcome;
mod start;
#[cfg(test)]
mod tests;
mod view;

pub use fate::Fate;
pub use outcome::{Refused, Update};
pub use start::{Limits, Start};
pub use view::{BlockRef, ChainView, Occupied};

use crate::{
    Block, Ed25519Key, Hash, HeaderHash, PackageHash, Params,
    codec::Encode,
    rules::{epoch::ValidatorSet, history::History},
    state::{PendingReport, RecentBlocks},
};
use fate::Book;
use finality::Claims;
use node::{Node, Rolling, Seen, Step};
use orphans::Orphans;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
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
    orphans: Orphans,
    claims: Claims,
    refused: VecDeque<HeaderHash>,
}

impl Follower {
    /// Begins at a final block.
    pub fn new(params: Params, start: Start, limits: Limits) -> Self {
        let epoch = Arc::new(start.epoch);
        let state = Rolling {
            slot: start.slot,
            assignments: Rolling::assignments_at(&params, &epoch, start.slot),
            epoch,
            offenders: Arc::new(start.disputes.offenders),
            pending: start.pending.cores.into_iter().map(|pending| pending.map(Arc::new)).collect(),
            history: History::from(&start.recent),
            ready: Arc::new(start.ready),
        };
        let height = start.height;
        let mut book = Book::new(&start.accumulated, height, start.hash);
        let waiting = state.pending.iter().flatten().map(|pending| {
            (pending.report.package(), Fate::Reported { core: pending.report.core, block: start.hash })
        });
        book.settle(start.hash, height, &waiting.collect::<Vec<_>>());
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
            orphans: Orphans::default(),
            claims: Claims::default(),
            refused: VecDeque::new(),
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

    /// Whether a block is believed and at or above the finalized one.
    pub fn contains(&self, hash: HeaderHash) -> bool {
        self.nodes.contains_key(&hash)
    }

    /// The block before a block, as long as both are kept.
    pub fn parent(&self, hash: HeaderHash) -> Option<HeaderHash> {
        Some(self.nodes.get(&hash)?.parent).filter(|parent| self.contains(*parent))
    }

    /// The reports that a block accumulated, in order, as long as it is kept. Services see them in this order.
    pub fn accumulated(&self, hash: HeaderHash) -> &[Arc<PendingReport>] {
        self.nodes.get(&hash).map_or(&[], |node| &node.accumulated)
    }

    /// How much is kept: believed blocks, blocks that wait, packages remembered.
    pub fn size(&self) -> (usize, usize, usize) {
        (self.nodes.len(), self.orphans.len(), self.book.len())
    }

    /// Blocks to ask peers for: missing ancestors of blocks that came, and blocks that more than a third of the
    /// validators call final.
    pub fn wanted(&self) -> Vec<HeaderHash> {
        let mut wanted = self.orphans.missing(self.limits.wanted_max);
        let finalized = &self.nodes[&self.finalized].state;
        let named = self.claims.named(&self.params, &finalized.epoch.current, finalized.slot);
        wanted.extend(named.into_iter().filter(|hash| !self.contains(*hash) && !self.orphans.contains(hash)));
        wanted.retain(|hash| !self.refused.contains(hash));
        wanted.truncate(self.limits.wanted_max);
        wanted
    }

    /// Takes a block, in any order; and with it the blocks that waited for it.
    pub fn import(&mut self, block: Block) -> Update {
        let mut update = Update::default();
        let mut due = VecDeque::from([(block.header.hash(), block)]);
        while let Some((hash, block)) = due.pop_front() {
            match self.import_one(hash, block, &mut update.changed) {
                Ok(true) => {
                    self.consider_best(hash, &mut update);
                    due.extend(self.orphans.children_of(hash));
                }
                Ok(false) => {}
                Err(refused) => {
                    self.note_refused(hash);
                    update.refused.push((hash, refused));
                }
            }
        }
        self.finalize(&mut update);
        update
    }

    /// Takes a validator's word that a block is final.
    pub fn claim_final(&mut self, validator: Ed25519Key, hash: HeaderHash, slot: u32) -> Update {
        let mut update = Update::default();
        let sets = self.validator_sets();
        if !sets.iter().any(|set| set.keys().contains(&validator)) {
            return update;
        }
        if self.claims.note(validator, hash, slot) {
            self.finalize(&mut update);
        }
        update
    }

    /// Takes roots that only the state tells, from the state (β) after any block. Only blocks that are known and whose
    /// roots are not yet are told; the caller vouches for the state.
    pub fn learn_roots(&mut self, recent: &RecentBlocks) {
        for node in self.nodes.values_mut() {
            for told in &recent.blocks {
                if let Some(known) = node.state.history.get_mut(told.hash) {
                    known.beefy_root = known.beefy_root.or(Some(told.beefy_root));
                    let told_root = Some(told.state_root).filter(|root| *root != Hash::ZERO);
                    known.state_root = known.state_root.or(told_root);
                }
            }
        }
    }

    /// Whose words on finality may count: the validators at the finalized and at the best block, and the next ones.
    fn validator_sets(&self) -> Vec<Arc<ValidatorSet>> {
        let epochs = [self.finalized, self.best].map(|hash| Arc::clone(&self.nodes[&hash].state.epoch));
        epochs.iter().flat_map(|epoch| [Arc::clone(&epoch.current), Arc::clone(&epoch.next)]).collect()
    }

    fn note_refused(&mut self, hash: HeaderHash) {
        self.orphans.drop_with_descendants(hash);
        self.refused.push_back(hash);
        while self.refused.len() > self.limits.refused_max {
            self.refused.pop_front();
        }
    }

    /// Takes one block: whether it was new and its parent known.
    fn import_one(
        &mut self,
        hash: HeaderHash,
        block: Block,
        changed: &mut BTreeSet<PackageHash>,
    ) -> Result<bool, Refused> {
        if self.contains(hash) {
            return Ok(false);
        }
        if block.header.slot <= self.finalized().slot {
            return Err(Refused::Stale);
        }
        let parent = block.header.parent;
        if self.refused.contains(&parent) {
            return Err(Refused::Parent);
        }
        let Some(node) = self.nodes.get(&parent) else {
            let bytes = block.encode().len();
            let Limits { orphans_max, orphan_bytes_max, .. } = self.limits;
            self.orphans.insert(hash, block, bytes, orphans_max, orphan_bytes_max);
            return Ok(false);
        };
        let (branch, height) = (self.branch(parent), node.height + 1);
        let seen = Seen { book: &self.book, branch: &branch, height };
        let Step { state, fates, accumulated } = node.state.after(&self.params, hash, &block, &seen)?;
        self.make_room(parent)?;
        self.book.note(hash, height, &fates);
        changed.extend(fates.iter().map(|(package, _)| *package));
        self.nodes.entry(parent).and_modify(|node| node.children.push(hash));
        self.nodes.insert(hash, Node { parent, height, children: vec![], fates, accumulated, state });
        Ok(true)
    }

    /// The unfinalized blocks from `head` down, `head` first.
    fn branch(&self, head: HeaderHash) -> Vec<HeaderHash> {
        let mut branch = Vec::new();
        let mut here = head;
        while here != self.finalized {
            let Some(node) = self.nodes.get(&here) else { break };
            branch.push(here);
            here = node.parent;
        }
        branch
    }

    /// Makes room for a block on `parent`, if necessary at the cost of the lowest block that nothing builds on.
    fn make_room(&mut self, parent: HeaderHash) -> Result<(), Refused> {
        if self.nodes.len() <= self.limits.unfinalized_max {
            return Ok(());
        }
        let spare = |hash: &HeaderHash| *hash != parent && *hash != self.best && *hash != self.finalized;
        let leaves = self.nodes.iter().filter(|(hash, node)| node.children.is_empty() && spare(hash));
        let lowest = leaves.map(|(hash, node)| (node.height, *hash)).min();
        let (_, lowest) = lowest.ok_or(Refused::Full)?;
        self.remove(lowest);
        Ok(())
    }

    /// Removes a block and what was known through it.
    fn remove(&mut self, hash: HeaderHash) -> Vec<HeaderHash> {
        let Some(node) = self.nodes.remove(&hash) else { return vec![] };
        self.book.forget(hash, &node.fates);
        if let Some(parent) = self.nodes.get_mut(&node.parent) {
            parent.children.retain(|child| *child != hash);
        }
        node.children
    }

    /// Makes a block the best one if it is: the highest, of several the one with the smallest hash. Packages on either
    /// side of a switch have changed.
    fn consider_best(&mut self, hash: HeaderHash, update: &mut Update) {
        let rank =
            |hash: HeaderHash| (self.nodes.get(&hash).map(|node| node.height), std::cmp::Reverse(hash));
        if hash == self.best || rank(hash) < rank(self.best) {
            return;
        }
        let (left, entered) = (self.branch(self.best), self.branch(hash));
        let only_left = left.iter().filter(|hash| !entered.contains(hash));
        let only_entered = entered.iter().filter(|hash| !left.contains(hash));
        for hash in only_left.chain(only_entered) {
            let fates = self.nodes.get(hash).map_or(&[][..], |node| &node.fates);
            update.changed.extend(fates.iter().map(|(package, _)| *package));
        }
        update.cores.extend(self.changed_cores(self.best, hash));
        self.best = hash;
        update.best_moved = true;
    }

    /// The cores that are not kept busy by the same report after one block as after another.
    fn changed_cores(&self, old: HeaderHash, new: HeaderHash) -> Vec<u16> {
        let (Some(old), Some(new)) = (self.nodes.get(&old), self.nodes.get(&new)) else {
            return (0..self.params.cores).collect();
        };
        let same = |a: &Option<Arc<PendingReport>>, b: &Option<Arc<PendingReport>>| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let pairs = (0..).zip(old.state.pending.iter().zip(&new.state.pending));
        pairs.filter(|(_, (a, b))| !same(a, b)).map(|(core, _)| core).collect()
    }
}
