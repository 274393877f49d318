//! An archive in memory, with the indices that a store has on disk.

use super::{Archive, ArchiveError, Foreign, FoundLogs, LogEntry, LogFilter, LogLimits, TxLocation};
use alloy_primitives::{
    B256,
    map::{AddressMap, B256Map},
};
use parking_lot::RwLock;
use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};
use types::ReceiptedBlock;

/// Final blocks in memory: for development chains that are not kept, and for tests.
#[derive(Debug, Default)]
pub struct MemoryArchive(RwLock<Blocks>);

#[derive(Debug, Default)]
struct Blocks {
    blocks: BTreeMap<u64, (ReceiptedBlock, Option<Arc<Foreign>>)>,
    numbers: B256Map<u64>,
    locations: B256Map<TxLocation>,
    /// For each address, and each topic at its position, the blocks that have it, ascending.
    by_address: AddressMap<Vec<u64>>,
    by_topic: [B256Map<Vec<u64>>; 4],
}

impl MemoryArchive {
    /// Adds a final block.
    pub fn insert(&self, block: ReceiptedBlock, foreign: Option<Foreign>) {
        let Blocks { blocks, numbers, locations, by_address, by_topic } = &mut *self.0.write();
        let id = block.block.id();
        numbers.insert(id.hash, id.number);
        for (index, tx) in block.block.transactions().iter().enumerate() {
            locations.insert(tx.hash(), TxLocation { number: id.number, index });
        }
        for log in block.receipts.iter().flat_map(|receipt| receipt.logs()) {
            note(by_address.entry(log.address).or_default(), id.number);
            for (topic, index) in log.topics().iter().zip(by_topic.iter_mut()) {
                note(index.entry(*topic).or_default(), id.number);
            }
        }
        blocks.insert(id.number, (block, foreign.map(Arc::new)));
    }
}

fn note(numbers: &mut Vec<u64>, number: u64) {
    if let Err(position) = numbers.binary_search(&number) {
        numbers.insert(position, number);
    }
}

impl Blocks {
    /// The blocks that may match, by the most selective part of the filter; `None` if every block may.
    fn candidates(&self, range: &RangeInclusive<u64>, filter: &LogFilter) -> Option<Vec<u64>> {
        let within = |numbers: Option<&Vec<u64>>| {
            let numbers = numbers.map_or(&[][..], Vec::as_slice);
            let from = numbers.partition_point(|number| number < range.start());
            let to = numbers.partition_point(|number| number <= range.end());
            numbers[from..to].to_vec()
        };
        let any = |lists: Vec<Vec<u64>>| {
            let mut all = lists.concat();
            all.sort_unstable();
            all.dedup();
            all
        };
        let addresses = (!filter.addresses.is_empty()).then(|| {
            any(filter.addresses.iter().map(|address| within(self.by_address.get(address))).collect())
        });
        let positions = filter.topics.iter().zip(&self.by_topic).filter(|(topics, _)| !topics.is_empty());
        let topics = positions
            .map(|(topics, index)| any(topics.iter().map(|topic| within(index.get(topic))).collect()));
        addresses.into_iter().chain(topics).min_by_key(Vec::len)
    }
}

impl Archive for MemoryArchive {
    fn block(&self, number: u64) -> Result<Option<ReceiptedBlock>, ArchiveError> {
        Ok(self.0.read().blocks.get(&number).map(|(block, _)| block.clone()))
    }

    fn number(&self, hash: &B256) -> Result<Option<u64>, ArchiveError> {
        Ok(self.0.read().numbers.get(hash).copied())
    }

    fn location(&self, hash: &B256) -> Result<Option<TxLocation>, ArchiveError> {
        Ok(self.0.read().locations.get(hash).copied())
    }

    fn logs(
        &self,
        range: RangeInclusive<u64>,
        filter: &LogFilter,
        limits: LogLimits,
    ) -> Result<Vec<LogEntry>, ArchiveError> {
        let mut found = FoundLogs::new(limits);
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let all = self.0.read();
        let mut look = |block: &ReceiptedBlock| {
            found.look(block, filter)?;
            Ok(!found.is_enough())
        };
        match all.candidates(&range, filter) {
            Some(numbers) => {
                for (block, _) in numbers.iter().filter_map(|number| all.blocks.get(number)) {
                    if !look(block)? {
                        break;
                    }
                }
            }
            None => {
                for (_, (block, _)) in all.blocks.range(range) {
                    if !look(block)? {
                        break;
                    }
                }
            }
        }
        Ok(found.into_logs())
    }

    fn foreign(&self, number: u64) -> Result<Option<Arc<Foreign>>, ArchiveError> {
        Ok(self.0.read().blocks.get(&number).and_then(|(_, foreign)| foreign.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching_logs;
    use alloy_consensus::{
        Header, Receipt, ReceiptEnvelope, SignableTransaction, TxEnvelope, TxLegacy, transaction::Recovered,
    };
    use alloy_primitives::{Address, Bytes, Log, Signature};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};
    use types::{SealedBlock, Transaction};

    fn block(number: u64, logs: Vec<Log>) -> ReceiptedBlock {
        let signed =
            TxLegacy { nonce: number, ..TxLegacy::default() }.into_signed(Signature::test_signature());
        let tx = Transaction::new(Recovered::new_unchecked(TxEnvelope::from(signed), Address::ZERO));
        let receipt = Receipt { logs, ..Receipt::default() }.with_bloom();
        let header = Header { number, logs_bloom: receipt.logs_bloom, ..Header::default() };
        ReceiptedBlock {
            block: SealedBlock::new(header, vec![tx]),
            receipts: [ReceiptEnvelope::Legacy(receipt)].into(),
        }
    }

    fn log() -> impl Strategy<Value = Log> {
        (0..4_u8, prop::collection::vec(0..3_u8, 0..4)).prop_map(|(address, topics)| {
            let topics = topics.into_iter().map(B256::with_last_byte).collect();
            Log::new_unchecked(Address::with_last_byte(address), topics, Bytes::new())
        })
    }

    fn filter() -> impl Strategy<Value = LogFilter> {
        let topics = prop::collection::vec(prop::collection::vec(0..3_u8, 0..3), 0..4);
        (prop::collection::vec(0..4_u8, 0..3), topics).prop_map(|(addresses, topics)| LogFilter {
            addresses: addresses.into_iter().map(Address::with_last_byte).collect(),
            topics: topics
                .into_iter()
                .map(|any| any.into_iter().map(B256::with_last_byte).collect())
                .collect(),
        })
    }

    proptest! {
        /// The index finds what looking at every log finds, and a bloom never hides any of it.
        #[test]
        fn the_index_finds_what_a_scan_finds(
            blocks in prop::collection::vec(prop::collection::vec(log(), 0..4), 1..20),
            filter in filter(), from in 0..20_u64, length in 0..20_u64, limit in 0..30_usize,
        ) {
            let archive = MemoryArchive::default();
            let blocks = blocks.into_iter().enumerate().map(|(number, logs)| block(number as u64, logs));
            let blocks = blocks.collect::<Vec<_>>();
            blocks.iter().for_each(|block| archive.insert(block.clone(), None));
            let range = from..=from + length;
            let wanted = blocks.iter().filter(|block| range.contains(&block.block.id().number));
            let all = wanted.flat_map(|block| {
                let logs = matching_logs(block, &filter).collect::<Vec<_>>();
                assert!(logs.is_empty() || crate::api::may_match(&block.block.header().logs_bloom, &filter));
                logs
            });
            let all = all.take(limit).collect::<Vec<_>>();
            let until = Instant::now() + Duration::from_secs(600);
            let limits = LogLimits { logs: limit, bytes: usize::MAX, until };
            prop_assert_eq!(archive.logs(range, &filter, limits).unwrap(), all);
        }
    }

    #[test]
    fn a_search_ends_with_its_time_and_with_its_bytes() {
        let archive = MemoryArchive::default();
        let data = |number| Bytes::from(vec![number; 100]);
        let log = |number| Log::new_unchecked(Address::ZERO, vec![], data(number));
        (0..9).for_each(|number| archive.insert(block(u64::from(number), vec![log(number)]), None));
        let until = Instant::now() + Duration::from_secs(600);
        let limits = LogLimits { logs: 100, bytes: 250, until };
        let all = LogFilter::default();
        assert_eq!(archive.logs(0..=8, &all, limits).unwrap().len(), 3, "the third is too much");
        let over = LogLimits { until: Instant::now(), ..limits };
        for filter in [all, LogFilter { addresses: vec![Address::ZERO], topics: vec![] }] {
            assert!(matches!(archive.logs(0..=8, &filter, over), Err(ArchiveError::TooLong)));
        }
    }
}
