//! What webhooks tell. An event is written in the commit that causes it, so it exists exactly if its cause does.

use super::{AccountId, Mined, Request, RequestId, Slot, State, quantity};
use core::fmt;
use serde::{Deserialize, Serialize};
use types::Time;

/// What an event is about. Each subject counts its own events.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    /// A request.
    Request(RequestId),
    /// An account.
    Account(AccountId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(id) => write!(f, "r/{id}"),
            Self::Account(id) => write!(f, "a/{id}"),
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A request is durable.
    Accepted,
    /// A node has taken its transaction.
    Submitted,
    /// A node has refused an attempt.
    SendAttemptNack,
    /// It is in a block.
    Mined,
    /// It is in a block that cannot go away, and did what it was to do.
    Confirmed,
    /// It is in a block that cannot go away, and was reverted.
    Reverted,
    /// It will never be mined, because something was wrong with it.
    Failed,
    /// Its nonce was used by a transaction that is not ours.
    Replaced,
    /// It will never be mined, because somebody asked for that.
    Cancelled,
    /// Its time ran out before it was bound.
    Expired,
    /// The account cannot pay for what is waiting.
    LowBalance,
    /// The account's next transaction has been waiting for long.
    Stalled,
    /// The account has too many free nonces.
    NonceGap,
    /// An outside signer has not used its nonce, and only it could fill the gap.
    ActionRequired,
}

/// One event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The account that it belongs to.
    pub account: AccountId,
    /// What it is about.
    pub subject: Subject,
    /// When a request was accepted; nothing for an account. A request's name is free again when it is forgotten, and its
    /// next bearer's events are other events.
    #[serde(default, with = "quantity::maybe_time", skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Its number among the subject's events, from 1, without holes.
    pub sequence: u32,
    /// What happened.
    pub kind: EventKind,
    /// When.
    #[serde(with = "quantity::time")]
    pub at: Time,
    /// The request with its attempts and where it was mined, or what there is to say about the account.
    pub data: serde_json::Value,
}

impl Event {
    /// The newest event about a request, whose number is its count of events. Every such event has data of one form:
    /// `request`; `attempts`, what was signed for its nonce, as far as that is not settled (then it is in the request's
    /// `past`); and `mined`, which of them is in a block, where, and its receipt.
    pub(super) fn about_request(request: &Request, slot: Option<&Slot>, kind: EventKind, at: Time) -> Self {
        let mined = match &request.state {
            State::Confirmed { hash, inclusion, .. } | State::Reverted { hash, inclusion, .. } => {
                Some(Mined { hash: *hash, inclusion: inclusion.clone() })
            }
            _ => slot.and_then(|slot| slot.mined.clone()),
        };
        let attempts = slot.map(|slot| slot.attempts.as_slice()).unwrap_or_default();
        Self {
            account: request.account,
            subject: Subject::Request(request.id.clone()),
            since: Some(request.accepted_at),
            sequence: request.events,
            kind,
            at,
            data: serde_json::json!({ "request": request, "attempts": attempts, "mined": mined }),
        }
    }

    /// An account's event.
    pub(super) fn about_account(
        account: AccountId,
        sequence: u32,
        kind: EventKind,
        data: serde_json::Value,
        at: Time,
    ) -> Self {
        Self { account, subject: Subject::Account(account), since: None, sequence, kind, at, data }
    }

    /// The event's name. It is the same however often it is delivered, and no other event ever has it.
    pub fn id(&self) -> String {
        Self::id_of(&self.subject, self.since, self.sequence)
    }

    /// The name of a subject's event.
    pub fn id_of(subject: &Subject, since: Option<Time>, sequence: u32) -> String {
        match subject {
            Subject::Request(id) => {
                format!("evt_r_{id}_{:x}_{sequence}", since.map_or(0, Time::as_millis))
            }
            Subject::Account(id) => format!("evt_a_{id}_{sequence}"),
        }
    }
}
