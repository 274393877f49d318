//! What happened. Log lines, metrics, the operator's page and RPC are all made from these, so they cannot disagree.

use crate::BlockId;
use alloy_primitives::{Address, B256};
use core::fmt;

/// One thing that happened, in the order in which it happened.
///
/// Each crate adds the variants of what it decides; nobody else emits them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A block got its final hash.
    Sealed {
        /// The block.
        block: BlockId,
        /// How many transactions it holds.
        transactions: usize,
    },
    /// A transaction was given up and will not come back by itself.
    Dropped {
        /// Its hash.
        hash: B256,
        /// Who signed it.
        sender: Address,
        /// Why.
        reason: Reason,
    },
}

/// Why something that was accepted did not go on. RPC shows it to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It stayed longer than the pool keeps a transaction.
    Expired,
    /// The sender's nonce went past it: another transaction took its place on the chain.
    NonceTooLow,
    /// The sender replaced it.
    Replaced {
        /// The transaction that stands in its place.
        by: B256,
    },
    /// It can never be executed, whatever comes before it.
    Invalid {
        /// Why not.
        why: String,
    },
    /// No block is large enough for it, not even one of its own.
    DoesNotFit {
        /// What it has too much of.
        why: String,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("expired: it stayed longer than the pool keeps a transaction"),
            Self::NonceTooLow => f.write_str("nonce too low: another transaction took this nonce"),
            Self::Replaced { by } => write!(f, "replaced by {by}"),
            Self::Invalid { why } => write!(f, "invalid: {why}"),
            Self::DoesNotFit { why } => write!(f, "does not fit into any block: {why}"),
        }
    }
}
