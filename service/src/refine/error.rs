//! Why a bundle is refused.

use crate::{
    blobs::Short,
    header::HeaderError,
    order::OrderError,
    payload::{HeadersError, PayloadError},
};
use alloc::string::String;
use jam::{BundleError, PackageLimit, WorkError};
use state::{
    MalformedCodes,
    witness::{CoverageError, Malformed, VerifyError},
};

/// Why a bundle is no valid run of blocks. Says everything a builder needs to find its mistake.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefineError {
    /// The bundle does not hold what its package names.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The package is more than the chain allows.
    #[error(transparent)]
    Package(#[from] PackageLimit),
    /// Not one work item.
    #[error("{0} work items, a run of blocks is exactly one")]
    Items(usize),
    /// The item is for another service.
    #[error("the work item is for service {0}")]
    Service(u32),
    /// The item is for another code.
    #[error("the work item is for another code of the service")]
    Code,
    /// The item brings something else than witness, codes, transactions, headers and hints.
    #[error("{extrinsics} extrinsics and {imports} imports, a run has exactly 5 and none")]
    Inputs {
        /// Extrinsics.
        extrinsics: usize,
        /// Imports.
        imports: usize,
    },
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The builder did not sign the last block.
    #[error("the last block is not signed by the builder")]
    Signature,
    /// A run without blocks.
    #[error("the run has no blocks")]
    Empty,
    /// The headers do not decode.
    #[error("the headers do not decode: {0}")]
    Headers(#[from] HeadersError),
    /// A block does not stand on the one before it.
    #[error("block {0} does not stand on the header before it")]
    Parent(u64),
    /// The headers end with another block than the one that is signed.
    #[error("the headers do not end with the block that is signed")]
    Last,
    /// A block is dated too far after the package's lookup anchor.
    #[error("block {block} is dated {found}, its package allows {latest} at the latest")]
    Late {
        /// The block's number.
        block: u64,
        /// Its timestamp.
        found: u64,
        /// The latest that is allowed.
        latest: u64,
    },
    /// The block cannot follow its parent.
    #[error(transparent)]
    Follows(#[from] HeaderError),
    /// The witness does not decode.
    #[error("the witness does not decode: {0}")]
    Witness(#[from] Malformed),
    /// The witness is not about the parent's state.
    #[error("the witness does not prove the parent's state: {0}")]
    PreState(#[from] VerifyError),
    /// The codes do not decode.
    #[error("the codes do not decode: {0}")]
    Codes(#[from] MalformedCodes),
    /// The transactions are cut off.
    #[error("the transactions do not decode: {0}")]
    Transactions(#[from] Short),
    /// The transactions are those of another number of blocks.
    #[error("transactions of {found} blocks came along, the run has {blocks}")]
    TransactionLists {
        /// Lists of transactions.
        found: usize,
        /// Blocks.
        blocks: usize,
    },
    /// The hints for the signatures do not decode.
    #[error("the hints for the signatures do not decode")]
    Hints,
    /// A signature or its hint is wrong. Signatures count over all blocks of the run.
    #[error("the signatures of the transactions are refused: {0}")]
    Signatures(#[from] signatures::Refused),
    /// A transaction does not decode, or cannot be executed.
    #[error("transaction {index} of block {block}: {why}")]
    Transaction {
        /// The block's number.
        block: u64,
        /// Which one, from zero.
        index: usize,
        /// Why.
        why: String,
    },
    /// The state before the first transaction of a block, or after its last, cannot be had from the witness.
    #[error("block {block} cannot be executed: {why}")]
    Execution {
        /// The block's number.
        block: u64,
        /// Why.
        why: String,
    },
    /// The transactions use more gas than the work item pays for.
    #[error("the work item declares {declared} gas, transaction {index} of block {block} goes beyond it")]
    OutOfGas {
        /// The block's number.
        block: u64,
        /// Which transaction, from zero.
        index: usize,
        /// Declared.
        declared: u64,
    },
    /// The witness covers less or more than the run touches.
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    /// The codes are more than the run needs.
    #[error("{given} codes came along, {needed} were needed")]
    CodesExcess {
        /// In the extrinsic.
        given: usize,
        /// Read by the transactions.
        needed: usize,
    },
    /// A sealed header is not what execution gives.
    #[error("the header of block {block} has another {field} than its execution gives")]
    Header {
        /// The block's number.
        block: u64,
        /// The first field that differs.
        field: &'static str,
    },
    /// Another number of segments than declared.
    #[error("the work item declares {declared} exports, the run has {found}")]
    Exports {
        /// By the work item.
        declared: usize,
        /// By the run.
        found: usize,
    },
    /// An order that is not obeyed.
    #[error(transparent)]
    Order(#[from] OrderError),
}

impl RefineError {
    /// A number for each reason, which never changes its meaning.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Bundle(_) => 1,
            Self::Package(_) => 2,
            Self::Items(_) => 3,
            Self::Service(_) => 4,
            Self::Code => 5,
            Self::Inputs { .. } => 6,
            Self::Payload(_) => 7,
            Self::Signature => 8,
            Self::Empty => 9,
            Self::Headers(_) => 10,
            Self::Parent(_) => 11,
            Self::Last => 12,
            Self::Late { .. } => 13,
            Self::Follows(_) => 14,
            Self::Witness(_) => 15,
            Self::PreState(_) => 16,
            Self::Codes(_) => 17,
            Self::Transactions(_) => 18,
            Self::TransactionLists { .. } => 19,
            Self::Transaction { .. } => 20,
            Self::Execution { .. } => 21,
            Self::OutOfGas { .. } => 22,
            Self::Coverage(_) => 23,
            Self::CodesExcess { .. } => 24,
            Self::Header { .. } => 25,
            Self::Exports { .. } => 26,
            Self::Order(_) => 27,
            Self::Hints => 28,
            Self::Signatures(_) => 29,
        }
    }

    /// What a report says in place of an output.
    pub const fn work_error(&self) -> WorkError {
        match self {
            Self::OutOfGas { .. } => WorkError::OutOfGas,
            Self::Exports { .. } => WorkError::BadExports,
            Self::Code | Self::Service(_) => WorkError::BadCode,
            _ => WorkError::Panic,
        }
    }
}
