//! The state of a nonce, and what was signed for it. There is one row for each nonce of `[base, next)`, so a nonce cannot
//! be in two states.

use super::{Fees, Head, Inclusion, RequestId, quantity};
use alloy_primitives::{B256, Bytes, U256};
use serde::{Deserialize, Serialize};
use types::Time;

/// What an attempt is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttemptKind {
    /// It does what the request wants.
    Payload,
    /// It only uses the nonce up.
    Noop,
}

/// Signed bytes. They are durable before they leave.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The transaction's hash.
    pub hash: B256,
    /// What it is for.
    pub kind: AttemptKind,
    /// Its fees.
    pub fees: Fees,
    /// Whether it has one gas price, as chains without EIP-1559 demand.
    #[serde(default)]
    pub legacy: bool,
    /// Its gas limit.
    pub gas: u64,
    /// The most that it can cost, in wei.
    pub cost: U256,
    /// The signed transaction.
    pub bytes: Bytes,
    /// When it was bound.
    #[serde(with = "quantity::time")]
    pub bound_at: Time,
    /// The newest block then: while nothing is sealed a replacement cannot help.
    pub bound_head: u64,
    /// Whether a node has said that it has it.
    #[serde(default)]
    pub taken: bool,
    /// Whether a refusal of it was reported.
    #[serde(default)]
    pub nacked: bool,
}

/// Why a bound request is to be cancelled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CancelReason {
    /// Somebody asked for it.
    Asked,
    /// It was not mined in time.
    TooLate,
    /// A node said that it can never be mined.
    Rejected(String),
}

/// Which attempt is in a block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mined {
    /// The attempt.
    pub hash: B256,
    /// Where, and how it ended.
    pub inclusion: Inclusion,
}

impl Mined {
    /// The block.
    pub fn block(&self) -> Head {
        self.inclusion.block
    }
}

/// A nonce with at least one attempt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    /// The request that it belongs to; none if it only fills a gap.
    pub owner: Option<RequestId>,
    /// All that was ever signed for this nonce, oldest first. Any of them may be mined.
    pub attempts: Vec<Attempt>,
    /// Whether, and why, the request is to be cancelled.
    #[serde(default)]
    pub cancel: Option<CancelReason>,
    /// Whether a caller wants a fee bump now, and to which fees at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wish: Option<Fees>,
    /// What is in a block, as far as we know: one of the attempts, or a foreign transaction with the same nonce.
    #[serde(default)]
    pub mined: Option<Mined>,
    /// Whether it was reported as stalled.
    #[serde(default)]
    pub stalled: bool,
}

impl Slot {
    /// A nonce with its first attempt.
    pub fn new(owner: Option<RequestId>, attempt: Attempt) -> Self {
        Self { owner, attempts: vec![attempt], cancel: None, wish: None, mined: None, stalled: false }
    }

    /// The newest attempt, with the highest fees.
    pub fn last(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// The most that this nonce can cost, in wei.
    pub fn cost(&self) -> U256 {
        self.attempts.iter().map(|attempt| attempt.cost).max().unwrap_or_default()
    }

    /// The attempt with a hash.
    pub fn attempt(&self, hash: B256) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.hash == hash)
    }

    /// Whether a noop competes with the request's own attempts.
    pub fn has_noop(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.kind == AttemptKind::Noop)
    }
}

/// A nonce on loan to an outside signer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NonceLease {
    /// What the signer shows when it comes back.
    pub token: String,
    /// When the loan ends.
    #[serde(with = "quantity::time")]
    pub until: Time,
    /// Whether it was reported that somebody must act.
    #[serde(default)]
    pub reported: bool,
}

/// The state of a nonce.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NonceState {
    /// Used up, by a transaction that cannot go away.
    Final,
    /// Used up by a transaction that is not ours and might still go away.
    Foreign,
    /// It has attempts.
    Bound(Slot),
    /// On loan.
    Leased(NonceLease),
    /// To be used next.
    Free {
        /// Since when.
        #[serde(with = "quantity::time")]
        since: Time,
    },
}

impl NonceState {
    /// The slot, if it is bound.
    pub fn slot(&self) -> Option<&Slot> {
        match self {
            Self::Bound(slot) => Some(slot),
            _ => None,
        }
    }
}
