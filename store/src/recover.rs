//! What a node needs to go on after a restart.

use crate::{
    Result, body, checkpoint,
    commit::CHECKPOINT,
    reader::Reader,
    receipts,
    store::{Store, Whole},
    tables::{BODIES, META, QUEUE, RECEIPTS, TRANSACTIONS, WRITES, numbered},
    values::{self, Accepted},
};
use alloy_consensus::proofs::{calculate_receipt_root, ordered_trie_root_encoded};
use alloy_primitives::{B256, map::HashMap};
use bundler::Draft;
use driver::{
    Recovered,
    journal::{Checkpoint, Unfinished},
};
use queue::Record;
use std::sync::Arc;
use txpool::{Lookup, Status};
use types::{SealedBlock, Transaction};

impl Store {
    /// Everything for a restart, checked: what does not fit together is refused as a whole.
    pub fn load(&self) -> Result<Recovered> {
        self.load_telling(|_| {})
    }

    /// The same; `progress` is called with the number of unfinished blocks so far.
    pub fn load_telling(&self, mut progress: impl FnMut(u64)) -> Result<Recovered> {
        self.0.engine.guarded(|| self.recovered(&mut progress))
    }

    fn recovered(&self, progress: &mut impl FnMut(u64)) -> Result<Recovered> {
        let Whole { reader, logged, .. } = self.whole()?;
        let accepted = reader.accepted(&logged)?;
        let known = accepted.iter().map(|accepted| (accepted.tx.hash(), accepted.tx.clone())).collect();
        let blocks = reader.unfinished(&known, progress)?;
        let place = blocks.iter().flat_map(|block| {
            let id = block.draft.id();
            block.draft.block.transactions().iter().map(move |tx| (tx.hash(), id))
        });
        let place = place.collect::<HashMap<_, _>>();
        let lookup = |accepted: Accepted| Lookup {
            status: place.get(&accepted.tx.hash()).map_or(Status::Pending, |block| Status::Bundled(*block)),
            added_at: accepted.at,
            attempts: accepted.attempts,
            lone_failures: accepted.lone_failures,
            returned: accepted.returned,
            tx: accepted.tx,
        };
        Ok(Recovered {
            finalized: reader.finalized(),
            build: reader.position.build,
            transactions: accepted.into_iter().map(lookup).collect(),
            blocks,
            records: reader.records()?,
            checkpoint: reader.checkpoint()?,
        })
    }
}

impl Reader {
    fn damaged<T>(&self, what: &str, why: impl core::fmt::Display) -> Result<T> {
        Err(self.shared.engine.damaged(format!("{what}: {why}")))
    }

    fn accepted(&self, logged: &[(u64, Vec<u8>)]) -> Result<Vec<Accepted>> {
        let mut all = vec![];
        let mut take = |bytes: &[u8]| match Accepted::decode(bytes) {
            Ok(accepted) => {
                all.push(accepted);
                Ok(())
            }
            Err(error) => self.damaged("an accepted transaction", error),
        };
        let table = self.table(TRANSACTIONS)?;
        for entry in table.range::<u64>(..).map_err(|error| self.error(error))? {
            let (_, bytes) = entry.map_err(|error| self.error(error))?;
            take(bytes.value())?;
        }
        logged.iter().try_for_each(|(_, bytes)| take(bytes))?;
        Ok(all)
    }

    fn records(&self) -> Result<Vec<Record>> {
        let mut all = vec![];
        let table = self.table(QUEUE)?;
        for entry in table.range::<u64>(..).map_err(|error| self.error(error))? {
            let (_, bytes) = entry.map_err(|error| self.error(error))?;
            match values::decode_record(bytes.value()) {
                Ok(record) => all.push(record),
                Err(error) => return self.damaged("a record of the queue", error),
            }
        }
        Ok(all)
    }

    fn checkpoint(&self) -> Result<Option<Checkpoint>> {
        let table = self.table(META)?;
        let Some(bytes) = table.get(CHECKPOINT).map_err(|error| self.error(error))? else { return Ok(None) };
        match checkpoint::decode(bytes.value(), &self.shared.options.params) {
            Ok(checkpoint) => Ok(Some(checkpoint)),
            Err(error) => self.damaged("the checkpoint", error),
        }
    }

    /// The blocks above the final one. Those of their transactions that are known are taken from there, with all that
    /// was recovered from their signatures.
    fn unfinished(
        &self,
        known: &HashMap<B256, Transaction>,
        progress: &mut impl FnMut(u64),
    ) -> Result<Vec<Unfinished>> {
        let mut parent = self.position.finalized;
        let mut blocks = vec![];
        for number in parent.number + 1..=self.position.newest.number {
            let block = self.unfinished_block(number, known)?;
            if block.draft.block.parent_id() != Some(parent) {
                return self
                    .damaged("the blocks", format!("{} does not stand on {parent}", block.draft.id()));
            }
            parent = block.draft.id();
            blocks.push(block);
            progress(blocks.len() as u64);
        }
        if parent != self.position.newest {
            return self.damaged("the blocks", format!("{parent} is not {}", self.position.newest));
        }
        Ok(blocks)
    }

    fn unfinished_block(&self, number: u64, known: &HashMap<B256, Transaction>) -> Result<Unfinished> {
        let engine = &self.shared.engine;
        let what = format!("block {number}");
        let headers = (self.header(number - 1)?, self.header(number)?);
        let (Some(parent), Some(header)) = headers else { return self.damaged(&what, "it is missing") };
        let bodies = numbered(engine, &self.table(BODIES)?, "transactions", number)?;
        let receipts = numbered(engine, &self.table(RECEIPTS)?, "receipts", number)?;
        // Those of folded blocks are in the table of values, and not needed again.
        let is_folded = number <= self.position.folded;
        let writes = match is_folded {
            true => Vec::new(),
            false => numbered(engine, &self.table(WRITES)?, "writes", number)?,
        };
        let read = || -> Result<_, jam::codec::DecodeError> {
            Ok((body::decode(&bodies)?, receipts::decode(&receipts)?, values::decode_writes(&writes)?))
        };
        let ((signature, mut transactions), receipts, writes) = match read() {
            Ok(read) => read,
            Err(error) => return self.damaged(&what, error),
        };
        let encoded = transactions.iter().map(Transaction::encoded).collect::<Vec<_>>();
        if ordered_trie_root_encoded(&encoded) != header.transactions_root
            || calculate_receipt_root(&receipts) != header.receipts_root
        {
            return self.damaged(&what, "its transactions or receipts are not those of its header");
        }
        for tx in &mut transactions {
            if let Some(known) = known.get(&tx.hash()) {
                *tx = known.clone();
            }
        }
        let block = SealedBlock::new(header, transactions);
        Ok(Unfinished {
            draft: Draft { parent, block, signature },
            // Thousands of blocks may be unfinished; readers find the receipts of those below the folded one here.
            receipts: if number < self.position.folded { [].into() } else { receipts.into() },
            writes: Arc::new(writes),
            created: Default::default(),
        })
    }
}
