//! Transactions in blocks: into the open one, into a sealed one, back from a released one, final.

use crate::{
    Account, Lookup, Pool, StateChange, Status,
    entry::{Entry, State},
    expiry::Deadline,
    senders::TxKey,
};
use alloy_primitives::B256;
use types::{BlockId, Event, Reason, Time, Transaction};

/// A transaction that comes back from a block which will never be applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Returned {
    /// The transaction.
    pub tx: Transaction,
    /// What its block's end says about it.
    pub verdict: Verdict,
}

/// What the end of a block says about a transaction in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing: the block only stood on one that was abandoned, or was never sealed.
    Innocent,
    /// The block was abandoned, and this is one of those that may be why.
    Suspect,
    /// The block was abandoned while younger ones passed, and held nothing else.
    Alone,
}

impl Pool {
    /// Says that a transaction was executed into the block that is being built. From now on it counts as bundled: it
    /// cannot be replaced, evicted, or expire. `false` if it is neither pending nor queued.
    pub fn mark_open(&mut self, hash: &B256) -> bool {
        let Some((s, i)) = self.find(hash) else { return false };
        if !self.senders[s].txs[i].state.is_pooled() {
            return false;
        }
        self.enter_block(s, i, State::Open);
        self.after_change();
        true
    }

    /// Says that transactions, open or still waiting, are part of a sealed block. Those that the pool does not know are
    /// left out; says how many it knew.
    pub fn mark_bundled<'a>(
        &mut self,
        block: BlockId,
        txs: impl IntoIterator<Item = &'a Transaction>,
    ) -> usize {
        let key = self.blocks.key_or_insert(block);
        let mut known = 0;
        for tx in txs {
            let Some((s, i)) = self.find(&tx.hash()) else { continue };
            if matches!(self.senders[s].txs[i].state, State::Bundled(_)) {
                continue;
            }
            self.enter_block(s, i, State::Bundled(key));
            self.blocks.push(key, tx.hash());
            self.log.push(Event::Bundled { hash: tx.hash(), block });
            known += 1;
        }
        self.after_change();
        known
    }

    /// Says that a block is final: its transactions leave the pool. Says how many.
    pub fn mark_final(&mut self, block: BlockId) -> usize {
        let Some(txs) = self.blocks.remove(&block) else { return 0 };
        let mut senders = Vec::with_capacity(txs.len());
        for hash in &txs {
            let (s, i) = self.find(hash).expect("a bundled transaction is known");
            let nonce = self.take(s, i).nonce;
            let account = &mut self.senders[s].account;
            account.nonce = account.nonce.max(nonce + 1);
            senders.push(s as u32);
            self.log.push(Event::Final { hash: *hash, block });
        }
        self.recount(senders);
        self.after_change();
        txs.len()
    }

    /// Puts transactions back, in the order of their blocks, because those blocks will never be applied; and takes the
    /// state that holds without them.
    ///
    /// Nothing is lost: the limits on the whole pool do not count them, none drops them, their time to live starts anew,
    /// and they keep their place among those with the same tip. Only their sender's limit counts them, for its next ones.
    /// Suspects go behind all others, the more often suspected the later. One that failed alone too often is dropped as
    /// poisonous; what follows it waits for another of its nonce.
    pub fn reinsert(
        &mut self,
        returned: impl IntoIterator<Item = Returned>,
        change: &StateChange<'_>,
        now: Time,
    ) {
        let mut senders = self.forget_consumed();
        let mut blocks = Vec::new();
        for Returned { tx, verdict } in returned {
            let s = match self.find(&tx.hash()) {
                Some((s, i)) => {
                    blocks.extend(self.leave_block(s, i, now));
                    s
                }
                None => self.adopt(tx.clone(), now, change),
            };
            self.judge(s, &tx, verdict);
            senders.push(s as u32);
        }
        blocks.sort_unstable();
        blocks.dedup();
        blocks.into_iter().for_each(|key| self.forget_returned(key));
        self.set_accounts(change);
        self.recount(senders);
        self.update(change);
    }

    /// Takes in a transaction as a pool held it before a restart, without any check.
    ///
    /// A bundled one goes into its block. What was open has come back: its block was never sealed. Restore in the order in
    /// which they were accepted, then [`update`](Self::update).
    pub fn restore(&mut self, was: Lookup, account: Account) {
        if self.senders.contains(&was.tx.hash()) {
            return;
        }
        let arrival = self.arrive();
        let mut entry = Entry::new(was.tx, arrival, was.added_at);
        (entry.attempts, entry.lone_failures) = (was.attempts, was.lone_failures);
        entry.returned = was.returned || was.status == Status::Open;
        let block = match was.status {
            Status::Bundled(block) => Some(self.blocks.key_or_insert(block)),
            _ => None,
        };
        entry.state = block.map_or(State::Queued, State::Bundled);
        let hash = entry.tx.hash();
        let s = self.sender_key(entry.tx.sender(), account);
        if self.put_in_place(s, entry)
            && let Some(key) = block
        {
            self.blocks.push(key, hash);
        }
        self.recount(vec![s as u32]);
    }

    /// Moves an entry into a block.
    fn enter_block(&mut self, s: usize, i: usize, state: State) {
        let was = self.senders[s].txs[i].state;
        self.shift(s, i, state);
        let sender = &mut self.senders[s];
        sender.bundled_end = sender.bundled_end.max(sender.txs[i].nonce + 1);
        match was {
            State::Pending if i == sender.first => {
                sender.first += 1;
                sender.run -= 1;
                self.touch(s);
                self.offer(s);
            }
            State::Pending | State::Queued => self.settle(s),
            State::Open | State::Bundled(_) => {}
        }
    }

    /// Moves an entry out of its block, whose key is given back if it has one.
    fn leave_block(&mut self, s: usize, i: usize, now: Time) -> Option<u32> {
        let entry = &mut self.senders[s].txs[i];
        let was = entry.state;
        if was.is_pooled() {
            return None;
        }
        (entry.returned, entry.added_at) = (true, now);
        let key = TxKey { sender: s as u32, nonce: entry.nonce };
        let (nonce, arrival) = (entry.nonce, entry.arrival);
        // What comes back was not applied, so the account still has to send it.
        self.shift(s, i, State::Queued);
        self.expect_end(Deadline { added_at: now, arrival, key });
        let sender = &mut self.senders[s];
        sender.account.nonce = sender.account.nonce.min(nonce);
        self.log.count_returned();
        match was {
            State::Bundled(key) => Some(key),
            _ => None,
        }
    }

    /// Takes in a returned transaction that the pool does not know.
    fn adopt(&mut self, tx: Transaction, now: Time, change: &StateChange<'_>) -> usize {
        let account = change.accounts.iter().find(|(address, _)| *address == tx.sender());
        let account = account.map_or_else(Account::default, |(_, account)| *account);
        let s = self.sender_key(tx.sender(), account);
        let mut entry = Entry::new(tx, self.arrive(), now);
        entry.returned = true;
        self.log.count_returned();
        self.put_in_place(s, entry);
        s
    }

    /// Puts an entry into its sender's list, in the place of whatever waits with its nonce. If that is in a block, the
    /// nonce is taken, and the entry is dropped instead: then `false`.
    fn put_in_place(&mut self, s: usize, entry: Entry) -> bool {
        let (hash, sender) = (entry.tx.hash(), entry.tx.sender());
        let i = match self.senders[s].position(entry.nonce) {
            Ok(i) if self.senders[s].txs[i].state.is_pooled() => {
                self.drop_at(s, i, Reason::Replaced { by: hash });
                i
            }
            Ok(_) => {
                self.log.push(Event::Dropped { hash, sender, reason: Reason::NonceTooLow });
                return false;
            }
            Err(i) => i,
        };
        self.put(s, i, entry);
        true
    }

    /// Makes senders right whose transactions came, went or moved.
    fn recount(&mut self, mut senders: Vec<u32>) {
        senders.sort_unstable();
        senders.dedup();
        for s in senders {
            self.senders[s as usize].count_spent();
            self.settle(s as usize);
        }
    }

    /// Writes down what the end of its block says about a transaction.
    fn judge(&mut self, s: usize, tx: &Transaction, verdict: Verdict) {
        let Some((_, i)) = self.find(&tx.hash()) else { return };
        let sender = &mut self.senders[s];
        // Its place in the order is another one now.
        sender.selection.offered = 0;
        let entry = &mut sender.txs[i];
        entry.attempts += u32::from(verdict != Verdict::Innocent);
        entry.lone_failures += u32::from(verdict == Verdict::Alone);
        let (attempts, poisonous) = (entry.attempts, entry.lone_failures >= self.config.lone_failures_max);
        self.log.push(Event::Returned { hash: tx.hash(), sender: tx.sender(), attempts });
        if poisonous && verdict == Verdict::Alone {
            self.drop_at(s, i, Reason::Poisonous { attempts });
        }
    }

    /// Forgets those transactions of a block that came back, and the block with its last one.
    fn forget_returned(&mut self, key: u32) {
        let is_in_it = |(s, i): (usize, usize)| self.senders[s].txs[i].state == State::Bundled(key);
        self.blocks.retain(key, |hash| self.senders.find(hash).is_some_and(is_in_it));
    }
}
