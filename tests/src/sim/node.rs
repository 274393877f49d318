//! The driver under test: real pool, queue, follower and service rule around a builder that only hashes.
//!
//! It does what a node's driver does, in the same order: what leaves is durable first, a release is one commit, and the
//! window is looked at again after a commit.

use super::{
    builder::{Builder, Version},
    journal::{Entry, Journal, Place, Sealed},
    network::{CODE_HASH, Network, PARAMS, SERVICE, SLOT_MS, learn_roots},
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, U256};
use jam::{
    Ed25519Key, HeaderHash, PackageHash, SlotClock,
    follow::{Follower, Update},
};
use queue::{Action, Blame, ChainInput, Queue, Released, Sent, ServiceTracker, ServiceView, Submission};
use service::accumulate::ServiceState;
use std::collections::BTreeMap;
use txpool::{Account, Head, Lookup, Pool, Returned, StateChange, Status, Verdict};
use types::{Duration, Event, Time, Transaction};

/// Transactions in a block.
pub(super) const BLOCK_TXS_MAX: usize = 8;
const HEAD: Head = Head { base_fee_wei: 1_000_000_000, gas_limit: 120_000_000 };

/// The process ended in the middle of what it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Crashed;

/// What the node asks of the world: durable writes, which may be the last thing it does, and sending.
pub(super) trait World {
    /// Makes entries durable.
    fn commit(&mut self, entries: Vec<Entry>) -> Result<(), Crashed>;
    /// Takes a version that leaves the node.
    fn send(&mut self, node: &Node, submission: &Submission, version: &Version, now: Time);
    /// Takes an event.
    fn event(&mut self, event: &Event, now: Time);
}

/// A running node.
#[derive(Debug)]
pub(super) struct Node {
    /// The pool.
    pub pool: Pool,
    /// The queue.
    pub queue: Queue,
    /// What it believes of the chain.
    pub follower: Follower,
    tracker: ServiceTracker,
    /// What it believes of the service.
    pub service: ServiceView,
    /// Unfinished blocks.
    pub blocks: BTreeMap<u64, Sealed>,
    nonces: BTreeMap<Address, u64>,
    build_counter: u64,
    builder: Builder,
    update: Update,
    clock_offset_ms: i64,
    last_now: Time,
    last_seal: Time,
}

impl Node {
    /// Starts from the journal, on a chain that it has to learn again.
    pub(super) fn start(
        config: queue::Config,
        mut builder: Builder,
        network: &Network,
        journal: &Journal,
        now: Time,
        mistake: Option<service::accumulate::Mistake>,
    ) -> Result<Self, queue::JournalError> {
        let genesis = builder.genesis();
        for hash in journal.finished.iter().chain(journal.unfinished.values()) {
            builder.restore(journal.blocks[hash].draft.as_ref());
        }
        let follower = network.follower();
        let state = ServiceState::new(genesis);
        let mut tracker =
            ServiceTracker::new(SERVICE, CODE_HASH, follower.finalized().hash, state).with_mistake(mistake);
        let service = tracker.view(&follower, &Update::default());
        let queue = Queue::restore(config, clock(), genesis, journal.records.iter().cloned(), now)?;
        let blocks = journal.unfinished.iter().map(|(number, hash)| (*number, journal.blocks[hash].clone()));
        let mut node = Self {
            pool: Pool::new(txpool::Config { sender_txs_max: 64, ..txpool::Config::default() }, HEAD),
            queue,
            follower,
            tracker,
            service,
            blocks: blocks.collect(),
            nonces: BTreeMap::new(),
            build_counter: journal.sealed,
            builder,
            update: Update::default(),
            clock_offset_ms: 0,
            last_now: now,
            last_seal: Time::ZERO,
        };
        node.restore_pool(journal);
        // All of the chain is news.
        node.update.cores = (0..PARAMS.cores).collect();
        for block in network.blocks() {
            let update = node.follower.import(block.clone());
            learn_roots(&mut node.follower, block.header.hash());
            node.update.merge(update);
        }
        Ok(node)
    }

    fn restore_pool(&mut self, journal: &Journal) {
        for kept in journal.kept() {
            if matches!(kept.place, Place::Final | Place::Block(_)) {
                let nonce = self.nonces.entry(kept.tx.sender()).or_default();
                *nonce = (*nonce).max(kept.tx.nonce() + 1);
            }
        }
        for kept in journal.kept() {
            let status = match kept.place {
                Place::Pool => Status::Pending,
                Place::Block(number) => Status::Bundled(self.blocks[&number].block),
                _ => continue,
            };
            let was = Lookup {
                tx: kept.tx.clone(),
                status,
                added_at: kept.at,
                attempts: kept.attempts,
                lone_failures: kept.lone_failures,
                returned: kept.returned,
            };
            let account = self.account(kept.tx.sender());
            self.pool.restore(was, account);
        }
        self.refresh_pool();
        self.pool.drain_events();
    }

    /// The node's time: the true one with its clock's error, never running back.
    pub(super) fn now(&mut self, true_ms: u64) -> Time {
        let shown = Time::from_millis(true_ms.saturating_add_signed(self.clock_offset_ms));
        self.last_now = self.last_now.max(shown);
        self.last_now
    }

    /// The clock jumps.
    pub(super) fn jump_clock(&mut self, to_offset_ms: i64) {
        self.clock_offset_ms = to_offset_ms;
    }

    /// The account of a sender after the newest block.
    pub(super) fn account(&self, sender: Address) -> Account {
        let nonce = self.nonces.get(&sender).copied().unwrap_or(0);
        Account { nonce, balance: U256::from(10_u64).pow(U256::from(24)), code: txpool::Code::None }
    }

    /// The nonce that a sender should use next.
    pub(super) fn next_nonce(&self, sender: Address) -> u64 {
        self.pool.next_nonce(&sender).unwrap_or_else(|| self.account(sender).nonce)
    }

    fn refresh_pool(&mut self) {
        let accounts = self.nonces.keys().map(|sender| (*sender, self.account(*sender))).collect::<Vec<_>>();
        self.pool.update(&StateChange { head: HEAD, accounts: &accounts });
    }

    /// What the pool ended, as the journal writes it.
    fn pool_entries(&mut self, world: &mut impl World, now: Time) -> Vec<Entry> {
        let events = self.pool.drain_events().collect::<Vec<_>>();
        events.iter().for_each(|event| world.event(event, now));
        events.iter().filter_map(|event| Some(Entry::Ended(event.ended()?.0))).collect()
    }

    /// A user hands a transaction in; the answer comes when it is durable.
    pub(super) fn accept(
        &mut self,
        tx: Transaction,
        now: Time,
        world: &mut impl World,
    ) -> Result<bool, Crashed> {
        let account = self.account(tx.sender());
        if self.pool.insert(tx.clone(), account, now).is_err() {
            self.pool.drain_events();
            return Ok(false);
        }
        let mut entries = vec![Entry::Accepted(tx, now)];
        entries.extend(self.pool_entries(world, now));
        world.commit(entries)?;
        Ok(true)
    }

    /// A block of the chain arrives.
    pub(super) fn import(&mut self, block: &jam::Block) {
        let update = self.follower.import(block.clone());
        learn_roots(&mut self.follower, block.header.hash());
        self.update.merge(update);
    }

    /// Validators' words on finality arrive.
    pub(super) fn claims(&mut self, validators: &[Ed25519Key], hash: HeaderHash, slot: u32) {
        for key in validators {
            let update = self.follower.claim_final(*key, hash, slot);
            self.update.merge(update);
        }
    }

    /// An answer to a submission arrives.
    pub(super) fn answer(&mut self, block: u64, package: PackageHash, sent: Sent) {
        self.queue.handle_sent(block, package, sent);
    }

    /// Does what is due. Everything that was told before takes effect here.
    pub(super) fn step(&mut self, true_ms: u64, world: &mut impl World) -> Result<(), Crashed> {
        let now = self.now(true_ms);
        self.handle_chain(now);
        self.queue.handle_timeout(now);
        self.pool.cleanup(now);
        self.seal(now, world)?;
        self.act(now, world)
    }

    fn handle_chain(&mut self, now: Time) {
        let update = core::mem::take(&mut self.update);
        let moved = update.best_moved
            || update.finalized_moved
            || !update.changed.is_empty()
            || !update.cores.is_empty();
        if !moved {
            return;
        }
        self.service = self.tracker.view(&self.follower, &update);
        let view = self.follower.view();
        let input = ChainInput {
            view: &view,
            service: &self.service,
            packages: &update.changed,
            cores: &update.cores,
        };
        self.queue.handle_chain(&input, now);
    }

    /// Writes down what the queue decided, and what follows from it in the pool.
    fn commit(&mut self, mut entries: Vec<Entry>, now: Time, world: &mut impl World) -> Result<(), Crashed> {
        let events = self.queue.drain_events().collect::<Vec<_>>();
        for event in &events {
            world.event(event, now);
            if let Event::Finalized { block } = event {
                self.pool.mark_final(*block);
                self.blocks.remove(&block.number);
            }
        }
        let records = self.queue.take_records().into_iter().map(Entry::Queue);
        let mut all = records.collect::<Vec<_>>();
        all.append(&mut entries);
        all.extend(self.pool_entries(world, now));
        if all.is_empty() { Ok(()) } else { world.commit(all) }
    }

    fn act(&mut self, now: Time, world: &mut impl World) -> Result<(), Crashed> {
        loop {
            match self.queue.poll_action(now) {
                Some(Action::Release(blocks)) => self.release(&blocks, now, world)?,
                Some(Action::Submit(submission)) => self.submit(&submission, now, world)?,
                Some(Action::Halt { .. }) => {}
                None => return self.commit(vec![], now, world),
            }
        }
    }

    fn submit(&mut self, submission: &Submission, now: Time, world: &mut impl World) -> Result<(), Crashed> {
        let version = self.builder.package(submission.block, &submission.context, submission.version);
        let package = version.package;
        if self.queue.commit_submission(submission, package, now).is_err() {
            return self.commit(vec![], now, world);
        }
        self.commit(vec![], now, world)?;
        if self.queue.in_window(now) {
            world.send(self, submission, &version, now);
        } else {
            self.queue.handle_sent(submission.block.number, package, Sent::Failed);
        }
        Ok(())
    }

    fn release(&mut self, blocks: &[Released], now: Time, world: &mut impl World) -> Result<(), Crashed> {
        let mut returned = Vec::new();
        if let Some(first) = blocks.first() {
            self.builder.forget(first.block.number);
        }
        for released in blocks {
            let Some(sealed) = self.blocks.remove(&released.block.number) else { continue };
            let verdict = match released.blame {
                Blame::None => Verdict::Innocent,
                Blame::Suspect => Verdict::Suspect,
                Blame::Alone => Verdict::Alone,
            };
            returned.extend(sealed.transactions.into_iter().map(|tx| Returned { tx, verdict }));
        }
        for Returned { tx, .. } in &returned {
            let nonce = self.nonces.entry(tx.sender()).or_default();
            *nonce = (*nonce).min(tx.nonce());
        }
        let hashes = returned.iter().map(|returned| returned.tx.hash()).collect::<Vec<_>>();
        let accounts = self.nonces.keys().map(|sender| (*sender, self.account(*sender))).collect::<Vec<_>>();
        self.pool.reinsert(returned, &StateChange { head: HEAD, accounts: &accounts }, now);
        let entries = hashes.into_iter().filter_map(|hash| {
            let lookup = self.pool.get(&hash)?;
            Some(Entry::Returned { hash, attempts: lookup.attempts, lone_failures: lookup.lone_failures })
        });
        let entries = entries.collect();
        self.commit(entries, now, world)
    }

    /// Seals a block of the best transactions, if the queue has room.
    fn seal(&mut self, now: Time, world: &mut impl World) -> Result<(), Crashed> {
        let rested = now.since(self.last_seal) >= Duration::from_millis(1500);
        if !rested || self.queue.may_enqueue().is_err() {
            return Ok(());
        }
        let Some(transactions) = self.choose() else { return Ok(()) };
        self.last_seal = now;
        self.build_counter += 1;
        let parent = self.queue.newest();
        let made = self.builder.seal(parent, &transactions, self.build_counter, now);
        let block = made.block;
        let hashes = transactions.iter().map(Transaction::hash).collect::<Vec<B256>>();
        self.queue
            .enqueue(block, parent, hashes.into(), now)
            .expect("it has room, and the parent is the newest");
        let sealed = Sealed { block, parent, transactions, draft: made.draft };
        for tx in &sealed.transactions {
            self.nonces.insert(tx.sender(), tx.nonce() + 1);
        }
        self.pool.mark_bundled(block, &sealed.transactions);
        self.refresh_pool();
        self.blocks.insert(block.number, sealed.clone());
        self.commit(vec![Entry::Sealed(Box::new(sealed))], now, world)
    }

    /// The transactions of the next block: ordinary ones first; suspects apart, in smaller blocks, after a block
    /// without them has passed.
    fn choose(&mut self) -> Option<Vec<Transaction>> {
        let mut best = self.pool.best();
        let first = best.peek()?;
        let max = match first.is_suspect() {
            true if self.queue.wants_probe() => 0,
            true => Queue::suspect_txs_max(BLOCK_TXS_MAX, first.attempts),
            false => BLOCK_TXS_MAX,
        };
        let mut chosen = Vec::new();
        while chosen.len() < max && best.peek().is_some_and(|next| next.attempts == first.attempts) {
            chosen.extend(best.next().map(|candidate| candidate.tx));
        }
        Some(chosen)
    }
}

/// The clock of the simulated chain.
pub(super) fn clock() -> SlotClock {
    SlotClock::starting_at(Time::ZERO, SLOT_MS)
}
