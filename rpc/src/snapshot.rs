//! The picture that reads are answered from. The node makes a new one after each commit; nobody changes an old one.
//!
//! ```text
//!   archive: 0 ..= finalized      blocks: the last ones in memory, up to latest        pending: the open block
//!   ───────────────────────┬──────────────┬────────────────────┬──────────────────────┬───────────────
//!                      finalized        safe                 latest                 pending
//! ```

use crate::{Insight, State};
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::{B256, map::B256Map};
use parking_lot::RwLock;
use std::sync::Arc;
use tokio::sync::{broadcast, watch};
use types::{BlockId, Chunked, Event, ReceiptedBlock, Time, Transaction};

/// A sealed block in memory, with the state after it.
pub struct RecentBlock {
    /// The block and its receipts.
    pub block: ReceiptedBlock,
    /// The state after it.
    pub state: Arc<dyn State>,
    /// Where its transactions are.
    places: Arc<B256Map<usize>>,
}

impl RecentBlock {
    /// Indexes the block's transactions. Made once, when the block is sealed; snapshots share it.
    pub fn new(block: ReceiptedBlock, state: Arc<dyn State>) -> Arc<Self> {
        let places = Arc::new(places(block.block.transactions()));
        Arc::new(Self { block, state, places })
    }

    /// The same block with its state over another base.
    pub fn with_state(&self, state: Arc<dyn State>) -> Arc<Self> {
        Arc::new(Self { block: self.block.clone(), state, places: Arc::clone(&self.places) })
    }

    /// Number and hash.
    pub const fn id(&self) -> BlockId {
        self.block.block.id()
    }

    /// The header.
    pub fn header(&self) -> &Header {
        self.block.block.header()
    }

    /// The place of a transaction in this block.
    pub fn place(&self, hash: &B256) -> Option<usize> {
        self.places.get(hash).copied()
    }
}

/// The block that still takes transactions.
pub struct PendingBlock {
    /// Its header so far. Roots, bloom and gas need not be there yet.
    pub header: Header,
    /// What was executed into it.
    pub transactions: Arc<[Transaction]>,
    /// One per transaction.
    pub receipts: Arc<[ReceiptEnvelope]>,
    /// The state after them.
    pub state: Arc<dyn State>,
}

fn places(transactions: &[Transaction]) -> B256Map<usize> {
    transactions.iter().enumerate().map(|(index, tx)| (tx.hash(), index)).collect()
}

/// The blocks in memory, oldest first, without a gap. Copies share what they have in common, so a snapshot costs what
/// changed since the last one.
#[derive(Clone, Default)]
pub struct RecentBlocks {
    blocks: Chunked<Arc<RecentBlock>>,
    index: Arc<RecentIndex>,
}

/// In which block a transaction or a block with some hash is. All copies of a list share it; whether a block is part of a
/// copy is looked up there.
#[derive(Default)]
struct RecentIndex(RwLock<B256Map<u64>>);

impl RecentIndex {
    fn get(&self, hash: &B256) -> Option<u64> {
        self.0.read().get(hash).copied()
    }

    fn insert(&self, block: &RecentBlock) {
        let id = block.id();
        let mut numbers = self.0.write();
        numbers.insert(id.hash, id.number);
        numbers.extend(block.places.keys().map(|hash| (*hash, id.number)));
    }

    fn remove(&self, block: &RecentBlock) {
        let id = block.id();
        let mut numbers = self.0.write();
        for hash in block.places.keys().chain([&id.hash]) {
            // It may be in another block since.
            if numbers.get(hash) == Some(&id.number) {
                numbers.remove(hash);
            }
        }
    }
}

impl RecentBlocks {
    /// The blocks.
    pub const fn blocks(&self) -> &Chunked<Arc<RecentBlock>> {
        &self.blocks
    }

    /// A block, by number.
    pub fn by_number(&self, number: u64) -> Option<&Arc<RecentBlock>> {
        let first = self.blocks.first()?.id().number;
        self.blocks.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// Adds a block on the last one.
    pub fn push(&mut self, block: Arc<RecentBlock>) -> Result<(), SnapshotError> {
        let parent = self.blocks.last().map(|parent| parent.id());
        if parent.is_some_and(|parent| block.block.block.parent_id() != Some(parent)) {
            return Err(SnapshotError::Gap(block.id()));
        }
        self.index.insert(&block);
        self.blocks.push(block);
        Ok(())
    }

    /// The same blocks with other states.
    pub fn set_states(&mut self, mut state: impl FnMut(BlockId) -> Option<Arc<dyn State>>) {
        let blocks = self.blocks.iter().map(|block| match state(block.id()) {
            Some(state) => block.with_state(state),
            None => Arc::clone(block),
        });
        self.blocks = blocks.collect();
    }

    /// Takes the last block.
    pub fn pop(&mut self) {
        if let Some(block) = self.blocks.pop() {
            self.index.remove(&block);
        }
    }

    /// Takes the blocks below a number.
    pub fn drop_below(&mut self, number: u64) {
        let below = self.blocks.iter().take_while(|block| block.id().number < number);
        let count = below.map(|block| self.index.remove(block)).count();
        self.blocks.drop_front(count);
    }
}

/// What the tags mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    /// The newest block that the service applied.
    pub safe: BlockId,
    /// The newest block that is applied in a final block of JAM.
    pub finalized: BlockId,
}

/// Whether the node does its work, for those who watch it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Health {
    /// The operator paused sealing.
    pub paused: bool,
    /// Why building stopped, if it did.
    pub halted: Option<String>,
    /// Connected validators.
    pub peers: usize,
    /// The slot of JAM's best block.
    pub best_slot: Option<u32>,
    /// The slot of JAM's final block.
    pub final_slot: Option<u32>,
    /// Whether the node still catches up with JAM.
    pub syncing: bool,
}

/// The node at one moment.
pub struct Snapshot {
    /// Sealed blocks in memory without a gap, oldest first; the last is `latest`. At least one, and at least all that are
    /// not in the archive.
    recent: RecentBlocks,
    /// What the tags mean.
    pub tags: Tags,
    /// The open block; without one `pending` shows an empty block on `latest`.
    pub pending: Option<Arc<PendingBlock>>,
    /// The queue.
    pub queue: Arc<queue::Snapshot>,
    /// The pool in numbers.
    pub pool: txpool::Stats,
    /// What a transaction must fulfil to be recovered.
    pub rules: txpool::Rules,
    /// Whether the node does its work.
    pub health: Health,
    /// What only those who watch the node want to know.
    pub insight: Insight,
}

/// Why there is no snapshot of these blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SnapshotError {
    /// There is always a block: the genesis at least.
    #[error("a snapshot has at least one block")]
    Empty,
    /// The blocks do not follow each other.
    #[error("block {0} does not follow the one before")]
    Gap(BlockId),
}

/// What a [`Snapshot`] is made of, apart from its blocks.
#[derive(Clone)]
pub struct Parts {
    /// What the tags mean.
    pub tags: Tags,
    /// The open block.
    pub pending: Option<Arc<PendingBlock>>,
    /// The queue.
    pub queue: Arc<queue::Snapshot>,
    /// The pool in numbers.
    pub pool: txpool::Stats,
    /// What a transaction must fulfil to be recovered.
    pub rules: txpool::Rules,
    /// Whether the node does its work.
    pub health: Health,
    /// What only those who watch the node want to know.
    pub insight: Insight,
}

impl Snapshot {
    /// A picture of these blocks, oldest first.
    pub fn new(blocks: Vec<Arc<RecentBlock>>, parts: Parts) -> Result<Self, SnapshotError> {
        let mut recent = RecentBlocks::default();
        blocks.into_iter().try_for_each(|block| recent.push(block))?;
        Self::of(recent, parts)
    }

    /// A snapshot of the blocks in memory.
    pub fn of(recent: RecentBlocks, parts: Parts) -> Result<Self, SnapshotError> {
        if recent.blocks.is_empty() {
            return Err(SnapshotError::Empty);
        }
        let Parts { tags, pending, queue, pool, rules, health, insight } = parts;
        Ok(Self { recent, tags, pending, queue, pool, rules, health, insight })
    }

    /// The newest sealed block.
    pub fn latest(&self) -> &Arc<RecentBlock> {
        self.recent.blocks.last().expect("a snapshot has at least one block")
    }

    /// The blocks in memory, oldest first.
    pub const fn blocks(&self) -> &Chunked<Arc<RecentBlock>> {
        &self.recent.blocks
    }

    /// A block in memory, by number.
    pub fn by_number(&self, number: u64) -> Option<&Arc<RecentBlock>> {
        self.recent.by_number(number)
    }

    /// A block in memory, by hash.
    pub fn by_hash(&self, hash: &B256) -> Option<&Arc<RecentBlock>> {
        let block = self.by_number(self.recent.index.get(hash)?)?;
        Some(block).filter(|block| block.id().hash == *hash)
    }

    /// The block in memory that holds a transaction, and its place there.
    pub fn transaction(&self, hash: &B256) -> Option<(&Arc<RecentBlock>, usize)> {
        let block = self.by_number(self.recent.index.get(hash)?)?;
        Some((block, block.place(hash)?))
    }
}

/// Where the node publishes what there is and what happens; cheap to clone.
#[derive(Clone, Debug)]
pub struct Feed {
    snapshots: watch::Sender<Arc<Snapshot>>,
    events: broadcast::Sender<Happened>,
}

/// What happened at one moment, in order.
#[derive(Clone, Debug)]
pub struct Happened {
    /// When.
    pub at: Time,
    /// What.
    pub events: Arc<[Event]>,
}

/// How many [`Happened`] a slow reader may be behind before it loses some.
const EVENTS_KEPT: usize = 4096;

impl Feed {
    /// A feed that begins with this picture.
    pub fn new(first: Snapshot) -> Self {
        Self { snapshots: watch::channel(Arc::new(first)).0, events: broadcast::channel(EVENTS_KEPT).0 }
    }

    /// Swaps the picture. The caller has committed what it shows.
    pub fn publish(&self, snapshot: Snapshot) {
        self.snapshots.send_replace(Arc::new(snapshot));
    }

    /// Tells what happened, after the picture that shows it.
    pub fn tell(&self, at: Time, events: impl Into<Arc<[Event]>>) {
        let events = events.into();
        if !events.is_empty() {
            // Nobody listens: nobody is told.
            let _ = self.events.send(Happened { at, events });
        }
    }

    /// The picture now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    /// Follows the pictures; some may be skipped.
    pub fn watch(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.subscribe()
    }

    /// Follows what happens; a reader that is too slow loses the oldest, and is told so.
    pub fn listen(&self) -> broadcast::Receiver<Happened> {
        self.events.subscribe()
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("latest", &self.latest().id()).field("tags", &self.tags).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValuesState;
    use alloy_consensus::{SignableTransaction, TxEnvelope, TxLegacy, transaction::Recovered};
    use alloy_primitives::{Address, Signature};
    use state::{CodeSet, MemoryValues};
    use types::SealedBlock;

    fn tx(nonce: u64) -> Transaction {
        let signed = TxLegacy { nonce, ..TxLegacy::default() }.into_signed(Signature::test_signature());
        Transaction::new(Recovered::new_unchecked(TxEnvelope::from(signed), Address::ZERO))
    }

    fn block(parent: B256, number: u64, nonces: &[u64]) -> Arc<RecentBlock> {
        let header = Header { parent_hash: parent, number, ..Header::default() };
        let transactions = nonces.iter().map(|nonce| tx(*nonce)).collect::<Vec<_>>();
        let block = ReceiptedBlock { block: SealedBlock::new(header, transactions), receipts: [].into() };
        RecentBlock::new(block, Arc::new(ValuesState::new(MemoryValues::default(), CodeSet::default())))
    }

    /// Blocks 0 to 99, each with the transaction that has its number.
    fn blocks() -> RecentBlocks {
        let (mut all, mut parent) = (RecentBlocks::default(), B256::ZERO);
        for number in 0..100 {
            let block = block(parent, number, &[number]);
            parent = block.id().hash;
            all.push(block).unwrap();
        }
        all
    }

    fn place(all: &RecentBlocks, nonce: u64) -> Option<u64> {
        let block = all.by_number(all.index.get(&tx(nonce).hash())?)?;
        block.place(&tx(nonce).hash()).map(|_| block.id().number)
    }

    #[test]
    fn what_is_in_a_block_is_found_as_long_as_the_block_is_there() {
        let mut all = blocks();
        all.drop_below(60);
        assert_eq!([59, 60, 99].map(|nonce| place(&all, nonce)), [None, Some(60), Some(99)]);
        all.pop();
        let parent = all.blocks().last().unwrap().id().hash;
        assert_eq!(place(&all, 99), None);
        // It comes back in another block; a copy from before knows nothing of that.
        let copy = all.clone();
        all.push(block(parent, 99, &[7, 99])).unwrap();
        assert_eq!(([7, 99].map(|nonce| place(&all, nonce))), [Some(99); 2]);
        assert_eq!(([7, 99].map(|nonce| place(&copy, nonce))), [None; 2]);
        assert_eq!((copy.blocks().len(), all.blocks().len()), (39, 40));
    }

    #[test]
    fn a_transaction_that_moved_is_not_forgotten_with_its_old_block() {
        let mut all = blocks();
        let parent = all.blocks().last().unwrap().id().hash;
        all.push(block(parent, 100, &[3])).unwrap();
        all.drop_below(50);
        assert_eq!(place(&all, 3), Some(100));
    }

    #[test]
    fn a_gap_is_refused() {
        let mut all = blocks();
        let wrong = block(B256::ZERO, 100, &[]);
        assert_eq!(all.push(wrong.clone()), Err(SnapshotError::Gap(wrong.id())));
        assert_eq!(all.blocks().len(), 100);
    }
}
