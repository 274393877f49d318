//! What happens when blocks become final: they can be found by hash, their logs by address and topic, their
//! transactions leave the journal, and the table of values moves on.

use crate::{
    commit::{Failure, StepWriter, refused},
    receipts, values,
};
use alloy_primitives::B256;
use redb::ReadableTable;
use std::collections::BTreeSet;
use types::BlockId;

/// What the index of a block's logs consists of.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) transactions: Vec<[u8; 32]>,
    pub(crate) addresses: BTreeSet<[u8; 28]>,
    pub(crate) topics: BTreeSet<[u8; 41]>,
}

/// The key under which an address has logged in a block.
pub(crate) fn address_key(address: &[u8; 20], number: u64) -> [u8; 28] {
    let mut key = [0; 28];
    key[..20].copy_from_slice(address);
    key[20..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The key under which a topic stands at a position of a log in a block.
pub(crate) fn topic_key(position: u8, topic: &[u8; 32], number: u64) -> [u8; 41] {
    let mut key = [position; 41];
    key[1..33].copy_from_slice(topic);
    key[33..].copy_from_slice(&number.to_be_bytes());
    key
}

impl Index {
    pub(crate) fn of(number: u64, bytes: &[u8]) -> Result<Self, jam::codec::DecodeError> {
        let mut index = Self::default();
        let (addresses, topics) = (&mut index.addresses, &mut index.topics);
        receipts::walk(
            bytes,
            |log| {
                addresses.insert(address_key(log.address, number));
                for (position, topic) in (0..).zip(log.topics) {
                    topics.insert(topic_key(position, topic, number));
                }
            },
            |receipt| index.transactions.push(*receipt.tx_hash),
        )?;
        Ok(index)
    }
}

impl StepWriter<'_> {
    /// Makes all blocks up to this one final.
    pub(crate) fn finalize(&mut self, through: BlockId) -> Result<(), Failure> {
        let (finalized, newest) = (self.position.finalized, self.position.newest);
        if through.number <= finalized.number || through.number > newest.number {
            return refused(format!("{through} cannot be final: {finalized} is, and {newest} is the newest"));
        }
        if self.hash(through.number)? != through.hash {
            return refused(format!("{through} cannot be final: another block has this number here"));
        }
        for number in finalized.number + 1..=through.number {
            self.index(number)?;
        }
        self.position.finalized = through;
        while self.position.folded + self.options.trail_blocks < through.number {
            self.fold()?;
        }
        Ok(())
    }

    /// Makes a block findable.
    pub(crate) fn index(&mut self, number: u64) -> Result<(), Failure> {
        let hash = self.hash(number)?;
        self.tables.numbers()?.insert(&hash.0, number)?;
        let index = {
            let receipts = self.tables.receipts()?.get(number)?;
            receipts.and_then(|bytes| Index::of(number, bytes.value()).ok())
        };
        let Some(index) = index else {
            return refused(format!("there are no receipts of block {number}"));
        };
        for (at, hash) in (0..).zip(&index.transactions) {
            let before = self.tables.places()?.insert(hash, (number, at))?.is_some();
            self.position.repeated += u64::from(before);
        }
        self.take_out_all(&index.transactions)?;
        for key in &index.addresses {
            self.tables.log_addresses()?.insert(key, ())?;
        }
        for key in &index.topics {
            self.tables.log_topics()?.insert(key, ())?;
        }
        Ok(())
    }

    /// Takes what the next block wrote over into the table of values.
    fn fold(&mut self) -> Result<(), Failure> {
        let number = self.position.folded + 1;
        let writes = {
            let bytes = self.tables.writes()?.remove(number)?;
            bytes.and_then(|bytes| values::decode_writes(bytes.value()).ok())
        };
        let Some(writes) = writes else {
            return refused(format!("it is not known what block {number} wrote"));
        };
        let table = self.tables.values()?;
        for (key, value) in &writes {
            table.insert(key.as_bytes(), &B256::from(*value).0)?;
        }
        self.position.folded = number;
        Ok(())
    }
}
