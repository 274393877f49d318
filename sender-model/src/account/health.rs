//! How an account is doing, for those who watch.

use super::Account;
#[cfg(feature = "openapi")]
use crate::openapi;
use crate::{Held, Request, RequestId, State};
use alloy_primitives::{Address, U256};
use serde::Serialize;
use types::Time;

/// The nonce book in six numbers, under the names that operators know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NonceHealth {
    /// The account.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Address))]
    pub address: Address,
    /// The next nonce.
    pub tracked_nonce: u64,
    /// The chain's count, if it was seen.
    pub chain_nonce: Option<u64>,
    /// Nonces that are bound and not used up.
    pub pending_count: usize,
    /// How long the oldest of them has been bound, in milliseconds.
    pub oldest_pending_age: Option<u64>,
    /// Free nonces below the next one.
    pub gap_count: usize,
}

/// The account's health.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// The balance, if it was seen, in wei.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<openapi::Quantity>))]
    pub balance: Option<U256>,
    /// What is promised and not paid and, if the chain was seen, one plain transaction more, in wei: below it the account
    /// runs dry.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Quantity))]
    pub balance_threshold: U256,
    /// When the balance was seen, in milliseconds.
    pub balance_fetched_at: Option<u64>,
    /// When a transaction last became final, in milliseconds.
    pub last_confirmation_at: Option<u64>,
    /// When the chain's count last rose, in milliseconds.
    pub last_nonce_movement_at: u64,
    /// The newest resets, in milliseconds.
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub nonce_resets: Vec<u64>,
    /// Whether it is paused: no new nonces are bound.
    pub paused: bool,
    /// Requests without a nonce.
    pub waiting: usize,
    /// Of these, held for lack of funds or another reason.
    pub held: usize,
    /// Whether the next transaction has been waiting for long, or no more nonces are bound until some are final.
    pub stalled: bool,
}

impl Account {
    /// The nonce book in numbers.
    pub fn nonce_health(&self, now: Time) -> NonceHealth {
        let count = self.chain.count();
        let pending = || self.book.bound().filter(|(nonce, _)| *nonce >= count);
        let oldest =
            pending().filter_map(|(_, slot)| slot.attempts.first()).map(|attempt| attempt.bound_at).min();
        NonceHealth {
            address: self.id.address,
            tracked_nonce: self.book.next(),
            chain_nonce: self.chain.view().map(|(view, _)| view.latest_count),
            pending_count: pending().count(),
            oldest_pending_age: oldest.map(|at| now.since(at).as_millis() as u64),
            gap_count: self.book.free(count).count(),
        }
    }

    /// The account's health.
    pub fn health(&self, now: Time) -> Health {
        let head = self.book.slot(self.chain.count());
        let view = self.chain.view();
        Health {
            balance: view.map(|(view, _)| view.balance),
            balance_threshold: match view {
                Some((view, _)) => self.threshold(view),
                None => self.reserved(),
            },
            balance_fetched_at: view.map(|(_, at)| at.as_millis()),
            last_confirmation_at: self.confirmed_at.map(Time::as_millis),
            last_nonce_movement_at: self.chain.moved_at().as_millis(),
            nonce_resets: self.resets_ms.clone(),
            paused: self.paused,
            waiting: self.requests.waiting(),
            held: self.requests.queue().filter(|id| self.requests.is_held(id)).count(),
            stalled: (head.is_some_and(|slot| slot.mined.is_none()) && self.is_stalled(now))
                || self.is_full(),
        }
    }

    /// Why a request waits although it is its turn, if it does.
    pub fn held(&self, id: &RequestId) -> Option<Held> {
        match self.requests.get(id) {
            Some(Request { state: State::Accepted { .. }, .. }) if self.paused => Some(Held::Paused),
            Some(Request { state: State::Accepted { held }, .. }) => *held,
            _ => None,
        }
    }
}
