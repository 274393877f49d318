//! The embedded store's writing thread: a group of jobs, one transaction, one sync, then the answers.

use super::{
    Acquired, Lease, Outcome, StoreError,
    embedded::{Counters, LEASES, ROWS, unusable},
    file::{File, number_group},
    group::Groups,
    lease::judge,
};
use crate::clock::Clock;
use redb::{ReadableTable, WriteTransaction};
use sender_model::{Commit, Fence, Write};
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

/// What becomes true of a job when its group is durable.
enum Effect {
    Committed(Outcome),
    Acquired(Acquired),
    Kept(bool),
}

/// Why a group was not written.
enum Failure {
    /// Nothing has changed.
    Before(redb::Error),
    /// It failed while it was made durable; these are the effects if it was.
    Committing(redb::Error, Vec<Effect>),
}

/// The thread that writes.
pub(super) struct Writer {
    pub file: Arc<File>,
    pub counters: Arc<Counters>,
    pub clock: Clock,
    /// The number of the last group.
    pub last_group: u64,
}

impl Writer {
    pub(super) fn run(mut self, mut groups: Groups<Job>) {
        while let Some(group) = groups.next() {
            let begun = Instant::now();
            self.write(group);
            groups.took(begun.elapsed());
        }
    }

    /// Does a group, and answers when it is durable, or is known not to be.
    fn write(&mut self, group: Vec<Job>) {
        match self.write_or_look(&group) {
            Ok(effects) => {
                self.file.worked(true);
                let written = |effect: &&Effect| matches!(effect, Effect::Committed(Outcome::Committed));
                let commits = effects.iter().filter(written).count();
                self.counters.commits.fetch_add(commits as u64, Ordering::Relaxed);
                group.into_iter().zip(effects).for_each(|(job, effect)| job.answer(effect));
            }
            Err(error) => {
                self.file.failed(&error, true);
                tracing::error!(%error, "Sender: the store's file cannot be written");
                group.into_iter().for_each(|job| job.fail(error.clone()));
            }
        }
    }

    /// Writes a group. After an error the file is opened again, and whether the group is in it is looked up. If an error
    /// before had stopped the engine, the group is tried once more.
    fn write_or_look(&mut self, group: &[Job]) -> Result<Vec<Effect>, StoreError> {
        for last in [false, true] {
            let opening = self.file.openings();
            let failure = match self.attempt(group) {
                Ok(effects) => {
                    self.last_group += 1;
                    return Ok(effects);
                }
                Err(failure) => failure,
            };
            let reopened = self.file.reopen(opening);
            match failure {
                Failure::Before(error) => {
                    let stopped = matches!(error, redb::Error::PreviousIo | redb::Error::DatabaseClosed);
                    if last || !stopped || reopened.is_err() {
                        return Err(unusable(error));
                    }
                }
                Failure::Committing(error, effects) => {
                    let unknown =
                        |why: &dyn std::fmt::Display| StoreError::Unknown(format!("{error}; {why}"));
                    reopened.map_err(|why| unknown(&why))?;
                    let found = self.file.last_group().map_err(|why| unknown(&why))?;
                    if found <= self.last_group {
                        return Err(unusable(error));
                    }
                    self.last_group = found;
                    return Ok(effects);
                }
            }
        }
        unreachable!("the second time returns")
    }

    /// Does a group in one transaction.
    fn attempt(&self, group: &[Job]) -> Result<Vec<Effect>, Failure> {
        let now = self.clock.now();
        let mut effects = Vec::with_capacity(group.len());
        let mut committing = false;
        let done = self.file.with(|database| {
            let transaction = database.begin_write()?;
            for job in group {
                effects.push(apply(&transaction, job, now)?);
            }
            number_group(&transaction, self.last_group + 1)?;
            committing = true;
            Ok(transaction.commit()?)
        });
        match done {
            Ok(()) => Ok(effects),
            Err(error) if committing => Err(Failure::Committing(error, effects)),
            Err(error) => Err(Failure::Before(error)),
        }
    }
}

fn apply(transaction: &WriteTransaction, job: &Job, now: Time) -> Result<Effect, redb::Error> {
    Ok(match job {
        Job::Commit(commit, _) => Effect::Committed(apply_commit(transaction, commit, now)?),
        Job::Acquire { lease, holder, ttl_ms, force, .. } => {
            let change = |lease: &mut Lease| lease.acquire(holder, *ttl_ms, *force, now);
            Effect::Acquired(change_lease(transaction, lease, change)?)
        }
        Job::Renew(fence, ttl_ms, _) => {
            let change = |lease: &mut Lease| lease.renew(fence.epoch, *ttl_ms, now);
            Effect::Kept(change_lease(transaction, &fence.lease, change)?)
        }
        Job::Release(fence, _) => {
            let change = |lease: &mut Lease| lease.release(fence.epoch, now);
            Effect::Kept(change_lease(transaction, &fence.lease, change)?)
        }
    })
}

fn apply_commit(transaction: &WriteTransaction, commit: &Commit, now: Time) -> Result<Outcome, redb::Error> {
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
    }
    Ok(outcome)
}

impl Job {
    // Whoever does not wait any more does not need the answer.
    fn answer(self, effect: Effect) {
        match (self, effect) {
            (Self::Commit(_, done), Effect::Committed(outcome)) => drop(done.send(Ok(outcome))),
            (Self::Acquire { done, .. }, Effect::Acquired(acquired)) => drop(done.send(Ok(acquired))),
            (Self::Renew(_, _, done) | Self::Release(_, done), Effect::Kept(kept)) => {
                drop(done.send(Ok(kept)));
            }
            (job, _) => job.fail(StoreError::Unknown("the answer is another job's".into())),
        }
    }

    fn fail(self, error: StoreError) {
        match self {
            Self::Commit(_, done) => drop(done.send(Err(error))),
            Self::Acquire { done, .. } => drop(done.send(Err(error))),
            Self::Renew(_, _, done) | Self::Release(_, done) => drop(done.send(Err(error))),
        }
    }
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
