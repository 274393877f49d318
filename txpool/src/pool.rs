//! The pool: a coordinator of parts, and the few moves from which every operation is made.
//!
//! | part | what it owns |
//! |---|---|
//! | [`SenderTable`] | senders with their transactions, found by key, by address and by hash |
//! | [`BlockTable`] | sealed blocks that are not final, with their transactions |
//! | [`Authorities`], [`ConsumedNonces`] | accounts that others act for |
//! | [`SenderLimits`] | how many each sender may have |
//! | [`BuildOrder`] | what the builder gets next |
//! | [`EvictionOrder`] | which sender gives way when the pool is full |
//! | [`ParkedSenders`], [`BaseFeeWaiters`] | senders that wait for room, or for the base fee to fall |
//! | [`Throttle`] | senders of whom nothing is to be executed for a while |
//! | [`Expiry`] | when the time of what waits runs out |
//! | [`Counts`] | how many there are of each kind, and their bytes |
//! | [`EventLog`] | what happened, and how often |
//!
//! Invariants across parts: each entry is counted once, as its state says ([`Pool::shift`] is the only way to change one);
//! each that waits has a deadline and its authorities reserved; after [`Pool::settle`] a sender's run is what can be
//! executed, and its next one stands in the order. Orders may hold what is stale: it is recognised when it comes up.

use crate::{
    Account, Config, Head, Lookup, Rules, Stats, Status,
    authorities::{Authorities, ConsumedNonces},
    block_table::BlockTable,
    counts::Counts,
    entry::{Entry, State},
    events::EventLog,
    eviction::EvictionOrder,
    expiry::{Deadline, Expiry},
    order::BuildOrder,
    sender::SenderLimits,
    senders::SenderTable,
    throttle::Throttle,
    waiting::{BaseFeeWaiters, ParkedSenders},
};
use alloy_primitives::{Address, B256};
use types::{Event, Reason, Transaction};

/// Every transaction from its acceptance until it is final or has ended with a reason.
///
/// See the crate's page for the whole story.
#[derive(Debug)]
pub struct Pool {
    pub(crate) config: Config,
    pub(crate) head: Head,
    pub(crate) senders: SenderTable,
    pub(crate) blocks: BlockTable,
    pub(crate) authorities: Authorities,
    pub(crate) consumed: ConsumedNonces,
    pub(crate) limits: SenderLimits,
    pub(crate) order: BuildOrder,
    pub(crate) eviction: EvictionOrder,
    pub(crate) parked: ParkedSenders,
    pub(crate) below: BaseFeeWaiters,
    pub(crate) throttled: Throttle,
    pub(crate) expiry: Expiry,
    pub(crate) counts: Counts,
    pub(crate) log: EventLog,
    /// How many came in so far; each entry has its own.
    pub(crate) arrivals: u64,
}

impl Pool {
    /// An empty pool for a chain whose next block is `head`.
    pub fn new(config: Config, head: Head) -> Self {
        Self {
            head,
            senders: SenderTable::default(),
            blocks: BlockTable::default(),
            authorities: Authorities::default(),
            consumed: ConsumedNonces::default(),
            limits: SenderLimits::new(config.sender_txs_max),
            order: BuildOrder::default(),
            eviction: EvictionOrder::default(),
            parked: ParkedSenders::default(),
            below: BaseFeeWaiters::default(),
            throttled: Throttle::default(),
            expiry: Expiry::default(),
            counts: Counts::default(),
            log: EventLog::default(),
            arrivals: 0,
            config,
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
        self.limits.set(sender, txs_max);
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
        match self.senders.key_of(sender) {
            Some(s) => Some(self.senders[s].next_nonce()),
            None => self.consumed.next(sender),
        }
    }

    /// How many are pending or queued.
    pub const fn size(&self) -> usize {
        self.counts.pending() + self.counts.queued()
    }

    /// The pool in numbers.
    pub fn stats(&self) -> Stats {
        Stats {
            pending: self.counts.pending(),
            queued: self.counts.queued(),
            below_base_fee: self.counts.below(),
            bundled: self.counts.bundled(),
            senders: self.senders.len(),
            bytes: self.counts.bytes(),
            totals: self.log.totals(),
        }
    }

    /// What happened since this was last called. Call it after every operation: the list is not bounded otherwise.
    pub fn drain_events(&mut self) -> std::vec::Drain<'_, Event> {
        self.log.drain()
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
        let Some(s) = self.senders.key_of(sender) else { return 0 };
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
            State::Bundled(block) => Status::Bundled(self.blocks.id(block)),
        }
    }

    /// Sender and index of a transaction.
    pub(crate) fn find(&self, hash: &B256) -> Option<(usize, usize)> {
        self.senders.find(hash)
    }

    /// The key of a sender, who is made if unknown.
    pub(crate) fn sender_key(&mut self, address: Address, account: Account) -> usize {
        let consumed = || self.consumed.next(&address).unwrap_or_default();
        self.senders.key_or_insert(address, account, consumed)
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
            self.authorities.release(&tx);
        } else {
            sender.pooled += 1;
            self.authorities.reserve(&tx);
        }
    }

    /// Puts an entry into its sender's list at index `i`: the only place where entries come in.
    pub(crate) fn put(&mut self, s: usize, i: usize, entry: Entry) {
        self.counts.enter(&entry);
        let waits = entry.state.is_pooled();
        if waits && !entry.tx.authorities().is_empty() {
            self.authorities.reserve(&entry.tx);
        }
        let (added_at, arrival) = (entry.added_at, entry.arrival);
        let key = self.senders.put(s, i, entry);
        // Only now: deadlines of what is not in a list are thrown away when there are too many.
        if waits {
            self.expect_end(Deadline { added_at, arrival, key });
        }
    }

    /// Takes an entry out: the only place where entries go. The sender must be settled afterwards.
    pub(crate) fn take(&mut self, s: usize, i: usize) -> Entry {
        let entry = self.senders.take(s, i);
        self.counts.leave(&entry);
        if entry.state.is_pooled() {
            self.authorities.release(&entry.tx);
        }
        entry
    }

    /// Takes an entry out for a reason. The sender must be settled afterwards.
    pub(crate) fn drop_at(&mut self, s: usize, i: usize, reason: Reason) -> Transaction {
        let sender = self.senders[s].address;
        let entry = self.take(s, i);
        let hash = entry.tx.hash();
        self.log.push(match reason {
            Reason::Evicted => Event::Evicted { hash, sender },
            Reason::Expired => Event::Expired { hash, sender },
            reason => Event::Dropped { hash, sender, reason },
        });
        entry.tx
    }

    /// The next arrival.
    pub(crate) const fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }
}
