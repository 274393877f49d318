//! The node's durable memory, and what is left of it after a crash.

use alloy_primitives::B256;
use queue::Record;
use std::collections::{BTreeMap, BTreeSet};
use types::{BlockId, Time, Transaction};

/// One thing that the journal keeps.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A transaction was accepted.
    Accepted(Transaction, Time),
    /// It ended for a reason.
    Ended(B256),
    /// It came back from a released block.
    Returned {
        /// Which.
        hash: B256,
        /// How often blocks with it failed.
        attempts: u32,
        /// How often alone.
        lone_failures: u32,
    },
    /// A block was sealed.
    Sealed(Box<Sealed>),
    /// The queue decided something.
    Queue(Record),
}

/// A sealed block.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    /// The block.
    pub block: BlockId,
    /// Its parent.
    pub parent: BlockId,
    /// Its transactions.
    pub transactions: Vec<Transaction>,
    /// What it can be built again from, if it is a real block.
    pub draft: Option<bundler::Draft>,
}

/// Where a transaction durably is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In the pool.
    Pool,
    /// In an unfinished block.
    Block(u64),
    /// In a final block.
    Final,
    /// Ended for a reason.
    Ended,
    /// Nowhere: lost.
    Nowhere,
}

/// A transaction in the journal.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// The transaction.
    pub tx: Transaction,
    /// When it was accepted.
    pub at: Time,
    /// Where it is.
    pub place: Place,
    /// How often blocks with it failed.
    pub attempts: u32,
    /// How often alone.
    pub lone_failures: u32,
    /// Whether it was ever in a block.
    pub returned: bool,
}

/// The journal: what was committed, in order, and folded.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The queue's records.
    pub records: Vec<Record>,
    /// Every transaction that was ever accepted, in order of acceptance.
    pub transactions: Vec<B256>,
    kept: BTreeMap<B256, Kept>,
    /// Every block that was ever sealed.
    pub blocks: BTreeMap<B256, Sealed>,
    /// Final blocks, in order.
    pub finished: Vec<B256>,
    /// Unfinished blocks.
    pub unfinished: BTreeMap<u64, B256>,
    /// Packages of which a submission is recorded.
    pub packages: BTreeSet<B256>,
    /// How many commits there were.
    pub commits: u64,
    /// How many blocks were ever sealed, for build counters.
    pub sealed: u64,
}

impl Journal {
    /// Makes entries durable, all or none.
    pub(super) fn commit(&mut self, entries: Vec<Entry>) {
        self.commits += 1;
        for entry in entries {
            self.apply(entry);
        }
    }

    fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Accepted(tx, at) => {
                let hash = tx.hash();
                self.transactions.push(hash);
                let place = Place::Pool;
                self.kept
                    .insert(hash, Kept { tx, at, place, attempts: 0, lone_failures: 0, returned: false });
            }
            Entry::Ended(hash) => self.place(hash, Place::Ended),
            Entry::Returned { hash, attempts, lone_failures } => {
                self.place(hash, Place::Pool);
                if let Some(kept) = self.kept.get_mut(&hash) {
                    (kept.attempts, kept.lone_failures, kept.returned) = (attempts, lone_failures, true);
                }
            }
            Entry::Sealed(sealed) => {
                self.sealed += 1;
                for tx in &sealed.transactions {
                    self.place(tx.hash(), Place::Block(sealed.block.number));
                }
                self.unfinished.insert(sealed.block.number, sealed.block.hash);
                self.blocks.insert(sealed.block.hash, *sealed);
            }
            Entry::Queue(record) => self.apply_record(record),
        }
    }

    fn apply_record(&mut self, record: Record) {
        match &record {
            Record::Submitted { version, .. } => drop(self.packages.insert(version.package.0)),
            // Until they are put back, the transactions of a released block are nowhere.
            Record::Released { from } => {
                let gone = self.unfinished.split_off(from);
                self.place_all(gone.into_values(), Place::Nowhere);
            }
            Record::Finalized { through } => {
                let rest = self.unfinished.split_off(&(through.number + 1));
                let done = core::mem::replace(&mut self.unfinished, rest);
                self.finished.extend(done.values());
                self.place_all(done.into_values(), Place::Final);
            }
            _ => {}
        }
        self.records.push(record);
    }

    fn place_all(&mut self, blocks: impl Iterator<Item = B256>, place: Place) {
        let blocks = blocks.filter_map(|hash| self.blocks.get(&hash));
        let hashes =
            blocks.flat_map(|block| block.transactions.iter().map(Transaction::hash)).collect::<Vec<_>>();
        for hash in hashes {
            // What was put back in the same step stays where it was put.
            self.place(hash, place);
        }
    }

    fn place(&mut self, hash: B256, place: Place) {
        if let Some(kept) = self.kept.get_mut(&hash) {
            kept.place = place;
        }
    }

    /// All transactions in order of acceptance.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.transactions.iter().filter_map(|hash| self.kept.get(hash))
    }
}
