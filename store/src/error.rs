//! Why the store cannot do something, in one sentence that an operator understands.

use std::{io, path::PathBuf};
use types::BlockId;

/// Why the store cannot do something. Whatever it is, nothing is half-written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the file open.
    #[error("another process uses {}", .0.display())]
    InUse(PathBuf),
    /// There is a directory where the file should be.
    #[error("{} is a directory, not a data file", .0.display())]
    Directory(PathBuf),
    /// The file system says no.
    #[error("no permission to read and write {}", .0.display())]
    Permission(PathBuf),
    /// The file is something else.
    #[error("{} is not a data file of Pectin", .0.display())]
    Foreign(PathBuf),
    /// The file cannot be read, or contradicts itself.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// The file has a format of the future.
    #[error("{} was written by a newer Pectin: its format is {found}, this one knows up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest known one.
        known: u32,
    },
    /// The file has a format that is not read any more.
    #[error("{} was written by an older Pectin (format {found}), which this one cannot take over; start the Pectin that wrote it, or name another --data-dir", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The file belongs to another chain, service or builder.
    #[error("{} holds the data of another chain: its {what} is {found}, not {expected}; start with that chain's settings, or name another --data-dir", path.display())]
    OtherChain {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// In the file.
        found: String,
        /// As configured.
        expected: String,
    },
    /// The chain has applied a block that the file does not know. It is an old copy: to build on it would be to build
    /// another chain.
    #[error("{} is behind the chain: block {applied} is applied, the newest one here is {newest}; is it an old copy?", path.display())]
    Behind {
        /// The file.
        path: PathBuf,
        /// What the chain says.
        applied: BlockId,
        /// What the file knows.
        newest: BlockId,
    },
    /// The chain has applied another block than the one in the file.
    #[error("{} does not fit the chain: block {applied} is applied, the file has {known}", path.display())]
    OtherHead {
        /// The file.
        path: PathBuf,
        /// What the chain says.
        applied: BlockId,
        /// What the file has in its place.
        known: BlockId,
    },
    /// There is no room. Nothing of this step was written; it can be tried again.
    #[error("the disk with {} is full", .0.display())]
    Full(PathBuf),
    /// Reading or writing failed. Nothing of this step was written; it can be tried again.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing failed, and so did looking at what came of it. The same step can be tried again; no other.
    #[error("it is not known whether the last step reached {}: {why}", path.display())]
    Uncertain {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The step does not fit what is stored. Nothing of it was written.
    #[error("the step does not fit what is stored: {0}")]
    Refused(String),
    /// There is more to look through than the time allows.
    #[error("looking took too long")]
    TooLong,
    /// The state after a block is not in the history.
    #[error(
        "the state of block {number} is not kept; the oldest is that of block {oldest} (--history keeps more)"
    )]
    Pruned {
        /// The block's number.
        number: u64,
        /// The oldest block whose state is there.
        oldest: u64,
    },
}

/// What to do after an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// The same may work later: nothing was written.
    Later,
    /// Only the same step may be tried again; or the process is started again, and reads what is there.
    SameStep,
    /// It will not work.
    Never,
}

impl StoreError {
    /// What to do.
    pub const fn retry(&self) -> Retry {
        match self {
            Self::InUse(_) | Self::Full(_) | Self::Io { .. } => Retry::Later,
            Self::Uncertain { .. } => Retry::SameStep,
            _ => Retry::Never,
        }
    }
}
