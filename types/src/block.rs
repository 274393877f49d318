//! What a block is called, and a block as it stands once sealed.

use crate::Transaction;
use alloc::{format, string::String, sync::Arc};
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::B256;
use core::fmt;

/// A block's identity. The hash alone is enough; the number says where it stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BlockId {
    /// Height in the EVM chain.
    pub number: u64,
    /// keccak-256 of the header's RLP.
    pub hash: B256,
}

impl BlockId {
    /// Names the block `hash` at height `number`.
    pub const fn new(number: u64, hash: B256) -> Self {
        Self { number, hash }
    }
}

/// Consecutive blocks, each on the one before: what a bundle carries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Run {
    /// The lowest block.
    pub first: BlockId,
    /// The highest block; the same one if there is only one.
    pub last: BlockId,
}

impl Run {
    /// The run of one block.
    pub const fn of(block: BlockId) -> Self {
        Self { first: block, last: block }
    }

    /// How many blocks it has.
    pub const fn blocks(&self) -> u64 {
        self.last.number.saturating_sub(self.first.number).saturating_add(1)
    }

    /// Whether a number is that of one of its blocks.
    pub const fn contains(&self, number: u64) -> bool {
        self.first.number <= number && number <= self.last.number
    }

    /// The numbers of its blocks.
    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = u64> + use<> {
        self.first.number..=self.last.number
    }

    /// The name that operators know its bundle by: `B-7` carries block 7, and perhaps more.
    pub fn bundle_name(&self) -> String {
        format!("B-{}", self.first.number)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.blocks() {
            1 => self.first.fmt(f),
            _ => write!(f, "{}..{}", self.first.number, self.last),
        }
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.hash)
    }
}

/// A block that will never change again: from its seal on, the hash is its identity.
///
/// Cheap to clone; what is large is shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedBlock {
    id: BlockId,
    header: Arc<Header>,
    transactions: Arc<[Transaction]>,
}

impl SealedBlock {
    /// Seals: hashes the header once.
    pub fn new(header: Header, transactions: impl Into<Arc<[Transaction]>>) -> Self {
        let id = BlockId::new(header.number, header.hash_slow());
        Self { id, header: Arc::new(header), transactions: transactions.into() }
    }

    /// Number and hash.
    pub const fn id(&self) -> BlockId {
        self.id
    }

    /// Number and hash of the parent; `None` for the very first block.
    pub fn parent_id(&self) -> Option<BlockId> {
        Some(BlockId::new(self.id.number.checked_sub(1)?, self.header.parent_hash))
    }

    /// The sealed header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The transactions in the order of their execution.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }
}

/// A block with what its transactions came to. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptedBlock {
    /// The block.
    pub block: SealedBlock,
    /// One receipt for each transaction, in the same order.
    pub receipts: Arc<[ReceiptEnvelope]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealing_names_the_block_by_the_hash_of_its_header() {
        let header = Header { number: 7, parent_hash: B256::repeat_byte(1), ..Header::default() };
        let block = SealedBlock::new(header.clone(), vec![]);
        assert_eq!(block.id(), BlockId::new(7, header.hash_slow()));
        assert_eq!(block.parent_id(), Some(BlockId::new(6, B256::repeat_byte(1))));
        assert_eq!(SealedBlock::new(Header::default(), vec![]).parent_id(), None);
    }

    #[test]
    fn a_run_is_named_by_its_first_block() {
        let [first, last] = [7, 9].map(|number| BlockId::new(number, B256::repeat_byte(1)));
        let run = Run { first, last };
        assert_eq!((run.bundle_name(), run.blocks()), ("B-7".to_owned(), 3));
        assert_eq!([6, 7, 9, 10].map(|number| run.contains(number)), [false, true, true, false]);
        assert_eq!(run.numbers().collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!((Run::of(first).blocks(), Run::of(first).to_string()), (1, first.to_string()));
        assert_eq!(run.to_string(), format!("7..{last}"));
    }
}
