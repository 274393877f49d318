//! How blocks are found, by hash, and their transactions and logs by hash, address and topic; and what happens when blocks
//! become final: their transactions leave the journal.
//!
//! A block is in the indexes once it is final or folded. Until then it is in memory wherever the store is read, since a
//! block leaves memory only after it was folded.

use crate::{
    commit::{Failure, StepWriter, refused},
    receipts,
};
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
            if number > self.position.folded {
                self.index(number)?;
            }
            let transactions = self.index_of(number)?.transactions;
            self.take_out_all(&transactions)?;
        }
        self.position.finalized = through;
        Ok(())
    }

    /// What the index of a block consists of.
    fn index_of(&mut self, number: u64) -> Result<Index, Failure> {
        let receipts = self.tables.receipts()?.get(number)?;
        let index = receipts.and_then(|bytes| Index::of(number, bytes.value()).ok());
        index.map_or_else(|| refused(format!("there are no receipts of block {number}")), Ok)
    }

    /// Makes a block findable: when it is folded or final, whichever comes first.
    pub(crate) fn index(&mut self, number: u64) -> Result<(), Failure> {
        let hash = self.hash(number)?;
        self.tables.numbers()?.insert(&hash.0, number)?;
        let index = self.index_of(number)?;
        for (at, hash) in (0..).zip(&index.transactions) {
            // The first place of a transaction stays.
            if self.tables.places()?.get(hash)?.is_some() {
                self.position.repeated += 1;
            } else {
                self.tables.places()?.insert(hash, (number, at))?;
            }
        }
        for key in &index.addresses {
            self.tables.log_addresses()?.insert(key, ())?;
        }
        for key in &index.topics {
            self.tables.log_topics()?.insert(key, ())?;
        }
        Ok(())
    }

    /// Takes a block out of the indexes again.
    pub(crate) fn unindex(&mut self, number: u64) -> Result<(), Failure> {
        let hash = self.hash(number)?;
        self.tables.numbers()?.remove(&hash.0)?;
        let index = self.index_of(number)?;
        for (at, hash) in (0..).zip(&index.transactions) {
            let place = self.tables.places()?.get(hash)?.map(|place| place.value());
            if place == Some((number, at)) {
                self.tables.places()?.remove(hash)?;
            }
        }
        for key in &index.addresses {
            self.tables.log_addresses()?.remove(key)?;
        }
        for key in &index.topics {
            self.tables.log_topics()?.remove(key)?;
        }
        Ok(())
    }
}
