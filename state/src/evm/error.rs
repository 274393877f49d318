//! Why execution cannot go on.

use crate::account::AccountError;
use alloc::fmt::Debug;
use alloy_primitives::B256;
use core::error::Error;
use revm::database_interface::DBErrorMarker;

/// Why the state cannot answer revm, or why what revm did does not fit into the state.
///
/// For a validator every one of them means that the block is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvmError<V, C> {
    /// The values have no answer; on a witness, because it does not cover the key.
    #[error(transparent)]
    Values(V),
    /// The codes have no answer.
    #[error("{0}")]
    Codes(C),
    /// An account has a code that is not among the codes.
    #[error("the code {0} is missing")]
    CodeMissing(B256),
    /// An account has a code that cannot be executed.
    #[error("the code {0} is no bytecode")]
    CodeInvalid(B256),
    /// The hash of an earlier block was asked for, and there is no history of them, or not this far back.
    #[error("the hash of block {0} is unknown")]
    BlockHash(u64),
    /// An account does not fit into the tree.
    #[error(transparent)]
    Account(AccountError),
}

impl<V, C> DBErrorMarker for EvmError<V, C>
where
    V: Error + Send + Sync + 'static,
    C: Error + Send + Sync + 'static,
{
}

impl<V, C> From<AccountError> for EvmError<V, C> {
    fn from(error: AccountError) -> Self {
        Self::Account(error)
    }
}
