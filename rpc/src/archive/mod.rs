//! Blocks that are not in memory, and the states after them: what the node's store must answer.

mod found;
mod memory;

pub(crate) use found::FoundLogs;
pub use memory::MemoryArchive;

use crate::State;
use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Log, LogData};
use std::{fmt, ops::RangeInclusive, sync::Arc, time::Instant};
use types::{BlockId, Reason, ReceiptedBlock, Story, Time};

/// Why the archive has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// What is wrong is its own business; a client is told that the node has a fault.
    #[error("the archive cannot be read: {0}")]
    Unreadable(Box<dyn std::error::Error + Send + Sync>),
    /// There is more to look through than the time allows.
    #[error("looking took too long")]
    TooLong,
    /// What was asked for is not kept any more. A client is told the sentence.
    #[error("{0}")]
    Gone(String),
}

impl ArchiveError {
    /// From a sentence.
    pub fn new(why: impl fmt::Display) -> Self {
        Self::Unreadable(why.to_string().into())
    }
}

/// How far a search for logs goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLimits {
    /// So many logs are enough.
    pub logs: usize,
    /// And so many bytes of their data: the log that exceeds them is the last one.
    pub bytes: usize,
    /// By then it must be done.
    pub until: Instant,
}

/// Where a transaction stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxLocation {
    /// The number of its block.
    pub number: u64,
    /// Its index in the block.
    pub index: usize,
}

/// A block's header, and the state after it.
pub type HeaderAndState = (Header, Arc<dyn State>);

/// Blocks from the genesis on, at least all that are in no snapshot. Reads may be slow but must not wait for the driver.
pub trait Archive: Send + Sync + 'static {
    /// The block with this number.
    fn block(&self, number: u64) -> Result<Option<ReceiptedBlock>, ArchiveError>;

    /// The number of the block with this hash.
    fn number(&self, hash: &B256) -> Result<Option<u64>, ArchiveError>;

    /// Where a transaction stands.
    fn location(&self, hash: &B256) -> Result<Option<TxLocation>, ArchiveError>;

    /// The logs in these blocks that match, in order, as far as the limits allow.
    fn logs(
        &self,
        blocks: RangeInclusive<u64>,
        filter: &LogFilter,
        limits: LogLimits,
    ) -> Result<Vec<LogEntry>, ArchiveError>;

    /// How a transaction ended that did not become final, if that is remembered.
    fn ended(&self, _hash: &B256) -> Result<Option<(Reason, Time)>, ArchiveError> {
        Ok(None)
    }

    /// What became of a transaction in blocks that were given up; `None` if there was no such block.
    fn story(&self, _hash: &B256) -> Result<Option<Story>, ArchiveError> {
        Ok(None)
    }

    /// The header of a block, and the state after it; `None` if there is none. [`ArchiveError::Gone`] if it was pruned.
    fn state(&self, _number: u64) -> Result<Option<HeaderAndState>, ArchiveError> {
        Ok(None)
    }

    /// The oldest block whose state is kept; `None` if no states are.
    fn oldest_state(&self) -> Result<Option<u64>, ArchiveError> {
        Ok(None)
    }

    /// What a block of another chain has that ours do not.
    fn foreign(&self, _number: u64) -> Result<Option<Arc<Foreign>>, ArchiveError> {
        Ok(None)
    }
}

/// What blocks of Ethereum have and ours do not. Recorded chains are served with it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Foreign {
    /// Headers of ommers.
    pub ommers: Vec<Header>,
    /// Withdrawals, where the fork has them.
    pub withdrawals: Option<Vec<Withdrawal>>,
}

/// Which logs to look for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogFilter {
    /// Of any of these contracts; of all if there is none.
    pub addresses: Vec<Address>,
    /// For each position the topics of which one must stand there; any if there is none.
    pub topics: Vec<Vec<B256>>,
}

impl LogFilter {
    /// Whether a log is looked for.
    pub fn matches(&self, log: &Log) -> bool {
        let Log { address, data } = log;
        (self.addresses.is_empty() || self.addresses.contains(address)) && self.matches_topics(data)
    }

    fn matches_topics(&self, data: &LogData) -> bool {
        let topics = data.topics();
        self.topics.len() <= topics.len()
            && self.topics.iter().zip(topics).all(|(any, topic)| any.is_empty() || any.contains(topic))
    }
}

/// A log and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogEntry {
    /// The log.
    pub log: Log,
    /// Its block.
    pub block: BlockId,
    /// The block's timestamp.
    pub timestamp: u64,
    /// Its transaction.
    pub transaction: B256,
    /// The transaction's index in the block.
    pub transaction_index: usize,
    /// Its index among the block's logs.
    pub log_index: usize,
}

/// The logs of a block that match, in order.
pub fn matching_logs<'a>(
    block: &'a ReceiptedBlock,
    filter: &'a LogFilter,
) -> impl Iterator<Item = LogEntry> + 'a {
    let ReceiptedBlock { block, receipts } = block;
    let logs = block
        .transactions()
        .iter()
        .zip(receipts.iter())
        .enumerate()
        .flat_map(|(index, (tx, receipt))| receipt.logs().iter().map(move |log| (index, tx, log)));
    logs.enumerate().filter(|(_, (_, _, log))| filter.matches(log)).map(|(log_index, (index, tx, log))| {
        LogEntry {
            log: log.clone(),
            block: block.id(),
            timestamp: block.header().timestamp,
            transaction: tx.hash(),
            transaction_index: index,
            log_index,
        }
    })
}
