//! What the service keeps on chain, and what a refined block does to it.
//!
//! JAM accumulates reports in the order of cores, not in ours, and may accumulate two versions of one block. So the
//! service chains by block hash:
//!
//! ```text
//!   claim: parent = head            -> applied; those that waited for it follow, each as soon as its parent is
//!          two or more above head   -> waits, at most 64; when full the one that came first goes
//!          anything else            -> nothing happens, and the outcome says why
//! ```
//!
//! Any order of arrival, with any repetition, therefore ends in the same head. A claim gets here only as the output of
//! [`refine`](crate::refine), which demands the builder's signature: strangers can neither apply nor wait.
//!
//! A sibling of the head's child can never be applied any more, so it does not wait, and one that waits goes as soon as
//! this is known.

#[cfg(feature = "bugs")]
mod bugs;
mod claim;
mod storage;
#[cfg(test)]
mod tests;

#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use claim::{Claim, claim_of};
pub use storage::{HEAD, StorageError, WAITING};

use alloy_primitives::B256;
use core::fmt;
use types::BlockId;

/// Blocks that wait at most. Nothing more than 32 above the applied head is ever submitted, so this is twice enough.
pub const WAITING_MAX: usize = 64;

/// The service's state: which block is applied, and which ones wait for their parent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceState {
    head: BlockId,
    /// In the order of arrival. All are two or more above the head, and no block is in it twice.
    waiting: Vec<Waiting>,
}

/// A block whose parent is not applied yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting {
    parent: B256,
    block: BlockId,
}

/// What a claim did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// These blocks are applied now, in this order: the claimed one and those that waited for it.
    Applied(Vec<BlockId>),
    /// The block waits for its parent.
    Waits,
    /// Nothing happened.
    Ignored(Ignored),
}

/// Why nothing happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ignored {
    /// The block is the head, or waits already.
    Duplicate,
    /// The block is not above the head: it was applied earlier, or another one was in its place.
    NotAbove,
    /// The block is next, but stands on another parent than the head.
    OtherParent,
    /// The block stands on the head, but its number is not the next one.
    WrongNumber,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicate => "the block is the head, or waits already",
            Self::NotAbove => "the block is not above the head",
            Self::OtherParent => "the block stands on another parent than the head",
            Self::WrongNumber => "the block stands on the head, but its number is not the next one",
        })
    }
}

impl ServiceState {
    /// The state in which `head` is applied and nothing waits.
    pub const fn new(head: BlockId) -> Self {
        Self { head, waiting: Vec::new() }
    }

    /// The block that was applied last.
    pub const fn head(&self) -> BlockId {
        self.head
    }

    /// The blocks that wait, in the order of their arrival.
    pub fn waiting(&self) -> impl Iterator<Item = BlockId> {
        self.waiting.iter().map(|waiting| waiting.block)
    }

    /// Whether a block waits.
    pub fn is_waiting(&self, block: &B256) -> bool {
        self.waiting.iter().any(|waiting| waiting.block.hash == *block)
    }

    /// Takes over a block that was refined.
    pub fn apply(&mut self, claim: &Claim) -> Outcome {
        match self.judge(claim) {
            Ok(()) => Outcome::Applied(self.advance(claim.id())),
            Err(None) => {
                self.wait(Waiting { parent: claim.parent, block: claim.id() });
                Outcome::Waits
            }
            Err(Some(why)) => Outcome::Ignored(why),
        }
    }

    /// Whether a block is next; if not, why it is ignored, or nothing if it is to wait.
    fn judge(&self, claim: &Claim) -> Result<(), Option<Ignored>> {
        let next = self.head.number.checked_add(1);
        match (claim.parent == self.head.hash, Some(claim.number) == next) {
            (true, true) => Ok(()),
            _ if claim.block == self.head.hash || self.is_waiting(&claim.block) => {
                Err(Some(Ignored::Duplicate))
            }
            (true, false) => Err(Some(Ignored::WrongNumber)),
            (false, true) => Err(Some(Ignored::OtherParent)),
            _ if claim.number <= self.head.number => Err(Some(Ignored::NotAbove)),
            (false, false) => Err(None),
        }
    }

    /// Makes a block the head, then the first that waited for it, and so on.
    fn advance(&mut self, block: BlockId) -> Vec<BlockId> {
        let mut applied = vec![block];
        self.head = block;
        while let Some(next) = self.waiting.iter().find(|waiting| waiting.follows(self.head)) {
            self.head = next.block;
            applied.push(self.head);
        }
        let head = self.head.number;
        self.waiting.retain(|waiting| waiting.block.number.saturating_sub(head) > 1);
        applied
    }

    fn wait(&mut self, block: Waiting) {
        if self.waiting.len() == WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push(block);
    }
}

impl Waiting {
    fn follows(&self, head: BlockId) -> bool {
        self.parent == head.hash && self.block.number.checked_sub(1) == Some(head.number)
    }
}
