//! What the driver makes durable, and what a restart brings back.
//!
//! The driver fills a [`Batch`] in each step. A journal makes batches durable, whole and in order, and after a restart it
//! gives back what they came to ([`Recovered`]).

use alloy_consensus::ReceiptEnvelope;
use alloy_primitives::B256;
use bundler::{Draft, Sealed};
use jam::{codec::Encode, follow::Start};
use queue::{Record, ServiceCode};
use service::accumulate::ServiceState;
use state::{CodeSet, Writes};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use txpool::Lookup;
use types::{BlockId, Reason, Release, Time, Transaction};

/// A sealed block that is not final: what the builder decided, and what executing it gave.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// What it can be built again from.
    pub draft: Draft,
    /// One receipt per transaction. Empty after a restart if the block is below the folded one: the store has
    /// them.
    pub receipts: Arc<[ReceiptEnvelope]>,
    /// What it wrote to the state. Empty after a restart if the block was folded.
    pub writes: Arc<Writes>,
    /// The codes that accounts have since it. Empty after a restart: the store has them.
    pub created: CodeSet,
}

impl<V> From<&Sealed<V>> for Unfinished {
    fn from(sealed: &Sealed<V>) -> Self {
        Self {
            draft: sealed.draft.clone(),
            receipts: Arc::clone(&sealed.receipts),
            writes: Arc::clone(&sealed.writes),
            created: sealed.created.clone(),
        }
    }
}

/// Where following JAM begins after a restart, and the service's state there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// The follower's.
    pub start: Start,
    /// The service's state after the same block,
    pub service: ServiceState,
    /// and its code.
    pub code: ServiceCode,
}

/// Things that become durable together, in the order in which they were added: all of them or none.
///
/// Any number of accepted transactions go into one batch; that is a group commit.
#[derive(Debug)]
pub struct Batch<S = Unfinished> {
    id: u64,
    entries: Vec<Entry<S>>,
}

/// One thing that becomes durable. `S` is a sealed block as the journal keeps it.
#[derive(Debug)]
pub enum Entry<S = Unfinished> {
    /// The pool accepted a transaction.
    Accepted {
        /// The transaction.
        tx: Transaction,
        /// When.
        at: Time,
    },
    /// A block was given up with a transaction in it.
    Released {
        /// The transaction.
        hash: B256,
        /// When the pool accepted it.
        accepted_at: Option<Time>,
        /// Blocks that it may be the reason for, with this one if so.
        attempts: u32,
        /// What happened.
        release: Release,
    },
    /// A transaction came back from a released block; this is how the pool has it now.
    Returned(Box<Lookup>),
    /// A transaction ended.
    Ended {
        /// The transaction.
        hash: B256,
        /// Why.
        reason: Reason,
        /// When.
        at: Time,
    },
    /// A block was sealed on the newest one.
    Sealed {
        /// The counter that it was opened with.
        build: u64,
        /// The block.
        block: Box<S>,
    },
    /// The queue decided something.
    Queue(Record),
    /// Following can begin here from now on.
    Checkpoint {
        /// The follower's start, encoded.
        start: Vec<u8>,
        /// The service's state there,
        service: ServiceState,
        /// and its code.
        code: ServiceCode,
    },
}

/// What a driver needs to go on after a restart.
#[derive(Debug)]
pub struct Recovered<S = Unfinished> {
    /// The last final block: the base of the queue.
    pub finalized: BlockId,
    /// The counter that the last sealed block was opened with.
    pub build: u64,
    /// Every accepted transaction that is neither final nor ended, in the order of arrival: pending, or in an
    /// unfinished block. For [`txpool::Pool::restore`].
    pub transactions: Vec<Lookup>,
    /// The unfinished blocks in order.
    pub blocks: Vec<S>,
    /// The queue's records that still say something, in order. For [`queue::Queue::restore`], on `finalized`.
    pub records: Vec<Record>,
    /// Where following begins, if there is a checkpoint.
    pub checkpoint: Option<Checkpoint>,
}

impl<S> Default for Batch<S> {
    fn default() -> Self {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Self { id: IDS.fetch_add(1, Ordering::Relaxed), entries: vec![] }
    }
}

impl<S> Batch<S> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another one for each batch of this process, so that a journal knows whether a step that is tried again is the same.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// What was added, in order.
    pub fn entries(&self) -> &[Entry<S>] {
        &self.entries
    }

    /// What was added, in order.
    pub fn into_entries(self) -> Vec<Entry<S>> {
        self.entries
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many things were added.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Takes all that another batch has, behind what there is: several steps become durable at once.
    pub fn append(&mut self, other: &mut Self) {
        self.entries.append(&mut other.entries);
    }

    /// All that was accepted, if there is nothing else.
    pub fn accepts(&self) -> Option<impl Iterator<Item = (&Transaction, Time)> + Clone> {
        let is_accepted = |entry: &Entry<S>| matches!(entry, Entry::Accepted { .. });
        self.entries.iter().all(is_accepted).then(|| {
            self.entries.iter().filter_map(|entry| match entry {
                Entry::Accepted { tx, at } => Some((tx, *at)),
                _ => None,
            })
        })
    }

    /// The pool accepted a transaction.
    pub fn accepted(&mut self, tx: &Transaction, at: Time) {
        self.entries.push(Entry::Accepted { tx: tx.clone(), at });
    }

    /// A block was given up with a transaction in it, which the pool accepted at some time. `attempts` counts the blocks
    /// that it may be the reason for, with this one if so.
    pub fn released(&mut self, hash: B256, accepted_at: Option<Time>, attempts: u32, release: Release) {
        self.entries.push(Entry::Released { hash, accepted_at, attempts, release });
    }

    /// A transaction came back from a released block; this is how the pool has it now.
    pub fn returned(&mut self, now: Lookup) {
        self.entries.push(Entry::Returned(Box::new(now)));
    }

    /// A transaction ended for a reason.
    pub fn ended(&mut self, hash: B256, reason: Reason, at: Time) {
        self.entries.push(Entry::Ended { hash, reason, at });
    }

    /// A block was sealed on the newest one. `build` is the counter that it was opened with.
    pub fn sealed(&mut self, build: u64, block: impl Into<S>) {
        self.entries.push(Entry::Sealed { build, block: Box::new(block.into()) });
    }

    /// The queue decided something. A [`Record::Released`] removes the blocks, a [`Record::Finalized`] makes them part
    /// of the chain; they must have been added as [`sealed`](Batch::sealed) before.
    pub fn queue(&mut self, record: Record) {
        self.entries.push(Entry::Queue(record));
    }

    /// Following can begin here from now on.
    pub fn checkpoint(&mut self, start: &Start, service: &ServiceState, code: ServiceCode) {
        self.entries.push(Entry::Checkpoint { start: start.encode(), service: service.clone(), code });
    }
}
