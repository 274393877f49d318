//! Errors of the facade. They answer two questions: what to tell the caller ([`Error::kind`]) and whether the same may
//! work later ([`Error::should_retry`]). Whatever the error, nothing was done, except where [`ErrorKind::Unknown`] says so.

use crate::{
    signer::SignerError,
    store::{Loading, StoreError},
    target::TargetError,
};
use alloy_primitives::B256;
use sender_model::{AcceptError, AccountId, OperationError, RequestId, UsedName};

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No key of this account is held here.
    #[error("the account {0} is not managed here")]
    UnknownAccount(AccountId),
    /// There is no such group.
    #[error("there is no group {0}")]
    UnknownGroup(String),
    /// No target sends to this chain.
    #[error("there is no target for chain {0}")]
    UnknownChain(u64),
    /// The store belongs to another chain of the same number.
    #[error(
        "the sender's store belongs to another chain {chain_id}: that one began with block {stored}, this one with {found}. \
         Use another store for this chain, or move the old one away"
    )]
    OtherChain {
        /// The chain's number.
        chain_id: u64,
        /// The first block of the chain that the store belongs to.
        stored: String,
        /// The first block of this chain.
        found: B256,
    },
    /// There is no such request, or it is forgotten.
    #[error("there is no request {0}")]
    UnknownRequest(RequestId),
    /// The request ended and was forgotten; its name is still used.
    #[error("{0}; nothing was sent now, and the name cannot be used for another request yet")]
    Forgotten(Box<UsedName>),
    /// What became of a request is not known.
    #[error(
        "it is not known whether the request {id} was accepted and will be sent: {why}. Look it up by this name, or repeat the \
         call with it as the idempotency key: it is not sent twice"
    )]
    Uncertain {
        /// Its name.
        id: RequestId,
        /// What prevented an answer.
        why: String,
    },
    /// The group's accounts are on another chain than the caller means.
    #[error(
        "the group {name} is on chain {group_chain}, and the request names chain {chain_id}; leave chainId out, or name a group of chain {chain_id}"
    )]
    GroupChain {
        /// The group.
        name: String,
        /// Its chain.
        group_chain: u64,
        /// The chain that the caller means.
        chain_id: u64,
    },
    /// There is no such endpoint.
    #[error("there is no webhook endpoint {0}")]
    UnknownEndpoint(String),
    /// There is no such dead letter.
    #[error("there is no dead letter {0}")]
    UnknownDelivery(String),
    /// A value makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// It exists, and is different.
    #[error("{0}")]
    Exists(String),
    /// The request is not accepted.
    #[error(transparent)]
    Accept(#[from] AcceptError),
    /// The account does not do it now.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// Another process owns the account, and only the owner can do it.
    #[error("the account {account} is run by another process ({holder}); ask that one, or try again")]
    NotOwner {
        /// The account.
        account: AccountId,
        /// Who runs it, as far as is known.
        holder: String,
    },
    /// A key could not be used or made.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// The chain could not be asked.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The account cannot be loaded.
    #[error(transparent)]
    Loading(#[from] Loading),
    /// A row of the store cannot be read or written.
    #[error("a row is damaged: {0}")]
    Row(#[from] serde_json::Error),
    /// The sender is shutting down.
    #[error("the sender is shutting down")]
    Stopping,
}

/// What to tell the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// What was asked for does not exist (404).
    NotFound,
    /// The call makes no sense (400).
    Invalid,
    /// It existed, and is forgotten (410).
    Gone,
    /// It contradicts how things stand (409).
    Conflict,
    /// The same name was used for something else, or it can never be done (422).
    Unprocessable,
    /// It is too large (413).
    TooLarge,
    /// Too much waits already (429).
    Busy,
    /// Not now, or not here (503).
    Unavailable,
    /// Nobody knows whether it was done; the same call with the same name is safe (503).
    Unknown,
    /// Something is broken (500).
    Internal,
}

impl Error {
    /// Why it is not known what became of a request.
    pub(super) fn uncertain(id: &RequestId, why: &dyn core::fmt::Display) -> Self {
        Self::Uncertain { id: id.clone(), why: why.to_string() }
    }

    /// Names the request if it is not known what became of it: without the name the same call would send twice.
    pub(super) fn about(self, id: &RequestId) -> Self {
        if self.kind() == ErrorKind::Unknown { Self::uncertain(id, &self) } else { self }
    }

    /// Where the process is that runs the account, if it is another one and says where.
    pub fn owner_address(&self) -> Option<&str> {
        match self {
            Self::NotOwner { holder, .. } => crate::settings::address_of(holder),
            _ => None,
        }
    }

    /// What to tell the caller.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownAccount(_) | Self::UnknownGroup(_) | Self::UnknownChain(_) => ErrorKind::NotFound,
            Self::UnknownRequest(_) | Self::UnknownEndpoint(_) | Self::UnknownDelivery(_) => {
                ErrorKind::NotFound
            }
            Self::Forgotten(_) => ErrorKind::Gone,
            Self::Invalid(_) | Self::GroupChain { .. } => ErrorKind::Invalid,
            Self::Exists(_) => ErrorKind::Conflict,
            Self::Accept(AcceptError::Mismatch(_) | AcceptError::Expired | AcceptError::Gas(_)) => {
                ErrorKind::Unprocessable
            }
            Self::Accept(AcceptError::NoGas | AcceptError::Webhooks(_)) => ErrorKind::Invalid,
            Self::Accept(AcceptError::TooLarge(_) | AcceptError::Metadata(_)) => ErrorKind::TooLarge,
            Self::Accept(AcceptError::QueueFull(_)) => ErrorKind::Busy,
            Self::Accept(AcceptError::Encoding(_)) | Self::Row(_) | Self::Loading(_) => ErrorKind::Internal,
            Self::Operation(OperationError::NoView) => ErrorKind::Unavailable,
            Self::Operation(_) => ErrorKind::Conflict,
            Self::NotOwner { .. } | Self::Stopping | Self::Target(_) => ErrorKind::Unavailable,
            Self::Signer(SignerError::Unavailable(_)) => ErrorKind::Unavailable,
            Self::Signer(_) => ErrorKind::Conflict,
            Self::Store(StoreError::Unknown(_)) | Self::Uncertain { .. } => ErrorKind::Unknown,
            Self::Store(_) | Self::OtherChain { .. } => ErrorKind::Internal,
        }
    }

    /// Whether the same call may work later.
    pub fn should_retry(&self) -> bool {
        match self {
            Self::Operation(operation) => operation.should_retry(),
            other => matches!(other.kind(), ErrorKind::Busy | ErrorKind::Unavailable | ErrorKind::Unknown),
        }
    }
}
