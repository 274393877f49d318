//! The store in memory: for tests, with a clock that somebody sets and crashes that lose what was not synced; and for
//! networks that keep nothing, with the clock of the machine.

use super::{Acquired, Lease, Outcome, Pending, SCAN_ROWS_MAX, Store, StoreError, lease::judge};
use crate::clock::Clock;
use sender_model::{Commit, Fence, Key, Value, Write};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};
use types::Time;

#[derive(Debug, Default)]
struct Inner {
    rows: BTreeMap<Key, Value>,
    leases: BTreeMap<String, Lease>,
    /// What rows and leases were before what is not synced yet, newest last.
    undo: Vec<Undo>,
    now: Time,
    clock: Option<Clock>,
    #[cfg(feature = "bugs")]
    ignores_epochs: bool,
}

#[derive(Debug)]
enum Undo {
    Row(Key, Option<Value>),
    Lease(String, Option<Lease>),
}

/// Rows in memory. See the [module](self).
#[derive(Debug, Default)]
pub struct Memory {
    inner: Mutex<Inner>,
}

impl Memory {
    /// An empty store at time zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store whose time is that of a clock.
    pub fn with_clock(clock: Clock) -> Self {
        Self { inner: Mutex::new(Inner { clock: Some(clock), ..Inner::default() }) }
    }

    /// A store that does not look at epochs, to show that the simulator notices.
    #[cfg(feature = "bugs")]
    pub fn ignoring_epochs() -> Self {
        Self { inner: Mutex::new(Inner { ignores_epochs: true, ..Inner::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere does not make the rows wrong: each change is made whole under the lock.
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Sets the store's clock.
    pub fn set_now(&self, now: Time) {
        self.lock().now = now;
    }

    /// Does a commit without syncing it: [`Memory::crash`] undoes it.
    pub fn apply(&self, commit: &Commit) -> Result<Outcome, StoreError> {
        commit.check()?;
        let mut inner = self.lock();
        let outcome = inner.judge(commit);
        if outcome == Outcome::Committed {
            for write in &commit.writes {
                inner.write(write);
            }
        }
        Ok(outcome)
    }

    /// Makes durable what was done.
    pub fn sync(&self) {
        self.lock().undo.clear();
    }

    /// Loses what was not synced.
    pub fn crash(&self) {
        let mut inner = self.lock();
        while let Some(undo) = inner.undo.pop() {
            match undo {
                Undo::Row(key, Some(value)) => drop(inner.rows.insert(key, value)),
                Undo::Row(key, None) => drop(inner.rows.remove(&key)),
                Undo::Lease(name, Some(lease)) => drop(inner.leases.insert(name, lease)),
                Undo::Lease(name, None) => drop(inner.leases.remove(&name)),
            }
        }
    }

    /// Reads a row.
    pub fn row(&self, key: &str) -> Option<Value> {
        self.lock().rows.get(key).cloned()
    }

    /// Reads rows by prefix.
    pub fn rows(&self, prefix: &str, after: Option<&str>, limit: usize) -> Vec<(Key, Value)> {
        let inner = self.lock();
        let from = after.map_or(prefix, |after| after.max(prefix));
        let rows =
            inner.rows.range(from.to_owned()..).filter(|(key, _)| after.is_none_or(|after| *key != after));
        let rows = rows.take_while(|(key, _)| key.starts_with(prefix)).take(limit.min(SCAN_ROWS_MAX));
        rows.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// How a lease stands.
    pub fn lease(&self, name: &str) -> Option<Lease> {
        self.lock().leases.get(name).cloned()
    }

    /// Changes a lease, durably.
    pub fn with_lease<T>(&self, name: &str, change: impl FnOnce(&mut Lease, Time) -> T) -> T {
        let mut inner = self.lock();
        let now = inner.now();
        let before = inner.leases.get(name).cloned();
        let result = change(inner.leases.entry(name.to_owned()).or_default(), now);
        inner.undo.push(Undo::Lease(name.to_owned(), before));
        inner.undo.clear();
        result
    }

    /// Takes a lease at once.
    pub fn acquire_now(&self, lease: &str, holder: &str, ttl_ms: u64, force: bool) -> Acquired {
        self.with_lease(lease, |lease, now| lease.acquire(holder, ttl_ms, force, now))
    }

    /// Makes a lease last longer at once.
    pub fn renew_now(&self, fence: &Fence, ttl_ms: u64) -> bool {
        self.with_lease(&fence.lease, |lease, now| lease.renew(fence.epoch, ttl_ms, now))
    }

    /// Gives a lease back at once.
    pub fn release_now(&self, fence: &Fence) -> bool {
        self.with_lease(&fence.lease, |lease, now| lease.release(fence.epoch, now))
    }
}

impl Inner {
    fn now(&self) -> Time {
        self.clock.as_ref().map_or(self.now, Clock::now)
    }

    fn judge(&self, commit: &Commit) -> Outcome {
        let lease = |name: &str| {
            #[cfg(feature = "bugs")]
            if let (true, sender_model::Authority::Holder(fence)) = (self.ignores_epochs, &commit.authority) {
                let forever = Lease { epoch: fence.epoch, holder: String::new(), until_ms: u64::MAX };
                return Ok(Some(forever));
            }
            Ok(self.leases.get(name).cloned())
        };
        let row = |key: &Key| Ok(self.rows.get(key).cloned());
        let Ok(outcome) = judge::<core::convert::Infallible>(commit, self.now(), lease, row);
        outcome
    }

    fn write(&mut self, write: &Write) {
        let before = match write {
            Write::Put(key, value) => self.rows.insert(key.clone(), value.clone()),
            Write::Delete(key) => self.rows.remove(key),
        };
        self.undo.push(Undo::Row(write.key().clone(), before));
    }
}

impl Store for Memory {
    fn commit(&self, commit: Commit) -> Pending<'_, Outcome> {
        let outcome = self.apply(&commit);
        self.sync();
        Box::pin(core::future::ready(outcome))
    }

    fn get(&self, keys: Vec<Key>) -> Pending<'_, Vec<Option<Value>>> {
        let rows = keys.iter().map(|key| self.row(key)).collect();
        Box::pin(core::future::ready(Ok(rows)))
    }

    fn scan(&self, prefix: Key, after: Option<Key>, limit: usize) -> Pending<'_, Vec<(Key, Value)>> {
        let rows = self.rows(&prefix, after.as_deref(), limit);
        Box::pin(core::future::ready(Ok(rows)))
    }

    fn acquire(&self, lease: String, holder: String, ttl_ms: u64, force: bool) -> Pending<'_, Acquired> {
        Box::pin(core::future::ready(Ok(self.acquire_now(&lease, &holder, ttl_ms, force))))
    }

    fn renew(&self, fence: Fence, ttl_ms: u64) -> Pending<'_, bool> {
        Box::pin(core::future::ready(Ok(self.renew_now(&fence, ttl_ms))))
    }

    fn release(&self, fence: Fence) -> Pending<'_, bool> {
        Box::pin(core::future::ready(Ok(self.release_now(&fence))))
    }
}
