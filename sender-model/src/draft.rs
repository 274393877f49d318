//! A transaction that waits for its signature. It is not durable and binds nothing: until the signature is back and
//! committed, nothing has happened.

use super::{AttemptKind, Fees, Intent, Nonce, RequestId};
use alloy_primitives::{B256, Bytes};
use types::Time;

/// A draft's number within one ownership of an account.
pub type Ticket = u64;

/// What a draft is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The first attempt of a request.
    New(RequestId),
    /// A replacement with higher fees of the newest attempt, which was the `attempts`-th.
    Bump {
        /// Attempts so far.
        attempts: usize,
    },
    /// A noop that competes with a request that is to be cancelled.
    Cancel {
        /// Attempts so far.
        attempts: usize,
    },
    /// A noop for a nonce that is free or was lent and not used.
    Fill,
}

/// What to sign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Draft {
    /// Names the draft when its signature comes back.
    pub ticket: Ticket,
    /// What it is for.
    pub purpose: Purpose,
    /// Payload or noop.
    pub kind: AttemptKind,
    /// The nonce to sign with.
    pub nonce: Nonce,
    /// What to sign.
    pub intent: Intent,
    /// The gas limit to sign with.
    pub gas: u64,
    /// The fees to sign with.
    pub fees: Fees,
    /// When it was made.
    pub made_at: Time,
}

/// A signature's result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signed {
    /// The transaction's hash.
    pub hash: B256,
    /// The signed transaction.
    pub bytes: Bytes,
}
