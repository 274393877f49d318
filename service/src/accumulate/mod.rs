//! What the service keeps on chain, and what a refined run of blocks does to it.
//!
//! JAM accumulates reports in the order of cores, not in ours, and may accumulate two versions of one run. So the
//! service chains by block hash:
//!
//! ```text
//!   claim: parent = head                         -> applied; those that waited for it follow, each as soon as its parent is
//!          first block two or more above head    -> waits, at most 64; when full the one that came first goes
//!          anything else                         -> nothing happens, and the outcome says why
//! ```
//!
//! Any order of arrival, with any repetition, therefore ends in the same head. A claim gets here only as the output of
//! [`refine`](crate::refine), which demands the builder's signature: strangers can neither apply nor wait.
//!
//! On chain this is called with whatever the chain delivers at once: outputs of our work items, errors in the place of outputs, and
//! transfers of coins that any service may send. [`Accumulation`] takes the items one by one; what is none of ours is skipped, and
//! nothing that another service sends along can stop a claim. Coins stay in the service's balance, and are counted.
//!
//! A run whose first block is a sibling of the head's child, or lower, can never be applied any more, so it does not wait, and
//! one that waits goes as soon as this is known.

#[cfg(feature = "bugs")]
mod bugs;
mod claim;
mod host;
mod item;
#[cfg(test)]
mod mixed;
mod storage;
#[cfg(test)]
mod tests;

#[cfg(feature = "bugs")]
pub use bugs::Mistake;
pub use claim::{Claim, claim_of, output_of};
pub use host::{Accumulation, COINS, Coins, Host, ORDERS, Orders};
pub use item::{ITEM_BYTES_MAX, Item};
pub use storage::{HEAD, StorageError, WAITING};

use alloc::{vec, vec::Vec};
use alloy_primitives::B256;
use core::fmt;
use types::BlockId;

/// Runs that wait at most. A builder submits at most 32 above the applied head, so this is twice enough.
pub const WAITING_MAX: usize = 64;

/// The service's state: which block is applied, and which runs wait for their parent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceState {
    head: BlockId,
    /// In the order of arrival. The first block of each is two or more above the head, and no run is in it twice.
    waiting: Vec<Waiting>,
}

/// A run whose parent is not applied yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting {
    parent: B256,
    first: u64,
    last: BlockId,
}

/// What a claim did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The runs that end with these blocks are applied now, in this order: the claimed one and those that waited for it.
    Applied(Vec<BlockId>),
    /// The run waits for its parent.
    Waits,
    /// Nothing happened.
    Ignored(Ignored),
}

/// Why nothing happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ignored {
    /// The run ends with the head, or waits already.
    Duplicate,
    /// The run does not begin above the head: it was applied earlier, or another one was in its place.
    NotAbove,
    /// The run is next, but stands on another parent than the head.
    OtherParent,
    /// The run stands on the head, but does not begin with the next number.
    WrongNumber,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duplicate => "the run ends with the head, or waits already",
            Self::NotAbove => "the run does not begin above the head",
            Self::OtherParent => "the run stands on another parent than the head",
            Self::WrongNumber => "the run stands on the head, but does not begin with the next number",
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

    /// The runs that wait, each by its first number and its last block, in the order of their arrival.
    pub fn waiting(&self) -> impl Iterator<Item = (u64, BlockId)> {
        self.waiting.iter().map(|waiting| (waiting.first, waiting.last))
    }

    /// Whether a run waits.
    pub fn is_waiting(&self, first: u64, last: &B256) -> bool {
        self.waiting.iter().any(|waiting| waiting.first == first && waiting.last.hash == *last)
    }

    /// Takes over a run that was refined.
    pub fn apply(&mut self, claim: &Claim) -> Outcome {
        match self.judge(claim) {
            Ok(()) => Outcome::Applied(self.advance(claim.last)),
            Err(None) => {
                self.wait(Waiting { parent: claim.parent, first: claim.first, last: claim.last });
                Outcome::Waits
            }
            Err(Some(why)) => Outcome::Ignored(why),
        }
    }

    /// Whether a run is next; if not, why it is ignored, or nothing if it is to wait.
    fn judge(&self, claim: &Claim) -> Result<(), Option<Ignored>> {
        let next = self.head.number.checked_add(1);
        match (claim.parent == self.head.hash, Some(claim.first) == next) {
            (true, true) => Ok(()),
            _ if claim.last.hash == self.head.hash || self.is_waiting(claim.first, &claim.last.hash) => {
                Err(Some(Ignored::Duplicate))
            }
            (true, false) => Err(Some(Ignored::WrongNumber)),
            (false, true) => Err(Some(Ignored::OtherParent)),
            _ if claim.first <= self.head.number => Err(Some(Ignored::NotAbove)),
            (false, false) => Err(None),
        }
    }

    /// Makes the end of a run the head, then that of the first one that waited for it, and so on.
    fn advance(&mut self, last: BlockId) -> Vec<BlockId> {
        let mut applied = vec![last];
        self.head = last;
        while let Some(next) = self.waiting.iter().find(|waiting| waiting.follows(self.head)) {
            self.head = next.last;
            applied.push(self.head);
        }
        let head = self.head.number;
        self.waiting.retain(|waiting| waiting.first.saturating_sub(head) > 1);
        applied
    }

    fn wait(&mut self, run: Waiting) {
        if self.waiting.len() == WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push(run);
    }
}

impl Waiting {
    fn follows(&self, head: BlockId) -> bool {
        self.parent == head.hash && self.first.checked_sub(1) == Some(head.number)
    }
}
