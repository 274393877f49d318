//! What the queue wants done, and what became of it.

use jam::{Hash, PackageHash, RefineContext};
use types::{BlockId, ReleasedBy, Run, Time};

/// What the driver shall do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Pack these blocks, not on the thread that waits for the queue, and say when that is [done](crate::Queue::packed).
    Pack(PackPlan),
    /// Build this version, [commit](crate::Queue::commit_submission) it, make the journal durable, look at the window
    /// again, and send it.
    Submit(Box<SubmissionPlan>),
    /// Put the transactions of these blocks back into the pool, in this order, in the same durable step as the
    /// journal's record.
    Release(Vec<Released>),
    /// Stop building: the service's head is a block that was not built here.
    Halt {
        /// The head.
        head: BlockId,
    },
}

/// Blocks to be packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackPlan {
    /// The blocks.
    pub run: Run,
    /// Whether it must be exactly these, since they are a bundle already. If not, as many of them as a package holds.
    pub is_fixed: bool,
}

/// A version to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubmissionPlan {
    /// The blocks.
    pub run: Run,
    /// The version.
    pub version: u32,
    /// The core.
    pub core: u16,
    /// What to build it against.
    pub context: RefineContext,
    /// The code of the service that it names.
    pub code_hash: Hash,
    /// The height of the context's anchor.
    pub anchor_height: u64,
    /// If these bytes were sent before: what they must hash to.
    pub package: Option<PackageHash>,
}

/// A released block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// The block.
    pub block: BlockId,
    /// When it was sealed.
    pub sealed_at: Time,
    /// Who gave it up.
    pub by: ReleasedBy,
    /// What its end says about its transactions.
    pub blame: Blame,
}

/// What the end of a block says about its transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blame {
    /// Nothing: it stood on a block that failed, or the operator gave it up.
    None,
    /// One of them may be why it failed.
    Suspect,
    /// It was a bundle of its own and held one transaction only, and blocks sealed after its last failure passed.
    Alone,
}

/// How sending ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// A guarantor took it.
    Taken,
    /// It did not reach a guarantor, or the window closed before it was sent: the same bytes again.
    Failed,
    /// The guarantors want a fresh anchor.
    Stale,
    /// The guarantors looked at it and refused it: it would not refine.
    Refused,
}

/// Why a block cannot enter the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EnqueueError {
    /// Too much waits.
    #[error("the queue is full: {blocks} blocks of {bytes} bytes wait")]
    Full {
        /// Blocks that wait.
        blocks: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// A block was abandoned; nothing is built until it is clear what becomes of it.
    #[error("block {0} is abandoned; building pauses")]
    Paused(u64),
    /// The head of the service is not ours.
    #[error("the service's head was not built here; building is stopped")]
    Halted,
    /// It does not stand on the newest block.
    #[error("block {found} does not stand on the newest block {newest}")]
    Parent {
        /// The parent of the block.
        found: BlockId,
        /// The newest block.
        newest: BlockId,
    },
}

/// Why a version must not be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommitSubmissionError {
    /// The window is closed.
    #[error("the submission window is closed")]
    Window,
    /// Something happened in between.
    #[error("the bundle is not queued any more, or the core is taken")]
    Moved,
    /// The same version came out with other bytes.
    #[error("version {version} of bundle B-{block} was rebuilt as another package")]
    Rebuilt {
        /// The bundle, by its first block.
        block: u64,
        /// The version.
        version: u32,
    },
}
