//! Why a transaction was refused, in the words that Ethereum clients match on.
//!
//! The texts are those of go-ethereum, with the details it appends; so is the code.

use alloy_primitives::{Address, U256};

/// Why a transaction was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing, or a type without a body.
    #[error("typed transaction too short")]
    TooShort,
    /// A blob transaction, or a type that nobody knows.
    #[error("transaction type not supported")]
    TypeNotSupported,
    /// The bytes are not a transaction.
    #[error("rlp: {0}")]
    Undecodable(String),
    /// There are bytes behind the transaction.
    #[error("rlp: input contains more than one value")]
    TrailingBytes,
    /// EIP-7702 transactions have a recipient.
    #[error("rlp: input string too short for common.Address, decoding into (types.SetCodeTx).To")]
    SetCodeCreation,
    /// Without a chain id it would be valid on every chain.
    #[error("only replay-protected (EIP-155) transactions allowed over RPC")]
    Unprotected,
    /// It was signed for another chain.
    #[error("invalid sender: invalid chain id for signer: have {have} want {want}")]
    ChainId {
        /// The chain that it was signed for.
        have: u64,
        /// Ours.
        want: u64,
    },
    /// The signature's numbers are out of range; `s` counts from the middle of the curve's order on (EIP-2).
    #[error("invalid sender: invalid transaction v, r, s values")]
    SignatureValues,
    /// No key can have made this signature.
    #[error("invalid sender: recovery failed")]
    SignatureRecovery,
    /// It is too long.
    #[error("oversized data: transaction size {size}, limit {limit}")]
    Oversized {
        /// Its length in bytes.
        size: usize,
        /// The greatest length.
        limit: usize,
    },
    /// The code that creates a contract is too long (EIP-3860).
    #[error("max initcode size exceeded: code size {size}, limit {limit}")]
    InitCode {
        /// Its length in bytes.
        size: usize,
        /// The greatest length.
        limit: usize,
    },
    /// It wants more gas than any transaction may (EIP-7825).
    #[error("transaction gas limit too high (cap: {cap}, tx: {gas})")]
    GasCap {
        /// The greatest gas limit.
        cap: u64,
        /// Its gas limit.
        gas: u64,
    },
    /// It wants more gas than a block has.
    #[error("exceeds block gas limit")]
    BlockGasLimit,
    /// It would pay a tip above all that it would pay.
    #[error("max priority fee per gas higher than max fee per gas")]
    TipAboveFeeCap,
    /// The last nonce cannot be used (EIP-2681).
    #[error("nonce has max value")]
    NonceMax,
    /// Its gas does not even pay for its being there.
    #[error("intrinsic gas too low: gas {gas}, minimum needed {needed}")]
    IntrinsicGas {
        /// Its gas limit.
        gas: u64,
        /// What is needed.
        needed: u64,
    },
    /// Its gas does not pay for its data (EIP-7623).
    #[error("insufficient gas for floor data gas cost: gas {gas}, minimum needed {needed}")]
    FloorGas {
        /// Its gas limit.
        gas: u64,
        /// What is needed.
        needed: u64,
    },
    /// It pays less than this pool takes.
    #[error("transaction gas price below minimum: gas fee cap {fee_cap}, minimum needed {needed}")]
    PriceBelowMinimum {
        /// Its `maxFeePerGas` in wei.
        fee_cap: u128,
        /// What is needed.
        needed: u128,
    },
    /// An EIP-7702 transaction without an authorization.
    #[error("set code tx must have at least one authorization tuple")]
    NoAuthorization,
    /// The same transaction is here, pending, queued or in an unfinished block.
    #[error("already known")]
    AlreadyKnown,
    /// Its nonce is used.
    #[error("nonce too low: next nonce {next}, tx nonce {nonce}")]
    NonceTooLow {
        /// The sender's next nonce.
        next: u64,
        /// Its nonce.
        nonce: u64,
    },
    /// Its nonce lies too far above the sender's next one.
    #[error("nonce too high: tx nonce {nonce}, gapped nonce {next}")]
    NonceTooHigh {
        /// The sender's next nonce.
        next: u64,
        /// Its nonce.
        nonce: u64,
    },
    /// Contracts do not send transactions (EIP-3607).
    #[error("sender not an eoa: address {sender}")]
    SenderNotEoa {
        /// Who signed it.
        sender: Address,
    },
    /// The sender cannot pay for it alone.
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {}",
        .cost.saturating_sub(*.balance)
    )]
    Funds {
        /// What the sender owns, in wei.
        balance: U256,
        /// What it may cost at most, in wei.
        cost: U256,
    },
    /// The sender cannot pay for it on top of what already waits.
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, queued cost {spent}, tx cost {cost}, overshot {}",
        .spent.saturating_add(*.cost).saturating_sub(*.balance)
    )]
    FundsOfAll {
        /// What the sender owns, in wei.
        balance: U256,
        /// What the waiting ones may cost at most, in wei.
        spent: U256,
        /// What it may cost at most, in wei.
        cost: U256,
    },
    /// The sender cannot pay for what it costs more than the one it would replace.
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, queued cost {spent}, tx bumped {bump}, overshot {}",
        .spent.saturating_add(*.bump).saturating_sub(*.balance)
    )]
    FundsOfReplacement {
        /// What the sender owns, in wei.
        balance: U256,
        /// What the waiting ones may cost at most, in wei.
        spent: U256,
        /// What it costs more, in wei.
        bump: U256,
    },
    /// The sender has as many transactions here as one sender may.
    #[error("account limit exceeded: pooled {pooled} txs")]
    AccountLimit {
        /// How many are here.
        pooled: usize,
    },
    /// A delegated account, or one that is about to be, has one here already.
    #[error("in-flight transaction limit reached for delegated accounts")]
    DelegatedLimit,
    /// A delegated account, or one that is about to be, left out a nonce.
    #[error("gapped-nonce tx from delegated accounts")]
    DelegatedGap,
    /// One of those whose authorization it carries has several transactions here.
    #[error("authority already reserved")]
    AuthorityReserved,
    /// The pool is full, and it does not pay more than the cheapest.
    #[error("transaction underpriced")]
    Underpriced,
    /// It cannot be executed yet, and only executable ones could make room for it.
    #[error("future transaction tries to replace pending")]
    FutureReplacesPending,
    /// The pool is full, and nobody can make room.
    #[error("txpool is full")]
    Full,
    /// The nonce is taken, and it does not pay enough more.
    #[error("replacement transaction underpriced")]
    ReplacementUnderpriced,
}

/// What whoever sent a refused transaction may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// The same bytes can be accepted later: after others went, a nonce was filled, or the account got funds.
    RetryLater,
    /// Only with a higher fee.
    RaiseFee,
    /// Never, or they are here already: another transaction, if any.
    Never,
}

impl Error {
    /// Every name that [`Error::reason`] gives.
    pub const REASONS: &'static [&'static str] = &[
        "account_limit",
        "already_known",
        "authority_reserved",
        "below_minimum_price",
        "delegated",
        "funds",
        "future_replaces_pending",
        "gas_limit",
        "intrinsic_gas",
        "malformed",
        "nonce_max",
        "nonce_too_high",
        "nonce_too_low",
        "oversized",
        "pool_full",
        "replacement_underpriced",
        "sender_not_eoa",
        "signature",
        "tip_above_fee_cap",
        "type_not_supported",
        "underpriced",
        "wrong_chain",
    ];

    /// A short name of the kind of reason, for those who count.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::TooShort | Self::Undecodable(_) | Self::TrailingBytes => "malformed",
            Self::SetCodeCreation | Self::NoAuthorization => "malformed",
            Self::TypeNotSupported => "type_not_supported",
            Self::Unprotected | Self::ChainId { .. } => "wrong_chain",
            Self::SignatureValues | Self::SignatureRecovery => "signature",
            Self::Oversized { .. } | Self::InitCode { .. } => "oversized",
            Self::GasCap { .. } | Self::BlockGasLimit => "gas_limit",
            Self::TipAboveFeeCap => "tip_above_fee_cap",
            Self::NonceMax => "nonce_max",
            Self::IntrinsicGas { .. } | Self::FloorGas { .. } => "intrinsic_gas",
            Self::PriceBelowMinimum { .. } => "below_minimum_price",
            Self::AlreadyKnown => "already_known",
            Self::NonceTooLow { .. } => "nonce_too_low",
            Self::NonceTooHigh { .. } => "nonce_too_high",
            Self::SenderNotEoa { .. } => "sender_not_eoa",
            Self::Funds { .. } | Self::FundsOfAll { .. } | Self::FundsOfReplacement { .. } => "funds",
            Self::AccountLimit { .. } => "account_limit",
            Self::DelegatedLimit | Self::DelegatedGap => "delegated",
            Self::AuthorityReserved => "authority_reserved",
            Self::Underpriced => "underpriced",
            Self::FutureReplacesPending => "future_replaces_pending",
            Self::Full => "pool_full",
            Self::ReplacementUnderpriced => "replacement_underpriced",
        }
    }

    /// The JSON-RPC code: go-ethereum answers every refused transaction with −32000.
    pub const fn code(&self) -> i32 {
        -32000
    }

    /// What whoever sent it may do.
    pub const fn advice(&self) -> Advice {
        match self {
            Self::NonceTooHigh { .. }
            | Self::BlockGasLimit
            | Self::Funds { .. }
            | Self::FundsOfAll { .. }
            | Self::FundsOfReplacement { .. }
            | Self::AccountLimit { .. }
            | Self::DelegatedLimit
            | Self::DelegatedGap
            | Self::AuthorityReserved
            | Self::FutureReplacesPending
            | Self::Full => Advice::RetryLater,
            Self::PriceBelowMinimum { .. } | Self::Underpriced | Self::ReplacementUnderpriced => {
                Advice::RaiseFee
            }
            _ => Advice::Never,
        }
    }
}
