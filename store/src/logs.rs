//! Which logs match. The index says in which blocks an address logged and a topic stood; only those are read.

use crate::{
    Result, StoreError,
    finality::{address_key, topic_key},
    reader::Reader,
    receipts::{self, RawLog},
    tables::{LOG_ADDRESSES, LOG_TOPICS, RECEIPTS},
};
use alloy_primitives::{Address, B256, Log};
use core::ops::RangeInclusive;
use redb::{Key, ReadOnlyTable};
use std::{collections::BTreeSet, time::Instant};
use types::BlockId;

/// The clock is looked at once in so many entries of the index.
const ENTRIES_BETWEEN: usize = 1024;

/// What to look for: a log of any of the addresses whose topic at each position is any of those given for it. An empty
/// list is no condition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogFilter {
    /// Who logged.
    pub addresses: Vec<Address>,
    /// The topics at positions 0 to 3. A log with fewer topics than conditions does not match.
    pub topics: Vec<Vec<B256>>,
}

impl LogFilter {
    /// Whether a log matches.
    pub fn matches(&self, log: &Log) -> bool {
        self.fits(&log.address, log.topics().iter())
    }

    fn fits<'a>(&self, address: &Address, topics: impl ExactSizeIterator<Item = &'a B256>) -> bool {
        (self.addresses.is_empty() || self.addresses.contains(address))
            && self.topics.len() <= topics.len()
            && self.topics.iter().zip(topics).all(|(any, topic)| any.is_empty() || any.contains(topic))
    }

    fn fits_raw(&self, log: &RawLog<'_>) -> bool {
        (self.addresses.is_empty() || self.addresses.iter().any(|address| address.0 == *log.address))
            && self.topics.len() <= log.topics.len()
            && self
                .topics
                .iter()
                .zip(log.topics)
                .all(|(any, topic)| any.is_empty() || any.iter().any(|wanted| wanted.0 == *topic))
    }
}

/// How far a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLimits {
    /// So many logs are enough.
    pub logs: usize,
    /// And so many bytes of their data: the log that exceeds them is the last one.
    pub bytes: usize,
    /// By then it must be done.
    pub until: Option<Instant>,
}

impl LogLimits {
    /// Everything, however long it takes.
    pub const NONE: Self = Self { logs: usize::MAX, bytes: usize::MAX, until: None };

    fn check_time(&self) -> Result<()> {
        match self.until {
            Some(until) if Instant::now() >= until => Err(StoreError::TooLong),
            _ => Ok(()),
        }
    }
}

/// What a search has found.
struct Found {
    logs: Vec<FoundLog>,
    bytes: usize,
    limits: LogLimits,
}

impl Found {
    const fn is_enough(&self) -> bool {
        self.logs.len() >= self.limits.logs || self.bytes > self.limits.bytes
    }
}

/// A log with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundLog {
    /// The log.
    pub log: Log,
    /// The block.
    pub block: BlockId,
    /// The block's timestamp in seconds.
    pub timestamp: u64,
    /// The transaction.
    pub tx_hash: B256,
    /// Its index in the block.
    pub tx_index: u64,
    /// The log's index in the block.
    pub log_index: u64,
}

impl Reader {
    /// The logs of final blocks that match, in order, as far as the limits allow.
    pub fn logs(
        &self,
        blocks: RangeInclusive<u64>,
        filter: &LogFilter,
        limits: LogLimits,
    ) -> Result<Vec<FoundLog>> {
        let (first, last) = (*blocks.start(), (*blocks.end()).min(self.indexed()));
        if first > last || filter.topics.len() > 4 {
            return Ok(vec![]);
        }
        let table = self.table(RECEIPTS)?;
        let mut found = Found { logs: vec![], bytes: 0, limits };
        match self.candidates(first, last, filter, &limits)? {
            Some(numbers) => {
                for number in numbers {
                    if found.is_enough() {
                        break;
                    }
                    limits.check_time()?;
                    if let Some(bytes) = table.get(number).map_err(|error| self.error(error))? {
                        self.matching(number, bytes.value(), filter, &mut found)?;
                    }
                }
            }
            None => {
                for entry in table.range(first..=last).map_err(|error| self.error(error))? {
                    if found.is_enough() {
                        break;
                    }
                    limits.check_time()?;
                    let (number, bytes) = entry.map_err(|error| self.error(error))?;
                    self.matching(number.value(), bytes.value(), filter, &mut found)?;
                }
            }
        }
        Ok(found.logs)
    }

    /// The matching logs of one block.
    fn matching(&self, number: u64, bytes: &[u8], filter: &LogFilter, found: &mut Found) -> Result<()> {
        let before = found.logs.len();
        let walked = receipts::walk(
            bytes,
            |log| {
                if !found.is_enough() && filter.fits_raw(&log) {
                    found.logs.push(place(number, &log));
                    found.bytes += log.data.len();
                }
            },
            |_| {},
        );
        let damaged = |error| self.shared.engine.damaged(format!("the receipts of block {number}: {error}"));
        let (hash, timestamp) = walked.map_err(damaged)?;
        for log in &mut found.logs[before..] {
            (log.block.hash, log.timestamp) = (hash, timestamp);
        }
        Ok(())
    }

    /// The blocks that may have a matching log; `None` if there is no condition.
    fn candidates(
        &self,
        first: u64,
        last: u64,
        filter: &LogFilter,
        limits: &LogLimits,
    ) -> Result<Option<BTreeSet<u64>>> {
        let mut numbers = None;
        if !filter.addresses.is_empty() {
            let table = self.table(LOG_ADDRESSES)?;
            let mut any = BTreeSet::new();
            for address in &filter.addresses {
                let key = |number| address_key(&address.0.0, number);
                self.postings(&table, key(first)..=key(last), limits, &mut any)?;
            }
            narrow(&mut numbers, any);
        }
        let conditions = (0_u8..).zip(&filter.topics).filter(|(_, any)| !any.is_empty());
        for (position, topics) in conditions {
            let table = self.table(LOG_TOPICS)?;
            let mut any = BTreeSet::new();
            for topic in topics {
                let key = |number| topic_key(position, &topic.0, number);
                self.postings(&table, key(first)..=key(last), limits, &mut any)?;
            }
            narrow(&mut numbers, any);
        }
        Ok(numbers)
    }

    /// The numbers at the end of the keys in a range.
    fn postings<const N: usize>(
        &self,
        table: &ReadOnlyTable<&'static [u8; N], ()>,
        range: RangeInclusive<[u8; N]>,
        limits: &LogLimits,
        numbers: &mut BTreeSet<u64>,
    ) -> Result<()>
    where
        &'static [u8; N]: for<'a> Key<SelfType<'a> = &'a [u8; N]>,
    {
        let range =
            table.range::<&[u8; N]>(range.start()..=range.end()).map_err(|error| self.error(error))?;
        for (count, entry) in range.enumerate() {
            if count.is_multiple_of(ENTRIES_BETWEEN) {
                limits.check_time()?;
            }
            let (key, _) = entry.map_err(|error| self.error(error))?;
            numbers.extend(key.value().last_chunk().map(|number| u64::from_be_bytes(*number)));
        }
        Ok(())
    }
}

fn narrow(numbers: &mut Option<BTreeSet<u64>>, others: BTreeSet<u64>) {
    *numbers = Some(match numbers.take() {
        Some(numbers) => &numbers & &others,
        None => others,
    });
}

/// A log whose block's hash and time are filled in later.
fn place(number: u64, log: &RawLog<'_>) -> FoundLog {
    FoundLog {
        log: log.to_log(),
        block: BlockId::new(number, B256::ZERO),
        timestamp: 0,
        tx_hash: B256::new(*log.tx_hash),
        tx_index: log.tx_index,
        log_index: log.index,
    }
}
