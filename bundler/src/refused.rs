//! What becomes of a transaction that the block does not take.

use crate::limits::Limit;
use core::fmt::{self, Display};
use revm::context::result::InvalidTransaction;
use service::execution::Rejected;
use state::evm::EvmError;
use types::Reason;

/// Why a block does not take a transaction, by what the caller should do with it. The block is as it was, except after
/// [`Refused::Broken`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// The block has no room for it. Keep it, and seal.
    #[error("the block is full: {0}")]
    Full(Limit),
    /// It cannot be executed on this state, but perhaps on a later one. Skip it and what comes after it from its sender.
    #[error("not now: {0}")]
    NotNow(NotNow),
    /// It can never be part of a block. Drop it.
    #[error("never: {0}")]
    Never(Reason),
    /// It needs more gas to be refined than a package has, even alone. Drop it; it was executed for nothing, so its sender should wait
    /// before another one is.
    #[error("never: {0}")]
    Unrefinable(Reason),
    /// The state cannot be read. The block cannot go on; nothing is wrong with the transaction.
    #[error("the state cannot be read: {0}")]
    Broken(String),
}

/// What a transaction lacks at the moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotNow {
    /// Transactions with lower nonces are missing.
    NonceTooHigh {
        /// Its nonce.
        nonce: u64,
        /// The sender's next.
        next: u64,
    },
    /// The sender cannot pay for it.
    InsufficientFunds,
    /// Its fee is below the base fee.
    FeeTooLow,
    /// It asks for the hash of a block before the first one. In 256 blocks nothing can.
    BlockHash(u64),
}

impl Display for NotNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NonceTooHigh { nonce, next } => write!(f, "nonce {nonce}, the sender's next is {next}"),
            Self::InsufficientFunds => f.write_str("insufficient funds for gas * price + value"),
            Self::FeeTooLow => f.write_str("max fee per gas less than block base fee"),
            Self::BlockHash(number) => write!(f, "the hash of block {number} is unknown"),
        }
    }
}

impl<V: Display, C: Display> From<Rejected<EvmError<V, C>>> for Refused {
    fn from(rejected: Rejected<EvmError<V, C>>) -> Self {
        let never = |why: String| Self::Never(Reason::Invalid { why });
        match rejected {
            Rejected::Gas { limit, left } => Self::Full(Limit::Gas { needed: limit, max: left }),
            Rejected::Invalid(InvalidTransaction::NonceTooLow { .. }) => Self::Never(Reason::NonceTooLow),
            Rejected::Invalid(InvalidTransaction::NonceTooHigh { tx, state }) => {
                Self::NotNow(NotNow::NonceTooHigh { nonce: tx, next: state })
            }
            Rejected::Invalid(InvalidTransaction::LackOfFundForMaxFee { .. }) => {
                Self::NotNow(NotNow::InsufficientFunds)
            }
            Rejected::Invalid(InvalidTransaction::GasPriceLessThanBasefee) => Self::NotNow(NotNow::FeeTooLow),
            Rejected::State(EvmError::BlockHash(number)) => Self::NotNow(NotNow::BlockHash(number)),
            Rejected::State(error) => Self::Broken(error.to_string()),
            Rejected::Type(ty) => never(format!("transaction type {ty} is not supported")),
            Rejected::Invalid(invalid) => never(invalid.to_string()),
            Rejected::Fatal(why) => never(why),
        }
    }
}
