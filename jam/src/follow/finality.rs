//! Which block is final: more than two thirds of the validators say so.
//!
//! Whose words count is decided by the finalized block alone: the validators of its epoch, and those that its epoch
//! announced as the next. Everybody can make up a block that announces validators, so what blocks above the finalized
//! one announce counts for nothing until they are final themselves. A long gap is therefore crossed in steps, at most
//! one epoch each.

use super::{Follower, Update};
use crate::{HeaderHash, rules::epoch::ValidatorSet};
use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

impl Follower {
    /// Moves the finalized block up as far as the validators' words carry it.
    pub(super) fn finalize(&mut self, update: &mut Update) {
        while let Some(target) = self.highest_supported() {
            self.finalize_up_to(target, update);
        }
    }

    /// Whose words on finality count.
    pub(super) fn trusted_sets(&self) -> Vec<Arc<ValidatorSet>> {
        let epoch = &self.nodes[&self.finalized].state.epoch;
        vec![Arc::clone(&epoch.current), Arc::clone(&epoch.next)]
    }

    fn finalize_up_to(&mut self, target: HeaderHash, update: &mut Update) {
        let best = self.best;
        self.switch_to_branch_of(target, update);
        while self.finalized != target {
            self.settle_next(update).expect("the target is on the best branch");
        }
        self.elect(update);
        update.best_moved |= self.best != best;
        update.finalized_moved = true;
        for stale in self.orphans.until(self.finalized().slot) {
            self.note_refused(stale);
        }
        self.claims.trim(&self.trusted_sets(), self.limits.strangers_max);
    }

    /// The highest block above the finalized one that enough validators of its epoch call final, or a block on top
    /// of it.
    fn highest_supported(&self) -> Option<HeaderHash> {
        let sets = self.trusted_sets();
        sets.iter().filter_map(|set| self.supported_by(set)).max().map(|(_, Reverse(hash))| hash)
    }

    /// The highest such block of the epoch in which this set validates. Begins at the blocks that are named and goes
    /// down: what supports a block supports its parent too.
    fn supported_by(&self, set: &Arc<ValidatorSet>) -> Option<(u64, Reverse<HeaderHash>)> {
        let enough = usize::from(self.params.super_majority());
        let mut due = BTreeMap::new();
        for ((hash, slot), count) in self.claims.count(set) {
            let node = self.nodes.get(&hash).filter(|node| node.state.slot == slot);
            if let Some(node) = node.filter(|_| hash != self.finalized) {
                due.insert((node.height, hash), count);
            }
        }
        if due.values().sum::<usize>() < enough {
            return None;
        }
        while let Some(((height, hash), count)) = due.pop_last() {
            let node = self.nodes.get(&hash)?;
            if count >= enough && Arc::ptr_eq(set, &node.state.epoch.current) {
                return Some((height, Reverse(hash)));
            }
            // A way on which nothing more is added need not be gone to its end.
            let hopeless = count < enough && due.is_empty();
            if !hopeless && node.parent != self.finalized {
                *due.entry((height - 1, node.parent)).or_default() += count;
            }
        }
        None
    }

    /// Makes the next block of the best branch final: everything that does not build on it goes, and so does the block
    /// that was the finalized one.
    fn settle_next(&mut self, update: &mut Update) -> Option<()> {
        let old = self.finalized;
        let hash = self.trunk.settle()?;
        let node = self.nodes.get(&hash)?;
        let (height, fates) = (node.height, node.fates.clone());
        update.finalized.push((hash, node.accumulated.clone()));
        let changed = &mut update.changed;
        changed.extend(self.book.settle(hash, height, &fates));
        changed.extend(fates.iter().map(|(package, _)| *package));
        let siblings = self.nodes.get(&old).map_or(vec![], |node| node.children.clone());
        let mut doomed = siblings.into_iter().filter(|sibling| *sibling != hash).collect::<Vec<_>>();
        while let Some(loser) = doomed.pop() {
            let children = self.nodes.get(&loser).map_or(vec![], |node| node.children.clone());
            doomed.extend(children);
            self.remove(loser, changed);
            // Whatever still comes on top of it need not be asked about.
            self.note_refused(loser);
        }
        self.note_refused(old);
        self.finalized = hash;
        self.nodes.remove(&old);
        Some(())
    }
}
