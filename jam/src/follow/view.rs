//! The chain as seen from one block.

use super::{Fate, Follower, branch::Branch, node::Node};
use crate::{
    Ed25519Key, HeaderHash, PackageHash, Params,
    rules::{epoch::Epoch, history::Remembered},
    shuffle::Assignment,
};

/// A block's name and place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockRef {
    /// Its hash.
    pub hash: HeaderHash,
    /// Its slot.
    pub slot: u32,
    /// How many blocks are below it. Where the count begins is arbitrary; only differences mean something.
    pub height: u64,
}

/// A report that keeps a core busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupied {
    /// Its package.
    pub package: PackageHash,
    /// The slot of the block that reported it.
    pub since_slot: u32,
    /// In a block of this slot or later it is dropped if it has not become available.
    pub until_slot: u32,
}

/// The chain as seen from one block: its branch down to the finalized block, and what lies below.
pub struct ChainView<'a> {
    follower: &'a Follower,
    hash: HeaderHash,
    head: &'a Node,
    branch: Branch<'a>,
}

impl<'a> ChainView<'a> {
    pub(super) fn new(follower: &'a Follower, hash: HeaderHash, head: &'a Node) -> Self {
        Self { follower, hash, head, branch: follower.branch(hash) }
    }

    /// The chain's parameters.
    pub fn params(&self) -> &'a Params {
        self.follower.params()
    }

    /// The block that this is the view from: of [`Follower::view`], the best one.
    pub fn head(&self) -> BlockRef {
        BlockRef { hash: self.hash, slot: self.head.state.slot, height: self.head.height }
    }

    /// The finalized block. It is below the head or the head itself.
    pub fn finalized(&self) -> BlockRef {
        self.follower.finalized()
    }

    /// Whether a block is on this branch, above the finalized one.
    pub fn is_unfinalized_ancestor(&self, block: HeaderHash) -> bool {
        self.follower.nodes.get(&block).is_some_and(|node| self.branch.contains(block, node.height))
    }

    /// What became of a package on this branch.
    pub fn fate(&self, package: PackageHash) -> Fate {
        self.follower.book.fate(&package, &self.branch)
    }

    /// What became of a package up to the finalized block: this will not change by a reorganisation.
    pub fn finalized_fate(&self, package: PackageHash) -> Fate {
        self.follower.book.final_fate(&package)
    }

    /// In how many of the next blocks a package with this anchor can still be reported, the very next one included;
    /// 0 if the anchor is too old or not on this branch.
    pub fn anchor_life(&self, anchor: HeaderHash) -> u16 {
        let age = self.recent().position(|block| block.hash == anchor);
        age.map_or(0, |age| self.params().recent_blocks.saturating_sub(age as u16))
    }

    /// The blocks that can be an anchor in the next block, the head first, with their roots as far as known.
    pub fn recent(&self) -> impl Iterator<Item = &'a Remembered> {
        self.head.state.history.blocks().rev()
    }

    /// What keeps a core busy, if anything does.
    pub fn core(&self, core: u16) -> Option<Occupied> {
        let pending = self.head.state.pending.get(usize::from(core))?.as_ref()?;
        let timeout = u32::from(self.params().availability_timeout_slots);
        Some(Occupied {
            package: pending.report.package(),
            since_slot: pending.slot,
            until_slot: pending.slot.saturating_add(timeout),
        })
    }

    /// The epoch of the head: who validates.
    pub fn epoch(&self) -> &'a Epoch {
        &self.head.state.epoch
    }

    /// Which validators guarantee which core at a slot of the head's epoch or of the one after. Whose numbers they are
    /// says [`Epoch::validators`]. Other epochs have passed, or their entropy does not exist yet.
    pub fn assignment(&self, slot: u32) -> Option<Assignment> {
        let (params, epoch) = (self.params(), self.epoch());
        match params.epoch_of(slot).checked_sub(epoch.number)? {
            0 => Some(epoch.assignment(params, slot)),
            1 => Some(epoch.next_assignment(params, slot)),
            _ => None,
        }
    }

    /// The keys of the validators that guarantee on a core at a slot; empty where [`assignment`](Self::assignment) is
    /// not known.
    pub fn guarantors(&self, core: u16, slot: u32) -> Vec<Ed25519Key> {
        let Some(assignment) = self.assignment(slot) else { return vec![] };
        let keys = self.epoch().validators(assignment.era).keys();
        assignment
            .guarantors(core)
            .filter_map(|validator| keys.get(usize::from(validator)).copied())
            .collect()
    }
}
