//! One account, as its owner has it in memory: the nonce book, the requests that have not ended, and what is being asked.
//!
//! The machine is told what happened (`handle_*`) and asked what to do ([`Account::poll`]). What changed must be
//! committed ([`Account::take_commit`], then [`Account::committed`]); if a commit does not succeed, for whatever reason,
//! the whole value is dropped and loaded anew, because memory must never be ahead of the store. Only bytes that are
//! durable are ever handed out to be sent.

mod action;
mod bind;
mod book;
mod chain;
mod changes;
mod doubt;
mod draft;
mod ended;
mod health;
mod load;
mod obey;
mod operate;
mod poll;
mod raw;
mod replace;
mod sent;
mod settle;
mod watch;

use super::{AccountId, Config, Nonce, Place, Request, RequestId, State, Ticket, View, quantity};
use changes::Changes;
use draft::Waiting;
use ended::Ended;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use types::Time;
use watch::{Simulated, Watch};

pub use action::Action;
pub use changes::CommitError;
pub use health::{Health, NonceHealth};
pub use load::{LoadError, Rows};
pub use operate::{CancelAnswer, OperationError, Withdrawal};
pub use raw::RawSubmission;

/// Resets that are remembered.
const RESETS_KEPT: usize = 5;

/// The account's own row.
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

/// One account in memory. See the [module](self).
#[derive(Clone, Debug)]
pub struct Account {
    config: Arc<Config>,
    id: AccountId,
    epoch: u64,
    row: Row,
    /// The row as it is in the store: what the next commit expects to find.
    stored: Option<Vec<u8>>,
    places: BTreeMap<Nonce, Place>,
    requests: BTreeMap<RequestId, Request>,
    /// Requests without a nonce, in the order of acceptance.
    queue: BTreeSet<(Time, RequestId)>,
    /// Requests that were taken in since the account was loaded and have not been written by this owner.
    unwritten: BTreeSet<RequestId>,
    ended: Ended,
    changes: Changes,

    // What follows is not durable: it is asked again after a restart.
    view: Option<(View, Time)>,
    /// A look that was not believed.
    doubted: Option<(View, Time)>,
    /// Since when the chain's count is below what was final.
    fell_since: Option<Time>,
    /// When to look at the chain (again).
    look_at: Time,
    watches: BTreeMap<Nonce, Watch>,
    drafts: BTreeMap<Ticket, Waiting>,
    tickets: Ticket,
    /// Until when nothing is signed, after a signer has failed.
    signer_rests_until: Time,
    simulations: BTreeMap<RequestId, Simulated>,
    /// Requests that the signer has refused, and when it is asked again.
    refusals: BTreeMap<RequestId, Time>,
    /// No request that waits expires before.
    expiry_at: Time,
    checks_asked: BTreeMap<u64, Time>,
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
        (self.row.base, self.row.next)
    }

    /// Where the nonces stand.
    pub fn places(&self) -> &BTreeMap<Nonce, Place> {
        &self.places
    }

    /// A request that has not ended.
    pub fn request(&self, id: &RequestId) -> Option<&Request> {
        self.requests.get(id)
    }

    /// All requests that have not ended.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.requests.values()
    }

    /// How many requests have no nonce yet.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The newest look at the chain, and when it came.
    pub fn view(&self) -> Option<(&View, Time)> {
        self.view.as_ref().map(|(view, at)| (view, *at))
    }

    /// Takes in a request that was accepted, by whomever. One that is known or has ended changes nothing.
    ///
    /// All that was live when the account was loaded is in memory, and nobody else moves a request meanwhile. So one that
    /// is not known was accepted since, or has ended and this is an old copy. Which of the two it is, the store says: its
    /// first write demands that its row in the list of live requests is there.
    pub fn admit(&mut self, request: Request) {
        let known = self.requests.contains_key(&request.id);
        let ended = self.ended.contains(request.accepted_at, &request.id);
        #[cfg(feature = "bugs")]
        let ended = ended && !self.makes(super::Mistake::OldCopyIsNew);
        if request.account != self.id || known || ended {
            return;
        }
        if matches!(request.state, State::Accepted { .. }) {
            self.expiry_at = self.expiry_at.min(request.expires_at.unwrap_or(Time::MAX));
            self.queue.insert((request.accepted_at, request.id.clone()));
            self.unwritten.insert(request.id.clone());
            #[cfg(feature = "bugs")]
            if self.makes(super::Mistake::OldCopyIsNew) {
                self.unwritten.clear();
            }
            self.requests.insert(request.id.clone(), request);
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
        let quiet = |place: &Place| matches!(place, Place::Final | Place::Foreign);
        self.requests.is_empty() && !self.has_changes() && self.places.values().all(quiet)
    }

    /// Whether something waits for a signature that we cannot make.
    pub fn lacks_key(&self) -> bool {
        !self.config.holds_key && self.requests.values().any(|request| !request.raw)
    }

    fn is_held(&self, id: &RequestId) -> bool {
        let state = self.requests.get(id).map(|request| &request.state);
        matches!(state, Some(State::Accepted { held: Some(_) }))
    }

    #[cfg(feature = "bugs")]
    fn makes(&self, mistake: super::Mistake) -> bool {
        self.config.makes(mistake)
    }
}
