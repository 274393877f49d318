//! What waits in the pool, where readers find it without asking the driver.
//!
//! The driver owns the pool. After each commit it tells this index which transactions it accepted and what happened;
//! readers look up a hash or a nonce under a lock that is held for one insert, and that guards one of many parts.

use alloy_primitives::{
    Address, B256,
    map::{AddressMap, B256Map},
};
use parking_lot::{Mutex, RwLock};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
};
use types::{BlockId, Event, Reason, Time, Transaction};

const PARTS: usize = 64;
/// How many ended transactions are remembered with their reasons.
const ENDED_MAX: usize = 65_536;
/// How many final transactions are remembered with the time at which they were accepted.
const ACCEPTED_MAX: usize = 65_536;
/// How many blocks are remembered with the times at which they got on.
const BLOCKS_MAX: usize = 4_096;

/// A transaction that was accepted and is not final.
#[derive(Clone, Debug)]
pub struct Pooled {
    /// The transaction.
    pub tx: Transaction,
    /// When it was accepted. That it came back from a released block since does not make it younger.
    pub since: Time,
    /// How many blocks were abandoned with it.
    pub attempts: u32,
    /// Whether it could be executed when it was last heard of; if not, it is queued.
    pub pending: bool,
}

/// When a block got on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// It got its hash.
    pub sealed: Option<Time>,
    /// Its first version was sent.
    pub submitted: Option<Time>,
    /// A version was first seen guaranteed.
    pub guaranteed: Option<Time>,
    /// The service applied it.
    pub accumulated: Option<Time>,
    /// It became final.
    pub finalized: Option<Time>,
    /// It was released.
    pub released: Option<Time>,
}

impl Times {
    /// When a bundle first came into a state.
    pub const fn reached(&self, state: &queue::State) -> Option<Time> {
        match state {
            queue::State::Queued { .. } => self.sealed,
            queue::State::Submitted { .. } => self.submitted,
            queue::State::Guaranteed { .. } => self.guaranteed,
            queue::State::Accumulated => self.accumulated,
            queue::State::Finalized => self.finalized,
            queue::State::Abandoned => None,
            queue::State::Released => self.released,
        }
    }
}

/// What the driver knows of the pool, for readers.
#[derive(Debug)]
pub struct PoolIndex {
    transactions: [RwLock<B256Map<Pooled>>; PARTS],
    nonces: [RwLock<AddressMap<u64>>; PARTS],
    ended: Mutex<Kept<(Reason, Time)>>,
    /// When those that are final were accepted.
    accepted: Mutex<Kept<Time>>,
    blocks: Mutex<Kept<Times>>,
    /// How many transactions were accepted.
    accepted_count: AtomicU64,
}

/// A map that forgets its oldest entries.
#[derive(Debug)]
struct Kept<T> {
    map: B256Map<T>,
    order: VecDeque<B256>,
    max: usize,
}

impl<T> Kept<T> {
    fn new(max: usize) -> Self {
        Self { map: B256Map::default(), order: VecDeque::new(), max }
    }

    fn entry(&mut self, key: B256, first: T) -> &mut T {
        if !self.map.contains_key(&key) {
            if self.order.len() >= self.max
                && let Some(oldest) = self.order.pop_front()
            {
                self.map.remove(&oldest);
            }
            self.order.push_back(key);
        }
        self.map.entry(key).or_insert(first)
    }

    fn put(&mut self, key: B256, value: T)
    where
        T: Clone,
    {
        self.entry(key, value.clone()).clone_from(&value);
    }
}

impl Default for PoolIndex {
    fn default() -> Self {
        Self {
            transactions: std::array::from_fn(|_| RwLock::default()),
            nonces: std::array::from_fn(|_| RwLock::default()),
            ended: Mutex::new(Kept::new(ENDED_MAX)),
            accepted: Mutex::new(Kept::new(ACCEPTED_MAX)),
            blocks: Mutex::new(Kept::new(BLOCKS_MAX)),
            accepted_count: AtomicU64::new(0),
        }
    }
}

impl PoolIndex {
    fn part(&self, hash: &B256) -> &RwLock<B256Map<Pooled>> {
        &self.transactions[usize::from(hash[0]) % PARTS]
    }

    fn nonces_of(&self, sender: &Address) -> &RwLock<AddressMap<u64>> {
        &self.nonces[usize::from(sender[0]) % PARTS]
    }

    /// Adds a transaction that was accepted.
    pub fn insert(&self, tx: Transaction, since: Time, pending: bool) {
        let pooled = Pooled { tx, since, attempts: 0, pending };
        self.part(&pooled.tx.hash()).write().insert(pooled.tx.hash(), pooled);
        self.accepted_count.fetch_add(1, Ordering::Release);
    }

    /// How many transactions were accepted so far; a snapshot with fewer does not show the newest of them.
    pub fn accepted_count(&self) -> u64 {
        self.accepted_count.load(Ordering::Acquire)
    }

    /// Tells a sender's next nonce as the pool sees it; `None` if the sender has nothing there.
    pub fn set_next_nonce(&self, sender: Address, nonce: Option<u64>) {
        let mut nonces = self.nonces_of(&sender).write();
        match nonce {
            Some(nonce) => nonces.insert(sender, nonce),
            None => nonces.remove(&sender),
        };
    }

    /// Takes note of what happened.
    pub fn note(&self, events: &[Event], now: Time) {
        for event in events {
            if let Some((hash, reason)) = event.ended() {
                self.part(&hash).write().remove(&hash);
                let ended = (reason, now);
                self.ended.lock().put(hash, ended);
            }
            self.note_transaction(event);
            self.note_block(event, now);
        }
    }

    fn note_transaction(&self, event: &Event) {
        let update = |hash: &B256, change: &dyn Fn(&mut Pooled)| {
            if let Some(pooled) = self.part(hash).write().get_mut(hash) {
                change(pooled);
            }
        };
        match event {
            Event::Final { hash, .. } => {
                if let Some(pooled) = self.part(hash).write().remove(hash) {
                    self.accepted.lock().put(*hash, pooled.since);
                }
            }
            Event::Promoted { hash, .. } => update(hash, &|pooled| pooled.pending = true),
            Event::Demoted { hash, .. } => update(hash, &|pooled| pooled.pending = false),
            Event::Returned { hash, attempts, .. } => update(hash, &|pooled| pooled.attempts = *attempts),
            _ => {}
        }
    }

    fn note_block(&self, event: &Event, now: Time) {
        let first = |time: &mut Option<Time>| *time = time.or(Some(now));
        let note = |block: &BlockId, change: &dyn Fn(&mut Times)| {
            change(self.blocks.lock().entry(block.hash, Times::default()));
        };
        match event {
            Event::Sealed { block, .. } => note(block, &|times| first(&mut times.sealed)),
            // What happens to a bundle stands at its first block.
            Event::Submitted { run, .. } => note(&run.first, &|times| first(&mut times.submitted)),
            Event::Guaranteed { run, .. } => note(&run.first, &|times| first(&mut times.guaranteed)),
            Event::Accumulated { run } => note(&run.first, &|times| first(&mut times.accumulated)),
            Event::Finalized { run } => note(&run.first, &|times| first(&mut times.finalized)),
            Event::Released { block, .. } => note(block, &|times| first(&mut times.released)),
            _ => {}
        }
    }

    /// A transaction that was accepted and is not final.
    pub fn get(&self, hash: &B256) -> Option<Pooled> {
        self.part(hash).read().get(hash).cloned()
    }

    /// When a transaction was accepted, or came back from a released block, if that is not too long ago.
    pub fn since(&self, hash: &B256) -> Option<Time> {
        let pooled = self.part(hash).read().get(hash).map(|pooled| pooled.since);
        pooled.or_else(|| self.accepted.lock().map.get(hash).copied())
    }

    /// A sender's next nonce, counting what is pooled and in unfinished blocks.
    pub fn next_nonce(&self, sender: &Address) -> Option<u64> {
        self.nonces_of(sender).read().get(sender).copied()
    }

    /// Why a transaction ended, and when, if it is not too long ago.
    pub fn ended(&self, hash: &B256) -> Option<(Reason, Time)> {
        self.ended.lock().map.get(hash).cloned()
    }

    /// When a block got on, if it is not too long ago. From its submission on the first block of its bundle knows.
    pub fn times(&self, block: &B256) -> Times {
        self.blocks.lock().map.get(block).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{SignableTransaction, TxEnvelope, TxLegacy, transaction::Recovered};
    use alloy_primitives::Signature;

    fn tx(nonce: u64) -> Transaction {
        let signed = TxLegacy { nonce, ..TxLegacy::default() }.into_signed(Signature::test_signature());
        Transaction::new(Recovered::new_unchecked(TxEnvelope::from(signed), Address::repeat_byte(1)))
    }

    #[test]
    fn a_transaction_is_known_until_it_is_final_or_has_ended() {
        let (index, sender) = (PoolIndex::default(), Address::repeat_byte(1));
        let (first, second) = (tx(0), tx(1));
        let at = Time::from_millis;
        index.insert(first.clone(), at(1), true);
        index.insert(second.clone(), at(1), false);
        index.note(&[Event::Promoted { hash: second.hash(), sender }], at(2));
        assert!(index.get(&second.hash()).unwrap().pending);
        index.note(&[Event::Returned { hash: second.hash(), sender, attempts: 2 }], at(3));
        let pooled = index.get(&second.hash()).unwrap();
        assert_eq!((pooled.attempts, pooled.since), (2, at(1)));
        let block = BlockId::new(1, B256::repeat_byte(7));
        index.note(
            &[Event::Final { hash: first.hash(), block }, Event::Evicted { hash: second.hash(), sender }],
            at(4),
        );
        assert!(index.get(&first.hash()).is_none() && index.get(&second.hash()).is_none());
        assert_eq!(index.ended(&second.hash()), Some((Reason::Evicted, at(4))));
        assert_eq!(index.ended(&first.hash()), None, "it is final");
        assert_eq!(index.since(&first.hash()), Some(at(1)), "it is remembered when it came");
        index.set_next_nonce(sender, Some(2));
        assert_eq!(index.next_nonce(&sender), Some(2));
        index.set_next_nonce(sender, None);
        assert_eq!(index.next_nonce(&sender), None);
    }

    #[test]
    fn the_first_time_of_each_step_counts() {
        let index = PoolIndex::default();
        let block = BlockId::new(1, B256::repeat_byte(7));
        let at = Time::from_millis;
        index.note(&[Event::Sealed { block, transactions: 0 }], at(1));
        let run = types::Run::of(block);
        index.note(&[Event::Submitted { run, version: 1, core: 0 }], at(2));
        index.note(&[Event::Submitted { run, version: 2, core: 1 }], at(3));
        let times = index.times(&block.hash);
        assert_eq!((times.sealed, times.submitted, times.finalized), (Some(at(1)), Some(at(2)), None));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut kept = Kept::new(2);
        for number in 0..5 {
            kept.put(B256::with_last_byte(number), number);
        }
        kept.put(B256::with_last_byte(4), 9);
        assert_eq!((kept.map.len(), kept.order.len()), (2, 2));
        assert_eq!(kept.map.get(&B256::with_last_byte(4)), Some(&9));
    }
}
