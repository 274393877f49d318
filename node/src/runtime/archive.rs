//! Final blocks for RPC, from the store.

use alloy_primitives::B256;
use rpc::{Archive, ArchiveError, LogEntry, LogFilter, Place};
use std::ops::RangeInclusive;
use store::{Reader, Store, StoreError};
use types::{Reason, ReceiptedBlock, Time};

/// The store as RPC reads it. Each question is asked of the newest commit.
#[derive(Clone, Debug)]
pub(crate) struct StoreArchive(pub(crate) Store);

fn failed(why: StoreError) -> ArchiveError {
    ArchiveError(Box::new(why))
}

impl StoreArchive {
    fn reader(&self) -> Result<Reader, ArchiveError> {
        self.0.reader().map_err(failed)
    }
}

impl Archive for StoreArchive {
    fn block(&self, number: u64) -> Result<Option<ReceiptedBlock>, ArchiveError> {
        let reader = self.reader()?;
        if number > reader.finalized().number {
            return Ok(None);
        }
        reader.receipted(number).map_err(failed)
    }

    fn number(&self, hash: &B256) -> Result<Option<u64>, ArchiveError> {
        self.reader()?.number(hash).map_err(failed)
    }

    fn place(&self, hash: &B256) -> Result<Option<Place>, ArchiveError> {
        let place = self.reader()?.place(hash).map_err(failed)?;
        Ok(place.map(|(number, index)| Place { number, index: index as usize }))
    }

    fn logs(
        &self,
        blocks: RangeInclusive<u64>,
        filter: &LogFilter,
        limit: usize,
    ) -> Result<Vec<LogEntry>, ArchiveError> {
        let filter = store::LogFilter { addresses: filter.addresses.clone(), topics: filter.topics.clone() };
        let reader = self.reader()?;
        let found = match reader.logs(blocks.clone(), &filter, limit) {
            Err(StoreError::TooManyLogs { .. }) => first_logs(&reader, blocks, &filter, limit),
            found => found,
        };
        Ok(found.map_err(failed)?.into_iter().map(entry).collect())
    }

    fn ended(&self, hash: &B256) -> Result<Option<(Reason, Time)>, ArchiveError> {
        let ended = self.reader()?.ended(hash).map_err(failed)?;
        Ok(ended.map(|ended| (ended.reason, ended.at)))
    }
}

/// The first logs of more than there may be: block by block, since matching ones are close together then.
fn first_logs(
    reader: &Reader,
    blocks: RangeInclusive<u64>,
    filter: &store::LogFilter,
    limit: usize,
) -> Result<Vec<store::FoundLog>, StoreError> {
    let mut found = Vec::new();
    for number in blocks {
        found.extend(reader.logs(number..=number, filter, usize::MAX)?);
        if found.len() >= limit {
            found.truncate(limit);
            break;
        }
    }
    Ok(found)
}

fn entry(found: store::FoundLog) -> LogEntry {
    LogEntry {
        log: found.log,
        block: found.block,
        timestamp: found.timestamp,
        transaction: found.tx_hash,
        transaction_index: found.tx_index as usize,
        log_index: found.log_index as usize,
    }
}
