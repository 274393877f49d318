//! One step, inside one transaction of the storage engine.

use crate::{
    StoreError,
    arrivals::{Moved, Moves},
    body, checkpoint,
    log::Logged,
    options::Options,
    receipts,
    tables::Tables,
    values::{self, Accepted, Position},
};
use alloy_consensus::Header;
use alloy_primitives::{B256, keccak256};
use driver::journal::{Entry, Unfinished};
use queue::Record;
use redb::ReadableTable;
use types::{BlockId, Reason, Time};

/// The names of the entries of the first table.
pub(crate) const IDENTITY: &str = "identity";
pub(crate) const POSITION: &str = "position";
pub(crate) const CHECKPOINT: &str = "checkpoint";

/// Rows that are this near to each other are removed in one go: to pass by some is cheaper than to look for the next.
const NEAR: u64 = 8;

/// Why a step cannot be carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It does not fit.
    Refused(StoreError),
    /// The storage failed.
    Storage(redb::Error),
}

impl<E: Into<redb::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Storage(error.into())
    }
}

/// A refusal.
pub(crate) fn refused<T>(why: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Refused(StoreError::Refused(why.into())))
}

/// A step that is being carried out.
pub(crate) struct StepWriter<'t> {
    pub(crate) tables: Tables<'t>,
    pub(crate) position: Position,
    pub(crate) options: &'t Options,
    pub(crate) arrivals: Moves<'t>,
}

impl StepWriter<'_> {
    pub(crate) fn apply(&mut self, entry: &Entry) -> Result<(), Failure> {
        match entry {
            Entry::Accepted { tx, at } => {
                let arrival = self.arrive();
                self.take_out(&tx.hash())?;
                self.put(arrival, &Accepted::first((tx, *at)))
            }
            Entry::Released { hash, accepted_at, attempts, release } => self.tell_story(hash, |story| {
                story.accepted_at = story.accepted_at.or(*accepted_at);
                story.attempts = *attempts;
                story.releases.push(*release);
            }),
            Entry::Returned(now) => self.put_back(now),
            Entry::Ended { hash, reason, at } => self.end(hash, reason, *at),
            Entry::Sealed { build, block } => self.seal(*build, block),
            Entry::Queue(record) => self.queue(record),
            Entry::Checkpoint { start, service, code } => {
                let bytes = checkpoint::encode(start, service, code);
                self.tables.meta()?.insert(CHECKPOINT, &bytes[..])?;
                Ok(())
            }
        }
    }

    /// Takes what is in the log over.
    pub(crate) fn take_over(&mut self, logged: &Logged) -> Result<(), Failure> {
        for (arrival, row) in logged.rows() {
            self.tables.transactions()?.insert(arrival, row)?;
        }
        Ok(())
    }

    /// Moves the table of values on, and writes how far the file is now.
    pub(crate) fn finish(mut self) -> Result<(Position, Moved), Failure> {
        self.move_on()?;
        self.tables.meta()?.insert(POSITION, &self.position.encode()[..])?;
        Ok((self.position, self.arrivals.into_moved()))
    }

    fn arrive(&mut self) -> u64 {
        self.position.arrivals += 1;
        self.position.arrivals
    }

    fn put(&mut self, arrival: u64, accepted: &Accepted) -> Result<(), Failure> {
        self.tables.transactions()?.insert(arrival, &accepted.encode()[..])?;
        self.arrivals.set(accepted.tx.hash(), Some(arrival));
        Ok(())
    }

    /// A transaction leaves the journal, if it is in it.
    pub(crate) fn take_out(&mut self, hash: &B256) -> Result<(), Failure> {
        if let Some(arrival) = self.arrivals.get(hash) {
            self.tables.transactions()?.remove(arrival)?;
            self.arrivals.set(*hash, None);
        }
        Ok(())
    }

    /// Transactions leave the journal, as far as they are in it. Those of a block have mostly come one after the other, and
    /// what stands together is removed together.
    pub(crate) fn take_out_all(&mut self, hashes: &[[u8; 32]]) -> Result<(), Failure> {
        let mut gone = Vec::with_capacity(hashes.len());
        for hash in hashes.iter().map(B256::from) {
            if let Some(arrival) = self.arrivals.get(&hash) {
                self.arrivals.set(hash, None);
                gone.push(arrival);
            }
        }
        gone.sort_unstable();
        let table = self.tables.transactions()?;
        for near in gone.chunk_by(|one, next| next - one <= NEAR) {
            let (Some(first), Some(last)) = (near.first(), near.last()) else { continue };
            table.retain_in(*first..=*last, |arrival, _| near.binary_search(&arrival).is_err())?;
        }
        Ok(())
    }

    /// It keeps its place in the order of arrival.
    fn put_back(&mut self, now: &txpool::Lookup) -> Result<(), Failure> {
        // Also a block that was never sealed may have failed because of it.
        if now.attempts > 0 {
            self.tell_story(&now.tx.hash(), |story| story.attempts = now.attempts)?;
        }
        let known = self.arrivals.get(&now.tx.hash());
        let arrival = known.unwrap_or_else(|| self.arrive());
        let accepted = Accepted {
            at: now.added_at,
            attempts: now.attempts,
            lone_failures: now.lone_failures,
            returned: now.returned,
            tx: now.tx.clone(),
        };
        self.put(arrival, &accepted)
    }

    fn end(&mut self, hash: &B256, reason: &Reason, at: Time) -> Result<(), Failure> {
        self.take_out(hash)?;
        let order = self.position.ended;
        self.position.ended += 1;
        let value = values::encode_ended(order, at, reason);
        self.tables.ended()?.insert(&hash.0, &value[..])?;
        self.tables.ended_order()?.insert(order, &hash.0)?;
        match order.checked_sub(self.options.ended_max) {
            Some(oldest) => self.forget(oldest),
            None => Ok(()),
        }
    }

    /// Forgets an ended transaction, unless it has ended again since.
    fn forget(&mut self, order: u64) -> Result<(), Failure> {
        let Some(hash) = self.tables.ended_order()?.remove(order)?.map(|hash| *hash.value()) else {
            return Ok(());
        };
        let is_last =
            self.tables.ended()?.get(&hash)?.is_some_and(|value| {
                values::decode_ended(value.value()).is_ok_and(|(last, ..)| last == order)
            });
        if is_last {
            self.tables.ended()?.remove(&hash)?;
            self.forget_story(&hash)?;
        }
        Ok(())
    }

    fn seal(&mut self, build: u64, unfinished: &Unfinished) -> Result<(), Failure> {
        let block = &unfinished.draft.block;
        let (id, newest) = (block.id(), self.position.newest);
        if block.parent_id() != Some(newest) {
            return refused(format!("block {id} does not stand on the newest one, {newest}"));
        }
        if block.transactions().len() != unfinished.receipts.len() {
            return refused(format!("block {id} does not have one receipt for each transaction"));
        }
        let encoded_body = body::encode(&unfinished.draft.signature, block.transactions());
        let encoded =
            receipts::encode(id.hash, block.header().timestamp, block.transactions(), &unfinished.receipts);
        self.put_block(block.header(), id, &encoded_body, &encoded)?;
        self.tables.writes()?.insert(id.number, &values::encode_writes(&unfinished.writes)[..])?;
        for (hash, code) in unfinished.created.iter() {
            self.tables.codes()?.insert(&hash.0, &code[..])?;
        }
        self.position.build = self.position.build.max(build);
        Ok(())
    }

    /// Writes a block, which is the newest one now.
    pub(crate) fn put_block(
        &mut self,
        header: &Header,
        id: BlockId,
        body: &[u8],
        receipts: &[u8],
    ) -> Result<(), Failure> {
        self.tables.headers()?.insert(id.number, &alloy_rlp::encode(header)[..])?;
        self.tables.bodies()?.insert(id.number, body)?;
        self.tables.receipts()?.insert(id.number, receipts)?;
        self.position.newest = id;
        Ok(())
    }

    fn queue(&mut self, record: &Record) -> Result<(), Failure> {
        let order = self.position.records;
        self.position.records += 1;
        self.tables.queue()?.insert(order, &values::sealed(record.to_bytes())[..])?;
        match record {
            Record::Released { from } => self.release(*from)?,
            Record::Finalized { through } => self.finalize(*through)?,
            _ => return Ok(()),
        }
        self.compact_queue()
    }

    fn release(&mut self, from: u64) -> Result<(), Failure> {
        let (finalized, newest) = (self.position.finalized, self.position.newest);
        if from <= finalized.number {
            return refused(format!("block {from} cannot be released, {finalized} is final"));
        }
        if from > newest.number {
            return Ok(());
        }
        let parent = self.header(from)?.parent_hash;
        // What is above the final block is in the indexes as far as it was folded.
        for number in from..=self.position.folded {
            self.unindex(number)?;
        }
        self.unfold(from)?;
        for number in from..=newest.number {
            self.tables.headers()?.remove(number)?;
            self.tables.bodies()?.remove(number)?;
            self.tables.receipts()?.remove(number)?;
            self.tables.writes()?.remove(number)?;
        }
        self.position.newest = BlockId::new(from - 1, parent);
        Ok(())
    }

    fn header(&mut self, number: u64) -> Result<Header, Failure> {
        let bytes = self.tables.headers()?.get(number)?;
        let header = bytes.and_then(|bytes| values::decode_header(bytes.value()));
        header.map_or_else(|| refused(format!("there is no header of block {number}")), Ok)
    }

    /// The hash of a stored block.
    pub(crate) fn hash(&mut self, number: u64) -> Result<B256, Failure> {
        let bytes = self.tables.headers()?.get(number)?;
        let hash = bytes.map(|bytes| keccak256(bytes.value()));
        hash.map_or_else(|| refused(format!("there is no block {number}")), Ok)
    }

    /// Drops the queue's records that say nothing any more.
    fn compact_queue(&mut self) -> Result<(), Failure> {
        let table = self.tables.queue()?;
        let (mut orders, mut records) = (vec![], vec![]);
        for entry in table.iter()? {
            let (order, bytes) = entry?;
            let record = values::decode_record(bytes.value());
            let Ok(record) = record else {
                return refused(format!("record {} of the queue does not decode", order.value()));
            };
            orders.push(order.value());
            records.push(record);
        }
        let needed = Record::still_needed(&records);
        for (order, _) in orders.iter().zip(needed).filter(|(_, needed)| !needed) {
            table.remove(order)?;
        }
        Ok(())
    }
}
