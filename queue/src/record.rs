//! What the journal keeps of the queue: every decision, none of what the chain says. Folding the records gives the
//! queue back exactly; the chain view does the rest.

use crate::{bundle::Version, sealed::QueuedBlock};
use types::{BlockId, ReleasedBy};

/// One decision. Durable before anything follows from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// A sealed block entered the queue.
    Enqueued {
        /// The block.
        block: QueuedBlock,
        /// Its parent.
        parent: BlockId,
    },
    /// Blocks became a bundle, which is fixed from then on.
    Formed {
        /// The number of the first block.
        first: u64,
        /// The number of the last block.
        last: u64,
    },
    /// A version is about to be sent, for the first time or again.
    Submitted {
        /// The number of the bundle's first block.
        block: u64,
        /// The version, as it is about to be sent.
        version: Version,
    },
    /// A guarantor took a version.
    Taken {
        /// The number of the bundle's first block.
        block: u64,
        /// The version's number.
        version: u32,
    },
    /// A bundle waits again.
    Requeued {
        /// The number of the bundle's first block.
        block: u64,
        /// Whether the last version counts against it.
        counted: bool,
        /// Whether the same bytes will be sent again.
        again: bool,
    },
    /// A bundle failed too often, or the operator gave it or a block up: it and all that stand on it are abandoned.
    Abandoned {
        /// The number of the first abandoned block.
        from: u64,
        /// Who gave it up.
        by: ReleasedBy,
    },
    /// The abandoned bundle gets another version, because finality stands still. Those that stand on it stay abandoned.
    Retried,
    /// The chain has the abandoned bundle after all.
    Revived,
    /// The abandoned bundle is dead, and has several blocks: they are sent again as two bundles. Nothing is abandoned any more.
    Dissolved {
        /// The number of the first block.
        first: u64,
        /// The number of the first block of the second bundle.
        second: u64,
        /// The number of the last block.
        last: u64,
    },
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
