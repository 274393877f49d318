//! The file under the embedded store, opened again when its engine has given up.
//!
//! redb stops at the first error of its file and stays stopped; a full disk is an error like any other to it. The sender
//! has to go on once there is room, so the file is closed and opened again, which reads what really is there. Every group
//! of commits has a number that is written with it: after a commit that failed, the number says whether it was done.

use super::{
    StoreError,
    counted::Counted,
    embedded::{Counters, LEASES, ROWS, unusable},
};
use redb::{
    Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
    backends::FileBackend,
};
use std::{
    fs::OpenOptions,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

pub(super) const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");

/// What a file says it is.
const SCHEMA: (&str, &str) = ("schema", "pectin-sender-1");
/// The row with the number of the last group.
const GROUP: &str = "group";

/// A file. See the [module](self).
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    counters: Arc<Counters>,
    /// None while it could not be opened again. Whoever uses the database holds the lock, because nothing of it may be
    /// left when the file is opened again.
    database: RwLock<Option<Database>>,
    openings: AtomicU64,
    trouble: Mutex<Option<Trouble>>,
}

/// What is wrong, until the same works again.
#[derive(Clone, Debug)]
struct Trouble {
    why: String,
    writing: bool,
}

impl File {
    /// Opens a file, or makes one that only its owner can read. A file of another kind or version is refused.
    pub(super) fn open(path: &Path, counters: Arc<Counters>) -> Result<Self, StoreError> {
        let database = open_database(path, &counters, true).map_err(unusable)?;
        check_schema(&database)?;
        let (openings, trouble) = (AtomicU64::new(1), Mutex::default());
        let database = RwLock::new(Some(database));
        Ok(Self { path: path.to_owned(), counters, database, openings, trouble })
    }

    /// Closes it and opens it again, unless somebody has done so since it was opened for the `opening`-th time.
    pub(super) fn reopen(&self, opening: u64) -> Result<(), StoreError> {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if self.openings() != opening {
            return Ok(());
        }
        *database = None;
        let opened = open_database(&self.path, &self.counters, false).map_err(unusable)?;
        check_schema(&opened)?;
        *database = Some(opened);
        self.openings.fetch_add(1, Ordering::AcqRel);
        tracing::info!("Sender: the store's file was opened again after an error");
        Ok(())
    }

    /// How often it was opened.
    pub(super) fn openings(&self) -> u64 {
        self.openings.load(Ordering::Acquire)
    }

    /// What is wrong, if something is.
    pub(super) fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(|trouble| trouble.why.clone())
    }

    /// Something failed. That one cannot write matters more.
    pub(super) fn failed(&self, why: &impl ToString, writing: bool) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if writing || trouble.as_ref().is_none_or(|trouble| !trouble.writing) {
            *trouble = Some(Trouble { why: why.to_string(), writing });
        }
    }

    /// Something worked. That one can read does not mean that one can write.
    pub(super) fn worked(&self, writing: bool) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.as_ref().is_some_and(|trouble| writing || !trouble.writing) {
            *trouble = None;
        }
    }

    /// Reads; once more with the file opened again if the engine has stopped.
    pub(super) fn read<T>(
        &self,
        read: impl Fn(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let opening = self.openings();
        let result = self.with(|database| read(&database.begin_read()?)).or_else(|error| {
            self.failed(&error, false);
            self.reopen(opening)?;
            self.with(|database| read(&database.begin_read()?)).map_err(unusable)
        });
        result.inspect(|_| self.worked(false))
    }

    /// Does something with the database while nobody can close it.
    pub(super) fn with<T>(
        &self,
        act: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, redb::Error> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        act(database.as_ref().ok_or(redb::Error::PreviousIo)?)
    }

    /// The number of the last group that was written.
    pub(super) fn last_group(&self) -> Result<u64, redb::Error> {
        self.with(|database| {
            let meta = database.begin_read()?.open_table(META)?;
            let number = meta.get(GROUP)?.map(|row| row.value().parse());
            number.transpose().map(Option::unwrap_or_default).map_err(|_| damaged())
        })
    }
}

/// Numbers a group.
pub(super) fn number_group(transaction: &WriteTransaction, number: u64) -> Result<(), redb::Error> {
    transaction.open_table(META)?.insert(GROUP, number.to_string().as_str())?;
    Ok(())
}

fn damaged() -> redb::Error {
    redb::Error::Corrupted("the number of the last group".into())
}

/// Memory for pages of the file.
const CACHE_BYTES: usize = 16 << 20;

fn open_database(path: &Path, counters: &Arc<Counters>, create: bool) -> Result<Database, redb::Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = FileBackend::new(options.open(path)?)?;
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    Ok(builder.create_with_backend(Counted { file, counters: counters.clone() })?)
}

/// A new file is marked; an old one must bear the mark.
pub(super) fn check_schema(database: &Database) -> Result<(), StoreError> {
    let check = || -> Result<Option<String>, redb::Error> {
        let transaction = database.begin_write()?;
        let fresh = transaction.list_tables()?.next().is_none();
        let found = {
            let mut meta = transaction.open_table(META)?;
            if fresh {
                meta.insert(SCHEMA.0, SCHEMA.1)?;
            }
            meta.get(SCHEMA.0)?.map(|schema| schema.value().to_owned())
        };
        if fresh {
            transaction.open_table(ROWS)?;
            transaction.open_table(LEASES)?;
            transaction.commit()?;
        } else {
            transaction.abort()?;
        }
        Ok(found)
    };
    match check().map_err(unusable)? {
        Some(schema) if schema == SCHEMA.1 => Ok(()),
        Some(schema) => Err(unusable(format_args!("the file is of version {schema}, not {}", SCHEMA.1))),
        None => Err(unusable("the file is not a sender's store")),
    }
}
