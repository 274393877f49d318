//! What the model asks a store to do: all of it or nothing, and only if the world is still as it was.

use super::ids::AccountId;
use serde::{Deserialize, Serialize};

/// A row's name. Text, so that an operator can read it; `/` separates its parts and keeps prefixes apart.
pub type Key = String;

/// A row.
pub type Value = Vec<u8>;

/// The most rows of one commit.
pub const COMMIT_ROWS_MAX: usize = 16_384;
/// The longest name of a row.
pub const KEY_BYTES_MAX: usize = 512;
/// The largest row.
pub const VALUE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Proof of ownership: the lease, and the epoch under which it was taken.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fence {
    /// The lease.
    pub lease: String,
    /// The epoch.
    pub epoch: u64,
}

impl Fence {
    /// The fence of an account.
    pub fn of(account: AccountId, epoch: u64) -> Self {
        Self { lease: account.to_string(), epoch }
    }
}

/// In whose name a commit is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Authority {
    /// Its owner's. The store refuses it if the epoch is not the current one or the lease has run out.
    Holder(Fence),
    /// Anybody's. It may only create rows that are not there, so it can do no harm without an epoch.
    Intake,
}

/// What must be true for a commit to happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Precondition {
    /// There is no such row.
    Absent(Key),
    /// The row is exactly this.
    Is(Key, Value),
}

impl Precondition {
    /// The row that it looks at.
    pub fn key(&self) -> &Key {
        match self {
            Self::Absent(key) | Self::Is(key, _) => key,
        }
    }
}

/// A change of one row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// The row becomes this.
    Put(Key, Value),
    /// The row goes.
    Delete(Key),
}

impl Write {
    /// The row that it changes.
    pub fn key(&self) -> &Key {
        match self {
            Self::Put(key, _) | Self::Delete(key) => key,
        }
    }
}

/// One atomic change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// In whose name.
    pub authority: Authority,
    /// What must hold.
    pub preconditions: Vec<Precondition>,
    /// What then changes.
    pub writes: Vec<Write>,
}

/// Why a commit cannot be asked for at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MalformedCommit {
    /// An intake commit changes or deletes something.
    #[error("without an epoch a commit may only create rows that are absent")]
    IntakeOverwrites,
    /// Too many rows.
    #[error("a commit has at most {COMMIT_ROWS_MAX} rows")]
    TooManyRows,
    /// A name that is empty or too long.
    #[error("a row's name has 1 to {KEY_BYTES_MAX} bytes")]
    BadKey,
    /// A row that is too large.
    #[error("a row has at most {VALUE_BYTES_MAX} bytes")]
    TooLarge,
}

impl Commit {
    /// Checks what every store must refuse.
    pub fn check(&self) -> Result<(), MalformedCommit> {
        if self.preconditions.len() + self.writes.len() > COMMIT_ROWS_MAX {
            return Err(MalformedCommit::TooManyRows);
        }
        let names =
            self.preconditions.iter().map(Precondition::key).chain(self.writes.iter().map(Write::key));
        if names.into_iter().any(|key| key.is_empty() || key.len() > KEY_BYTES_MAX) {
            return Err(MalformedCommit::BadKey);
        }
        let large = |write: &Write| matches!(write, Write::Put(_, value) if value.len() > VALUE_BYTES_MAX);
        if self.writes.iter().any(large) {
            return Err(MalformedCommit::TooLarge);
        }
        match self.authority {
            Authority::Holder(_) => Ok(()),
            Authority::Intake => self.check_intake(),
        }
    }

    fn check_intake(&self) -> Result<(), MalformedCommit> {
        let creates = |write: &Write| match write {
            Write::Put(key, _) => self.preconditions.contains(&Precondition::Absent(key.clone())),
            Write::Delete(_) => false,
        };
        if self.writes.iter().all(creates) { Ok(()) } else { Err(MalformedCommit::IntakeOverwrites) }
    }
}
