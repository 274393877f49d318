//! What a search for logs has found so far, and whether that is enough.

use super::{ArchiveError, LogEntry, LogFilter, LogLimits, matching_logs};
use std::time::Instant;
use types::ReceiptedBlock;

/// Logs, with what they take.
pub(crate) struct FoundLogs {
    logs: Vec<LogEntry>,
    bytes: usize,
    limits: LogLimits,
}

impl FoundLogs {
    /// Nothing yet.
    pub(crate) const fn new(limits: LogLimits) -> Self {
        Self { logs: Vec::new(), bytes: 0, limits }
    }

    /// How far the search goes.
    pub(crate) const fn limits(&self) -> LogLimits {
        self.limits
    }

    /// Whether more logs would not be wanted.
    pub(crate) const fn is_enough(&self) -> bool {
        self.logs.len() >= self.limits.logs || self.bytes > self.limits.bytes
    }

    /// Whether the data of the logs alone takes more than allowed.
    pub(crate) const fn is_too_large(&self) -> bool {
        self.bytes > self.limits.bytes
    }

    /// Adds a log, unless there are enough.
    pub(crate) fn push(&mut self, entry: LogEntry) {
        if !self.is_enough() {
            self.bytes += entry.log.data.data.len();
            self.logs.push(entry);
        }
    }

    /// Looks through a block, if there is time.
    pub(crate) fn look(&mut self, block: &ReceiptedBlock, filter: &LogFilter) -> Result<(), ArchiveError> {
        if Instant::now() >= self.limits.until {
            return Err(ArchiveError::TooLong);
        }
        for entry in matching_logs(block, filter) {
            if self.is_enough() {
                break;
            }
            self.push(entry);
        }
        Ok(())
    }

    /// The logs.
    pub(crate) fn into_logs(self) -> Vec<LogEntry> {
        self.logs
    }
}
