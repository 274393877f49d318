//! Stores: rows that change together or not at all, and leases with epochs.
//!
//! ```text
//!                 commit(authority, preconditions, writes) -> Committed | Conflict | Stale
//!   Memory        for tests and for networks that keep nothing: what was not synced is lost when it crashes
//!   Embedded      one file (redb), opened again after an error; one sync for all commits that waited for it
//!   Redis         several processes; one script for each commit, the epoch checked inside it
//! ```
//!
//! All three behave the same, and one suite of tests says so. A lease's epoch rises with every acquisition and never
//! falls. A commit in its owner's name is refused if the epoch is not the current one *or the lease has run out*, by the
//! store's own clock: a process that was asleep cannot know that it is late, so the store must.
//!
//! An error is not a refusal: after [`StoreError::Unknown`] the commit may have happened. Whoever gets one forgets what it
//! knows and loads it again.

mod counted;
mod embedded;
mod file;
mod group;
mod lease;
mod load;
mod memory;
mod redis;
mod scripts;
mod tools;
mod writer;

use core::{future::Future, pin::Pin};
use sender_model::{Commit, Fence, Key, MalformedCommit, Value};
use std::path::Path;
use types::Time;

pub use self::redis::{Durability, Redis, RedisOptions};
pub use embedded::{Embedded, EmbeddedOptions, Syncs};
pub use lease::Lease;
pub use load::{Loading, load_account, scan_all};
pub use memory::Memory;
pub use tools::{EmbeddedStat, compact_file, copy_file, stat_file, verify_file};

/// The most rows of one scan.
pub const SCAN_ROWS_MAX: usize = 1_000;

/// The usual length of a lease.
pub const LEASE_MS: u64 = 15_000;

/// An answer that is on its way.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// How a commit ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is durable.
    Committed,
    /// This row was not as expected. Nothing has changed.
    Conflict(Key),
    /// The lease is somebody else's or has run out. Nothing has changed, and nothing will under this epoch.
    Stale,
}

/// How an acquisition ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Acquired {
    /// It is ours.
    Taken {
        /// The epoch for every commit.
        epoch: u64,
        /// When it runs out, by the store's clock.
        until: Time,
    },
    /// It is somebody else's.
    Held {
        /// Whose.
        holder: String,
        /// When it runs out, by the store's clock.
        until: Time,
    },
}

/// Why a store did not answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StoreError {
    /// The commit could not be asked for; nothing has changed.
    #[error(transparent)]
    Malformed(#[from] MalformedCommit),
    /// The store could not be opened or read; nothing has changed.
    #[error("the store cannot be used: {0}")]
    Unusable(String),
    /// Nobody knows whether it was done.
    #[error("the store did not say whether it was done: {0}")]
    Unknown(String),
}

/// A store.
pub trait Store: Send + Sync {
    /// Does all of a commit, or nothing.
    fn commit(&self, commit: Commit) -> Pending<'_, Outcome>;

    /// Reads rows.
    fn get(&self, keys: Vec<Key>) -> Pending<'_, Vec<Option<Value>>>;

    /// Reads rows whose names begin with `prefix`, in order, after `after`; at most `limit`, and at most
    /// [`SCAN_ROWS_MAX`].
    fn scan(&self, prefix: Key, after: Option<Key>, limit: usize) -> Pending<'_, Vec<(Key, Value)>>;

    /// Takes a lease that nobody has, has run out, or, by `force`, somebody else has. The epoch rises.
    fn acquire(&self, lease: String, holder: String, ttl_ms: u64, force: bool) -> Pending<'_, Acquired>;

    /// Makes a lease last longer; false if it is not ours any more.
    fn renew(&self, fence: Fence, ttl_ms: u64) -> Pending<'_, bool>;

    /// Gives a lease back; false if it was not ours any more.
    fn release(&self, fence: Fence) -> Pending<'_, bool>;

    /// Whether other processes may write to it too, so that one has to look for what they have left.
    fn is_shared(&self) -> bool {
        false
    }

    /// Copies everything that is committed now into a new file, while the store goes on; false if it is in no file of
    /// this process. Blocks until it is done.
    fn copy(&self, path: &Path) -> Result<bool, StoreError> {
        let _ = path;
        Ok(false)
    }

    /// Whether it works at the moment, in a few words for health pages; none if it does.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// The name after all names with a prefix.
fn end_of_prefix(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    end.push(0xff);
    end
}
