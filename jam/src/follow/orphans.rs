//! Blocks whose parent has not come yet.

use crate::{Block, HeaderHash};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Blocks that wait for an ancestor, bounded in number and bytes. When there are too many, the one farthest ahead
/// goes: the near ones are needed first, and it can be asked for again.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    blocks: HashMap<HeaderHash, Orphan>,
    by_parent: BTreeMap<HeaderHash, Vec<HeaderHash>>,
    by_slot: BTreeMap<(u32, HeaderHash), ()>,
    bytes: usize,
}

#[derive(Debug)]
struct Orphan {
    block: Block,
    bytes: usize,
}

impl Orphans {
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn contains(&self, hash: &HeaderHash) -> bool {
        self.blocks.contains_key(hash)
    }

    /// Keeps a block until its parent comes.
    pub(super) fn insert(
        &mut self,
        hash: HeaderHash,
        block: Block,
        bytes: usize,
        max: usize,
        bytes_max: usize,
    ) {
        if self.contains(&hash) {
            return;
        }
        self.by_parent.entry(block.header.parent).or_default().push(hash);
        self.by_slot.insert((block.header.slot, hash), ());
        self.bytes += bytes;
        self.blocks.insert(hash, Orphan { block, bytes });
        while self.len() > max || self.bytes > bytes_max {
            let Some(((_, farthest), ())) = self.by_slot.last_key_value() else { break };
            self.remove(*farthest);
        }
    }

    fn remove(&mut self, hash: HeaderHash) -> Option<Block> {
        let orphan = self.blocks.remove(&hash)?;
        self.bytes -= orphan.bytes;
        self.by_slot.remove(&(orphan.block.header.slot, hash));
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

    /// Drops a block, if it is here, and everything that waits for it, directly or not.
    pub(super) fn drop_with_descendants(&mut self, hash: HeaderHash) {
        self.remove(hash);
        let mut doomed = vec![hash];
        while let Some(parent) = doomed.pop() {
            doomed.extend(self.children_of(parent).into_iter().map(|(hash, _)| hash));
        }
    }

    /// Blocks that can no longer fit: at or below the finalized slot.
    pub(super) fn until(&self, slot: u32) -> Vec<HeaderHash> {
        self.by_slot.keys().take_while(|(at, _)| *at <= slot).map(|(_, hash)| *hash).collect()
    }

    /// The ancestors that are missing: parents that are not here themselves. The nearest first.
    pub(super) fn missing(&self, max: usize) -> Vec<HeaderHash> {
        let mut missing = Vec::new();
        let mut listed = HashSet::new();
        for (_, hash) in self.by_slot.keys() {
            let parent = self.blocks.get(hash).map(|orphan| orphan.block.header.parent);
            let parent = parent.filter(|parent| !self.contains(parent) && listed.insert(*parent));
            missing.extend(parent);
            if missing.len() == max {
                break;
            }
        }
        missing
    }
}
