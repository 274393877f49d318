//! The storage engine, opened again when it gave up.
//!
//! redb stops at the first error of its file and stays stopped. A full disk is an error like any other to it, but a node
//! has to go on once there is room; so the database is closed and opened again, which reads what really is there.

use crate::{
    Result, StoreError,
    log::Log,
    medium::{Medium, OpenError, Opened},
};
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};
use std::{
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
};

thread_local! {
    /// Whether a panic of this thread is caught and becomes an error.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would only mean that a file is damaged, and is told as an error. A program's panic hook
/// may ask, to say nothing about it twice.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs what reads a file of the engine, which panics at some kinds of damage: `None` then. For files that are not this
/// crate's too, so that a program has one panic hook for all.
pub fn guarded<T>(act: impl FnOnce() -> T) -> Option<T> {
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(act));
    GUARDED.set(before);
    result.ok()
}

/// The storage engine.
#[derive(Debug)]
pub(crate) struct Engine {
    medium: Medium,
    cache_bytes: usize,
    /// `None` while it could not be opened again.
    database: RwLock<Option<Opened>>,
    openings: AtomicU64,
    syncs: Arc<AtomicU64>,
}

impl Engine {
    pub(crate) fn open(medium: Medium, cache_bytes: usize) -> Result<Self> {
        let (database, openings, syncs) = (RwLock::new(None), AtomicU64::new(0), Arc::default());
        let engine = Self { medium, cache_bytes, database, openings, syncs };
        engine.reopen()?;
        Ok(engine)
    }

    pub(crate) fn medium(&self) -> &Medium {
        &self.medium
    }

    /// Closes it and opens it again. What is in memory alone cannot be opened again, and never fails.
    pub(crate) fn reopen(&self) -> Result<()> {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(self.medium, Medium::Memory) && database.is_some() {
            return Ok(());
        }
        *database = None;
        *database = Some(self.open_database()?);
        self.openings.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    fn open_database(&self) -> Result<Opened> {
        self.guarded(|| match self.medium.open(self.cache_bytes, &self.syncs) {
            Ok(opened) => Ok(opened),
            Err(OpenError::Refused(error)) => Err(error),
            Err(OpenError::Engine(error)) => Err(self.error(error.into())),
        })
    }

    fn database(&self) -> RwLockReadGuard<'_, Option<Opened>> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often it was opened: whoever finds it stopped can tell whether somebody else has opened it again already.
    pub(crate) fn openings(&self) -> u64 {
        self.openings.load(Ordering::Acquire)
    }

    /// How often the disk was waited for.
    pub(crate) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// What is committed now.
    pub(crate) fn read(&self) -> Result<ReadTransaction> {
        let read = match self.database().as_ref() {
            Some(opened) => opened.database.begin_read().map_err(redb::Error::from),
            None => Err(redb::Error::PreviousIo),
        };
        read.map_err(|error| self.error(error))
    }

    /// Runs what reads the file as a whole. The engine panics at some kinds of damage; then it is damaged.
    pub(crate) fn guarded<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        guarded(act).unwrap_or_else(|| Err(self.damaged("a page makes no sense".into())))
    }

    /// Begins to write.
    pub(crate) fn write(&self) -> Result<WriteTransaction, redb::Error> {
        let opened = self.database();
        let opened = opened.as_ref().ok_or(redb::Error::PreviousIo)?;
        Ok(opened.database.begin_write()?)
    }

    /// The log before the tables.
    pub(crate) fn log(&self) -> Result<Log> {
        match self.database().as_ref() {
            Some(opened) => opened.log.clone().ok_or_else(|| self.damaged("it has no log".into())),
            None => Err(self.error(redb::Error::PreviousIo)),
        }
    }

    /// Does something with the whole database, while nobody else can.
    pub(crate) fn exclusively<T>(&self, act: impl FnOnce(&mut Database) -> T) -> Result<T> {
        let mut opened = self.database.write().unwrap_or_else(PoisonError::into_inner);
        let opened = opened.as_mut().ok_or_else(|| self.error(redb::Error::PreviousIo))?;
        Ok(act(&mut opened.database))
    }

    /// In the operator's words.
    pub(crate) fn error(&self, error: redb::Error) -> StoreError {
        let path = || self.medium.path().to_path_buf();
        match error {
            redb::Error::DatabaseAlreadyOpen => StoreError::InUse(path()),
            redb::Error::UpgradeRequired(found) => StoreError::Older { path: path(), found: found.into() },
            redb::Error::Corrupted(why) => self.damaged(why),
            redb::Error::Io(source) => self.io_error(source),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => StoreError::Io {
                path: path(),
                source: io::Error::other("an error before stopped the storage"),
            },
            error @ (redb::Error::TableTypeMismatch { .. }
            | redb::Error::TableDoesNotExist(_)
            | redb::Error::TypeDefinitionChanged { .. }) => self.damaged(error.to_string()),
            error => StoreError::Io { path: path(), source: io::Error::other(error.to_string()) },
        }
    }

    fn io_error(&self, source: io::Error) -> StoreError {
        let path = self.medium.path().to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(path),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::Permission(path)
            }
            io::ErrorKind::IsADirectory => StoreError::Directory(path),
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => self.damaged(source.to_string()),
            _ => StoreError::Io { path, source },
        }
    }

    pub(crate) fn damaged(&self, why: String) -> StoreError {
        StoreError::Damaged { path: self.medium.path().to_path_buf(), why }
    }
}
