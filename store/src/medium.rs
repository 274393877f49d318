//! Where the bytes are: a file, memory, or a disk that fails on demand.

use crate::{
    StoreError,
    log::{self, LOG_BYTES, Log},
    overlay::Overlay,
};
use redb::{BackendError, Builder, Database, DatabaseError, StorageBackend, backends::FileBackend};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    ops::Bound,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// What every file of the storage engine begins with.
const MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";
/// A file that is being made is no longer than this.
const UNFINISHED_BYTES_MAX: u64 = 16 << 20;

/// Where the bytes are.
#[derive(Debug)]
pub(crate) enum Medium {
    /// In a file.
    File(PathBuf),
    /// In a file that is not needed after the process: the disk is never waited for.
    Scratch(PathBuf),
    /// In memory, until the process ends.
    Memory,
    /// On a disk that fails on demand.
    #[cfg(feature = "faults")]
    Faulty(crate::faults::Disk),
}

impl Medium {
    /// What to call it.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Scratch(path) => path,
            Self::Memory => Path::new("memory"),
            #[cfg(feature = "faults")]
            Self::Faulty(_) => Path::new("disk"),
        }
    }

    /// The length of the file; zero if there is none.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::File(path) | Self::Scratch(path) => path.metadata().map_or(0, |file| file.len()),
            _ => 0,
        }
    }

    /// Makes the name of a new file durable.
    pub(crate) fn sync_directory(&self) -> io::Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
            _ => File::open(".")?.sync_all(),
        }
    }

    /// Opens what is there, or makes it.
    pub(crate) fn open(&self, cache_bytes: usize, syncs: &Arc<AtomicU64>) -> Result<Opened, OpenError> {
        let (backend, start): (Arc<dyn StorageBackend>, u64) = match self {
            Self::File(path) | Self::Scratch(path) => {
                let is_synced = matches!(self, Self::File(_));
                let (file, start) = Reserving::open(path, is_synced, syncs.clone())?;
                (Arc::new(file), start)
            }
            Self::Memory => {
                let memory = redb::backends::InMemoryBackend::new();
                let start = recognise(&memory, self.path())?;
                (Arc::new(memory), start)
            }
            #[cfg(feature = "faults")]
            Self::Faulty(disk) => {
                let handle = disk.handle();
                let start = recognise(&handle, self.path())?;
                (Arc::new(handle), start)
            }
        };
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        let database = builder.create_with_backend(Above { inner: backend.clone(), start })?;
        Ok(Opened { database, log: (start > 0).then(|| Log::new(backend)) })
    }
}

/// What was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) database: Database,
    /// `None` in files of versions that had no log. They are refused when their identity is looked at.
    pub(crate) log: Option<Log>,
}

/// Why nothing was opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    Refused(StoreError),
    Engine(DatabaseError),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<DatabaseError> for OpenError {
    fn from(error: DatabaseError) -> Self {
        Self::Engine(error)
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Engine(error.into())
    }
}

/// A file that reserves room before it grows: a full disk says so when the file should become longer, while nothing is
/// written, and never in the middle of pages that already belong to it.
#[derive(Debug)]
struct Reserving {
    file: File,
    inner: FileBackend,
    is_synced: bool,
    /// Counts how often the disk was waited for.
    syncs: Arc<AtomicU64>,
}

impl Reserving {
    /// Also says where the tables begin.
    fn open(path: &Path, is_synced: bool, syncs: Arc<AtomicU64>) -> Result<(Self, u64), OpenError> {
        if path.is_dir() {
            return Err(StoreError::Directory(path.into()).into());
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let inner = FileBackend::new(file.try_clone()?)?;
        // Whoever makes the file at this moment holds the lock.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(path.into()).into()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let file = Self { file, inner, is_synced, syncs };
        let start = recognise(&file, path);
        file.file.unlock()?;
        Ok((file, start?))
    }
}

/// A file to look at: nothing is written into it. `None` if it is none of ours.
pub(crate) fn look(path: &Path) -> Result<Option<Database>, redb::Error> {
    let file = File::open(path)?;
    let Some(start) = tables_of(&FileBackend::new(file.try_clone()?)?)? else { return Ok(None) };
    Ok(Some(Builder::new().create_with_backend(Overlay::new(file, start)?)?))
}

/// Whether the bytes from a place on are these.
fn begins(backend: &impl StorageBackend, at: u64, with: &[u8]) -> io::Result<bool> {
    let mut start = vec![0; with.len()];
    let there = backend.len()? >= at + start.len() as u64;
    if there {
        backend.read(at, &mut start)?;
    }
    Ok(there && start == with)
}

/// Where the tables begin in bytes of ours, if they have tables.
fn tables_of(backend: &impl StorageBackend) -> io::Result<Option<u64>> {
    if begins(backend, 0, &MAGIC)? {
        // Before there was a log. Whose it is and of which version, the tables say.
        return Ok(Some(0));
    }
    let has_tables = begins(backend, 0, &log::HEADER)? && begins(backend, LOG_BYTES, &MAGIC)?;
    Ok(has_tables.then_some(LOG_BYTES))
}

/// Whether these may be bytes of ours, and where the tables begin in them. What was being made when the process died has
/// no tables yet; it is emptied and made again.
fn recognise(backend: &impl StorageBackend, path: &Path) -> Result<u64, OpenError> {
    if let Some(start) = tables_of(backend)? {
        return Ok(start);
    }
    let (len, ours) = (backend.len()?, begins(backend, 0, &log::HEADER)?);
    let no_tables = len <= LOG_BYTES || begins(backend, LOG_BYTES, &[0; MAGIC.len()])?;
    let unfinished = (ours || begins(backend, 0, &[0; log::HEADER.len()])?) && no_tables;
    if len > 0 && !(unfinished && len <= UNFINISHED_BYTES_MAX) {
        return Err(StoreError::Foreign(path.into()).into());
    }
    backend.set_len(0)?;
    backend.set_len(LOG_BYTES)?;
    backend.write(0, &log::empty())?;
    Ok(LOG_BYTES)
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, from: u64, to: u64) -> io::Result<bool> {
    use rustix::{fs, io::Errno};
    match fs::fallocate(file, fs::FallocateFlags::empty(), from, to - from) {
        Ok(()) => Ok(true),
        // Not every file system can; then the file grows without a promise.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64, _: u64) -> io::Result<bool> {
    Ok(false)
}

/// Locks are those of the file below: of all of it, or of places that all who open it agree on, wherever these are.
macro_rules! pass_on_locks {
    () => {
        fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
            self.inner.try_lock_range(start, end)
        }

        fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
            self.inner.try_lock_shared_range(start, end)
        }

        fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
            self.inner.lock_range(start, end)
        }

        fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
            self.inner.lock_shared_range(start, end)
        }

        fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
            self.inner.unlock_range(start, end)
        }

        fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
            self.inner.query_lock_range(start, end)
        }
    };
}

impl StorageBackend for Reserving {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let now = self.inner.len()?;
        if len <= now {
            return self.inner.set_len(len);
        }
        match reserve(&self.file, now, len) {
            Ok(true) => Ok(()),
            Ok(false) => self.inner.set_len(len),
            Err(error) => {
                // Part of the room may have been given; a length that fails to shrink again is harmless.
                self.inner.set_len(now)?;
                Err(error)
            }
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        if !self.is_synced {
            return Ok(());
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    pass_on_locks!();
}

/// What stands behind the log, for the storage engine.
#[derive(Debug)]
struct Above {
    inner: Arc<dyn StorageBackend>,
    start: u64,
}

impl StorageBackend for Above {
    fn len(&self) -> io::Result<u64> {
        Ok(self.inner.len()?.saturating_sub(self.start))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(self.start + offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(self.start + len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(self.start + offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    pass_on_locks!();
}
