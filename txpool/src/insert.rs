//! Accepting a transaction.

use crate::{
    Account, Code, Error, Pool, Status,
    entry::{Entry, State},
    validate::{check_account, check_alone, check_replacement},
};
use alloy_primitives::B256;
use types::{Event, Reason, Time, Transaction};

/// What became of an accepted transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inserted {
    /// Pending, below the base fee, or queued.
    pub status: Status,
    /// The transaction in whose place it came.
    pub replaced: Option<B256>,
}

impl Pool {
    /// Accepts a transaction, or says why not.
    ///
    /// `account` is its sender's as of the newest block that [`update`](Self::update) told about.
    pub fn insert(&mut self, tx: Transaction, account: Account, now: Time) -> Result<Inserted, Error> {
        let outcome = self.admit(tx, account, now);
        if outcome.is_err() {
            self.log.count_rejected();
        }
        outcome
    }

    fn admit(&mut self, tx: Transaction, account: Account, now: Time) -> Result<Inserted, Error> {
        if self.senders.contains(&tx.hash()) {
            return Err(Error::AlreadyKnown);
        }
        check_alone(&tx, &self.config, &self.head)?;
        let s = self.sender_as_of(&tx, account);
        let sender = s.map(|s| &self.senders[s]);
        let entry = Entry::new(tx, self.arrivals + 1, now);
        let position = sender.map_or(Err(0), |sender| sender.position(entry.nonce));
        let old = position.ok().and_then(|i| sender.map(|sender| &sender.txs[i]));
        let base = self.base(s, &entry.tx.sender(), &account);
        check_account(&entry.tx, (&account, base), sender, old, &self.config)?;
        match (s, position) {
            (Some(s), Ok(i)) => self.replace(s, i, entry),
            (s, _) => self.add(s, account, entry),
        }
    }

    /// The key of the sender, if it is known and still is once its account is the given one.
    fn sender_as_of(&mut self, tx: &Transaction, account: Account) -> Option<usize> {
        let s = self.senders.key_of(&tx.sender())?;
        if self.senders[s].account == account {
            return Some(s);
        }
        self.senders[s].set_account(account);
        self.settle(s);
        self.after_change();
        self.senders.key_of(&tx.sender())
    }

    /// Takes a transaction with a nonce of its own.
    fn add(&mut self, s: Option<usize>, account: Account, mut entry: Entry) -> Result<Inserted, Error> {
        let own_victim = self.check_sender_limit(s, &entry)?;
        self.check_delegation(s, &account, &entry, false)?;
        if self.is_executable(s, &account, &entry) {
            entry.state = State::Pending;
        }
        let makes_place = own_victim.filter(|_| entry.state == State::Queued);
        self.make_room(s, &entry, makes_place)?;
        if let (Some(s), Some(_)) = (s, own_victim) {
            self.drop_at(s, self.senders[s].txs.len() - 1, Reason::Evicted);
        }
        let s = self.sender_key(entry.tx.sender(), account);
        Ok(Inserted { status: self.commit(s, entry), replaced: None })
    }

    /// Puts the transaction where it belongs.
    fn commit(&mut self, s: usize, entry: Entry) -> Status {
        let pending = entry.state == State::Pending;
        let i = self.senders[s].position(entry.nonce).unwrap_or_else(|position| position);
        self.arrivals = entry.arrival;
        let (hash, sender) = (entry.tx.hash(), entry.tx.sender());
        self.log.push(Event::Added { hash, sender, pending });
        self.put(s, i, entry);
        let sender = &mut self.senders[s];
        if pending {
            (sender.first, sender.run) = (i - sender.run, sender.run + 1);
            // It may have filled a gap; otherwise nothing else of this sender changes.
            if i + 1 < sender.txs.len() {
                self.extend(s);
                return Status::Pending;
            }
            self.offer(s);
        }
        self.touch(s);
        self.status(s, i)
    }

    /// Takes a transaction in the place of another one of the same nonce.
    fn replace(&mut self, s: usize, i: usize, mut entry: Entry) -> Result<Inserted, Error> {
        let old = &self.senders[s].txs[i];
        check_replacement(&entry, old, self.config.price_bump_percent)?;
        let account = self.senders[s].account;
        self.check_delegation(Some(s), &account, &entry, true)?;
        let old = &self.senders[s].txs[i];
        (entry.state, entry.returned) = (old.state, old.returned);
        if !entry.returned {
            let bytes = old.bytes();
            self.make_room(Some(s), &entry, Some(bytes))?;
        }
        let (first, run) = (self.senders[s].first, self.senders[s].run);
        let old = self.take(s, i);
        (self.senders[s].first, self.senders[s].run) = (first, run);
        let (hash, by, sender) = (old.tx.hash(), entry.tx.hash(), entry.tx.sender());
        self.log.push(Event::Replaced { hash, sender, by });
        self.log.push(Event::Added { hash: by, sender, pending: entry.state == State::Pending });
        self.arrivals = entry.arrival;
        self.put(s, i, entry);
        self.settle(s);
        self.after_change();
        let status = self.find(&by).map_or(Status::Queued, |(s, i)| self.status(s, i));
        Ok(Inserted { status, replaced: Some(hash) })
    }

    /// Whether the sender may have one more. It may have it in the place of its own last one, if that cannot be
    /// executed and is further off; then the answer is that one's length.
    fn check_sender_limit(&self, s: Option<usize>, entry: &Entry) -> Result<Option<usize>, Error> {
        let limit = self.limits.of(&entry.tx.sender());
        let pooled = s.map_or(0, |s| self.senders[s].pooled);
        if pooled < limit {
            return Ok(None);
        }
        let last = s.and_then(|s| self.senders[s].txs.back());
        last.filter(|last| last.state == State::Queued && !last.returned && entry.nonce < last.nonce)
            .map(|last| Some(last.bytes()))
            .ok_or(Error::AccountLimit { pooled })
    }

    /// Delegated accounts, and those who are about to be, have few transactions here: others can move their balance
    /// and thereby make all of them invalid at once.
    fn check_delegation(
        &self,
        s: Option<usize>,
        account: &Account,
        entry: &Entry,
        replaces: bool,
    ) -> Result<(), Error> {
        let pooled = s.map_or(0, |s| self.senders[s].pooled);
        let about_to_be = || {
            let who = entry.tx.sender();
            self.authorities.contains(&who) || self.consumed.next(&who).is_some()
        };
        if !replaces && (account.code == Code::Delegated || about_to_be()) {
            if pooled >= self.config.delegated_txs_max {
                return Err(Error::DelegatedLimit);
            }
            let base = self.base(s, &entry.tx.sender(), account);
            if entry.nonce != s.map_or(base, |s| self.senders[s].gap()) {
                return Err(Error::DelegatedGap);
            }
        }
        let crowded = |authority| self.senders.key_of(authority).is_some_and(|s| self.senders[s].pooled > 1);
        if entry.tx.authorities().iter().any(crowded) { Err(Error::AuthorityReserved) } else { Ok(()) }
    }

    /// Whether it could be executed after those that are pending.
    fn is_executable(&self, s: Option<usize>, account: &Account, entry: &Entry) -> bool {
        let run = s.map_or(0, |s| self.senders[s].run as u64);
        let next = self.base(s, &entry.tx.sender(), account) + run;
        entry.nonce == next && entry.pays_base_fee(&self.head)
    }
}
