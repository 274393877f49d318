//! The store in one file, for one process: redb, with group commit.

use super::{
    Acquired, Lease, Outcome, Pending, SCAN_ROWS_MAX, Store, StoreError, end_of_prefix, group::Groups,
    lease::judge,
};
use crate::model::{
    Commit, Fence, Write,
    commit::{Key, Value},
};
use redb::{
    BackendError, Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    WriteTransaction, backends::FileBackend,
};
use std::{
    fs::OpenOptions,
    io,
    ops::Bound,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Instant, SystemTime, UNIX_EPOCH},
};
use tokio::sync::oneshot;
use types::Time;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
const LEASES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("leases");
const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");

/// What a file says it is.
const SCHEMA: (&str, &str) = ("schema", "pectin-sender-1");

/// How the file is run.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedOptions {
    /// The most commits that share a sync. One makes every commit wait for a sync of its own.
    pub group_max: usize,
    /// The clock for leases.
    pub clock: fn() -> Time,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self { group_max: 512, clock: wall_clock }
    }
}

fn wall_clock() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
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
struct Counters {
    commits: AtomicU64,
    syncs: AtomicU64,
}

type Done<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the writing thread is asked to do.
enum Job {
    Commit(Commit, Done<Outcome>),
    Acquire { lease: String, holder: String, ttl_ms: u64, force: bool, done: Done<Acquired> },
    Renew(Fence, u64, Done<bool>),
    Release(Fence, Done<bool>),
}

/// What becomes true when the group is durable.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// One file. See the [module](self).
#[derive(Debug)]
pub struct Embedded {
    database: Arc<Database>,
    jobs: Option<mpsc::Sender<Job>>,
    writer: Option<thread::JoinHandle<()>>,
    counters: Arc<Counters>,
}

impl Embedded {
    /// Opens a file, or makes one that only its owner can read. A file of another kind or version is refused.
    pub fn open(path: &Path, options: EmbeddedOptions) -> Result<Self, StoreError> {
        let counters = Arc::new(Counters::default());
        let database = Arc::new(open_database(path, &counters).map_err(unusable)?);
        check_schema(&database)?;
        let (jobs, receiver) = mpsc::channel();
        let writer = Writer { database: database.clone(), counters: counters.clone(), clock: options.clock };
        let groups = Groups::new(receiver, options.group_max);
        let writer = thread::Builder::new()
            .name("sender-store".into())
            .spawn(move || writer.run(groups))
            .map_err(unusable)?;
        Ok(Self { database, jobs: Some(jobs), writer: Some(writer), counters })
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

    fn read_rows(&self, keys: &[Key]) -> Result<Vec<Option<Value>>, redb::Error> {
        let table = self.database.begin_read()?.open_table(ROWS)?;
        let read = |key: &Key| Ok(table.get(key.as_bytes())?.map(|row| row.value().to_vec()));
        keys.iter().map(read).collect()
    }

    fn scan_rows(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(Key, Value)>, redb::Error> {
        let table = self.database.begin_read()?.open_table(ROWS)?;
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
        Box::pin(core::future::ready(self.read_rows(&keys).map_err(unusable)))
    }

    fn scan(&self, prefix: Key, after: Option<Key>, limit: usize) -> Pending<'_, Vec<(Key, Value)>> {
        let rows = self.scan_rows(&prefix, after.as_deref(), limit);
        Box::pin(core::future::ready(rows.map_err(unusable)))
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
}

fn unusable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unusable(error.to_string())
}

fn open_database(path: &Path, counters: &Arc<Counters>) -> Result<Database, redb::Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = FileBackend::new(options.open(path)?)?;
    Ok(Database::builder().create_with_backend(Counted { file, counters: counters.clone() })?)
}

/// A new file is marked; an old one must bear the mark.
fn check_schema(database: &Database) -> Result<(), StoreError> {
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

/// The thread that writes.
struct Writer {
    database: Arc<Database>,
    counters: Arc<Counters>,
    clock: fn() -> Time,
}

impl Writer {
    fn run(self, mut groups: Groups<Job>) {
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

/// A file that counts its syncs, so that "one sync for all" is a number and not a promise.
#[derive(Debug)]
struct Counted {
    file: FileBackend,
    counters: Arc<Counters>,
}

impl StorageBackend for Counted {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
