//! Which block is final: more than two thirds of the validators say so.

use super::{Follower, Update, node::Node};
use crate::{Ed25519Key, HeaderHash, Params, rules::epoch::ValidatorSet};
use std::{cmp::Reverse, collections::HashMap, sync::Arc};

/// How many validators named a block, with the slot that they say it has.
type Counts = HashMap<(HeaderHash, u32), usize>;

/// What each validator says is final. Only its highest word counts, so the order in which words arrive does not.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_validator: HashMap<Ed25519Key, (u32, HeaderHash)>,
}

impl Claims {
    /// Notes a validator's word; whether it is news. Of two words on one slot the smaller hash counts.
    pub(super) fn note(&mut self, validator: Ed25519Key, hash: HeaderHash, slot: u32) -> bool {
        let word = (slot, hash);
        match self.by_validator.get_mut(&validator) {
            Some(known) if word.0 > known.0 || word.0 == known.0 && word.1 < known.1 => *known = word,
            Some(_) => return false,
            None => drop(self.by_validator.insert(validator, word)),
        }
        true
    }

    /// How many validators name a block above `slot`.
    pub(super) fn above(&self, slot: u32) -> usize {
        self.by_validator.values().filter(|(named, _)| *named > slot).count()
    }

    /// How many of a set's validators named each block, with the slot that they say it has.
    pub(super) fn count(&self, set: &ValidatorSet) -> Counts {
        let mut counts = HashMap::new();
        for (slot, hash) in set.keys().iter().filter_map(|key| self.by_validator.get(key)) {
            *counts.entry((*hash, *slot)).or_default() += 1;
        }
        counts
    }

    /// Blocks above `slot` that more than a third of a set's validators named: at least one honest one did.
    pub(super) fn named(&self, params: &Params, set: &ValidatorSet, slot: u32) -> Vec<HeaderHash> {
        let credible = usize::from(params.validators) / 3 + 1;
        let counts = self.count(set).into_iter().filter(|((_, at), count)| *at > slot && *count >= credible);
        let mut named = counts.map(|((hash, at), _)| (at, hash)).collect::<Vec<_>>();
        named.sort();
        named.into_iter().map(|(_, hash)| hash).collect()
    }

    /// Forgets whoever is in none of the sets.
    pub(super) fn keep_only(&mut self, sets: &[&ValidatorSet]) {
        let mut kept = HashMap::new();
        for key in sets.iter().flat_map(|set| set.keys()) {
            if let Some(word) = self.by_validator.get(key) {
                kept.insert(*key, *word);
            }
        }
        self.by_validator = kept;
    }
}

impl Follower {
    /// Moves the finalized block up as far as the validators' words carry it.
    pub(super) fn finalize(&mut self, update: &mut Update) {
        let Some(target) = self.highest_supported() else { return };
        for hash in self.branch(target).into_iter().rev() {
            self.settle(hash, update);
        }
        update.finalized_moved = true;
        for stale in self.orphans.until(self.finalized().slot) {
            self.note_refused(stale);
        }
        let sets = self.validator_sets();
        self.claims.keep_only(&sets.iter().map(Arc::as_ref).collect::<Vec<_>>());
        let rest = self.nodes.keys().copied().collect::<Vec<_>>();
        rest.into_iter().for_each(|hash| self.consider_best(hash, update));
    }

    /// The highest block above the finalized one that enough validators of its epoch call final, or a block on top
    /// of it.
    fn highest_supported(&self) -> Option<HeaderHash> {
        // While finality stands still this is asked often and there is much to look at; answer without looking.
        if self.claims.above(self.finalized().slot) < usize::from(self.params.super_majority()) {
            return None;
        }
        let mut by_height =
            self.nodes.iter().filter(|(hash, _)| **hash != self.finalized).collect::<Vec<_>>();
        by_height.sort_by_key(|(hash, node)| (Reverse(node.height), **hash));
        let mut sets: Vec<(Arc<ValidatorSet>, Counts)> = Vec::new();
        for (_, node) in &by_height {
            let set = &node.state.epoch.current;
            if !sets.iter().any(|(known, _)| Arc::ptr_eq(known, set)) {
                sets.push((Arc::clone(set), self.claims.count(set)));
            }
        }
        // From the top down: what supports a block supports its parent too.
        sets.iter()
            .filter_map(|(set, counts)| self.supported_by(set, counts, &by_height))
            .max()
            .map(|(_, hash)| hash.0)
    }

    fn supported_by(
        &self,
        set: &Arc<ValidatorSet>,
        counts: &Counts,
        by_height: &[(&HeaderHash, &Node)],
    ) -> Option<(u64, Reverse<HeaderHash>)> {
        let enough = usize::from(self.params.super_majority());
        let mut support: HashMap<HeaderHash, usize> = HashMap::new();
        for (hash, node) in by_height {
            let own = counts.get(&(**hash, node.state.slot)).copied().unwrap_or(0);
            let total = support.remove(hash).unwrap_or(0) + own;
            if total >= enough && Arc::ptr_eq(set, &node.state.epoch.current) {
                return Some((node.height, Reverse(**hash)));
            }
            *support.entry(node.parent).or_default() += total;
        }
        None
    }

    /// Makes the next block final: everything that does not build on it goes.
    fn settle(&mut self, hash: HeaderHash, update: &mut Update) {
        let Some(node) = self.nodes.get(&hash) else { return };
        let (height, fates) = (node.height, node.fates.clone());
        update.finalized.push((hash, node.accumulated.clone()));
        let changed = &mut update.changed;
        changed.extend(self.book.settle(hash, height, &fates));
        changed.extend(fates.iter().map(|(package, _)| *package));
        let old = self.finalized;
        let siblings = self.nodes.get(&old).map_or(vec![], |node| node.children.clone());
        let mut doomed = siblings.into_iter().filter(|sibling| *sibling != hash).collect::<Vec<_>>();
        while let Some(loser) = doomed.pop() {
            let lost = self.nodes.get(&loser).map_or(&[][..], |node| &node.fates);
            changed.extend(lost.iter().map(|(package, _)| *package));
            doomed.extend(self.remove(loser));
            // Whatever still comes on top of it need not be asked about.
            self.note_refused(loser);
        }
        self.nodes.remove(&old);
        self.note_refused(old);
        self.finalized = hash;
        if !self.contains(self.best) {
            self.best = hash;
        }
    }
}
