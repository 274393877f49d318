//! Blocks whose parent has not come yet.

use super::Limits;
use crate::{Block, HeaderHash, codec::Encode};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Blocks that wait for an ancestor, bounded in number and bytes. When there are too many, the one farthest ahead
/// goes: the near ones are needed first, and it can be asked for again.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    blocks: HashMap<HeaderHash, Orphan>,
    by_parent: BTreeMap<HeaderHash, Vec<HeaderHash>>,
    by_slot: BTreeSet<(u32, HeaderHash)>,
    by_arrival: BTreeSet<(u64, HeaderHash)>,
    arrivals: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Orphan {
    block: Block,
    bytes: usize,
    /// When the first of the blocks that wait for this one came, or this one itself.
    arrival: u64,
}

impl Orphans {
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn contains(&self, hash: &HeaderHash) -> bool {
        self.blocks.contains_key(hash)
    }

    /// Keeps a block until its parent comes.
    pub(super) fn insert(&mut self, hash: HeaderHash, block: Block) {
        if self.contains(&hash) {
            return;
        }
        self.arrivals += 1;
        let waiting = self.by_parent.get(&hash).into_iter().flatten();
        let earliest = waiting.filter_map(|child| Some(self.blocks.get(child)?.arrival)).min();
        let arrival = earliest.unwrap_or(self.arrivals);
        self.by_parent.entry(block.header.parent).or_default().push(hash);
        self.by_slot.insert((block.header.slot, hash));
        self.by_arrival.insert((arrival, hash));
        let bytes = block.encode().len();
        self.bytes += bytes;
        self.blocks.insert(hash, Orphan { block, bytes, arrival });
    }

    /// Whether there are too many.
    pub(super) fn exceed(&self, limits: &Limits) -> bool {
        self.len() > limits.orphans_max || self.bytes > limits.orphan_bytes_max
    }

    /// Drops the block farthest ahead, if possible one that is not among the needed.
    pub(super) fn drop_farthest(&mut self, needed: &HashSet<HeaderHash>) {
        let mut farthest = self.by_slot.iter().rev().map(|(_, hash)| *hash);
        let spare = farthest.clone().find(|hash| !needed.contains(hash));
        if let Some(hash) = spare.or_else(|| farthest.next()) {
            self.remove(hash);
        }
    }

    fn remove(&mut self, hash: HeaderHash) -> Option<Block> {
        let orphan = self.blocks.remove(&hash)?;
        self.bytes -= orphan.bytes;
        self.by_slot.remove(&(orphan.block.header.slot, hash));
        self.by_arrival.remove(&(orphan.arrival, hash));
        let parent = orphan.block.header.parent;
        if let Some(siblings) = self.by_parent.get_mut(&parent) {
            siblings.retain(|sibling| *sibling != hash);
            if siblings.is_empty() {
                self.by_parent.remove(&parent);
            }
        }
        Some(orphan.block)
    }

    /// Takes the blocks that waited for `parent`, in a fixed order.
    pub(super) fn children_of(&mut self, parent: HeaderHash) -> Vec<(HeaderHash, Block)> {
        let mut children = self.by_parent.get(&parent).cloned().unwrap_or_default();
        children.sort();
        children.into_iter().filter_map(|hash| Some((hash, self.remove(hash)?))).collect()
    }

    /// Drops a block, if it is here, and everything that waits for it, directly or not. Gives all of them, the block
    /// first.
    pub(super) fn drop_with_descendants(&mut self, hash: HeaderHash) -> Vec<HeaderHash> {
        self.remove(hash);
        let mut dropped = vec![hash];
        let mut next = 0;
        while let Some(parent) = dropped.get(next).copied() {
            dropped.extend(self.children_of(parent).into_iter().map(|(hash, _)| hash));
            next += 1;
        }
        dropped
    }

    /// Blocks that can no longer fit: at or below the finalized slot.
    pub(super) fn until(&self, slot: u32) -> Vec<HeaderHash> {
        self.by_slot.iter().take_while(|(at, _)| *at <= slot).map(|(_, hash)| *hash).collect()
    }

    fn parent(&self, hash: &HeaderHash) -> Option<HeaderHash> {
        self.blocks.get(hash).map(|orphan| orphan.block.header.parent)
    }

    /// A block and its ancestors as far as they are here; the last one is the first that is not.
    pub(super) fn ancestry(&self, hash: HeaderHash) -> impl Iterator<Item = HeaderHash> {
        std::iter::successors(Some(hash), |hash| self.parent(hash))
    }

    /// The ancestors that are missing: parents that are not here themselves. First what has been waited for the
    /// longest, so that whoever makes up blocks stands in line.
    pub(super) fn missing(&self) -> impl Iterator<Item = HeaderHash> {
        let parents = self.by_arrival.iter().filter_map(|(_, hash)| self.parent(hash));
        parents.filter(|parent| !self.contains(parent))
    }
}
