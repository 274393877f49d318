//! Questions about final and unfinished blocks, transactions and what ended, on one snapshot.

use crate::{
    Result, StoreError, body, receipts,
    store::Shared,
    tables::{BODIES, ENDED, HEADERS, NUMBERS, PLACES, RECEIPTS},
    values::{self, Position},
};
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::{B256, keccak256};
use bundler::Draft;
use core::fmt;
use redb::{Key, ReadOnlyTable, ReadTransaction, TableDefinition, Value};
use std::sync::Arc;
use types::{BlockId, Reason, ReceiptedBlock, SealedBlock, Time, Transaction};

/// One snapshot. Drop it soon: as long as it lives, pages that are replaced cannot be used again.
pub struct Reader {
    pub(crate) shared: Arc<Shared>,
    pub(crate) read: ReadTransaction,
    pub(crate) position: Position,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("position", &self.position).finish()
    }
}

/// How a transaction ended that did not become final.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// When.
    pub at: Time,
    /// Why.
    pub reason: Reason,
}

impl Reader {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Self> {
        let (read, position) = shared.read()?;
        Ok(Self { shared, read, position })
    }

    /// The first block's number.
    pub const fn genesis(&self) -> u64 {
        self.position.genesis
    }

    /// The last final block.
    pub const fn finalized(&self) -> BlockId {
        self.position.finalized
    }

    /// The last sealed block.
    pub const fn newest(&self) -> BlockId {
        self.position.newest
    }

    /// The last block that can be found by hash, and whose logs can: final or folded. Those above it are in memory.
    pub fn indexed(&self) -> u64 {
        self.position.finalized.number.max(self.position.folded)
    }

    pub(crate) fn table<K: Key, V: Value>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<ReadOnlyTable<K, V>> {
        self.read.open_table(definition).map_err(|error| self.shared.engine.error(error.into()))
    }

    pub(crate) fn error(&self, error: redb::StorageError) -> StoreError {
        self.shared.engine.error(error.into())
    }

    fn numbered<T>(
        &self,
        definition: TableDefinition<'static, u64, &'static [u8]>,
        number: u64,
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>> {
        let table = self.table(definition)?;
        let Some(bytes) = table.get(number).map_err(|error| self.error(error))? else { return Ok(None) };
        let value = decode(bytes.value());
        let damaged = || self.shared.engine.damaged(format!("block {number} does not decode"));
        value.map(Some).ok_or_else(damaged)
    }

    /// A header, of a final or an unfinished block.
    pub fn header(&self, number: u64) -> Result<Option<Header>> {
        self.numbered(HEADERS, number, values::decode_header)
    }

    /// A block's number and hash.
    pub fn block_id(&self, number: u64) -> Result<Option<BlockId>> {
        self.numbered(HEADERS, number, |bytes| Some(BlockId::new(number, keccak256(bytes))))
    }

    /// The number of a block that is [indexed](Self::indexed).
    pub fn number(&self, hash: &B256) -> Result<Option<u64>> {
        let number = self.table(NUMBERS)?.get(&hash.0).map_err(|error| self.error(error))?;
        Ok(number.map(|number| number.value()))
    }

    /// A block with its transactions.
    pub fn block(&self, number: u64) -> Result<Option<SealedBlock>> {
        let Some(header) = self.header(number)? else { return Ok(None) };
        let body = self.numbered(BODIES, number, |bytes| body::decode(bytes).ok())?;
        Ok(body.map(|(_, transactions)| SealedBlock::new(header, transactions)))
    }

    /// A block as its builder decided it, to be executed again. The first block has no parent and no draft.
    pub fn draft(&self, number: u64) -> Result<Option<Draft>> {
        let Some(below) = number.checked_sub(1) else { return Ok(None) };
        let (Some(parent), Some(header)) = (self.header(below)?, self.header(number)?) else {
            return Ok(None);
        };
        let body = self.numbered(BODIES, number, |bytes| body::decode(bytes).ok())?;
        Ok(body.map(|(signature, transactions)| Draft {
            parent,
            block: SealedBlock::new(header, transactions),
            signature,
        }))
    }

    /// The receipts of a block.
    pub fn receipts(&self, number: u64) -> Result<Option<Arc<[ReceiptEnvelope]>>> {
        self.numbered(RECEIPTS, number, |bytes| receipts::decode(bytes).ok().map(Into::into))
    }

    /// A block with transactions and receipts.
    pub fn receipted(&self, number: u64) -> Result<Option<ReceiptedBlock>> {
        let (Some(block), Some(receipts)) = (self.block(number)?, self.receipts(number)?) else {
            return Ok(None);
        };
        Ok(Some(ReceiptedBlock { block, receipts }))
    }

    /// Where a transaction of an [indexed](Self::indexed) block stands: the block's number, and its index there.
    pub fn place(&self, hash: &B256) -> Result<Option<(u64, u32)>> {
        let place = self.table(PLACES)?.get(&hash.0).map_err(|error| self.error(error))?;
        Ok(place.map(|place| place.value()))
    }

    /// The same with the transaction.
    pub fn transaction(&self, hash: &B256) -> Result<Option<(Transaction, u64, u32)>> {
        let Some((number, index)) = self.place(hash)? else { return Ok(None) };
        let tx = self.numbered(BODIES, number, |bytes| body::decode_one(bytes, index).ok().flatten())?;
        Ok(tx.map(|tx| (tx, number, index)))
    }

    /// How a transaction ended. Only the last ones are remembered.
    pub fn ended(&self, hash: &B256) -> Result<Option<Ended>> {
        let table = self.table(ENDED)?;
        let Some(bytes) = table.get(&hash.0).map_err(|error| self.error(error))? else { return Ok(None) };
        let (_, at, reason) = values::decode_ended(bytes.value())
            .map_err(|error| self.shared.engine.damaged(format!("the end of {hash}: {error}")))?;
        Ok(Some(Ended { at, reason }))
    }
}
