//! Numbers for those who watch: counters since the start, gauges per account, two histograms. Plain values; whoever
//! renders them takes a [`Snapshot`].

use histogram::{Buckets, Histogram};
use sender_model::{AccountId, Event, EventKind, Nonce};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};
use types::Time;

/// The upper bounds of the histograms' buckets, in seconds.
const SECONDS: &[f64] = &[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What is counted since the start.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[doc = $doc])+ pub $name: AtomicU64,)+
        }

        /// What was counted since the start.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(rename_all = "camelCase")]
        pub struct Totals {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Counters {
            fn totals(&self) -> Totals {
                Totals { $($name: self.$name.load(Ordering::Relaxed),)+ }
            }
        }

        impl Totals {
            /// Every counter with its name and meaning.
            pub fn all(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($name), concat!($($doc),+), self.$name),)+]
            }
        }
    };
}

counters! {
    /// Passes of all workers.
    passes,
    /// Requests accepted.
    accepted,
    /// Accounts taken over with transactions in flight, which were sent again: transactions.
    recovered,
    /// Requests confirmed.
    confirmed,
    /// Requests reverted.
    reverted,
    /// Requests failed.
    failed,
    /// Requests cancelled or expired.
    ended_unsent,
    /// Transactions handed to a chain, repetitions included.
    sent,
    /// Transactions that a node refused.
    refused,
    /// Replacements drafted.
    replaced,
    /// Nonces that were lost to a transaction that is not ours.
    cross_nonce_anomalies,
    /// Nonces for which a node knew a transaction of ours that we had not expected.
    per_nonce_anomalies,
    /// Questions for receipts of a nonce that is used up which found none.
    nonces_without_receipts,
    /// Commits that were refused; the account was loaded again.
    conflicts,
    /// Leases taken.
    leases_taken,
    /// Leases lost.
    leases_lost,
    /// Webhooks that an endpoint has taken.
    webhooks_delivered,
    /// Tries to tell an endpoint that failed.
    webhooks_failed,
    /// Webhooks that were given up after the last try: dead letters.
    webhooks_dead,
}

/// An account in numbers, as of its last pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gauges {
    /// Requests without a nonce.
    pub queue: usize,
    /// Requests that wait for a reason of their own.
    pub held: usize,
    /// Bound and not yet taken by a node.
    pub borrowed: usize,
    /// Taken by a node and not in a block.
    pub submitted: usize,
    /// Nonces on loan.
    pub leased: usize,
    /// Free nonces.
    pub free: usize,
    /// The next nonce.
    pub next: Nonce,
    /// Whether the chain could not be seen lately or cannot be believed, or the account cannot be taken.
    pub degraded: bool,
    /// Whether the next transaction has been waiting for long.
    pub stuck: bool,
}

/// Everything, at one moment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// Since the start.
    pub totals: Totals,
    /// Accounts that this process runs.
    pub accounts: BTreeMap<AccountId, Gauges>,
    /// From acceptance until a node had it, in seconds.
    pub queued_to_sent: Buckets,
    /// From acceptance until it was in a block, in seconds.
    pub queued_to_mined: Buckets,
}

/// Where numbers are gathered.
#[derive(Debug)]
pub(crate) struct Stats {
    pub counters: Counters,
    pub queued_to_sent: Histogram,
    pub queued_to_mined: Histogram,
    accounts: Mutex<BTreeMap<AccountId, Gauges>>,
}

impl Default for Stats {
    fn default() -> Self {
        Self {
            counters: Counters::default(),
            queued_to_sent: Histogram::new(SECONDS),
            queued_to_mined: Histogram::new(SECONDS),
            accounts: Mutex::default(),
        }
    }
}

impl Stats {
    pub(crate) fn snapshot(&self) -> Snapshot {
        let accounts = self.accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        Snapshot {
            totals: self.counters.totals(),
            accounts,
            queued_to_sent: self.queued_to_sent.buckets(),
            queued_to_mined: self.queued_to_mined.buckets(),
        }
    }

    /// How many accounts cannot see their chain or cannot sign, and of how many the next transaction has been waiting
    /// for long.
    pub(crate) fn troubled(&self) -> (usize, usize) {
        let accounts = self.accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let count = |is: fn(&Gauges) -> bool| accounts.values().filter(|gauges| is(gauges)).count();
        (count(|gauges| gauges.degraded), count(|gauges| gauges.stuck))
    }

    /// How an account stands; none if this process does not run it any more.
    pub(crate) fn set(&self, account: AccountId, gauges: Option<Gauges>) {
        let mut accounts = self.accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match gauges {
            Some(gauges) => drop(accounts.insert(account, gauges)),
            None => drop(accounts.remove(&account)),
        }
    }

    /// An account that this process should run and cannot.
    pub(crate) fn degrade(&self, account: AccountId) {
        let mut accounts = self.accounts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        accounts.entry(account).or_default().degraded = true;
    }

    /// Counts what an event tells.
    pub(crate) fn note(&self, event: &Event) {
        let counters = &self.counters;
        let waited = || {
            let accepted_at =
                event.data.get("request").and_then(|request| request.get("acceptedAt"))?.as_u64()?;
            Some(event.at.since(Time::from_millis(accepted_at)))
        };
        match event.kind {
            EventKind::Accepted => Self::count(&counters.accepted, 1),
            EventKind::Submitted => {
                waited().into_iter().for_each(|time| self.queued_to_sent.observe_duration(time))
            }
            EventKind::Mined => {
                waited().into_iter().for_each(|time| self.queued_to_mined.observe_duration(time))
            }
            EventKind::Confirmed => Self::count(&counters.confirmed, 1),
            EventKind::Reverted => Self::count(&counters.reverted, 1),
            EventKind::Failed => Self::count(&counters.failed, 1),
            EventKind::Cancelled | EventKind::Expired => Self::count(&counters.ended_unsent, 1),
            EventKind::Replaced => Self::count(&counters.cross_nonce_anomalies, 1),
            EventKind::SendAttemptNack
            | EventKind::LowBalance
            | EventKind::Stalled
            | EventKind::NonceGap
            | EventKind::ActionRequired => {}
        }
    }

    pub(crate) fn count(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}
