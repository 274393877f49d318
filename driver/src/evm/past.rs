//! Trees after unfinished blocks that left the window.
//!
//! A block's package needs the tree before it, and a release needs the tree after the last block that stays. Thousands of
//! blocks may be unfinished, and each tree has nodes of its own, so only some are kept: the one after the last final block,
//! pinned ones, and others at distances that grow with their age. Those between are made again from the next older one and
//! what the blocks since wrote, which is at most half as many blocks as there are up to the window.
//!
//! # Invariants
//!
//! * If the state after the final block left the window, its tree is here: so any tree above it can be made, although what
//!   was written before it may be forgotten.
//! * Apart from pinned ones, their number grows with the logarithm of the number of unfinished blocks.

use alloy_consensus::ReceiptEnvelope;
use alloy_primitives::B256;
use core::convert::Infallible;
use state::{MemoryValues, Tree, Values, Writes};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The values after the folded block, and what is durable of the blocks up to it.
pub trait Folded: Values + Sized {
    /// The hash of the folded block, if there can be another one with its number: a stale one is not taken.
    fn block_hash(&self) -> Option<B256>;

    /// The values after a block; `None` if it is above the folded one.
    fn at(&self, height: u64) -> Result<Option<Self>, Self::Error>;

    /// What a block wrote; `None` if it is above the folded one.
    fn writes_of(&self, number: u64) -> Result<Option<Writes>, Self::Error>;

    /// The receipts of a block; `None` if it is above the folded one.
    fn receipts_of(&self, number: u64) -> Result<Option<Arc<[ReceiptEnvelope]>>, Self::Error>;
}

/// Values in memory are those of the first block: nothing is folded, and all states stay in memory.
impl Folded for Arc<MemoryValues> {
    fn block_hash(&self) -> Option<B256> {
        None
    }

    fn at(&self, _height: u64) -> Result<Option<Self>, Infallible> {
        Ok(None)
    }

    fn writes_of(&self, _number: u64) -> Result<Option<Writes>, Infallible> {
        Ok(None)
    }

    fn receipts_of(&self, _number: u64) -> Result<Option<Arc<[ReceiptEnvelope]>>, Infallible> {
        Ok(None)
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct PastTrees {
    trees: BTreeMap<u64, Tree>,
    pins: BTreeSet<u64>,
}

impl PastTrees {
    /// Keeps the tree at a height until it is unpinned or below the final block.
    pub(super) fn pin(&mut self, height: u64) {
        self.pins.insert(height);
    }

    pub(super) fn unpin(&mut self, height: u64) {
        self.pins.remove(&height);
    }

    pub(super) fn insert(&mut self, height: u64, tree: Tree) {
        self.trees.insert(height, tree);
    }

    /// The newest tree that is not above a height.
    pub(super) fn below(&self, height: u64) -> Option<(u64, &Tree)> {
        self.trees.range(..=height).next_back().map(|(height, tree)| (*height, tree))
    }

    /// Forgets what is too near to others, seen from the end of the window.
    pub(super) fn thin(&mut self, window: u64) {
        let heights = self.trees.keys().copied().collect::<Vec<_>>();
        let Some(mut older) = heights.first().copied() else { return };
        for pair in heights.windows(2).skip(1) {
            let [height, newer] = *pair else { continue };
            let distance = window.saturating_sub(height);
            if newer - older <= distance / 2 && !self.pins.contains(&height) {
                self.trees.remove(&height);
            } else {
                older = height;
            }
        }
    }

    /// Blocks up to this one are final: nothing below them is needed.
    pub(super) fn finalize(&mut self, height: u64) {
        if let Some((oldest, _)) = self.below(height) {
            self.trees = self.trees.split_off(&oldest);
        }
        self.pins = self.pins.split_off(&height);
    }

    /// The blocks from here on are gone.
    pub(super) fn release(&mut self, from: u64) {
        self.trees.split_off(&from);
        self.pins.split_off(&from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heights(past: &PastTrees) -> Vec<u64> {
        past.trees.keys().copied().collect()
    }

    #[test]
    fn distances_grow_with_age() {
        let mut past = PastTrees::default();
        for height in 0..10_000 {
            past.insert(height, Tree::default());
            past.thin(height + 1);
        }
        let kept = heights(&past);
        assert!(kept.len() < 64, "{kept:?}");
        assert_eq!((kept.first(), kept.last()), (Some(&0), Some(&9_999)));
        for pair in kept.windows(2) {
            assert!(pair[1] - pair[0] <= 1 + (10_000 - pair[0]) / 2, "{pair:?}");
        }
    }

    #[test]
    fn a_pinned_tree_stays_until_it_is_unpinned() {
        let mut past = PastTrees::default();
        let pinned = [5_001, 5_002, 5_003];
        pinned.into_iter().for_each(|height| past.pin(height));
        (0..10_000).for_each(|height| past.insert(height, Tree::default()));
        let kept = |past: &PastTrees| pinned.iter().filter(|height| heights(past).contains(height)).count();
        past.thin(10_000);
        assert_eq!(kept(&past), 3);
        pinned.into_iter().for_each(|height| past.unpin(height));
        past.thin(10_000);
        assert!(kept(&past) < 2, "{:?}", heights(&past));
    }

    #[test]
    fn what_is_below_the_final_block_goes() {
        let mut past = PastTrees::default();
        [3, 9, 20].into_iter().for_each(|height| past.insert(height, Tree::default()));
        past.finalize(12);
        assert_eq!(heights(&past), [9, 20]);
        assert_eq!(past.below(12).map(|(height, _)| height), Some(9));
        past.release(15);
        assert_eq!(heights(&past), [9]);
    }
}
