//! What the operator's page and the metrics show beyond the queue and the pool: what lies ahead of the bundles, how large
//! blocks came out, and what the cores were used for.

use std::{collections::BTreeMap, sync::Arc};

/// How large a block came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Bytes of the witness.
    pub witness_bytes: usize,
    /// Bytes of the codes that it needs.
    pub codes_bytes: usize,
    /// Bytes of its transactions.
    pub transactions_bytes: usize,
    /// Bytes of all that and of the payload: what the limit is for.
    pub bundle_bytes: usize,
    /// Segments that it exports.
    pub export_segments: usize,
    /// Gas that it used.
    pub gas: u64,
    /// Its transactions.
    pub transactions: usize,
}

/// What a core was used for after a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreUse {
    /// Nobody's report was there.
    Free,
    /// A version of a block of ours.
    Ours {
        /// The block's number.
        block: u64,
        /// The version.
        version: u32,
    },
    /// Somebody else's report.
    Other,
}

/// The cores after the block of one slot. A slot without a block has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotCores {
    /// The slot.
    pub slot: u32,
    /// What each core was used for.
    pub cores: Vec<CoreUse>,
}

/// What only those who watch the node want to know.
#[derive(Clone, Debug, Default)]
pub struct Insight {
    /// How many transactions had been accepted when the snapshot was made.
    pub accepted: u64,
    /// What lies ahead of the bundles; `None` if there is no queue that is driven.
    pub outlook: Option<Arc<queue::Outlook>>,
    /// How large the newest blocks came out, by number. Not known of blocks from before a restart.
    pub sizes: Arc<BTreeMap<u64, Sizes>>,
    /// The cores in the last slots on the best branch, oldest first.
    pub slots: Arc<[SlotCores]>,
}
