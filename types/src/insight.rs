//! What operators are shown of blocks and cores: how large blocks came out, and what the cores were used for.

use alloc::vec::Vec;

/// How large a block came out, as a bundle of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Bytes of the witness.
    pub witness_bytes: usize,
    /// Bytes of the codes that it needs.
    pub codes_bytes: usize,
    /// Bytes of its transactions.
    pub transactions_bytes: usize,
    /// Bytes of all that, of the headers and of the payload: what the limit is for.
    pub bundle_bytes: usize,
    /// Segments that it exports.
    pub export_segments: usize,
    /// Gas that it used.
    pub gas: u64,
    /// Gas of JAM's virtual machine that refining it takes at most, as it was estimated.
    pub refine_gas: u64,
    /// Its transactions.
    pub transactions: usize,
}

/// What a core was used for after a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreUse {
    /// There was no report.
    Free,
    /// A version of a bundle of ours.
    Ours {
        /// The number of its first block.
        bundle: u64,
        /// The version.
        version: u32,
    },
    /// A report of another builder or service.
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
