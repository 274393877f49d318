//! Blocks and states for RPC, from the store.

use alloy_primitives::B256;
use rpc::{
    Archive, ArchiveError, HeaderAndState, LogEntry, LogFilter, LogLimits, State, TxLocation, ValuesState,
};
use std::{ops::RangeInclusive, sync::Arc};
use store::{Reader, Store, StoreError};
use types::{Reason, ReceiptedBlock, Story, Time};

/// The store as RPC reads it. Each question is asked of the newest commit.
#[derive(Clone, Debug)]
pub struct StoreArchive(pub Store);

fn failed(why: StoreError) -> ArchiveError {
    match why {
        StoreError::TooLong => ArchiveError::TooLong,
        why @ StoreError::Pruned { .. } => ArchiveError::Gone(why.to_string()),
        why => ArchiveError::Unreadable(Box::new(why)),
    }
}

impl StoreArchive {
    fn reader(&self) -> Result<Reader, ArchiveError> {
        self.0.reader().map_err(failed)
    }
}

impl Archive for StoreArchive {
    fn block(&self, number: u64) -> Result<Option<ReceiptedBlock>, ArchiveError> {
        self.reader()?.receipted(number).map_err(failed)
    }

    fn number(&self, hash: &B256) -> Result<Option<u64>, ArchiveError> {
        self.reader()?.number(hash).map_err(failed)
    }

    fn location(&self, hash: &B256) -> Result<Option<TxLocation>, ArchiveError> {
        let place = self.reader()?.place(hash).map_err(failed)?;
        Ok(place.map(|(number, index)| TxLocation { number, index: index as usize }))
    }

    fn logs(
        &self,
        blocks: RangeInclusive<u64>,
        filter: &LogFilter,
        limits: LogLimits,
    ) -> Result<Vec<LogEntry>, ArchiveError> {
        let filter = store::LogFilter { addresses: filter.addresses.clone(), topics: filter.topics.clone() };
        let LogLimits { logs, bytes, until } = limits;
        let limits = store::LogLimits { logs, bytes, until: Some(until) };
        let found = self.reader()?.logs(blocks, &filter, limits).map_err(failed)?;
        Ok(found.into_iter().map(entry).collect())
    }

    fn ended(&self, hash: &B256) -> Result<Option<(Reason, Time)>, ArchiveError> {
        let ended = self.reader()?.ended(hash).map_err(failed)?;
        Ok(ended.map(|ended| (ended.reason, ended.at)))
    }

    fn story(&self, hash: &B256) -> Result<Option<Story>, ArchiveError> {
        self.reader()?.story(hash).map_err(failed)
    }

    fn state(&self, number: u64) -> Result<Option<HeaderAndState>, ArchiveError> {
        let Some(values) = self.0.values_at(number).map_err(failed)? else { return Ok(None) };
        let header = self.reader()?.header(number).map_err(failed)?;
        let state = || -> Arc<dyn State> { Arc::new(ValuesState::new(values, self.0.codes())) };
        Ok(header.map(|header| (header, state())))
    }

    fn oldest_state(&self) -> Result<Option<u64>, ArchiveError> {
        Ok(Some(self.0.base().oldest()))
    }
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
