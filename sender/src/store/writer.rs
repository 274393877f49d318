//! The embedded store's writing thread: a group of jobs, one transaction, one sync, then the answers.

use super::{
    Acquired, Lease, Outcome, StoreError,
    embedded::{Counters, LEASES, ROWS, unusable},
    group::Groups,
    lease::judge,
};
use crate::model::{Commit, Fence, Write};
use redb::{Database, ReadableTable, WriteTransaction};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};
use tokio::sync::oneshot;
use types::Time;

pub(super) type Done<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the thread is asked to do.
pub(super) enum Job {
    Commit(Commit, Done<Outcome>),
    Acquire { lease: String, holder: String, ttl_ms: u64, force: bool, done: Done<Acquired> },
    Renew(Fence, u64, Done<bool>),
    Release(Fence, Done<bool>),
}

/// What becomes true when the group is durable.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The thread that writes.
pub(super) struct Writer {
    pub database: Arc<Database>,
    pub counters: Arc<Counters>,
    pub clock: fn() -> Time,
}

impl Writer {
    pub(super) fn run(self, mut groups: Groups<Job>) {
        while let Some(group) = groups.next() {
            let begun = Instant::now();
            self.write(group);
            groups.took(begun.elapsed());
        }
    }

    /// Does a group in one transaction, and answers when it is durable.
    fn write(&self, group: Vec<Job>) {
        let transaction = match self.database.begin_write() {
            Ok(transaction) => transaction,
            Err(error) => return group.into_iter().for_each(|job| job.fail(unusable(&error))),
        };
        let now = (self.clock)();
        let (mut answers, mut failed): (Vec<Answer>, Option<redb::Error>) = (vec![], None);
        for job in group {
            if failed.is_some() {
                job.fail(StoreError::Unusable("a job of the same group failed".into()));
                continue;
            }
            match self.apply(&transaction, job, now) {
                Ok(answer) => answers.push(answer),
                Err(error) => failed = Some(error),
            }
        }
        let result = match failed {
            // Dropping the transaction undoes it.
            Some(error) => Err(unusable(error)),
            None => transaction.commit().map_err(|error| StoreError::Unknown(error.to_string())),
        };
        answers.into_iter().for_each(|answer| answer(result.clone()));
    }

    fn apply(&self, transaction: &WriteTransaction, job: Job, now: Time) -> Result<Answer, redb::Error> {
        match job {
            Job::Commit(commit, done) => {
                let outcome = self.apply_commit(transaction, &commit, now)?;
                Ok(answer(done, outcome))
            }
            Job::Acquire { lease, holder, ttl_ms, force, done } => {
                let change = |lease: &mut Lease| lease.acquire(&holder, ttl_ms, force, now);
                Ok(answer(done, change_lease(transaction, &lease, change)?))
            }
            Job::Renew(fence, ttl_ms, done) => {
                let change = |lease: &mut Lease| lease.renew(fence.epoch, ttl_ms, now);
                Ok(answer(done, change_lease(transaction, &fence.lease, change)?))
            }
            Job::Release(fence, done) => {
                let change = |lease: &mut Lease| lease.release(fence.epoch, now);
                Ok(answer(done, change_lease(transaction, &fence.lease, change)?))
            }
        }
    }

    fn apply_commit(
        &self,
        transaction: &WriteTransaction,
        commit: &Commit,
        now: Time,
    ) -> Result<Outcome, redb::Error> {
        let mut rows = transaction.open_table(ROWS)?;
        let leases = transaction.open_table(LEASES)?;
        let outcome = judge(
            commit,
            now,
            |name| leases.get(name)?.map(|row| read_lease(row.value())).transpose(),
            |key| Ok(rows.get(key.as_bytes())?.map(|row| row.value().to_vec())),
        )?;
        if outcome == Outcome::Committed {
            for write in &commit.writes {
                match write {
                    Write::Put(key, value) => drop(rows.insert(key.as_bytes(), value.as_slice())?),
                    Write::Delete(key) => drop(rows.remove(key.as_bytes())?),
                }
            }
            self.counters.commits.fetch_add(1, Ordering::Relaxed);
        }
        Ok(outcome)
    }
}

impl Job {
    fn fail(self, error: StoreError) {
        // Whoever does not wait any more does not need the answer.
        let _unheard = match self {
            Self::Commit(_, done) => done.send(Err(error)).is_ok(),
            Self::Acquire { done, .. } => done.send(Err(error)).is_ok(),
            Self::Renew(_, _, done) | Self::Release(_, done) => done.send(Err(error)).is_ok(),
        };
    }
}

fn answer<T: Send + 'static>(done: Done<T>, value: T) -> Answer {
    Box::new(move |result| drop(done.send(result.map(|()| value))))
}

fn read_lease(bytes: &[u8]) -> Result<Lease, redb::Error> {
    serde_json::from_slice(bytes).map_err(|error| redb::Error::Corrupted(format!("a lease: {error}")))
}

fn change_lease<T>(
    transaction: &WriteTransaction,
    name: &str,
    change: impl FnOnce(&mut Lease) -> T,
) -> Result<T, redb::Error> {
    let mut leases = transaction.open_table(LEASES)?;
    let mut lease = leases.get(name)?.map(|row| read_lease(row.value())).transpose()?.unwrap_or_default();
    let result = change(&mut lease);
    let bytes = serde_json::to_vec(&lease).map_err(|error| redb::Error::Corrupted(error.to_string()))?;
    leases.insert(name, bytes.as_slice())?;
    Ok(result)
}
