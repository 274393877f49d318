//! The pool: what it holds, and the few moves from which every operation is made.

use crate::{
    Account, Config, Head, Lookup, Rules, Stats, Status, Totals,
    counts::Counts,
    entry::{Entry, State},
    evict::Worst,
    order::Order,
    sender::Sender,
};
use alloy_primitives::{
    Address, B256,
    map::{AddressMap, B256Map},
};
use core::cmp::Reverse;
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use types::{BlockId, Event, Reason, Time, Transaction};

/// Every transaction from its acceptance until it is final or has ended with a reason.
///
/// See the crate's page for the whole story.
#[derive(Debug)]
pub struct Pool {
    pub(crate) config: Config,
    pub(crate) head: Head,
    pub(crate) senders: Slab<Sender>,
    pub(crate) by_sender: AddressMap<u32>,
    pub(crate) by_hash: B256Map<TxKey>,
    pub(crate) blocks: Slab<Block>,
    pub(crate) by_block: BTreeMap<BlockId, u32>,
    /// How many pooled transactions carry an authorization of this account.
    pub(crate) authorities: AddressMap<u32>,
    /// Accounts whose nonces the open block took without a transaction of theirs, with their next nonces.
    pub(crate) consumed: AddressMap<u64>,
    pub(crate) limits: AddressMap<usize>,
    pub(crate) order: Order,
    pub(crate) worst: Worst,
    /// Senders with executable ones that found pending full: the best tip first, then the first come.
    pub(crate) waiting: BinaryHeap<(u128, Reverse<u64>, u32)>,
    /// Senders whose next transaction waits for the base fee to fall, by the fee cap of that one.
    pub(crate) below: BTreeSet<(u128, u32)>,
    pub(crate) deadlines: VecDeque<Deadline>,
    pub(crate) counts: Counts,
    pub(crate) totals: Totals,
    pub(crate) arrivals: u64,
    pub(crate) versions: u64,
    pub(crate) events: Vec<Event>,
}

/// Where a transaction stands: its sender's key, and its nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TxKey {
    pub(crate) sender: u32,
    pub(crate) nonce: u64,
}

/// A sealed block that is not final yet.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) id: BlockId,
    pub(crate) txs: Vec<B256>,
}

/// When the time of an entry runs out; stale if its arrival or its time has changed since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) added_at: Time,
    pub(crate) arrival: u64,
    pub(crate) place: TxKey,
}

impl Pool {
    /// An empty pool for a chain whose next block is `head`.
    pub fn new(config: Config, head: Head) -> Self {
        Self {
            config,
            head,
            senders: Slab::new(),
            by_sender: AddressMap::default(),
            by_hash: B256Map::default(),
            blocks: Slab::new(),
            by_block: BTreeMap::new(),
            authorities: AddressMap::default(),
            consumed: AddressMap::default(),
            limits: AddressMap::default(),
            order: Order::default(),
            worst: Worst::default(),
            waiting: BinaryHeap::new(),
            below: BTreeSet::new(),
            deadlines: VecDeque::new(),
            counts: Counts::default(),
            totals: Totals::default(),
            arrivals: 0,
            versions: 0,
            events: Vec::new(),
        }
    }

    /// The limits it was made with.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What [`recover`](crate::recover) must know until the next [`update`](Self::update).
    pub const fn rules(&self) -> Rules {
        self.config.rules(self.head)
    }

    /// Lets `sender` have up to `txs_max` transactions pending or queued, instead of what the configuration says.
    pub fn set_limit(&mut self, sender: Address, txs_max: usize) {
        self.limits.insert(sender, txs_max);
    }

    /// The transaction with this hash, pending, queued or in an unfinished block.
    pub fn get(&self, hash: &B256) -> Option<Lookup> {
        let (s, i) = self.find(hash)?;
        let entry = &self.senders[s].txs[i];
        Some(Lookup {
            tx: entry.tx.clone(),
            status: self.status(s, i),
            added_at: entry.added_at,
            attempts: entry.attempts,
            lone_failures: entry.lone_failures,
            returned: entry.returned,
        })
    }

    /// The nonce that the sender's next transaction should have: behind all that blocks have taken, and behind all of its
    /// pooled transactions that follow each other and can be paid for. `None` if none of its transactions is here, and the
    /// open block took none of its nonces: then the account knows it.
    pub fn next_nonce(&self, sender: &Address) -> Option<u64> {
        match self.by_sender.get(sender) {
            Some(s) => Some(self.senders[*s as usize].next_nonce()),
            None => self.consumed.get(sender).copied(),
        }
    }

    /// How many are pending or queued.
    pub const fn size(&self) -> usize {
        self.counts.pending.all + self.counts.queued.all
    }

    /// The pool in numbers.
    pub fn stats(&self) -> Stats {
        Stats {
            pending: self.counts.pending.all,
            queued: self.counts.queued.all,
            below_base_fee: self.counts.below,
            bundled: self.counts.bundled,
            senders: self.senders.len(),
            bytes: self.counts.bytes,
            totals: self.totals,
        }
    }

    /// What happened since this was last called. Call it after every operation: the list is not bounded otherwise.
    pub fn drain_events(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }

    /// Takes a pending or queued transaction out, for a reason that its sender will see. Those of its sender that
    /// follow it wait until the nonce is filled. `None` if it is not here, or in a block.
    pub fn remove(&mut self, hash: &B256, reason: Reason) -> Option<Transaction> {
        let (s, i) = self.find(hash)?;
        if !self.senders[s].txs[i].state.is_pooled() {
            return None;
        }
        let tx = self.drop_at(s, i, reason);
        self.settle(s);
        self.after_change();
        Some(tx)
    }

    /// Takes all pending and queued transactions of a sender out, and says how many.
    pub fn remove_sender(&mut self, sender: &Address, reason: &Reason) -> usize {
        let Some(s) = self.by_sender.get(sender).map(|s| *s as usize) else { return 0 };
        let before = self.senders[s].pooled;
        for i in (0..self.senders[s].txs.len()).rev() {
            if self.senders[s].txs[i].state.is_pooled() {
                self.drop_at(s, i, reason.clone());
            }
        }
        self.settle(s);
        self.after_change();
        before
    }

    /// Where an entry stands, as a lookup shows it.
    pub(crate) fn status(&self, s: usize, i: usize) -> Status {
        let sender = &self.senders[s];
        match sender.txs[i].state {
            State::Pending => Status::Pending,
            State::Queued if sender.is_below(i) => Status::BelowBaseFee,
            State::Queued => Status::Queued,
            State::Open => Status::Open,
            State::Bundled(block) => Status::Bundled(self.blocks[block as usize].id),
        }
    }

    /// Sender and index of a transaction.
    pub(crate) fn find(&self, hash: &B256) -> Option<(usize, usize)> {
        let place = self.by_hash.get(hash)?;
        let s = place.sender as usize;
        let i = self.senders[s].position(place.nonce).expect("a known hash stands in its sender's list");
        Some((s, i))
    }

    /// The key of a sender, who is made if unknown.
    pub(crate) fn sender_key(&mut self, address: Address, account: Account) -> usize {
        let (senders, consumed) = (&mut self.senders, &self.consumed);
        *self.by_sender.entry(address).or_insert_with(|| {
            let consumed = consumed.get(&address).copied().unwrap_or_default();
            u32::try_from(senders.insert(Sender { consumed, ..Sender::new(address, account) }))
                .expect("fewer than 2^32 senders fit in memory")
        }) as usize
    }

    /// Moves an entry to another state: the only place where states change.
    pub(crate) fn shift(&mut self, s: usize, i: usize, state: State) {
        let sender = &mut self.senders[s];
        let entry = &mut sender.txs[i];
        self.counts.leave(entry);
        let was_pooled = entry.state.is_pooled();
        entry.state = state;
        self.counts.enter(entry);
        if was_pooled == state.is_pooled() {
            return;
        }
        let tx = entry.tx.clone();
        if was_pooled {
            sender.pooled -= 1;
            self.release_authorities(&tx);
        } else {
            sender.pooled += 1;
            self.reserve_authorities(&tx);
        }
    }

    /// Puts an entry into its sender's list at index `i`: the only place where entries come in.
    pub(crate) fn put(&mut self, s: usize, i: usize, entry: Entry) {
        let place = TxKey { sender: s as u32, nonce: entry.nonce };
        self.by_hash.insert(entry.tx.hash(), place);
        self.counts.enter(&entry);
        let sender = &mut self.senders[s];
        sender.pooled += usize::from(entry.state.is_pooled());
        if entry.nonce >= sender.account.nonce {
            sender.spent = sender.spent.saturating_add(entry.cost);
        }
        let waits = entry.state.is_pooled();
        let deadline = Deadline { added_at: entry.added_at, arrival: entry.arrival, place };
        if waits && !entry.tx.authorities().is_empty() {
            self.reserve_authorities(&entry.tx);
        }
        let sender = &mut self.senders[s];
        sender.selection.start_over_at(entry.nonce);
        if i == sender.txs.len() {
            sender.txs.push_back(entry);
        } else {
            sender.txs.insert(i, entry);
        }
        // Only now: deadlines of what is not in a list are thrown away when there are too many.
        if waits {
            self.expect_end(deadline);
        }
    }

    /// Takes an entry out: the only place where entries go. The sender must be settled afterwards.
    pub(crate) fn take(&mut self, s: usize, i: usize) -> Entry {
        let sender = &mut self.senders[s];
        let entry = sender.txs.remove(i).expect("the index is inside the list");
        sender.unspend(entry.nonce, entry.cost);
        sender.pooled -= usize::from(entry.state.is_pooled());
        if i < sender.first {
            sender.first -= 1;
        } else if i < sender.first + sender.run {
            sender.run -= 1;
        }
        self.by_hash.remove(&entry.tx.hash());
        self.counts.leave(&entry);
        if entry.state.is_pooled() {
            self.release_authorities(&entry.tx);
        }
        entry
    }

    /// Counts the authorities of a transaction that waits.
    fn reserve_authorities(&mut self, tx: &Transaction) {
        for authority in tx.authorities() {
            *self.authorities.entry(*authority).or_default() += 1;
        }
    }

    /// Forgets the authorities of a transaction that does not wait any more.
    fn release_authorities(&mut self, tx: &Transaction) {
        for authority in tx.authorities() {
            if let Some(count) = self.authorities.get_mut(authority) {
                *count -= 1;
                if *count == 0 {
                    self.authorities.remove(authority);
                }
            }
        }
    }

    /// Takes an entry out for a reason. The sender must be settled afterwards.
    pub(crate) fn drop_at(&mut self, s: usize, i: usize, reason: Reason) -> Transaction {
        let sender = self.senders[s].address;
        let entry = self.take(s, i);
        let hash = entry.tx.hash();
        self.events.push(match reason {
            Reason::Evicted => {
                self.totals.evicted += 1;
                Event::Evicted { hash, sender }
            }
            Reason::Expired => {
                self.totals.expired += 1;
                Event::Expired { hash, sender }
            }
            reason => {
                self.totals.dropped += 1;
                Event::Dropped { hash, sender, reason }
            }
        });
        entry.tx
    }

    /// The next arrival.
    pub(crate) const fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }
}
