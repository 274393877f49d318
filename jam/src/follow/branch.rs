//! The unfinalized blocks of one branch, looked up by height.

use crate::HeaderHash;
use std::collections::VecDeque;

/// The unfinalized blocks of the best branch, lowest first: one for each height.
#[derive(Debug)]
pub(super) struct Trunk {
    /// The height of the finalized block.
    base: u64,
    blocks: VecDeque<HeaderHash>,
}

impl Trunk {
    pub(super) const fn new(base: u64) -> Self {
        Self { base, blocks: VecDeque::new() }
    }

    pub(super) fn contains(&self, block: HeaderHash, height: u64) -> bool {
        at(height, self.base).is_some_and(|index| self.blocks.get(index) == Some(&block))
    }

    /// Goes another way from height `fork` on. Gives the blocks that are left.
    pub(super) fn turn(&mut self, fork: u64, rest: &[HeaderHash]) -> VecDeque<HeaderHash> {
        let left = self.blocks.split_off((fork - self.base) as usize);
        self.blocks.extend(rest);
        left
    }

    /// The lowest block is final now.
    pub(super) fn settle(&mut self) -> Option<HeaderHash> {
        let lowest = self.blocks.pop_front()?;
        self.base += 1;
        Some(lowest)
    }
}

/// A branch: what it shares with the best one, and its own rest. As cheap to make as its rest is short.
#[derive(Debug)]
pub(super) struct Branch<'a> {
    pub(super) trunk: &'a Trunk,
    /// The height of the highest block that it shares with the trunk.
    pub(super) fork: u64,
    /// The blocks above, lowest first.
    pub(super) own: Vec<HeaderHash>,
}

impl Branch<'_> {
    /// Whether the block of that height is on this branch, above the finalized one.
    pub(super) fn contains(&self, block: HeaderHash, height: u64) -> bool {
        if height <= self.fork {
            return self.trunk.contains(block, height);
        }
        at(height, self.fork).is_some_and(|index| self.own.get(index) == Some(&block))
    }
}

/// Where a block of this height stands in a list that begins above `base`.
fn at(height: u64, base: u64) -> Option<usize> {
    usize::try_from(height.checked_sub(base + 1)?).ok()
}
