//! Where the bytes are: a file, memory, or a disk that fails on demand.

use crate::StoreError;
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
            Self::File(path) => path,
            Self::Memory => Path::new("memory"),
            #[cfg(feature = "faults")]
            Self::Faulty(_) => Path::new("disk"),
        }
    }

    /// The length of the file; zero if there is none.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::File(path) => path.metadata().map_or(0, |file| file.len()),
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
    pub(crate) fn open(&self, cache_bytes: usize, syncs: &Arc<AtomicU64>) -> Result<Database, OpenError> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        Ok(match self {
            Self::File(path) => builder.create_with_backend(Reserving::open(path, syncs.clone())?)?,
            Self::Memory => builder.create_with_backend(redb::backends::InMemoryBackend::new())?,
            #[cfg(feature = "faults")]
            Self::Faulty(disk) => {
                let handle = disk.handle();
                recognise(&handle, self.path())?;
                builder.create_with_backend(handle)?
            }
        })
    }
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
    /// Counts how often the disk was waited for.
    syncs: Arc<AtomicU64>,
}

impl Reserving {
    fn open(path: &Path, syncs: Arc<AtomicU64>) -> Result<Self, OpenError> {
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
        let recognised = recognise(&inner, path);
        file.unlock()?;
        recognised?;
        Ok(Self { file, inner, syncs })
    }
}

/// Whether these may be bytes of ours. What was being made when the process died has no first bytes yet; it is emptied
/// and made again.
pub(crate) fn recognise(backend: &impl StorageBackend, path: &Path) -> Result<(), OpenError> {
    let len = backend.len()?;
    let mut start = [0; MAGIC.len()];
    if len == 0 {
        return Ok(());
    }
    if len < MAGIC.len() as u64 {
        return Err(StoreError::Foreign(path.into()).into());
    }
    backend.read(0, &mut start)?;
    match start {
        MAGIC => Ok(()),
        [0, 0, 0, 0, 0, 0, 0, 0, 0] if len <= UNFINISHED_BYTES_MAX => Ok(backend.set_len(0)?),
        _ => Err(StoreError::Foreign(path.into()).into()),
    }
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
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

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
}
