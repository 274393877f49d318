//! The store in one file, for one process: redb, with group commit.

use super::{
    Acquired, Outcome, Pending, SCAN_ROWS_MAX, Store, StoreError, end_of_prefix,
    file::File,
    group::Groups,
    writer::{Done, Job, Writer},
};
use crate::clock::Clock;
use redb::{ReadTransaction, TableDefinition};
use sender_model::{Commit, Fence, Key, Value};
use std::{
    ops::Bound,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};
use tokio::sync::oneshot;

pub(super) const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
pub(super) const LEASES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("leases");

/// How the file is run.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// The most commits that share a sync. One makes every commit wait for a sync of its own.
    pub group_max: usize,
    /// The clock for leases.
    pub clock: Clock,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self { group_max: 512, clock: Clock::default() }
    }
}

/// How much was committed, and with how many syncs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Syncs {
    /// Commits that changed something.
    pub commits: u64,
    /// Calls of the operating system's sync.
    pub syncs: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub commits: AtomicU64,
    pub syncs: AtomicU64,
    /// For tests: what does not work, as bits of `counted`.
    #[cfg(test)]
    pub broken: AtomicU64,
}

/// One file. See the [module](self).
#[derive(Debug)]
pub struct Embedded {
    pub(super) file: Arc<File>,
    jobs: Option<mpsc::Sender<Job>>,
    writer: Option<thread::JoinHandle<()>>,
    counters: Arc<Counters>,
}

impl Embedded {
    /// Opens a file, or makes one that only its owner can read. A file of another kind or version is refused.
    pub fn open(path: &Path, options: EmbeddedOptions) -> Result<Self, StoreError> {
        let counters = Arc::new(Counters::default());
        let file = Arc::new(File::open(path, counters.clone())?);
        let last_group = file.last_group().map_err(unusable)?;
        let (jobs, receiver) = mpsc::channel();
        let writer =
            Writer { file: file.clone(), counters: counters.clone(), clock: options.clock, last_group };
        let groups = Groups::new(receiver, options.group_max);
        let writer = thread::Builder::new()
            .name("sender-store".into())
            .spawn(move || writer.run(groups))
            .map_err(unusable)?;
        Ok(Self { file, jobs: Some(jobs), writer: Some(writer), counters })
    }

    /// How much was committed since the file was opened, and with how many syncs.
    pub fn syncs(&self) -> Syncs {
        Syncs {
            commits: self.counters.commits.load(Ordering::Relaxed),
            syncs: self.counters.syncs.load(Ordering::Relaxed),
        }
    }

    fn ask<T: Send + 'static>(&self, job: impl FnOnce(Done<T>) -> Job) -> Pending<'_, T> {
        let (done, answer) = oneshot::channel();
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job(done)).is_ok());
        Box::pin(async move {
            if !sent {
                return Err(StoreError::Unusable("the writer has ended".into()));
            }
            answer.await.unwrap_or_else(|_| Err(StoreError::Unknown("the writer has ended".into())))
        })
    }
}

fn read_rows(transaction: &ReadTransaction, keys: &[Key]) -> Result<Vec<Option<Value>>, redb::Error> {
    let table = transaction.open_table(ROWS)?;
    let read = |key: &Key| Ok(table.get(key.as_bytes())?.map(|row| row.value().to_vec()));
    keys.iter().map(read).collect()
}

fn scan_rows(
    transaction: &ReadTransaction,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<(Key, Value)>, redb::Error> {
    let table = transaction.open_table(ROWS)?;
    let end = end_of_prefix(prefix);
    let from = match after.filter(|after| *after >= prefix) {
        Some(after) => Bound::Excluded(after.as_bytes()),
        None => Bound::Included(prefix.as_bytes()),
    };
    if after.is_some_and(|after| after.as_bytes() >= end.as_slice()) {
        return Ok(vec![]);
    }
    let range = table.range::<&[u8]>((from, Bound::Excluded(end.as_slice())))?;
    let mut rows = Vec::new();
    for row in range.take(limit.min(SCAN_ROWS_MAX)) {
        let (key, value) = row?;
        rows.push((String::from_utf8_lossy(key.value()).into_owned(), value.value().to_vec()));
    }
    Ok(rows)
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // What was asked for before is still done; then the thread ends and the file is closed.
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            let _ended = writer.join();
        }
    }
}

impl Store for Embedded {
    fn commit(&self, commit: Commit) -> Pending<'_, Outcome> {
        if let Err(malformed) = commit.check() {
            return Box::pin(core::future::ready(Err(malformed.into())));
        }
        self.ask(|done| Job::Commit(commit, done))
    }

    fn get(&self, keys: Vec<Key>) -> Pending<'_, Vec<Option<Value>>> {
        Box::pin(core::future::ready(self.file.read(|transaction| read_rows(transaction, &keys))))
    }

    fn scan(&self, prefix: Key, after: Option<Key>, limit: usize) -> Pending<'_, Vec<(Key, Value)>> {
        let scan = |transaction: &ReadTransaction| scan_rows(transaction, &prefix, after.as_deref(), limit);
        Box::pin(core::future::ready(self.file.read(scan)))
    }

    fn acquire(&self, lease: String, holder: String, ttl_ms: u64, force: bool) -> Pending<'_, Acquired> {
        self.ask(|done| Job::Acquire { lease, holder, ttl_ms, force, done })
    }

    fn renew(&self, fence: Fence, ttl_ms: u64) -> Pending<'_, bool> {
        self.ask(|done| Job::Renew(fence, ttl_ms, done))
    }

    fn release(&self, fence: Fence) -> Pending<'_, bool> {
        self.ask(|done| Job::Release(fence, done))
    }

    fn copy(&self, path: &Path) -> Result<bool, StoreError> {
        Self::copy(self, path).map(|()| true)
    }

    fn trouble(&self) -> Option<String> {
        self.file.trouble()
    }
}

pub(super) fn unusable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unusable(error.to_string())
}

#[cfg(test)]
#[path = "broken_file.rs"]
mod tests;
