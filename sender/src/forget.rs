//! Forgetting what is over, so that nothing grows for ever: requests with all that belongs to them, later their names,
//! events of accounts, dead letters, and index entries of what has ended that lead nowhere.
//!
//! Each pass goes on where the one before stopped, so rows that cannot go yet never stand in the way of others.

use crate::{
    facade::Error,
    shared::Shared,
    store::{Acquired, LEASE_MS, Outcome, StoreError},
};
use sender_model::{
    AccountId, Commit, Config, Delivery, Event, Fence, Key, Request, RequestId, UsedName, Value, key,
    retention,
};
use std::{collections::BTreeMap, sync::Arc};
use types::{Duration, Time};

/// Rows of one kind that are read at a time, and in one pass.
const PAGE: usize = 500;
const PAGES_MAX: usize = 8;
/// The lease under which rows go that belong to no account.
const LEASE: &str = "forgetting";

/// How far each list was looked through.
#[derive(Debug, Default)]
pub(crate) struct Forgetting {
    done: Option<Key>,
    used: Option<Key>,
    letters: Option<Key>,
    events: Option<Key>,
}

/// Something that may be over.
enum Past {
    Request(Box<Request>),
    Name(Box<UsedName>),
    Letter(Delivery),
    Event(Box<Event>),
}

impl Past {
    fn account(&self) -> AccountId {
        match self {
            Self::Request(request) => request.account,
            Self::Name(used) => used.account,
            Self::Letter(letter) => letter.account,
            Self::Event(event) => event.account,
        }
    }

    fn commit(&self, epoch: u64, config: &Config, now: Time) -> Result<Option<Commit>, serde_json::Error> {
        match self {
            Self::Request(request) => retention::forget(request, epoch, config, now),
            Self::Name(used) => retention::forget_name(used, epoch, config, now),
            Self::Letter(letter) => retention::bury(letter, epoch, config, now),
            Self::Event(event) => Ok(retention::forget_event(event, epoch, config, now)),
        }
    }

    /// Whether it is worth asking for the account: the epoch makes no difference to that.
    fn is_over(&self, config: &Config, now: Time) -> bool {
        self.commit(0, config, now).is_ok_and(|commit| commit.is_some())
    }
}

/// A list of what has ended, in the order of the ends. Its rows only lead to others.
#[derive(Clone, Copy)]
enum List {
    Requests,
    Names,
}

impl List {
    fn prefix(self) -> Key {
        match self {
            Self::Requests => key::all_done(),
            Self::Names => key::all_used(),
        }
    }

    fn keep_ms(self, config: &Config) -> u64 {
        match self {
            Self::Requests => config.retention_ms,
            Self::Names => config.name_retention_ms,
        }
    }

    /// The row that an entry leads to.
    fn row(self, id: &RequestId) -> Key {
        match self {
            Self::Requests => key::request(id),
            Self::Names => key::used_name(id),
        }
    }

    /// Reads such a row, and says which entry leads to it.
    fn read(self, row: &[u8]) -> Result<(Past, Option<Key>), serde_json::Error> {
        Ok(match self {
            Self::Requests => {
                let request: Box<Request> = serde_json::from_slice(row)?;
                let entry = request.completed_at.map(|at| key::done(at, &request.id));
                (Past::Request(request), entry)
            }
            Self::Names => {
                let used: Box<UsedName> = serde_json::from_slice(row)?;
                let entry = key::used(used.completed_at, &used.id);
                (Past::Name(used), Some(entry))
            }
        })
    }
}

impl Forgetting {
    /// Forgets some of what is over: dead letters before what they are about.
    pub(crate) async fn pass(&mut self, shared: &Arc<Shared>) -> Result<(), Error> {
        let read = |row: &[u8]| serde_json::from_slice(row).ok().map(Past::Letter);
        forget_rows(shared, key::all_dead_letters(), &mut self.letters, read).await?;
        let read = |row: &[u8]| serde_json::from_slice(row).ok().map(Past::Event);
        forget_rows(shared, key::account_events(), &mut self.events, read).await?;
        forget_list(shared, List::Requests, &mut self.done).await?;
        forget_list(shared, List::Names, &mut self.used).await
    }
}

/// Forgets what ended long ago, the oldest first.
async fn forget_list(shared: &Arc<Shared>, list: List, after: &mut Option<Key>) -> Result<(), Error> {
    let keep = Duration::from_millis(list.keep_ms(&shared.config));
    for _ in 0..PAGES_MAX {
        let mut rows = shared.store.scan(list.prefix(), after.clone(), PAGE).await?;
        let now = shared.now();
        let read = rows.len();
        // What is younger comes later. A name without a time leads nowhere.
        rows.retain(|(name, _)| key::time_of_end(name).is_none_or(|at| now.since(at) >= keep));
        let is_last = rows.len() < PAGE || rows.len() < read;
        *after = rows.last().map(|(name, _)| name.clone()).filter(|_| !is_last);
        forget_page(shared, list, rows.into_iter().map(|(name, _)| name).collect()).await?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Looks through a list whose rows say everything about themselves.
async fn forget_rows(
    shared: &Arc<Shared>,
    prefix: Key,
    after: &mut Option<Key>,
    read: impl Fn(&[u8]) -> Option<Past>,
) -> Result<(), Error> {
    for _ in 0..PAGES_MAX {
        let rows = shared.store.scan(prefix.clone(), after.clone(), PAGE).await?;
        let is_last = rows.len() < PAGE;
        *after = rows.last().map(|(name, _)| name.clone()).filter(|_| !is_last);
        forget_all(shared, rows.iter().filter_map(|(_, row)| read(row)).collect()).await?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Forgets what some entries of a list lead to, and entries that lead nowhere.
async fn forget_page(shared: &Arc<Shared>, list: List, entries: Vec<Key>) -> Result<(), Error> {
    let named: Vec<(Key, Key)> = entries
        .into_iter()
        .filter_map(|entry| key::request_of_live(&entry).map(|id| (entry, list.row(&id))))
        .collect();
    let rows = shared.store.get(named.iter().map(|(_, row)| row.clone()).collect()).await?;
    let (mut past, mut nowhere) = (Vec::new(), Vec::new());
    for ((entry, name), row) in named.into_iter().zip(rows) {
        match row.as_deref().map(|row| list.read(row)).transpose() {
            Ok(Some((found, leads))) if leads.as_ref() == Some(&entry) => past.push(found),
            Ok(_) => nowhere.push((entry, (name, row))),
            Err(why) => tracing::error!(%why, name, "Sender: a row is damaged"),
        }
    }
    forget_entries(shared, nowhere).await?;
    forget_all(shared, past).await
}

async fn forget_entries(
    shared: &Arc<Shared>,
    entries: Vec<(Key, (Key, Option<Value>))>,
) -> Result<(), Error> {
    if entries.is_empty() {
        return Ok(());
    }
    let acquired = shared.store.acquire(LEASE.into(), shared.holder.clone(), LEASE_MS, true).await?;
    let Acquired::Taken { epoch, .. } = acquired else { return Ok(()) };
    let fence = Fence { lease: LEASE.into(), epoch };
    for (entry, request) in entries {
        tracing::warn!(entry, "Sender: what has ended is not there");
        drop(shared.store.commit(retention::forget_index_entry(entry, request, fence.clone())).await?);
    }
    drop(shared.store.release(fence).await);
    Ok(())
}

/// Forgets what is over, in the name of the accounts that it belongs to: the worker's if there is one, else for a moment
/// our own.
async fn forget_all(shared: &Arc<Shared>, past: Vec<Past>) -> Result<(), Error> {
    let mut of_account: BTreeMap<AccountId, Vec<Past>> = BTreeMap::new();
    for past in past {
        of_account.entry(past.account()).or_default().push(past);
    }
    for (account, past) in of_account {
        let (config, now) = (shared.config_of(account), shared.now());
        let over: Vec<Past> = past.into_iter().filter(|past| past.is_over(&config, now)).collect();
        if over.is_empty() {
            continue;
        }
        let owned = shared.workers().get(&account).and_then(|handle| handle.epoch());
        let (epoch, borrowed) = match owned {
            Some(epoch) => (epoch, false),
            None => {
                let lease = account.to_string();
                match shared.store.acquire(lease, shared.holder.clone(), LEASE_MS, false).await? {
                    Acquired::Taken { epoch, .. } => (epoch, true),
                    // Whoever has it forgets it.
                    Acquired::Held { .. } => continue,
                }
            }
        };
        for past in over {
            let done = forget_one(shared, &past, epoch, &config, now).await;
            match done {
                Ok(Outcome::Stale) => break,
                // A conflict means that somebody is still to be told something about it.
                Ok(Outcome::Committed | Outcome::Conflict(_)) => {}
                // One that cannot be forgotten must not keep the others.
                Err(why) => tracing::warn!(%account, %why, "Sender: something cannot be forgotten"),
            }
        }
        if borrowed {
            drop(shared.store.release(Fence::of(account, epoch)).await);
        }
    }
    Ok(())
}

async fn forget_one(
    shared: &Arc<Shared>,
    past: &Past,
    epoch: u64,
    config: &Config,
    now: Time,
) -> Result<Outcome, StoreError> {
    let commit = past.commit(epoch, config, now);
    match commit.map_err(|why| StoreError::Unusable(format!("a row cannot be written: {why}")))? {
        Some(commit) => shared.store.commit(commit).await,
        None => Ok(Outcome::Committed),
    }
}
