//! What the owner is to do outside. Every action may be lost or done twice; the machine asks again.

use crate::{Draft, Intent, Nonce, RequestId};
use alloy_primitives::{B256, Bytes};

/// Something to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Fetch one node's view of the account; answered by `handle_view` or `handle_view_failed`.
    FetchView {
        /// The counts that the account can explain; see [`View::is_expected`](crate::View::is_expected).
        known: Option<(u64, u64)>,
    },
    /// Would this work, and with how much gas? Answered by `handle_simulation`.
    Simulate {
        /// The request.
        id: RequestId,
        /// What it wants.
        intent: Intent,
        /// What is mined before it: on top of these. Empty for the chain's newest state.
        before: Vec<(RequestId, Intent)>,
    },
    /// Sign this; answered by `handle_signed`, `handle_sign_failed` or `handle_sign_refused`.
    Sign(Box<Draft>),
    /// Send these bytes; answered by `handle_sent`.
    Send {
        /// The nonce.
        nonce: Nonce,
        /// The transaction's hash.
        hash: B256,
        /// The signed transaction.
        bytes: Bytes,
    },
    /// Ask for the receipts of all of a nonce's attempts; answered by `handle_receipts`.
    Receipts {
        /// The nonce.
        nonce: Nonce,
        /// The attempts.
        hashes: Vec<B256>,
    },
    /// Ask one node for its block at a height and its final height; answered by `handle_block`.
    CheckBlock(u64),
    /// Find the transaction that used a nonce; answered by `handle_identified`.
    Identify {
        /// The nonce.
        nonce: Nonce,
        /// It is in no block below this height.
        from: u64,
    },
}
