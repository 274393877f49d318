//! What can happen to a pool, done to both.

use super::*;
use crate::{Returned, StateChange, Verdict};

impl Model {
    pub(super) fn insert(&mut self, tx: &Transaction) {
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
        assert_eq!(self.shown(item), outcome.expect("both are fine").status);
        if expected.replaced.is_none() {
            assert_eq!(item.status == Status::Pending, expected.pending);
            if item.status == Status::Queued {
                let gone = |hash: &B256| !self.pool.senders.contains(hash);
                assert!(!before.iter().any(gone), "a gapped one displaced an executable one");
            }
        }
    }

    pub(super) fn pull(&mut self, then: Then) {
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
                self.consume(&tx);
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

    /// Authorizations in the open block take nonces of those who signed them.
    fn consume(&mut self, tx: &Transaction) {
        for who in tx.authorities() {
            let next = self.base(*who) + 1;
            self.consumed.insert(*who, next);
            self.pool.mark_consumed([(*who, next)]);
        }
    }

    pub(super) fn seal(&mut self) {
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
        for (who, next) in &self.consumed {
            let account = self.accounts.get_mut(who).expect("all are known");
            account.nonce = account.nonce.max(*next);
        }
        let changed = txs.iter().map(Transaction::sender).chain(self.consumed.keys().copied());
        let changed = changed.collect::<BTreeSet<_>>();
        self.blocks.push((block, txs, before));
        self.update(&changed.into_iter().collect::<Vec<_>>());
    }

    pub(super) fn finalize(&mut self) {
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
    pub(super) fn release(&mut self, blocks: usize, accuse: bool) {
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
        self.consumed.clear();
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

    pub(super) fn change(&mut self, who: Address, how: impl FnOnce(&mut Account)) {
        how(self.accounts.get_mut(&who).expect("all are known"));
        self.update(&[who]);
    }

    pub(super) fn update(&mut self, changed: &[Address]) {
        let accounts = changed.iter().map(|who| (*who, self.accounts[who])).collect::<Vec<_>>();
        self.pool.update(&StateChange { head: self.head, accounts: &accounts });
        self.handed.clear();
        self.consumed.clear();
        self.drop_stale();
        self.follow_events();
    }

    pub(super) fn drop_stale(&mut self) {
        let stale = |item: &&Item| item.pooled() && item.tx.nonce() < self.accounts[&item.tx.sender()].nonce;
        let stale = self.items.iter().filter(stale).map(|item| item.tx.hash()).collect::<Vec<_>>();
        stale.iter().for_each(|hash| drop(self.end(hash, Reason::NonceTooLow)));
    }

    pub(super) fn cleanup(&mut self) {
        let late = |item: &&Item| item.pooled() && self.now.since(item.added_at).as_millis() as u64 > TTL_MS;
        let late = self.items.iter().filter(late).map(|item| item.tx.hash()).collect::<Vec<_>>();
        assert_eq!(self.pool.poll_timeout().is_some_and(|at| at <= self.now), !late.is_empty());
        assert_eq!(self.pool.cleanup(self.now), late.len());
        late.iter().for_each(|hash| drop(self.end(hash, Reason::Expired)));
        self.follow_events();
    }

    pub(super) fn remove(&mut self, n: usize) {
        let pooled = self.items.iter().filter(|item| item.pooled()).collect::<Vec<_>>();
        let Some(item) = pooled.get(n % pooled.len().max(1)) else { return };
        let hash = item.tx.hash();
        assert!(self.pool.remove(&hash, Reason::Flushed).is_some());
        self.end(&hash, Reason::Flushed);
        self.follow_events();
    }

    /// A new pool takes over all that the old one knew; what was open waits again.
    pub(super) fn restart(&mut self) {
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
        self.consumed.clear();
        self.update(&[]);
    }
}
