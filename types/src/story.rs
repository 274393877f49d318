//! What became of a transaction whose blocks were given up.

use crate::{BlockId, ReleasedBy, Time};
use alloc::vec::Vec;

/// A block that a transaction was sealed in, and that was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Release {
    /// The block.
    pub block: BlockId,
    /// When it was sealed.
    pub sealed_at: Time,
    /// When its transactions went back to the pool.
    pub released_at: Time,
    /// Who gave it up.
    pub by: ReleasedBy,
}

/// What is remembered of a transaction that came back from a block: also after it is final.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Story {
    /// When the pool first accepted it, if that is known.
    pub accepted_at: Option<Time>,
    /// How many blocks failed with it so far, of those that it may be the reason for.
    pub attempts: u32,
    /// The blocks that were given up with it, oldest first.
    pub releases: Vec<Release>,
    /// How many older ones are not remembered one by one.
    pub forgotten: u32,
}
