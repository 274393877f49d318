//! Why a bundle is refused.

use crate::{blobs::Short, header::HeaderError, payload::PayloadError};
use jam::{BundleError, PackageLimit, WorkError};
use state::{
    MalformedCodes,
    witness::{CoverageError, Malformed, VerifyError},
};

/// Why a bundle is no valid block. Says everything a builder needs to find its mistake.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefineError {
    /// The bundle does not hold what its package names.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The package is more than the chain allows.
    #[error(transparent)]
    Package(#[from] PackageLimit),
    /// Not one work item.
    #[error("{0} work items, a block is exactly one")]
    Items(usize),
    /// The item is for another service.
    #[error("the work item is for service {0}")]
    Service(u32),
    /// The item is for another code.
    #[error("the work item is for another code of the service")]
    Code,
    /// The item brings something else than witness, codes and transactions.
    #[error("{extrinsics} extrinsics and {imports} imports, a block has exactly 3 and none")]
    Inputs {
        /// Extrinsics.
        extrinsics: usize,
        /// Imports.
        imports: usize,
    },
    /// The payload does not decode.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The builder did not sign the block.
    #[error("the block is not signed by the builder")]
    Signature,
    /// The parent header is not that of the parent.
    #[error("the parent header is not the one that the block names")]
    Parent,
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
    /// A transaction does not decode, is not signed, or cannot be executed.
    #[error("transaction {index}: {why}")]
    Transaction {
        /// Which one, from zero.
        index: usize,
        /// Why.
        why: String,
    },
    /// The state before the first transaction, or after the last, cannot be had from the witness.
    #[error("the block cannot be executed: {0}")]
    Execution(String),
    /// The transactions use more gas than the work item pays for.
    #[error("the work item declares {declared} gas, transaction {index} goes beyond it")]
    OutOfGas {
        /// Which transaction, from zero.
        index: usize,
        /// Declared.
        declared: u64,
    },
    /// The witness covers less or more than the block touches.
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    /// The codes are more than the block needs.
    #[error("{given} codes came along, {needed} were needed")]
    CodesExcess {
        /// In the extrinsic.
        given: usize,
        /// Read by the transactions.
        needed: usize,
    },
    /// The sealed header is not what execution gives.
    #[error("the sealed header has another {0} than its execution gives")]
    Header(&'static str),
    /// Another number of segments than declared.
    #[error("the work item declares {declared} exports, the block has {found}")]
    Exports {
        /// By the work item.
        declared: usize,
        /// By the block.
        found: usize,
    },
}

impl RefineError {
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
