//! Whether everything in the file is what it should be.

use crate::{
    Result, body,
    finality::Index,
    history,
    reader::Reader,
    receipts,
    store::Store,
    tables::{
        BODIES, CHANGED, CODES, ENDED, ENDED_ORDER, HEADERS, HISTORY, LOG_ADDRESSES, LOG_TOPICS, NUMBERS,
        PLACES, RECEIPTS, WRITES, numbered,
    },
    values,
};
use alloy_consensus::proofs::{calculate_receipt_root, ordered_trie_root_encoded};
use alloy_primitives::{B256, keccak256};
use redb::{Key, ReadOnlyTable, ReadableTableMetadata, Value};
use types::Transaction;

/// How many entries the tables should have.
#[derive(Default)]
struct Counts {
    transactions: u64,
    addresses: u64,
    topics: u64,
}

impl Store {
    /// Reads everything and compares it with what it should be: hashes, roots, indexes, and the states after all blocks of
    /// the history. `progress` is told how many values and then, twice, how many blocks there were so far.
    pub fn check(&self, mut progress: impl FnMut(u64)) -> Result<()> {
        self.load()?;
        self.0.engine.guarded(|| {
            self.restored(self.base().oldest(), &mut progress)?;
            let reader = self.reader()?;
            reader.check_history()?;
            reader.check_blocks(&mut progress)?;
            reader.check_codes()?;
            reader.check_ended()?;
            reader.check_stories()
        })
    }
}

impl Reader {
    fn found<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(self.shared.engine.damaged(what.into()))
    }

    fn check_blocks(&self, progress: &mut impl FnMut(u64)) -> Result<()> {
        let (mut parent, mut counts) = (None, Counts::default());
        let (genesis, finalized, newest) = (self.genesis(), self.finalized(), self.newest());
        for number in genesis..=newest.number {
            parent = Some(self.check_block(number, parent, &mut counts)?);
            if number == finalized.number && parent != Some(finalized.hash) {
                return self.found("the final block is another one");
            }
            progress(number - genesis + 1);
        }
        if parent != Some(newest.hash) {
            return self.found("the newest block is another one");
        }
        let (all, done) = (newest.number - genesis + 1, self.indexed() - genesis + 1);
        self.check_count("headers", &self.table(HEADERS)?, all)?;
        self.check_count("bodies", &self.table(BODIES)?, all)?;
        self.check_count("receipts", &self.table(RECEIPTS)?, all)?;
        self.check_count("writes", &self.table(WRITES)?, newest.number - self.position.folded)?;
        self.check_count("numbers", &self.table(NUMBERS)?, done)?;
        self.check_count("places", &self.table(PLACES)?, counts.transactions)?;
        self.check_count("log addresses", &self.table(LOG_ADDRESSES)?, counts.addresses)?;
        self.check_count("log topics", &self.table(LOG_TOPICS)?, counts.topics)
    }

    fn check_count<K: Key, V: Value>(
        &self,
        what: &str,
        table: &ReadOnlyTable<K, V>,
        expected: u64,
    ) -> Result<()> {
        match table.len().map_err(|error| self.error(error))? {
            found if found == expected => Ok(()),
            found => self.found(format!("{what}: {found} entries instead of {expected}")),
        }
    }

    fn check_block(&self, number: u64, parent: Option<B256>, counts: &mut Counts) -> Result<B256> {
        let engine = &self.shared.engine;
        let damaged = |why: &str| engine.damaged(format!("block {number}: {why}"));
        let bytes = numbered(engine, &self.table(HEADERS)?, "header", number)?;
        let header = values::decode_header(&bytes).ok_or_else(|| damaged("its header does not decode"))?;
        if parent.is_some_and(|parent| parent != header.parent_hash) || header.number != number {
            return Err(damaged("it does not stand on the one before it"));
        }
        let hash = keccak256(&bytes);
        let stored = numbered(engine, &self.table(BODIES)?, "transactions", number)?;
        let (_, transactions) = body::decode(&stored).map_err(|error| damaged(&error.to_string()))?;
        let encoded = transactions.iter().map(Transaction::encoded).collect::<Vec<_>>();
        let stored = numbered(engine, &self.table(RECEIPTS)?, "receipts", number)?;
        let receipts = receipts::decode(&stored).map_err(|error| damaged(&error.to_string()))?;
        if ordered_trie_root_encoded(&encoded) != header.transactions_root
            || calculate_receipt_root(&receipts) != header.receipts_root
            || stored != receipts::encode(hash, header.timestamp, &transactions, &receipts)
        {
            return Err(damaged("its transactions or receipts are not those of its header"));
        }
        if number <= self.indexed() && !self.is_indexed(number, hash, &stored, counts)? {
            return Err(damaged("the block, a transaction or a log of it cannot be found"));
        }
        Ok(hash)
    }

    /// Every folded block above the oldest state has its keys, every key has what it held before, and nothing else is there.
    fn check_history(&self) -> Result<()> {
        let (changed, history) = (self.table(CHANGED)?, self.table(HISTORY)?);
        let (oldest, folded) = (self.position.oldest, self.position.folded);
        let mut rows = 0;
        for number in oldest + 1..=folded {
            let row = changed.get(number).map_err(|error| self.error(error))?;
            let keys = row.as_ref().and_then(|row| history::keys(row.value()));
            let Some(keys) = keys else {
                return self.found(format!("the keys that block {number} wrote are missing"));
            };
            for key in keys {
                let row = history.get(&history::row_key(key, number)).map_err(|error| self.error(error))?;
                if row.is_none_or(|row| history::decode_before(row.value()).is_err()) {
                    return self.found(format!("what block {number} wrote over is missing"));
                }
            }
            rows += keys.len() as u64;
        }
        self.check_count("changed", &changed, folded - oldest)?;
        self.check_count("history", &history, rows)
    }

    /// Whether an indexed block can be found in every way.
    fn is_indexed(&self, number: u64, hash: B256, receipts: &[u8], counts: &mut Counts) -> Result<bool> {
        let Ok(index) = Index::of(number, receipts) else { return Ok(false) };
        counts.transactions += index.transactions.len() as u64;
        counts.addresses += index.addresses.len() as u64;
        counts.topics += index.topics.len() as u64;
        let mut all = self.number(&hash)? == Some(number);
        for (at, hash) in (0..).zip(&index.transactions) {
            all &= self.place(&B256::new(*hash))? == Some((number, at));
        }
        let (addresses, topics) = (self.table(LOG_ADDRESSES)?, self.table(LOG_TOPICS)?);
        for key in &index.addresses {
            all &= addresses.get(key).map_err(|error| self.error(error))?.is_some();
        }
        for key in &index.topics {
            all &= topics.get(key).map_err(|error| self.error(error))?.is_some();
        }
        Ok(all)
    }

    fn check_codes(&self) -> Result<()> {
        let codes = self.table(CODES)?;
        for entry in codes.range::<&[u8; 32]>(..).map_err(|error| self.error(error))? {
            let (hash, code) = entry.map_err(|error| self.error(error))?;
            if keccak256(code.value()).0 != *hash.value() {
                return self.found(format!("code {} has another hash", B256::new(*hash.value())));
            }
        }
        Ok(())
    }

    /// Every end is in the order of ends; what is there twice ended twice.
    fn check_ended(&self) -> Result<()> {
        let (ended, order) = (self.table(ENDED)?, self.table(ENDED_ORDER)?);
        for entry in ended.range::<&[u8; 32]>(..).map_err(|error| self.error(error))? {
            let (hash, value) = entry.map_err(|error| self.error(error))?;
            let decoded = values::decode_ended(value.value());
            let at = decoded.map_err(|error| self.shared.engine.damaged(format!("an end: {error}")))?.0;
            let listed = order.get(at).map_err(|error| self.error(error))?;
            if listed.is_none_or(|listed| listed.value() != hash.value()) {
                return self.found(format!("the end of {} is not in order", B256::new(*hash.value())));
            }
        }
        for entry in order.range::<u64>(..).map_err(|error| self.error(error))? {
            let (at, hash) = entry.map_err(|error| self.error(error))?;
            let known = self.ended_order(&B256::new(*hash.value()))?;
            if known.is_none_or(|known| known < at.value()) {
                return self.found(format!("end {} is of nothing", at.value()));
            }
        }
        Ok(())
    }

    fn ended_order(&self, hash: &B256) -> Result<Option<u64>> {
        let value = self.table(ENDED)?.get(&hash.0).map_err(|error| self.error(error))?;
        Ok(value.and_then(|value| Some(values::decode_ended(value.value()).ok()?.0)))
    }
}
