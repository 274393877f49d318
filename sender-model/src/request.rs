//! A request, from accepted to its one end.

use super::{AccountId, AttemptKind, Fees, Inclusion, Intent, Nonce, RequestId, RequestOptions, quantity};
#[cfg(feature = "openapi")]
use crate::openapi;
use alloy_primitives::{B256, Bytes};
use core::{fmt, str::FromStr};
use serde::{Deserialize, Serialize};
use types::Time;

/// Why a request waits although it is its turn. The others go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Held {
    /// The account cannot pay for it.
    Funds,
    /// The account is paused.
    Paused,
    /// The chain asks for more than the request may pay.
    FeeTooHigh,
    /// No node says whether it would work, or the signer refuses it.
    Policy,
    /// It would be reverted now, or is not to be simulated yet, and earlier requests of the account are not mined. It is
    /// simulated again when they are.
    Parent,
    /// As many transactions wait for finality as are kept in memory. Raise the limit, or wait.
    Unfinal,
}

/// On which state a request was simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Basis {
    /// The chain's newest, when no earlier request of the account was left to be mined.
    #[default]
    Newest,
    /// On top of all earlier requests of the account that were not mined.
    InFlight,
}

/// Why a request failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Failure {
    /// It would be reverted; no nonce was spent.
    Simulation {
        /// What the node said.
        reason: String,
        /// What the contract said.
        #[cfg_attr(feature = "openapi", schema(value_type = openapi::Bytes))]
        data: Bytes,
        /// On which state it was simulated.
        #[serde(default)]
        on: Basis,
    },
    /// A node said that it can never be mined, and a noop has used its nonce.
    Rejected(String),
    /// Its nonce was used by a transaction that is not ours.
    NonceTaken,
}

/// Where a request stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Durable, without a nonce.
    Accepted {
        /// Why it waits, if it does.
        #[serde(default)]
        held: Option<Held>,
    },
    /// Durable with nonce and signed bytes.
    Bound {
        /// The nonce.
        #[cfg_attr(feature = "openapi", schema(value_type = u64))]
        nonce: Nonce,
    },
    /// A node has it.
    Submitted {
        /// The nonce.
        #[cfg_attr(feature = "openapi", schema(value_type = u64))]
        nonce: Nonce,
    },
    /// A noop competes with it.
    Cancelling {
        /// The nonce.
        #[cfg_attr(feature = "openapi", schema(value_type = u64))]
        nonce: Nonce,
    },
    /// In a block that may still go away.
    Mined {
        /// The nonce.
        #[cfg_attr(feature = "openapi", schema(value_type = u64))]
        nonce: Nonce,
    },
    /// In a block that cannot go away.
    Confirmed {
        /// The nonce.
        #[cfg_attr(feature = "openapi", schema(value_type = u64))]
        nonce: Nonce,
        /// The attempt that was mined.
        #[cfg_attr(feature = "openapi", schema(value_type = openapi::Hash))]
        hash: B256,
        /// Where.
        inclusion: Inclusion,
    },
    /// In a block that cannot go away, without effect.
    Reverted {
        /// The nonce.
        #[cfg_attr(feature = "openapi", schema(value_type = u64))]
        nonce: Nonce,
        /// The attempt that was mined.
        #[cfg_attr(feature = "openapi", schema(value_type = openapi::Hash))]
        hash: B256,
        /// Where.
        inclusion: Inclusion,
    },
    /// Never mined, as asked for.
    Cancelled,
    /// Never mined: too late.
    Expired,
    /// Never mined.
    Failed(Failure),
}

impl State {
    /// Whether it is an end.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Accepted { .. } | Self::Bound { .. } | Self::Submitted { .. } => false,
            Self::Cancelling { .. } | Self::Mined { .. } => false,
            Self::Confirmed { .. } | Self::Reverted { .. } => true,
            Self::Cancelled | Self::Expired | Self::Failed(_) => true,
        }
    }

    /// Why it waits, if it is held.
    pub fn held(&self) -> Option<Held> {
        match self {
            Self::Accepted { held } => *held,
            _ => None,
        }
    }

    /// The nonce, while it has one.
    pub fn nonce(&self) -> Option<Nonce> {
        match self {
            Self::Bound { nonce } | Self::Submitted { nonce } => Some(*nonce),
            Self::Cancelling { nonce } | Self::Mined { nonce } => Some(*nonce),
            Self::Confirmed { nonce, .. } | Self::Reverted { nonce, .. } => Some(*nonce),
            Self::Accepted { .. } | Self::Cancelled | Self::Expired | Self::Failed(_) => None,
        }
    }

    /// Every move there is. A terminal state has none.
    pub fn may_become(&self, next: &Self) -> bool {
        use State::{Accepted, Bound, Cancelled, Cancelling, Confirmed, Expired, Failed, Mined, Reverted};
        use State::{Accepted as A, Submitted};
        match (self, next) {
            (A { .. }, Accepted { .. } | Bound { .. } | Cancelled | Expired | Failed(_)) => true,
            // A nonce can be used up, and its transaction mined and final, between two looks.
            (Bound { .. }, Submitted { .. } | Cancelling { .. } | Mined { .. } | Cancelled) => true,
            (Bound { .. } | Submitted { .. }, Accepted { .. } | Failed(_)) => true,
            (Submitted { .. }, Mined { .. } | Cancelling { .. } | Cancelled) => true,
            (Mined { .. }, Submitted { .. } | Cancelling { .. } | Confirmed { .. } | Reverted { .. }) => true,
            (Cancelling { .. }, Mined { .. } | Cancelled | Failed(_)) => true,
            (same, other) => same == other,
        }
    }
}

/// The states by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names of `State`, which says what they mean")]
pub enum StateName {
    Accepted,
    Bound,
    Submitted,
    Cancelling,
    Mined,
    Confirmed,
    Reverted,
    Cancelled,
    Expired,
    Failed,
}

impl StateName {
    /// The name of a state.
    pub const fn of(state: &State) -> Self {
        match state {
            State::Accepted { .. } => Self::Accepted,
            State::Bound { .. } => Self::Bound,
            State::Submitted { .. } => Self::Submitted,
            State::Cancelling { .. } => Self::Cancelling,
            State::Mined { .. } => Self::Mined,
            State::Confirmed { .. } => Self::Confirmed,
            State::Reverted { .. } => Self::Reverted,
            State::Cancelled => Self::Cancelled,
            State::Expired => Self::Expired,
            State::Failed(_) => Self::Failed,
        }
    }
}

impl fmt::Display for StateName {
    /// As in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for StateName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let quoted = serde_json::Value::String(text.to_owned());
        serde_json::from_value(quoted).map_err(|_| format!("there is no state {text:?}"))
    }
}

/// An attempt under a nonce that is settled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PastAttempt {
    /// The nonce.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub nonce: Nonce,
    /// The hash.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Hash))]
    pub hash: B256,
    /// Its fees.
    pub fees: Fees,
    /// What it was for.
    pub kind: AttemptKind,
    /// Whether it is the one that was mined; the others were dropped.
    pub mined: bool,
}

/// One request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Its name.
    pub id: RequestId,
    /// The account that sends.
    pub account: AccountId,
    /// What is wanted.
    pub intent: Intent,
    /// The hash of what the caller sent, to tell a repetition from another request with the same name.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Hash))]
    pub body: B256,
    /// When it became durable; its position in the queue.
    #[serde(with = "quantity::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub accepted_at: Time,
    /// When it may not be bound any more.
    #[serde(default, with = "quantity::maybe_time")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub expires_at: Option<Time>,
    /// How it is to be treated.
    #[serde(default, skip_serializing_if = "RequestOptions::is_default")]
    pub options: RequestOptions,
    /// Whether an outside signer made its transaction, whose fees we therefore cannot bump.
    #[serde(default)]
    pub raw: bool,
    /// Where it stands.
    pub state: State,
    /// Events told about it.
    pub events: u32,
    /// How often it lost its nonce to a foreign transaction.
    #[serde(default)]
    pub rebinds: u32,
    /// What was signed for it under nonces that are settled.
    #[serde(default)]
    pub past: Vec<PastAttempt>,
    /// When it ended.
    #[serde(default, with = "quantity::maybe_time")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub completed_at: Option<Time>,
}
