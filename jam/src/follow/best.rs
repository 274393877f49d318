//! Which block is the best: the highest, of several the one with the smallest hash.

use super::{Follower, Update, branch::Branch};
use crate::{HeaderHash, state::PendingReport};
use std::{cmp::Reverse, sync::Arc};

impl Follower {
    /// The branch of a believed block.
    pub(super) fn branch(&self, head: HeaderHash) -> Branch<'_> {
        let mut own = Vec::new();
        let mut here = head;
        let fork = loop {
            let Some(node) = self.nodes.get(&here) else { break self.finalized().height };
            if here == self.finalized || self.trunk.contains(here, node.height) {
                break node.height;
            }
            own.push(here);
            here = node.parent;
        };
        own.reverse();
        Branch { trunk: &self.trunk, fork, own }
    }

    /// Makes a block the best one if it is.
    pub(super) fn consider_best(&mut self, hash: HeaderHash, update: &mut Update) {
        let rank = |hash: HeaderHash| (self.nodes.get(&hash).map(|node| node.height), Reverse(hash));
        if rank(hash) > rank(self.best) {
            self.switch_to(hash, update);
            update.best_moved = true;
        }
    }

    /// Looks for the best block among all.
    pub(super) fn elect(&mut self, update: &mut Update) {
        let highest = self.leaves.last().map_or(0, |(height, _)| *height);
        let best = self.leaves.range((highest, HeaderHash::ZERO)..).next();
        if let Some((_, best)) = best.copied() {
            self.consider_best(best, update);
        }
    }

    /// Makes sure that the best block is on top of `hash`, or `hash` itself.
    pub(super) fn switch_to_branch_of(&mut self, hash: HeaderHash, update: &mut Update) {
        let on_trunk = |height| self.trunk.contains(hash, height);
        if !self.nodes.get(&hash).is_some_and(|node| on_trunk(node.height)) {
            self.switch_to(hash, update);
        }
    }

    /// Makes a block the best one. Packages on either side of a switch have changed.
    pub(super) fn switch_to(&mut self, hash: HeaderHash, update: &mut Update) {
        let Branch { fork, own, .. } = self.branch(hash);
        let left = self.trunk.turn(fork, &own);
        for hash in left.iter().chain(&own) {
            let fates = self.nodes.get(hash).map_or(&[][..], |node| &node.fates);
            update.changed.extend(fates.iter().map(|(package, _)| *package));
        }
        update.cores.extend(self.changed_cores(self.best, hash));
        self.best = hash;
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
