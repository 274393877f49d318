//! Blocks that need not be asked for again.

use crate::HeaderHash;
use std::collections::{HashSet, VecDeque};

/// Hashes of blocks that were refused or have lost, each once, the latest ones.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    hashes: HashSet<HeaderHash>,
    order: VecDeque<HeaderHash>,
}

impl Refusals {
    pub(super) fn contains(&self, hash: &HeaderHash) -> bool {
        self.hashes.contains(hash)
    }

    pub(super) fn note(&mut self, hash: HeaderHash, max: usize) {
        if self.hashes.insert(hash) {
            self.order.push_back(hash);
        }
        while self.order.len() > max {
            let oldest = self.order.pop_front();
            oldest.map(|oldest| self.hashes.remove(&oldest));
        }
    }

    /// The block is believed after all.
    pub(super) fn forget(&mut self, hash: HeaderHash) {
        if self.hashes.remove(&hash) {
            self.order.retain(|noted| *noted != hash);
        }
    }
}
