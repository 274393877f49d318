//! The pool against a model that keeps one plain list and looks everything up by searching it.
//!
//! The model knows exactly which transactions are in, which are in a block, which ended and why, which the builder gets
//! next, and whether, with which words and at whose expense a new one comes in. Which of the executable ones are pending
//! and which wait because pending is full it takes from the events, and checks that the rules allow it.

use super::world::{Draft, GWEI, sender};
use crate::{
    Account, Code, Config, Error, Head, Lookup, Pool, Returned, StateChange, Status, Verdict,
    entry::{State, cost},
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, U256};
use proptest::prelude::*;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};
use types::{BlockId, Duration, Event, Reason, Time, Transaction};

const SENDERS: u8 = 5;
const TTL_MS: u64 = 100;

#[derive(Clone, Copy, Debug)]
enum Op {
    Insert { sender: u8, ahead: u64, tip: u128, fee: u128, data: usize, authority: Option<u8> },
    InsertKnown(usize),
    Pull { count: usize, then: Then },
    Rewind,
    Seal,
    Final,
    Release { blocks: usize, accuse: bool },
    Pass(u64),
    Cleanup,
    Balance { sender: u8, thousandths: u64 },
    Nonce { sender: u8, by: u64 },
    Code { sender: u8, delegated: bool },
    BaseFee(u64),
    Remove(usize),
    Limit { sender: u8, max: usize },
    Restart,
}

/// What the builder does with what it is handed.
#[derive(Clone, Copy, Debug)]
enum Then {
    Open,
    Invalid,
    Nothing,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let insert = (
        0..SENDERS,
        0..6_u64,
        1..6_u128,
        0..8_u128,
        prop_oneof![8 => Just(0_usize), 1 => Just(200), 1 => Just(900)],
        prop_oneof![12 => Just(None), 1 => (0..SENDERS).prop_map(Some)],
    )
        .prop_map(|(sender, ahead, tip, fee, data, authority)| Op::Insert {
            sender,
            ahead,
            tip,
            fee: tip + fee,
            data,
            authority,
        });
    let then = prop_oneof![4 => Just(Then::Open), 1 => Just(Then::Invalid), 1 => Just(Then::Nothing)];
    let op = prop_oneof![
        30 => insert,
        1 => any::<usize>().prop_map(Op::InsertKnown),
        8 => (1..4_usize, then).prop_map(|(count, then)| Op::Pull { count, then }),
        1 => Just(Op::Rewind),
        5 => Just(Op::Seal),
        3 => Just(Op::Final),
        2 => (1..4_usize, any::<bool>()).prop_map(|(blocks, accuse)| Op::Release { blocks, accuse }),
        2 => (1..60_u64).prop_map(Op::Pass),
        1 => Just(Op::Cleanup),
        2 => (0..SENDERS, 0..30_u64).prop_map(|(sender, thousandths)| Op::Balance { sender, thousandths }),
        1 => (0..SENDERS, 1..3_u64).prop_map(|(sender, by)| Op::Nonce { sender, by }),
        1 => (0..SENDERS, any::<bool>()).prop_map(|(sender, delegated)| Op::Code { sender, delegated }),
        2 => (1..5_u64).prop_map(Op::BaseFee),
        1 => any::<usize>().prop_map(Op::Remove),
        1 => (0..SENDERS, 0..5_usize).prop_map(|(sender, max)| Op::Limit { sender, max }),
        1 => Just(Op::Restart),
    ];
    prop::collection::vec(op, 1..150)
}

fn configs() -> impl Strategy<Value = Config> {
    let bytes = prop_oneof![Just(1_500_usize), Just(1 << 20)];
    (1..9_usize, 0..6_usize, 1..6_usize, bytes, any::<bool>()).prop_map(
        |(pending_max, queued_max, sender_txs_max, pool_bytes_max, queue_below_base_fee)| Config {
            pending_max,
            queued_max,
            sender_txs_max,
            pool_bytes_max,
            queue_below_base_fee,
            ttl: Duration::from_millis(TTL_MS),
            tx_bytes_max: 1_200,
            nonce_gap_max: 3,
            lone_failures_max: 2,
            ..Config::default()
        },
    )
}

/// One transaction, as the model sees it.
#[derive(Clone, Debug)]
struct Item {
    tx: Transaction,
    status: Status,
    arrival: u64,
    added_at: Time,
    attempts: u32,
    lone_failures: u32,
    returned: bool,
}

impl Item {
    fn pooled(&self) -> bool {
        matches!(self.status, Status::Pending | Status::Queued)
    }

    fn tip(&self, head: Head) -> u128 {
        let room = self.tx.max_fee_per_gas().saturating_sub(head.base_fee_wei.into());
        self.tx.max_priority_fee_per_gas().expect("all are dynamic").min(room)
    }

    fn is(&self, who: Address, nonce: u64) -> bool {
        self.tx.sender() == who && self.tx.nonce() == nonce
    }
}

struct Model {
    pool: Pool,
    config: Config,
    head: Head,
    now: Time,
    accounts: BTreeMap<Address, Account>,
    limits: BTreeMap<Address, usize>,
    items: Vec<Item>,
    accepted: BTreeSet<B256>,
    finals: BTreeSet<B256>,
    ended: BTreeMap<B256, Reason>,
    /// Nonces below were handed to the builder in this round; and whether one of them was invalid.
    handed: BTreeMap<Address, (u64, bool)>,
    open: Vec<Transaction>,
    blocks: Vec<(BlockId, Vec<Transaction>, BTreeMap<Address, Account>)>,
    sealed: u64,
    arrivals: u64,
}

impl Model {
    fn new(config: Config) -> Self {
        let head = Head { base_fee_wei: GWEI as u64, gas_limit: 30_000_000 };
        let account = Account { nonce: 3, balance: ether(15), code: Code::None };
        Self {
            pool: Pool::new(config.clone(), head),
            config,
            head,
            now: Time::from_millis(1_000),
            accounts: (0..SENDERS).map(|n| (sender(n), account)).collect(),
            limits: BTreeMap::new(),
            items: vec![],
            accepted: BTreeSet::new(),
            finals: BTreeSet::new(),
            ended: BTreeMap::new(),
            handed: BTreeMap::new(),
            open: vec![],
            blocks: vec![],
            sealed: 0,
            arrivals: 0,
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Insert { sender: n, ahead, tip, fee, data, authority } => {
                let who = sender(n);
                let authorities = authority.map(sender).into_iter().collect();
                let nonce = self.accounts[&who].nonce.saturating_sub(1) + ahead;
                let (tip, fee) = (tip * GWEI, fee * GWEI);
                self.insert(&Draft { sender: who, nonce, tip, fee, value: 1, data, authorities }.make());
            }
            Op::InsertKnown(n) => {
                if let Some(item) = self.items.get(n % self.items.len().max(1)) {
                    let (tx, account) = (item.tx.clone(), self.accounts[&item.tx.sender()]);
                    assert_eq!(self.pool.insert(tx, account, self.now), Err(Error::AlreadyKnown));
                }
            }
            Op::Pull { count, then } => (0..count).for_each(|_| self.pull(then)),
            Op::Rewind => {
                self.pool.rewind();
                self.handed.clear();
            }
            Op::Seal => self.seal(),
            Op::Final => self.finalize(),
            Op::Release { blocks, accuse } => self.release(blocks, accuse),
            Op::Pass(ms) => self.now = self.now + Duration::from_millis(ms),
            Op::Cleanup => self.cleanup(),
            Op::Balance { sender: n, thousandths } => {
                self.change(sender(n), |account| account.balance = ether(thousandths));
            }
            Op::Nonce { sender: n, by } => {
                // Somebody else uses nonces only of those who have none of theirs in a block.
                if !self.items.iter().any(|item| item.tx.sender() == sender(n) && !item.pooled()) {
                    self.change(sender(n), |account| account.nonce += by);
                }
            }
            Op::Code { sender: n, delegated } => self.change(sender(n), |account| {
                account.code = if delegated { Code::Delegated } else { Code::None };
            }),
            Op::BaseFee(gwei) => {
                self.head.base_fee_wei = gwei * GWEI as u64;
                self.update(&[]);
            }
            Op::Remove(n) => self.remove(n),
            Op::Limit { sender: n, max } => {
                self.limits.insert(sender(n), max);
                self.pool.set_limit(sender(n), max);
            }
            Op::Restart => self.restart(),
        }
        self.check();
    }

    fn insert(&mut self, tx: &Transaction) {
        let who = tx.sender();
        let expected = self.expect(tx);
        let before = self.pooled_hashes(Status::Pending);
        let outcome = self.pool.insert(tx.clone(), self.accounts[&who], self.now);
        match (&expected, &outcome) {
            (Err(expected), Err(found)) => {
                assert_eq!(expected, found);
                assert_eq!(self.pool.drain_events().count(), 0, "a refused one changes nothing");
                return;
            }
            (Ok(expected), Ok(found)) => assert_eq!(expected.replaced, found.replaced),
            _ => panic!("expected {expected:?}, found {outcome:?}"),
        }
        let expected = expected.expect("both are fine");
        self.arrivals += 1;
        self.accepted.insert(tx.hash());
        self.ended.remove(&tx.hash());
        for hash in &expected.evicted {
            self.end(hash, Reason::Evicted);
        }
        let mut returned = false;
        if let Some(old) = expected.replaced {
            returned = self.end(&old, Reason::Replaced { by: tx.hash() }).returned;
        }
        if let Some((from, skipped)) = self.handed.get_mut(&who).filter(|(from, _)| *from > tx.nonce()) {
            (*from, *skipped) = (tx.nonce(), false);
        }
        self.items.push(Item {
            tx: tx.clone(),
            status: Status::Queued,
            arrival: self.arrivals,
            added_at: self.now,
            attempts: 0,
            lone_failures: 0,
            returned,
        });
        self.follow_events();
        let item = self.items.iter().find(|item| item.tx == *tx).expect("it was just added");
        assert_eq!(item.status, outcome.expect("both are fine").status);
        if expected.replaced.is_none() {
            assert_eq!(item.status == Status::Pending, expected.pending);
            if item.status == Status::Queued {
                let gone = |hash: &B256| !self.pool.by_hash.contains_key(hash);
                assert!(!before.iter().any(gone), "a gapped one displaced an executable one");
            }
        }
    }

    /// What must become of a transaction, by the rules alone.
    fn expect(&self, tx: &Transaction) -> Result<Expected, Error> {
        let (who, nonce, cost) = (tx.sender(), tx.nonce(), cost(tx));
        let account = self.accounts[&who];
        if self.items.iter().any(|item| item.tx == *tx) {
            return Err(Error::AlreadyKnown);
        }
        if tx.encoded().len() > self.config.tx_bytes_max {
            return Err(Error::Oversized { size: tx.encoded().len(), limit: self.config.tx_bytes_max });
        }
        let (fee_cap, base_fee) = (tx.max_fee_per_gas(), self.head.base_fee_wei);
        if fee_cap < base_fee.into() && !self.config.queue_below_base_fee {
            return Err(Error::FeeCapBelowBaseFee { sender: who, fee_cap, base_fee });
        }
        let base = self.base(who);
        if nonce < base {
            return Err(Error::NonceTooLow { next: base, nonce });
        }
        let old = self.items.iter().find(|item| item.is(who, nonce));
        let next = self.next_nonce(who);
        if old.is_none() && nonce > next + self.config.nonce_gap_max {
            return Err(Error::NonceTooHigh { next, nonce });
        }
        let (balance, spent) = (account.balance, self.spent(who));
        if cost > balance {
            return Err(Error::Funds { balance, cost });
        }
        match old {
            None if spent + cost > balance => return Err(Error::FundsOfAll { balance, spent, cost }),
            // One that costs less than the one it replaces is welcome even if the sender has become poor.
            Some(old) if cost >= self::cost(&old.tx) && spent + cost > balance + self::cost(&old.tx) => {
                let bump = cost - self::cost(&old.tx);
                return Err(Error::FundsOfReplacement { balance, spent, bump });
            }
            _ => {}
        }
        match old {
            Some(old) => self.expect_replacement(tx, old),
            None => self.expect_addition(tx),
        }
    }

    fn expect_replacement(&self, tx: &Transaction, old: &Item) -> Result<Expected, Error> {
        let enough = |new: u128, old: u128| new > old && new * 100 >= old * 110 / 100 * 100;
        let tips = [tx, &old.tx].map(|tx| tx.max_priority_fee_per_gas().expect("all are dynamic"));
        if !enough(tx.max_fee_per_gas(), old.tx.max_fee_per_gas()) || !enough(tips[0], tips[1]) {
            return Err(Error::ReplacementUnderpriced);
        }
        self.check_authorities(tx)?;
        let bytes = (!old.returned).then(|| old.tx.encoded().len());
        let evicted = match bytes {
            Some(bytes) => self.expect_room(tx, old.status, false, bytes)?,
            None => vec![],
        };
        Ok(Expected { replaced: Some(old.tx.hash()), evicted, pending: old.status == Status::Pending })
    }

    fn expect_addition(&self, tx: &Transaction) -> Result<Expected, Error> {
        let who = tx.sender();
        let pooled = self.pooled(who);
        let limit = self.limits.get(&who).copied().unwrap_or(self.config.sender_txs_max);
        let own = self.own(who);
        let own = own.last().filter(|last| last.tx.nonce() > tx.nonce());
        let own = own.filter(|last| last.status == Status::Queued && !last.returned && pooled >= limit);
        if pooled >= limit && own.is_none() {
            return Err(Error::AccountLimit { pooled });
        }
        let authorized = |item: &Item| item.pooled() && item.tx.authorities().contains(&who);
        if self.accounts[&who].code == Code::Delegated || self.items.iter().any(authorized) {
            if pooled >= self.config.delegated_txs_max {
                return Err(Error::DelegatedLimit);
            }
            if tx.nonce() != self.next_nonce(who) {
                return Err(Error::DelegatedGap);
            }
        }
        self.check_authorities(tx)?;
        let run = self.own(who).iter().filter(|item| item.status == Status::Pending).count() as u64;
        let pending =
            tx.nonce() == self.base(who) + run && tx.max_fee_per_gas() >= self.head.base_fee_wei.into();
        let status = if pending { Status::Pending } else { Status::Queued };
        let freed = own.filter(|_| !pending).map(|own| own.tx.encoded().len());
        let full = freed.is_none() && self.counted(status) >= self.max(status);
        let mut evicted = self.expect_room(tx, status, full, freed.unwrap_or_default())?;
        evicted.extend(own.map(|own| own.tx.hash()));
        Ok(Expected { replaced: None, evicted, pending })
    }

    fn check_authorities(&self, tx: &Transaction) -> Result<(), Error> {
        let crowded = tx.authorities().iter().any(|authority| self.pooled(*authority) > 1);
        if crowded { Err(Error::AuthorityReserved) } else { Ok(()) }
    }

    /// Who must go for `tx`, or why nobody does.
    fn expect_room(
        &self,
        tx: &Transaction,
        status: Status,
        full: bool,
        freed: usize,
    ) -> Result<Vec<B256>, Error> {
        let who = tx.sender();
        let excess = (self.bytes() + tx.encoded().len() - freed).saturating_sub(self.config.pool_bytes_max);
        let tip = Item { tx: tx.clone(), ..self.blank() }.tip(self.head);
        let worth = self.worth(who, status, &[]).min(tip);
        let mut gone = vec![];
        let freed =
            |gone: &[B256]| -> usize { gone.iter().map(|hash| self.item(hash).tx.encoded().len()).sum() };
        let mut go = |kind: Status, worth: u128, enough: &dyn Fn(&[B256]) -> bool| {
            while !enough(&gone) {
                let victim = self.victim(kind, &gone).ok_or(Error::Full)?;
                if victim.tx.sender() == who {
                    return Err(Error::Full);
                }
                let theirs = self.worth(victim.tx.sender(), kind, &[]);
                let count = self.left(victim.tx.sender(), kind, &gone);
                if !(worth > theirs || worth == theirs && count > self.pooled(who) + 1) {
                    return Err(Error::Underpriced);
                }
                gone.push(victim.tx.hash());
            }
            Ok(())
        };
        if full {
            go(status, worth, &|gone| !gone.is_empty())?;
        }
        if status == Status::Pending {
            let _ = go(Status::Queued, u128::MAX, &|gone| freed(gone) >= excess);
        }
        go(status, worth, &|gone| freed(gone) >= excess).map_err(|error| match error {
            Error::Full if status == Status::Queued && self.counted(Status::Pending) > 0 => {
                Error::FutureReplacesPending
            }
            error => error,
        })?;
        Ok(gone)
    }

    /// The one that goes next: of the cheapest sender, of those the largest, of those the last come, its last one. What
    /// came back from a block never goes; behind it pending ones are safe, because no gap may be torn, and queued ones
    /// are not.
    fn victim(&self, kind: Status, gone: &[B256]) -> Option<&Item> {
        let senders = (0..SENDERS).map(sender);
        let last = |who| {
            let own = self.own(who);
            let all = own.iter().filter(|item| item.status == kind && !gone.contains(&item.tx.hash()));
            let mut left = all.filter(|item| kind == Status::Pending || !item.returned);
            left.next_back().copied().filter(|item| !item.returned)
        };
        senders.filter_map(last).max_by_key(|item| {
            let who = item.tx.sender();
            (Reverse(self.worth(who, kind, &[])), self.left(who, kind, gone), item.arrival)
        })
    }

    fn pull(&mut self, then: Then) {
        let expected = self.next_best();
        let expected = expected.map(|item| (item.tx.clone(), item.tip(self.head), item.attempts));
        let peeked = self.pool.best().peek();
        let found = self.pool.best().next();
        assert_eq!(peeked, found);
        assert_eq!(found.map(|found| (found.tx, found.tip_wei, found.attempts)), expected);
        let Some((tx, ..)) = expected else { return };
        let (who, hash) = (tx.sender(), tx.hash());
        self.handed.insert(who, (tx.nonce() + 1, false));
        match then {
            // The builder executes in order, so only what follows what it took before.
            Then::Open if tx.nonce() == self.base(who) => {
                assert!(self.pool.mark_open(&hash));
                assert!(!self.pool.mark_open(&hash));
                self.item_mut(&hash).status = Status::Open;
                self.open.push(tx);
            }
            Then::Invalid => {
                self.pool.best().mark_invalid(&hash);
                self.handed.insert(who, (tx.nonce() + 1, true));
            }
            Then::Open | Then::Nothing => {}
        }
        self.follow_events();
    }

    /// What the builder must get next: the best of the senders' next ones.
    fn next_best(&self) -> Option<&Item> {
        let next = |who| {
            let (from, skipped) = self.handed.get(&who).copied().unwrap_or_default();
            let own = self.own(who);
            let mut pending = own.iter().filter(|item| item.status == Status::Pending);
            pending.find(|item| !skipped && item.tx.nonce() >= from).copied()
        };
        let key = |item: &&Item| (Reverse(item.attempts), item.tip(self.head), Reverse(item.arrival));
        (0..SENDERS).map(sender).filter_map(next).max_by_key(key)
    }

    fn seal(&mut self) {
        if self.open.is_empty() {
            return;
        }
        self.sealed += 1;
        let block = BlockId::new(self.blocks.len() as u64 + 1, B256::from(U256::from(self.sealed)));
        let txs = core::mem::take(&mut self.open);
        let before = self.accounts.clone();
        assert_eq!(self.pool.mark_bundled(block, &txs), txs.len());
        for tx in &txs {
            self.item_mut(&tx.hash()).status = Status::Bundled(block);
            let account = self.accounts.get_mut(&tx.sender()).expect("all are known");
            account.nonce = tx.nonce() + 1;
            account.balance = account.balance.saturating_sub(ether(1) / U256::from(10));
        }
        let changed = txs.iter().map(Transaction::sender).collect::<BTreeSet<_>>();
        self.blocks.push((block, txs, before));
        self.update(&changed.into_iter().collect::<Vec<_>>());
    }

    fn finalize(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let (block, txs, _) = self.blocks.remove(0);
        assert_eq!(self.pool.mark_final(block), txs.len());
        assert_eq!(self.pool.mark_final(block), 0);
        for tx in txs {
            assert_eq!(self.item(&tx.hash()).status, Status::Bundled(block));
            self.items.retain(|item| item.tx != tx);
            self.finals.insert(tx.hash());
        }
        self.follow_events();
    }

    /// The last blocks and the open one will never be applied.
    fn release(&mut self, blocks: usize, accuse: bool) {
        let dead = self.blocks.split_off(self.blocks.len().saturating_sub(blocks));
        let Some((_, first, before)) = dead.first() else { return };
        let suspect = match (accuse, first.len()) {
            (false, _) => Verdict::Innocent,
            (true, 1) => Verdict::Alone,
            (true, _) => Verdict::Suspect,
        };
        let first = first.iter().map(|tx| (tx, suspect));
        let others = dead.iter().skip(1).flat_map(|(_, txs, _)| txs).chain(&self.open);
        let returned = first.chain(others.map(|tx| (tx, Verdict::Innocent)));
        let returned = returned.map(|(tx, verdict)| Returned { tx: tx.clone(), verdict }).collect::<Vec<_>>();
        self.accounts = before.clone();
        self.open.clear();
        self.handed.clear();
        let accounts = self.accounts.clone().into_iter().collect::<Vec<_>>();
        let change = StateChange { head: self.head, accounts: &accounts };
        self.pool.reinsert(returned.clone(), &change, self.now);
        let (now, max) = (self.now, self.config.lone_failures_max);
        for Returned { tx, verdict } in returned {
            let item = self.item_mut(&tx.hash());
            (item.status, item.returned, item.added_at) = (Status::Queued, true, now);
            item.attempts += u32::from(verdict != Verdict::Innocent);
            item.lone_failures += u32::from(verdict == Verdict::Alone);
            let attempts = item.attempts;
            if verdict == Verdict::Alone && item.lone_failures >= max {
                self.end(&tx.hash(), Reason::Poisonous { attempts });
            }
        }
        self.drop_stale();
        self.follow_events();
    }

    fn change(&mut self, who: Address, how: impl FnOnce(&mut Account)) {
        how(self.accounts.get_mut(&who).expect("all are known"));
        self.update(&[who]);
    }

    fn update(&mut self, changed: &[Address]) {
        let accounts = changed.iter().map(|who| (*who, self.accounts[who])).collect::<Vec<_>>();
        self.pool.update(&StateChange { head: self.head, accounts: &accounts });
        self.handed.clear();
        self.drop_stale();
        self.follow_events();
    }

    fn drop_stale(&mut self) {
        let stale = |item: &&Item| item.pooled() && item.tx.nonce() < self.accounts[&item.tx.sender()].nonce;
        let stale = self.items.iter().filter(stale).map(|item| item.tx.hash()).collect::<Vec<_>>();
        stale.iter().for_each(|hash| drop(self.end(hash, Reason::NonceTooLow)));
    }

    fn cleanup(&mut self) {
        let late = |item: &&Item| item.pooled() && self.now.since(item.added_at).as_millis() as u64 > TTL_MS;
        let late = self.items.iter().filter(late).map(|item| item.tx.hash()).collect::<Vec<_>>();
        assert_eq!(self.pool.poll_timeout().is_some_and(|at| at <= self.now), !late.is_empty());
        assert_eq!(self.pool.cleanup(self.now), late.len());
        late.iter().for_each(|hash| drop(self.end(hash, Reason::Expired)));
        self.follow_events();
    }

    fn remove(&mut self, n: usize) {
        let pooled = self.items.iter().filter(|item| item.pooled()).collect::<Vec<_>>();
        let Some(item) = pooled.get(n % pooled.len().max(1)) else { return };
        let hash = item.tx.hash();
        assert!(self.pool.remove(&hash, Reason::Flushed).is_some());
        self.end(&hash, Reason::Flushed);
        self.follow_events();
    }

    /// A new pool takes over all that the old one knew; what was open waits again.
    fn restart(&mut self) {
        self.items.sort_by_key(|item| item.arrival);
        let mut pool = Pool::new(self.config.clone(), self.head);
        self.limits.iter().for_each(|(who, max)| pool.set_limit(*who, *max));
        self.arrivals = 0;
        for item in &mut self.items {
            let was = self.pool.get(&item.tx.hash()).expect("the pool knows what the model knows");
            assert_eq!((was.attempts, was.returned), (item.attempts, item.returned));
            pool.restore(was, self.accounts[&item.tx.sender()]);
            self.arrivals += 1;
            item.arrival = self.arrivals;
            if !matches!(item.status, Status::Bundled(_)) {
                item.returned |= item.status == Status::Open;
                item.status = Status::Queued;
            }
        }
        self.pool = pool;
        self.open.clear();
        self.update(&[]);
    }

    /// Takes from the events who is pending and who is queued, and compares everything else that they say.
    fn follow_events(&mut self) {
        let events = self.pool.drain_events().collect::<Vec<_>>();
        for event in events {
            if let Some((hash, reason)) = event.ended() {
                if reason == Reason::Evicted && !self.ended.contains_key(&hash) {
                    self.check_trim(&hash);
                    self.end(&hash, Reason::Evicted);
                }
                assert_eq!(self.ended.get(&hash), Some(&reason));
                continue;
            }
            let status = match event {
                Event::Added { hash, pending: true, .. } | Event::Promoted { hash, .. } => {
                    (hash, Status::Pending)
                }
                Event::Added { hash, pending: false, .. } | Event::Demoted { hash, .. } => {
                    (hash, Status::Queued)
                }
                _ => continue,
            };
            // One that was returned and dropped at once is not here any more.
            if let Some(item) = self.items.iter_mut().find(|item| item.tx.hash() == status.0) {
                item.status = status.1;
            }
        }
    }

    /// An eviction that no insert asked for: too many were queued after a demotion.
    fn check_trim(&self, hash: &B256) {
        let item = self.item(hash);
        assert_eq!(item.status, Status::Queued);
        assert!(!item.returned && self.counted(Status::Queued) > self.config.queued_max);
        let worth = self.worth(item.tx.sender(), Status::Queued, &[]);
        let victim = self.victim(Status::Queued, &[]).expect("there is at least this one");
        assert_eq!(worth, self.worth(victim.tx.sender(), Status::Queued, &[]));
    }

    /// Everything that must hold after every step.
    fn check(&self) {
        self.check_partition();
        for who in (0..SENDERS).map(sender) {
            self.check_sender(who);
        }
        let stats = self.pool.stats();
        let count = |status| self.items.iter().filter(|item| item.status == status).count();
        assert_eq!(stats.pending, count(Status::Pending));
        assert_eq!(stats.queued, count(Status::Queued));
        assert_eq!(stats.bundled, self.items.iter().filter(|item| !item.pooled()).count());
        assert_eq!(stats.bytes, self.bytes());
        assert_eq!(self.pool.size(), stats.pending + stats.queued);
        assert!(self.counted(Status::Pending) <= self.config.pending_max);
        assert!(self.counted(Status::Queued) <= self.config.queued_max);
        assert!(self.bytes() <= self.config.pool_bytes_max);
        assert_eq!(self.pool.pending(), self.merged());
        assert_eq!(self.pool.pending_limit(2), self.merged().into_iter().take(2).collect::<Vec<_>>());
    }

    /// Accepted = final, in a block, pending, queued, or ended with a reason; and never two of them.
    fn check_partition(&self) {
        let here = self.items.iter().map(|item| item.tx.hash()).collect::<BTreeSet<_>>();
        assert_eq!(here.len(), self.items.len());
        assert_eq!(here, self.pool.by_hash.keys().copied().collect());
        for hash in &self.accepted {
            let places = [here.contains(hash), self.finals.contains(hash), self.ended.contains_key(hash)];
            assert_eq!(places.iter().filter(|place| **place).count(), 1, "{hash} is in {places:?}");
        }
        for item in &self.items {
            let found = self.pool.get(&item.tx.hash()).expect("it is here");
            let expected = Lookup {
                tx: item.tx.clone(),
                status: item.status,
                added_at: item.added_at,
                attempts: item.attempts,
                lone_failures: item.lone_failures,
                returned: item.returned,
            };
            assert_eq!(found, expected);
        }
    }

    fn check_sender(&self, who: Address) {
        let own = self.own(who);
        assert!(own.windows(2).all(|pair| pair[0].tx.nonce() < pair[1].tx.nonce()));
        let listed =
            |status| own.iter().filter(move |item| item.status == status).map(|item| item.tx.clone());
        let content = self.pool.content_of(&who);
        assert_eq!(content.pending, listed(Status::Pending).collect::<Vec<_>>());
        assert_eq!(content.queued, listed(Status::Queued).collect::<Vec<_>>());
        let counted = own.iter().filter(|item| item.pooled() && !item.returned).count();
        if !self.limits.contains_key(&who) {
            assert!(counted <= self.config.sender_txs_max);
        }
        assert_eq!(self.pool.next_nonce(&who), (!own.is_empty()).then(|| self.next_nonce(who)));
        if let Some(s) = self.pool.by_sender.get(&who) {
            let sender = &self.pool.senders[*s as usize];
            assert_eq!(sender.spent, self.spent(who), "the sum of the costs");
            assert_eq!(sender.pooled, self.pooled(who));
            assert!(sender.txs.range(..sender.first).all(|entry| entry.state != State::Pending));
        }
        let pending = listed(Status::Pending).collect::<Vec<_>>();
        let executable = self.executable(who);
        assert_eq!(pending, executable[..pending.len().min(executable.len())], "only the first that can");
        if self.counted(Status::Pending) < self.config.pending_max {
            assert_eq!(pending, executable, "all that can, as long as there is room");
        }
    }

    /// The pending ones in the order for building, by searching for the best again and again.
    fn merged(&self) -> Vec<Transaction> {
        let mut copy = Model { handed: BTreeMap::new(), ..self.shallow() };
        let mut merged = vec![];
        while let Some(item) = copy.next_best() {
            let tx = item.tx.clone();
            copy.handed.insert(tx.sender(), (tx.nonce() + 1, false));
            merged.push(tx);
        }
        merged
    }

    fn executable(&self, who: Address) -> Vec<Transaction> {
        let account = self.accounts[&who];
        let base = self.base(who);
        let mut funds = account.balance;
        let mut executable: Vec<Transaction> = vec![];
        for item in self.own(who).iter().filter(|item| item.tx.nonce() >= account.nonce) {
            if item.tx.nonce() < base {
                funds = funds.saturating_sub(cost(&item.tx));
                continue;
            }
            let pays = item.tx.max_fee_per_gas() >= self.head.base_fee_wei.into() && cost(&item.tx) <= funds;
            if item.tx.nonce() != base + executable.len() as u64 || !pays {
                break;
            }
            funds -= cost(&item.tx);
            executable.push(item.tx.clone());
        }
        executable
    }

    fn base(&self, who: Address) -> u64 {
        let bundled = self.own(who).into_iter().filter(|item| !item.pooled()).map(|item| item.tx.nonce() + 1);
        bundled.max().unwrap_or_default().max(self.accounts[&who].nonce)
    }

    fn next_nonce(&self, who: Address) -> u64 {
        let mut next = self.base(who);
        while self.items.iter().any(|item| item.is(who, next)) {
            next += 1;
        }
        next
    }

    fn spent(&self, who: Address) -> U256 {
        let unseen = |item: &&&Item| item.tx.nonce() >= self.accounts[&who].nonce;
        self.own(who).iter().filter(unseen).map(|item| cost(&item.tx)).sum()
    }

    fn worth(&self, who: Address, status: Status, gone: &[B256]) -> u128 {
        let own = self.own(who);
        let all = own.iter().filter(|item| item.status == status && !gone.contains(&item.tx.hash()));
        all.map(|item| item.tip(self.head)).min().unwrap_or(u128::MAX)
    }

    fn own(&self, who: Address) -> Vec<&Item> {
        let mut own = self.items.iter().filter(|item| item.tx.sender() == who).collect::<Vec<_>>();
        own.sort_by_key(|item| item.tx.nonce());
        own
    }

    fn pooled(&self, who: Address) -> usize {
        self.own(who).iter().filter(|item| item.pooled()).count()
    }

    /// How many a sender has once those of a kind have gone.
    fn left(&self, who: Address, kind: Status, gone: &[B256]) -> usize {
        let gone = gone.iter().map(|hash| self.item(hash));
        self.pooled(who) - gone.filter(|item| item.tx.sender() == who && item.status == kind).count()
    }

    fn counted(&self, status: Status) -> usize {
        self.items.iter().filter(|item| item.status == status && !item.returned).count()
    }

    fn max(&self, status: Status) -> usize {
        if status == Status::Pending { self.config.pending_max } else { self.config.queued_max }
    }

    fn bytes(&self) -> usize {
        let counted = self.items.iter().filter(|item| item.pooled() && !item.returned);
        counted.map(|item| item.tx.encoded().len()).sum()
    }

    fn pooled_hashes(&self, status: Status) -> Vec<B256> {
        self.items.iter().filter(|item| item.status == status).map(|item| item.tx.hash()).collect()
    }

    fn item(&self, hash: &B256) -> &Item {
        self.items.iter().find(|item| item.tx.hash() == *hash).expect("it is here")
    }

    fn item_mut(&mut self, hash: &B256) -> &mut Item {
        self.items.iter_mut().find(|item| item.tx.hash() == *hash).expect("it is here")
    }

    fn end(&mut self, hash: &B256, reason: Reason) -> Item {
        let index = self.items.iter().position(|item| item.tx.hash() == *hash).expect("it is here");
        self.ended.insert(*hash, reason);
        self.items.remove(index)
    }

    fn blank(&self) -> Item {
        Item {
            tx: super::world::tx(0, 0, 0),
            status: Status::Queued,
            arrival: 0,
            added_at: self.now,
            attempts: 0,
            lone_failures: 0,
            returned: false,
        }
    }

    /// A copy without the pool, for looking into the future.
    fn shallow(&self) -> Self {
        let mut copy = Self::new(self.config.clone());
        (copy.items, copy.accounts, copy.head) = (self.items.clone(), self.accounts.clone(), self.head);
        copy
    }
}

/// What must become of an accepted transaction.
#[derive(Debug)]
struct Expected {
    replaced: Option<B256>,
    evicted: Vec<B256>,
    pending: bool,
}

/// So many thousandths of an ether.
fn ether(thousandths: u64) -> U256 {
    U256::from(thousandths) * U256::from(1_000_000 * GWEI)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn the_pool_does_what_the_plain_list_says(config in configs(), ops in ops()) {
        let mut model = Model::new(config);
        for op in ops {
            model.apply(op);
        }
    }
}
