//! What validators say is final.

use crate::{Ed25519Key, HeaderHash, Params, rules::epoch::ValidatorSet};
use std::{collections::HashMap, sync::Arc};

/// One validator's word: the highest block that it called final.
#[derive(Clone, Copy, Debug)]
struct Word {
    slot: u32,
    hash: HeaderHash,
    /// Grows with every word.
    arrival: u64,
}

/// What each validator says is final. Only its highest word counts, so the order in which words arrive does not.
///
/// Words of keys that are in no trusted set are kept too, a bounded number of them: the blocks that make them
/// validators may come later. Who counts is decided when counting.
#[derive(Debug, Default)]
pub(super) struct Claims {
    words: HashMap<Ed25519Key, Word>,
    /// How many words name a block.
    named: HashMap<HeaderHash, usize>,
    arrivals: u64,
}

impl Claims {
    /// Notes a validator's word; whether it is news. Of two words on one slot the smaller hash counts.
    pub(super) fn note(&mut self, validator: Ed25519Key, hash: HeaderHash, slot: u32) -> bool {
        let old = self.words.get(&validator).copied();
        let is_news = old.is_none_or(|old| slot > old.slot || slot == old.slot && hash < old.hash);
        if validator.is_weak() || !is_news {
            return false;
        }
        old.into_iter().for_each(|old| self.uncount(old.hash));
        self.arrivals += 1;
        self.words.insert(validator, Word { slot, hash, arrival: self.arrivals });
        *self.named.entry(hash).or_default() += 1;
        true
    }

    fn uncount(&mut self, hash: HeaderHash) {
        if let Some(count) = self.named.get_mut(&hash) {
            *count -= 1;
            if *count == 0 {
                self.named.remove(&hash);
            }
        }
    }

    /// Whether any word names this block.
    pub(super) fn name(&self, hash: &HeaderHash) -> bool {
        self.named.contains_key(hash)
    }

    /// How many of a set's validators named each block, with the slot that they say it has.
    pub(super) fn count(&self, set: &ValidatorSet) -> HashMap<(HeaderHash, u32), usize> {
        let mut counts = HashMap::new();
        for word in set.voters().iter().filter_map(|key| self.words.get(key)) {
            *counts.entry((word.hash, word.slot)).or_default() += 1;
        }
        counts
    }

    /// Blocks above `slot` that more than a third of a set's validators named: at least one honest one did.
    pub(super) fn named(&self, params: &Params, set: &ValidatorSet, slot: u32) -> Vec<HeaderHash> {
        let credible = credible(params);
        let counts = self.count(set).into_iter().filter(|((_, at), count)| *at > slot && *count >= credible);
        let mut named = counts.map(|((hash, at), _)| (at, hash)).collect::<Vec<_>>();
        named.sort();
        named.into_iter().map(|(_, hash)| hash).collect()
    }

    /// When there are too many words of keys that are in none of the sets, the older half of them goes.
    pub(super) fn trim(&mut self, sets: &[Arc<ValidatorSet>], strangers_max: usize) {
        let trusted = sets.iter().map(|set| set.voters().len()).sum::<usize>();
        if self.words.len() <= trusted + strangers_max {
            return;
        }
        let is_stranger = |key: &Ed25519Key| !sets.iter().any(|set| set.has_voter(key));
        let strangers = self.words.iter().filter(|(key, _)| is_stranger(key));
        let mut strangers = strangers.map(|(key, word)| (word.arrival, *key)).collect::<Vec<_>>();
        strangers.sort();
        strangers.truncate(strangers.len().saturating_sub(strangers_max / 2));
        for (_, key) in strangers {
            if let Some(word) = self.words.remove(&key) {
                self.uncount(word.hash);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }
}

/// More than a third of the validators: at least one of them is honest.
pub(super) fn credible(params: &Params) -> usize {
    usize::from(params.validators) / 3 + 1
}
