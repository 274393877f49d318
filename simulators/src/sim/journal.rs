//! The node's durable memory, and what is left of it after a crash.

use super::{
    blocks::{Kind, Sealed},
    network::PARAMS,
};
use alloy_primitives::B256;
use driver::{
    Recovered,
    journal::{Batch, Checkpoint, Entry},
};
use jam::{codec::Decode, follow::Start};
use queue::Record;
use std::collections::{BTreeMap, BTreeSet};
use txpool::{Lookup, Status};
use types::{BlockId, Reason, Time, Transaction};

/// Where a transaction durably is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Location {
    /// In the pool.
    Pool,
    /// In an unfinished block.
    Block(u64),
    /// In a final block.
    Final,
    /// Ended for a reason.
    Ended(Reason),
    /// Nowhere: lost.
    Nowhere,
}

/// A transaction in the journal.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// The transaction.
    pub(super) tx: Transaction,
    /// Since when its time to live runs.
    pub(super) at: Time,
    /// Where it is.
    pub(super) location: Location,
    /// How often blocks with it failed.
    pub(super) attempts: u32,
    /// How often alone.
    pub(super) lone_failures: u32,
    /// Whether it was ever in a block.
    pub(super) returned: bool,
}

/// The journal: what was committed, in order, and folded.
#[derive(Debug)]
pub(super) struct Journal<K: Kind> {
    genesis: BlockId,
    /// The queue's records that still say something.
    records: Vec<Record>,
    /// Every transaction that was ever accepted, in order of acceptance.
    pub(super) transactions: Vec<B256>,
    kept: BTreeMap<B256, Kept>,
    /// Every block that was ever sealed.
    pub(super) blocks: BTreeMap<B256, Sealed>,
    /// As the journal keeps them.
    sealed: BTreeMap<B256, K::Sealed>,
    /// Final blocks, in order.
    finished: Vec<BlockId>,
    /// Unfinished blocks.
    unfinished: BTreeMap<u64, B256>,
    /// Packages of which a submission is recorded.
    pub(super) packages: BTreeSet<B256>,
    checkpoint: Option<Checkpoint>,
    build: u64,
    /// How many blocks were released.
    pub(super) releases: usize,
}

impl<K: Kind> Journal<K> {
    pub(super) const fn new(genesis: BlockId) -> Self {
        Self {
            genesis,
            records: vec![],
            transactions: vec![],
            kept: BTreeMap::new(),
            blocks: BTreeMap::new(),
            sealed: BTreeMap::new(),
            finished: vec![],
            unfinished: BTreeMap::new(),
            packages: BTreeSet::new(),
            checkpoint: None,
            build: 0,
            releases: 0,
        }
    }

    /// Makes a batch durable, all of it.
    pub(super) fn commit(&mut self, batch: Batch<K::Sealed>) {
        batch.into_entries().into_iter().for_each(|entry| self.apply(entry));
    }

    fn apply(&mut self, entry: Entry<K::Sealed>) {
        match entry {
            Entry::Accepted { tx, at } => self.accept(tx, at),
            Entry::Ended { hash, reason, .. } => self.move_to(hash, Location::Ended(reason)),
            Entry::Released { .. } => {}
            Entry::Returned(now) => {
                let hash = now.tx.hash();
                self.move_to(hash, Location::Pool);
                if let Some(kept) = self.kept.get_mut(&hash) {
                    (kept.attempts, kept.lone_failures) = (now.attempts, now.lone_failures);
                    (kept.returned, kept.at) = (now.returned, now.added_at);
                }
            }
            Entry::Sealed { build, block } => {
                self.build = build;
                let sealed = K::describe(&block);
                for tx in &sealed.transactions {
                    self.move_to(tx.hash(), Location::Block(sealed.block.number));
                }
                self.unfinished.insert(sealed.block.number, sealed.block.hash);
                self.sealed.insert(sealed.block.hash, *block);
                self.blocks.insert(sealed.block.hash, sealed);
            }
            Entry::Queue(record) => self.apply_record(record),
            Entry::Checkpoint { start, service, code } => {
                let start = Start::decode(&start, &PARAMS).expect("the driver encoded it");
                self.checkpoint = Some(Checkpoint { start, service, code });
            }
        }
    }

    fn accept(&mut self, tx: Transaction, at: Time) {
        let hash = tx.hash();
        self.transactions.push(hash);
        let location = Location::Pool;
        self.kept.insert(hash, Kept { tx, at, location, attempts: 0, lone_failures: 0, returned: false });
    }

    fn apply_record(&mut self, record: Record) {
        let compacts = matches!(record, Record::Released { .. } | Record::Finalized { .. });
        match &record {
            Record::Submitted { version, .. } => drop(self.packages.insert(version.package.0)),
            // Until they are put back, the transactions of a released block are nowhere.
            Record::Released { from } => {
                self.releases += 1;
                let gone = self.unfinished.split_off(from);
                self.move_all(gone.into_values(), &Location::Nowhere);
            }
            Record::Finalized { through } => {
                let rest = self.unfinished.split_off(&(through.number + 1));
                let done = core::mem::replace(&mut self.unfinished, rest);
                self.finished.extend(done.iter().map(|(number, hash)| BlockId::new(*number, *hash)));
                self.move_all(done.into_values(), &Location::Final);
            }
            _ => {}
        }
        self.records.push(record);
        if compacts {
            let needed = Record::still_needed(&self.records);
            let mut needed = needed.into_iter();
            self.records.retain(|_| needed.next().unwrap_or(true));
        }
    }

    fn move_all(&mut self, blocks: impl Iterator<Item = B256>, location: &Location) {
        let blocks = blocks.filter_map(|hash| self.blocks.get(&hash));
        let hashes =
            blocks.flat_map(|block| block.transactions.iter().map(Transaction::hash)).collect::<Vec<_>>();
        for hash in hashes {
            // What is put back in the same step gets its location after this.
            self.move_to(hash, location.clone());
        }
    }

    fn move_to(&mut self, hash: B256, location: Location) {
        if let Some(kept) = self.kept.get_mut(&hash) {
            kept.location = location;
        }
    }

    /// All transactions in order of acceptance.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.transactions.iter().filter_map(|hash| self.kept.get(hash))
    }

    /// The last final block.
    pub(super) fn finalized(&self) -> BlockId {
        self.finished.last().copied().unwrap_or(self.genesis)
    }

    /// The queue's records that still say something.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// What a restart brings back, and the chain that it is about.
    pub(super) fn recover(&self, setup: &K::Setup) -> (Recovered<K::Sealed>, K) {
        let sealed = |hash: &B256| self.sealed[hash].clone();
        let finals = self.finished.iter().map(|block| sealed(&block.hash)).collect::<Vec<_>>();
        let blocks = self.unfinished.values().map(sealed).collect::<Vec<_>>();
        let chain = K::after(setup, &finals, &blocks);
        let recovered = Recovered {
            finalized: self.finalized(),
            build: self.build,
            transactions: self.kept().filter_map(|kept| self.lookup(kept)).collect(),
            blocks,
            records: self.records.clone(),
            checkpoint: self.checkpoint.clone(),
        };
        (recovered, chain)
    }

    fn lookup(&self, kept: &Kept) -> Option<Lookup> {
        let status = match kept.location {
            Location::Pool => Status::Pending,
            Location::Block(number) => Status::Bundled(BlockId::new(number, self.unfinished[&number])),
            _ => return None,
        };
        Some(Lookup {
            tx: kept.tx.clone(),
            status,
            added_at: kept.at,
            attempts: kept.attempts,
            lone_failures: kept.lone_failures,
            returned: kept.returned,
        })
    }
}
