//! What the journal keeps of the queue: every decision, none of what the chain says. Folding the records gives the
//! queue back exactly; the chain view does the rest.

use crate::bundle::Version;
use alloy_primitives::B256;
use std::sync::Arc;
use types::{BlockId, ReleasedBy, Time};

/// One decision. Durable before anything follows from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// A sealed block entered the queue.
    Enqueued {
        /// The block.
        block: BlockId,
        /// Its parent.
        parent: BlockId,
        /// Its transactions.
        transactions: Arc<[B256]>,
        /// When.
        at: Time,
    },
    /// A version is about to be sent, for the first time or again.
    Submitted {
        /// The block's number.
        block: u64,
        /// The version, as it is about to be sent.
        version: Version,
    },
    /// A guarantor took a version.
    Taken {
        /// The block's number.
        block: u64,
        /// The version's number.
        version: u32,
    },
    /// A bundle waits again.
    Requeued {
        /// The block's number.
        block: u64,
        /// Whether the last version counts against it.
        counted: bool,
        /// Whether the same bytes will be sent again.
        again: bool,
    },
    /// A block failed too often, or the operator gave it up: it and all that stand on it are abandoned.
    Abandoned {
        /// The block's number.
        from: u64,
        /// Who gave it up.
        by: ReleasedBy,
    },
    /// The abandoned block gets another version, because finality stands still. Those that stand on it stay abandoned.
    Retried,
    /// The chain has the abandoned block after all.
    Revived,
    /// A block and all that stand on it are dead; their transactions go back to the pool. One step.
    Released {
        /// The block's number.
        from: u64,
    },
    /// All blocks up to this one are final.
    Finalized {
        /// The last of them.
        through: BlockId,
    },
}
