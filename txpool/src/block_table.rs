//! The sealed blocks that are not final yet, with the transactions that the pool knows of each.

use alloy_primitives::B256;
use slab::Slab;
use std::collections::BTreeMap;
use types::BlockId;

#[derive(Debug)]
struct Block {
    id: BlockId,
    txs: Vec<B256>,
}

/// See the [module](self). Entries name a block by its key, which is shorter than its id.
#[derive(Default, Debug)]
pub(crate) struct BlockTable {
    blocks: Slab<Block>,
    by_id: BTreeMap<BlockId, u32>,
}

impl BlockTable {
    /// The key of a block, which is made if unknown.
    pub(crate) fn key_or_insert(&mut self, id: BlockId) -> u32 {
        let blocks = &mut self.blocks;
        *self.by_id.entry(id).or_insert_with(|| {
            u32::try_from(blocks.insert(Block { id, txs: Vec::new() }))
                .expect("fewer than 2^32 blocks are unfinished")
        })
    }

    /// The block with a key that this table gave.
    pub(crate) fn id(&self, key: u32) -> BlockId {
        self.blocks[key as usize].id
    }

    /// Adds a transaction to a block.
    pub(crate) fn push(&mut self, key: u32, hash: B256) {
        self.blocks[key as usize].txs.push(hash);
    }

    /// Forgets a block, and gives its transactions.
    pub(crate) fn remove(&mut self, id: &BlockId) -> Option<Vec<B256>> {
        let key = self.by_id.remove(id)?;
        Some(self.blocks.remove(key as usize).txs)
    }

    /// Keeps only some transactions of a block, and forgets the block with its last one.
    pub(crate) fn retain(&mut self, key: u32, keep: impl FnMut(&B256) -> bool) {
        let block = &mut self.blocks[key as usize];
        block.txs.retain(keep);
        if block.txs.is_empty() {
            self.by_id.remove(&block.id);
            self.blocks.remove(key as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_goes_with_its_last_transaction() {
        let (mut table, id) = (BlockTable::default(), BlockId::new(1, [1; 32].into()));
        let key = table.key_or_insert(id);
        assert_eq!((table.key_or_insert(id), table.id(key)), (key, id));
        let hashes = [1, 2, 3].map(B256::repeat_byte);
        hashes.iter().for_each(|hash| table.push(key, *hash));
        table.retain(key, |hash| *hash != hashes[1]);
        assert_eq!(table.id(key), id);
        table.retain(key, |_| false);
        assert_eq!(table.remove(&id), None);
    }

    #[test]
    fn a_block_gives_its_transactions_in_order_and_once() {
        let (mut table, id) = (BlockTable::default(), BlockId::new(1, [1; 32].into()));
        let key = table.key_or_insert(id);
        let hashes = [3, 1, 2].map(B256::repeat_byte);
        hashes.iter().for_each(|hash| table.push(key, *hash));
        assert_eq!(table.remove(&id), Some(hashes.to_vec()));
        assert_eq!(table.remove(&id), None);
        // Two blocks of one number, on two branches, are two blocks.
        let (a, b) = (table.key_or_insert(id), table.key_or_insert(BlockId::new(1, [2; 32].into())));
        assert_ne!(a, b);
    }
}
