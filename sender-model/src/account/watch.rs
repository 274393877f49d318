//! What is remembered about a question or a send while its owner lives.

use super::Account;
use crate::Nonce;
use types::{Duration, Time};

/// How a bound nonce is being watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// Whether bytes of it may have left. True for all that was loaded: who knows what the former owner did.
    pub sent: bool,
    /// When to send (again).
    pub send_at: Time,
    /// Since when an answer to a send is awaited.
    pub sending: Option<Time>,
    /// Failures in a row.
    pub failures: u32,
    /// Whether a node has said that the price is too low.
    pub underpriced: bool,
    /// Whether the target has it in a block that is being built.
    pub bundled: bool,
    /// When to ask for receipts (again).
    pub receipts_at: Time,
    /// Whether a node has said that the nonce is used up, whatever the count says.
    pub used_up: bool,
    /// Whether a node has answered for every attempt that it knows no receipt.
    pub missing: bool,
    /// When to ask who used the nonce (again).
    pub identify_at: Time,
    /// Not to be signed for again before: the signer has refused.
    pub sign_at: Time,
    /// Since when a foreign transaction is not seen any more.
    pub gone_since: Option<Time>,
}

/// What is known about whether a request would work.
#[derive(Clone, Debug)]
pub(super) enum Simulated {
    /// It was asked.
    Asked { at: Time, errors: u32 },
    /// It would work.
    Gas { gas: u64, at: Time },
    /// Nobody answered; to be asked again.
    Failed { retry_at: Time, errors: u32 },
}

impl Account {
    pub(super) fn watch(&mut self, nonce: Nonce) -> &mut Watch {
        self.watches.entry(nonce).or_default()
    }

    /// A pause that doubles with every failure.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        let ms = self.config.backoff_ms.saturating_mul(1 << failures.min(20));
        Duration::from_millis(ms.min(self.config.backoff_max_ms))
    }
}

pub(super) const fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
