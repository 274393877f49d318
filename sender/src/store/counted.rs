//! The file under the embedded store, with a count of its syncs.

use super::embedded::Counters;
use redb::{BackendError, StorageBackend, backends::FileBackend};
use std::{
    io,
    ops::Bound,
    sync::{Arc, atomic::Ordering},
};

/// A file that counts its syncs, so that "one sync for all" is a number and not a promise.
#[derive(Debug)]
pub(super) struct Counted {
    pub file: FileBackend,
    pub counters: Arc<Counters>,
}

impl Counted {
    #[cfg(test)]
    fn works(&self, what: u64) -> io::Result<()> {
        match self.counters.broken.load(Ordering::Relaxed) & what {
            0 => Ok(()),
            _ => Err(io::Error::other("broken by the test")),
        }
    }
}

impl StorageBackend for Counted {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        #[cfg(test)]
        self.works(broken::READING)?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        #[cfg(test)]
        self.works(broken::WRITING)?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        #[cfg(test)]
        self.works(broken::SYNCING)?;
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        self.works(broken::WRITING)?;
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

/// What may be broken in a test.
#[cfg(test)]
pub(super) mod broken {
    pub(in crate::store) const READING: u64 = 1;
    pub(in crate::store) const WRITING: u64 = 2;
    pub(in crate::store) const SYNCING: u64 = 4;
}
