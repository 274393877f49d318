//! An archive in memory, with the indices that a store has on disk.

use super::{Archive, ArchiveError, Foreign, LogEntry, LogFilter, Place, matching_logs};
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
    places: B256Map<Place>,
    /// For each address, and each topic at its position, the blocks that have it, ascending.
    by_address: AddressMap<Vec<u64>>,
    by_topic: [B256Map<Vec<u64>>; 4],
}

impl MemoryArchive {
    /// Adds a final block.
    pub fn insert(&self, block: ReceiptedBlock, foreign: Option<Foreign>) {
        let Blocks { blocks, numbers, places, by_address, by_topic } = &mut *self.0.write();
        let id = block.block.id();
        numbers.insert(id.hash, id.number);
        for (index, tx) in block.block.transactions().iter().enumerate() {
            places.insert(tx.hash(), Place { number: id.number, index });
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
    if let Err(place) = numbers.binary_search(&number) {
        numbers.insert(place, number);
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

    fn place(&self, hash: &B256) -> Result<Option<Place>, ArchiveError> {
        Ok(self.0.read().places.get(hash).copied())
    }

    fn logs(
        &self,
        range: RangeInclusive<u64>,
        filter: &LogFilter,
        limit: usize,
    ) -> Result<Vec<LogEntry>, ArchiveError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let all = self.0.read();
        let logs = |(block, _): &(ReceiptedBlock, _)| matching_logs(block, filter).collect::<Vec<_>>();
        Ok(match all.candidates(&range, filter) {
            Some(numbers) => {
                let blocks = numbers.iter().filter_map(|number| all.blocks.get(number));
                blocks.flat_map(logs).take(limit).collect()
            }
            None => all.blocks.range(range).flat_map(|(_, block)| logs(block)).take(limit).collect(),
        })
    }

    fn foreign(&self, number: u64) -> Result<Option<Arc<Foreign>>, ArchiveError> {
        Ok(self.0.read().blocks.get(&number).and_then(|(_, foreign)| foreign.clone()))
    }
}
