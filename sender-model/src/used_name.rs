//! Names of requests that were forgotten. The promise that a name is never sent twice lasts longer than the record of its
//! request: what stays is a small row that says how the request ended.

use super::{AccountId, Request, RequestId, State, StateName, quantity};
use alloy_primitives::B256;
use core::fmt;
use serde::{Deserialize, Serialize};
use types::Time;

/// A name whose request was forgotten.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsedName {
    /// The name.
    pub id: RequestId,
    /// The account of the request.
    pub account: AccountId,
    /// The hash of what the caller sent.
    pub body: B256,
    /// How the request ended.
    pub outcome: StateName,
    /// The transaction that was mined for it, if one was.
    pub hash: Option<B256>,
    /// The height of the block with this transaction.
    pub block: Option<u64>,
    /// When the request ended.
    #[serde(with = "quantity::time")]
    pub completed_at: Time,
}

impl UsedName {
    /// What stays of a request; none while it has not ended.
    pub fn of(request: &Request) -> Option<Self> {
        let completed_at = request.completed_at?;
        let mined = match &request.state {
            State::Confirmed { hash, inclusion, .. } | State::Reverted { hash, inclusion, .. } => {
                Some((*hash, inclusion.block.number))
            }
            _ => None,
        };
        Some(Self {
            id: request.id.clone(),
            account: request.account,
            body: request.body,
            outcome: StateName::of(&request.state),
            hash: mined.map(|(hash, _)| hash),
            block: mined.map(|(_, number)| number),
            completed_at,
        })
    }
}

impl fmt::Display for UsedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the request {} ended as {}", self.id, self.outcome)?;
        if let Some(hash) = self.hash {
            write!(f, " with the transaction {hash}")?;
        }
        write!(
            f,
            " at {} (milliseconds since 1970), and its record was removed since",
            self.completed_at.as_millis()
        )
    }
}

/// What is durable under a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KnownRequest {
    /// The request.
    Request(Box<Request>),
    /// What stays of a request that was forgotten.
    Forgotten(Box<UsedName>),
}

impl KnownRequest {
    /// Reads the rows [`super::key::request`] and [`super::key::used_name`] of a name, as they are at one moment.
    pub fn read(request: Option<&[u8]>, used: Option<&[u8]>) -> Result<Option<Self>, serde_json::Error> {
        Ok(match (request, used) {
            (Some(row), _) => Some(Self::Request(serde_json::from_slice(row)?)),
            (None, Some(row)) => Some(Self::Forgotten(serde_json::from_slice(row)?)),
            (None, None) => None,
        })
    }

    /// The account of the request.
    pub fn account(&self) -> AccountId {
        match self {
            Self::Request(request) => request.account,
            Self::Forgotten(used) => used.account,
        }
    }

    /// The hash of what the caller sent.
    pub fn body(&self) -> B256 {
        match self {
            Self::Request(request) => request.body,
            Self::Forgotten(used) => used.body,
        }
    }
}
