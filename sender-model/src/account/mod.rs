//! One account, as its owner has it in memory.
//!
//! | part | what it owns |
//! |---|---|
//! | [`NonceBook`] | where each nonce stands, and the watch over its sends |
//! | [`Requests`] | requests that have not ended, and the queue of those without a nonce |
//! | [`ChainTracker`] | the newest look at the chain, the counts, and when to look again |
//! | [`Signing`] | drafts that wait for signatures, and how the signer behaves |
//! | [`Simulations`] | whether requests would work |
//! | [`FeePolicy`] | what an attempt may offer |
//! | [`EventLog`] | events to be committed, and alerts that are told once |
//! | [`Changes`] | what the next commit expects, and which attempts are durable |
//!
//! The parts do not know each other. What concerns more than one of them is a method of [`Account`], by topic: binding,
//! replacing, observing the chain, settling, and what operators ask for.
//!
//! The machine is told what happened (`handle_*`) and asked what to do ([`Account::poll`]). What changed must be
//! committed ([`Account::take_commit`], then [`Account::committed`]); if a commit does not succeed, for whatever reason,
//! the whole value is dropped and loaded anew, because memory must never be ahead of the store. Only bytes that are
//! durable are ever handed out to be sent.

mod action;
mod bind;
mod book;
mod changes;
mod draft;
mod ended;
mod events;
mod fee_policy;
mod health;
mod load;
mod obey;
mod observe;
mod operate;
mod poll;
mod raw;
mod reconcile;
mod replace;
mod requests;
mod sent;
mod settle;
mod signing;
mod simulate;
mod simulations;
mod tracker;
mod watch;

use super::{AccountId, Config, Nonce, NonceState, Request, RequestId, State, View, quantity};
use book::NonceBook;
use changes::Changes;
use events::EventLog;
use fee_policy::FeePolicy;
use requests::Requests;
use serde::{Deserialize, Serialize};
use signing::Signing;
use simulations::Simulations;
use std::sync::Arc;
use tracker::ChainTracker;
use types::Time;

pub use action::Action;
pub use changes::CommitError;
pub use health::{Health, NonceHealth};
pub use load::{LoadError, Rows};
pub use operate::{CancelOutcome, OperationError, Withdrawal};
pub use raw::RawRequest;

/// The account's own row: what is durable of its parts, but for nonces and requests, which have rows of their own.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    /// Counts commits, so that no two rows are the same.
    version: u64,
    /// Whether the chain was looked at, so that `base` and `next` mean something.
    started: bool,
    /// The lowest nonce with a row.
    base: Nonce,
    /// The nonce after the highest one with a row.
    next: Nonce,
    /// The highest final transaction count that was seen. It never falls.
    final_count: u64,
    /// Whether new nonces are bound.
    paused: bool,
    /// Events told about the account.
    events: u32,
    /// The highest transaction count that was seen, and when it last rose.
    count: u64,
    #[serde(with = "quantity::time")]
    moved_at: Time,
    /// When a transaction last became final.
    #[serde(default, with = "quantity::maybe_time")]
    confirmed_at: Option<Time>,
    /// The newest resets, in milliseconds.
    resets_ms: Vec<u64>,
    /// Whether it was reported that there are too many free nonces, or too little money.
    gap_told: bool,
    funds_told: bool,
    /// Whether it was reported that the chain's counts cannot be believed.
    #[serde(default)]
    doubt_told: bool,
}

/// Whether an account's row says that it is paused. For those who do not own it.
pub fn is_paused(row: &[u8]) -> Result<bool, serde_json::Error> {
    serde_json::from_slice::<Row>(row).map(|row| row.paused)
}

impl Row {
    fn of(account: &Account) -> Self {
        let alerts = account.events.alerts();
        Self {
            version: account.changes.version(),
            started: account.book.is_started(),
            base: account.book.base(),
            next: account.book.next(),
            final_count: account.chain.final_count(),
            paused: account.paused,
            events: account.events.told(),
            count: account.chain.highest_count(),
            moved_at: account.chain.moved_at(),
            confirmed_at: account.confirmed_at,
            resets_ms: account.resets_ms.clone(),
            gap_told: alerts.gaps,
            funds_told: alerts.funds,
            doubt_told: alerts.doubt,
        }
    }
}

/// One account in memory. See the [module](self).
#[derive(Clone, Debug)]
pub struct Account {
    config: Arc<Config>,
    id: AccountId,
    epoch: u64,
    /// Whether no new nonces are bound.
    paused: bool,
    /// When a transaction last became final.
    confirmed_at: Option<Time>,
    /// When a transaction was last seen in a block; not durable.
    mined_at: Option<Time>,
    /// The newest resets.
    resets_ms: Vec<u64>,
    book: NonceBook,
    requests: Requests,
    chain: ChainTracker,
    signing: Signing,
    simulations: Simulations,
    events: EventLog,
    changes: Changes,
}

impl Account {
    /// Which account.
    pub fn id(&self) -> AccountId {
        self.id
    }

    /// The epoch under which it is owned.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The lowest nonce that is not settled, and the nonce after the highest one that is used.
    pub fn range(&self) -> (Nonce, Nonce) {
        (self.book.base(), self.book.next())
    }

    /// Where the nonces of the [range](Account::range) stand, in order.
    pub fn nonces(&self) -> impl Iterator<Item = (Nonce, &NonceState)> {
        self.book.iter()
    }

    /// Where a nonce of the [range](Account::range) stands.
    pub fn nonce_state(&self, nonce: Nonce) -> Option<&NonceState> {
        self.book.get(nonce)
    }

    /// A request that has not ended.
    pub fn request(&self, id: &RequestId) -> Option<&Request> {
        self.requests.get(id)
    }

    /// All requests that have not ended.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter()
    }

    /// How many requests have no nonce yet.
    pub fn waiting(&self) -> usize {
        self.requests.waiting()
    }

    /// The newest look at the chain, and when it came.
    pub fn view(&self) -> Option<(&View, Time)> {
        self.chain.view()
    }

    /// Takes in a request that was accepted, by whomever. One that is known or has ended changes nothing.
    ///
    /// All that was live when the account was loaded is in memory, and nobody else moves a request meanwhile. So one that
    /// is not known was accepted since, or has ended and this is an old copy. Which of the two it is, the store says: its
    /// first write demands that its row in the list of live requests is there.
    pub fn admit(&mut self, request: Request) {
        let known = self.requests.get(&request.id).is_some();
        let ended = self.requests.has_ended(&request);
        #[cfg(feature = "bugs")]
        let ended = ended && !self.makes(super::Mistake::OldCopyIsNew);
        let accepted = matches!(request.state, State::Accepted { .. });
        if request.account != self.id || known || ended || !accepted {
            return;
        }
        self.requests.admit(request);
        #[cfg(feature = "bugs")]
        if self.makes(super::Mistake::OldCopyIsNew) {
            self.requests.trust_unwritten();
        }
    }

    /// Runs by other settings from now on.
    pub fn set_config(&mut self, config: Config) {
        if *self.config != config {
            self.config = Arc::new(config);
        }
    }

    /// Tells these endpoints from now on.
    pub fn set_endpoints(&mut self, endpoints: Vec<String>) {
        if self.config.endpoints != endpoints {
            Arc::make_mut(&mut self.config).endpoints = endpoints;
        }
    }

    /// Whether nothing waits for anything: no request, and no nonce that is bound, lent, or a gap.
    pub fn is_idle(&self) -> bool {
        let quiet = |state: &NonceState| matches!(state, NonceState::Final | NonceState::Foreign);
        self.requests.is_empty() && !self.has_changes() && self.book.iter().all(|(_, state)| quiet(state))
    }

    /// Whether something waits for a signature that we cannot make.
    pub fn lacks_key(&self) -> bool {
        !self.config.holds_key && self.requests.iter().any(|request| !request.raw)
    }

    fn fees(&self) -> FeePolicy {
        FeePolicy::new(&self.config)
    }

    #[cfg(feature = "bugs")]
    fn makes(&self, mistake: super::Mistake) -> bool {
        self.config.makes(mistake)
    }
}
