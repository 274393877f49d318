//! What a block is called, and a block as it stands once sealed.

use crate::Transaction;
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::B256;
use core::fmt;
use std::sync::Arc;

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

    /// The name operators know a bundle by: `B-7` carries block 7.
    pub fn bundle_name(&self) -> String {
        format!("B-{}", self.number)
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

/// A sealed block with the receipts of its transactions.
///
/// Cheap to clone; what is large is shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptedBlock {
    /// The block.
    pub block: SealedBlock,
    /// One per transaction, with the logs.
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
        assert_eq!(block.id().bundle_name(), "B-7");
        assert_eq!(SealedBlock::new(Header::default(), vec![]).parent_id(), None);
    }
}
