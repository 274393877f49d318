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
use std::collections::BTreeSet;
use types::BlockId;

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
    /// The logs of final blocks that match, in order; an error if there are more than `max`.
    pub fn logs(&self, blocks: RangeInclusive<u64>, filter: &LogFilter, max: usize) -> Result<Vec<FoundLog>> {
        let (first, last) = (*blocks.start(), (*blocks.end()).min(self.finalized().number));
        if first > last || filter.topics.len() > 4 {
            return Ok(vec![]);
        }
        let table = self.table(RECEIPTS)?;
        let mut found = Vec::new();
        let mut read = |number: u64, bytes: &[u8]| self.matching(number, bytes, filter, max, &mut found);
        match self.candidates(first, last, filter)? {
            Some(numbers) => {
                for number in numbers {
                    if let Some(bytes) = table.get(number).map_err(|error| self.error(error))? {
                        read(number, bytes.value())?;
                    }
                }
            }
            None => {
                for entry in table.range(first..=last).map_err(|error| self.error(error))? {
                    let (number, bytes) = entry.map_err(|error| self.error(error))?;
                    read(number.value(), bytes.value())?;
                }
            }
        }
        Ok(found)
    }

    /// The matching logs of one block.
    fn matching(
        &self,
        number: u64,
        bytes: &[u8],
        filter: &LogFilter,
        max: usize,
        found: &mut Vec<FoundLog>,
    ) -> Result<()> {
        let before = found.len();
        let mut too_many = false;
        let walked = receipts::walk(
            bytes,
            |log| {
                if too_many || !filter.fits_raw(&log) {
                    return;
                }
                too_many = found.len() == max;
                if !too_many {
                    found.push(place(number, &log));
                }
            },
            |_| {},
        );
        let damaged = |error| self.shared.engine.damaged(format!("the receipts of block {number}: {error}"));
        let (hash, timestamp) = walked.map_err(damaged)?;
        for log in &mut found[before..] {
            (log.block.hash, log.timestamp) = (hash, timestamp);
        }
        if too_many { Err(StoreError::TooManyLogs { max }) } else { Ok(()) }
    }

    /// The blocks that may have a matching log; `None` if there is no condition.
    fn candidates(&self, first: u64, last: u64, filter: &LogFilter) -> Result<Option<BTreeSet<u64>>> {
        let mut numbers = None;
        if !filter.addresses.is_empty() {
            let table = self.table(LOG_ADDRESSES)?;
            let mut any = BTreeSet::new();
            for address in &filter.addresses {
                let key = |number| address_key(&address.0.0, number);
                self.postings(&table, key(first)..=key(last), &mut any)?;
            }
            narrow(&mut numbers, any);
        }
        let conditions = (0_u8..).zip(&filter.topics).filter(|(_, any)| !any.is_empty());
        for (position, topics) in conditions {
            let table = self.table(LOG_TOPICS)?;
            let mut any = BTreeSet::new();
            for topic in topics {
                let key = |number| topic_key(position, &topic.0, number);
                self.postings(&table, key(first)..=key(last), &mut any)?;
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
        numbers: &mut BTreeSet<u64>,
    ) -> Result<()>
    where
        &'static [u8; N]: for<'a> Key<SelfType<'a> = &'a [u8; N]>,
    {
        let range =
            table.range::<&[u8; N]>(range.start()..=range.end()).map_err(|error| self.error(error))?;
        for entry in range {
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
