//! Finality: every validator says which block it takes for final, and what more than two thirds say, is.
//!
//! There is no voting protocol behind it. A validator's word is the block a configured number of blocks below its best
//! one; it travels with every announcement. A word that no majority joined can be taken back after a fork was
//! resolved; what a majority said stays.

use super::{Node, Tree};
use jam::{Ed25519Key, HeaderHash};
use std::collections::{BTreeMap, HashMap};

impl Tree {
    /// The block that a validator with this lag takes for final.
    pub fn candidate(&self, lag: u64) -> &Node {
        let target = self.best().height.saturating_sub(lag);
        self.up(self.best).find(|node| node.height <= target).unwrap_or_else(|| self.finalized())
    }

    /// Notes a validator's word. It counts as soon as the block is known; strangers are not heard.
    pub fn note_word(&mut self, validator: Ed25519Key, hash: HeaderHash) {
        if self.is_validator(&validator) {
            self.words.insert(validator, hash);
        }
    }

    /// Whether a key is a current, previous or next validator's.
    pub fn is_validator(&self, key: &Ed25519Key) -> bool {
        let epoch = &self.best().state.epoch;
        [&epoch.current, &epoch.previous, &epoch.next].iter().any(|set| set.has_voter(key))
    }

    /// Makes final what more than two thirds of the validators say is. Gives the blocks that became final, in order.
    pub fn finalize(&mut self) -> Vec<Node> {
        let mut votes = HashMap::<HeaderHash, u16>::new();
        let validators = &self.finalized().state.epoch.current;
        let voters = self.words.iter().filter(|(key, _)| validators.has_voter(key));
        for (_, word) in voters {
            for node in self.up(*word) {
                *votes.entry(node.hash).or_default() += 1;
            }
        }
        let majority = self.rules.params.super_majority();
        let agreed =
            votes.iter().filter(|(_, count)| **count >= majority).filter_map(|(hash, _)| self.get(*hash));
        let Some(hash) = agreed.max_by_key(|node| node.height).map(|node| node.hash) else { return vec![] };
        if hash == self.finalized { vec![] } else { self.make_final(hash) }
    }

    /// Who said what.
    pub const fn words(&self) -> &BTreeMap<Ed25519Key, HeaderHash> {
        &self.words
    }
}
