//! One sender: its account, and its transactions in the order of their nonces.
//!
//! ```text
//!   txs:  [ bundled | bundled | open | pending | pending | below | queued |   | queued ]
//!                                      ^ first   (run = 2)         ^ funds ^ gap
//!                                      |<----- ready = 3 ------>|    lack
//! ```

use crate::{
    Account, Code, Head,
    entry::{Entry, State},
};
use alloy_primitives::{Address, U256, map::AddressMap};
use std::collections::VecDeque;

/// A sender that has at least one transaction here.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) address: Address,
    pub(crate) account: Account,
    /// By ascending nonce.
    pub(crate) txs: VecDeque<Entry>,
    /// The index of the first pending one; where it would stand if there is none.
    pub(crate) first: usize,
    /// How many are pending, one after the other.
    pub(crate) run: usize,
    /// How many, from `first` on, only a full pool or the base fee keeps from being executed: their nonces follow each
    /// other, the next block has room for each, and the account can pay for all of them. At least `run`.
    pub(crate) ready: usize,
    /// How many of them, behind those that are pending, wait for the base fee to fall.
    pub(crate) below: usize,
    /// The fee cap of the first of those: what the base fee must fall to.
    pub(crate) wanted: Option<u128>,
    /// How many are pending or queued.
    pub(crate) pooled: usize,
    /// The nonce behind the highest one that is in a block; zero if none is.
    pub(crate) bundled_end: u64,
    /// The nonce behind those that the open block took without a transaction of this sender; zero if it took none.
    pub(crate) consumed: u64,
    /// What those may cost at most that the account's balance does not show yet.
    pub(crate) spent: U256,
    /// Changes with every change of the above: tells stale candidates for eviction.
    pub(crate) version: u64,
    /// What the builder has seen of it in this round.
    pub(crate) selection: Selection,
    /// Whether it waits for room in pending.
    pub(crate) parked: bool,
}

/// What the builder has seen of a sender since it last started from the beginning.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Selection {
    /// Nonces below were handed out.
    pub(crate) from: u64,
    /// One of them turned out invalid: nothing more of this sender.
    pub(crate) skipped: bool,
    /// Whether the sender is among those to start over with.
    pub(crate) seen: bool,
    /// The arrival of the transaction that stands in the order for it; zero if none does.
    pub(crate) offered: u64,
}

impl Selection {
    /// A new transaction where others were handed out before: it, and what follows it, can be handed out again.
    pub(crate) const fn start_over_at(&mut self, nonce: u64) {
        if self.from > nonce {
            (self.from, self.skipped) = (nonce, false);
        }
    }
}

impl Sender {
    pub(crate) fn new(address: Address, account: Account) -> Self {
        Self {
            address,
            account,
            // Most senders have one transaction; the second one makes room for four.
            txs: VecDeque::with_capacity(1),
            first: 0,
            run: 0,
            ready: 0,
            below: 0,
            wanted: None,
            pooled: 0,
            bundled_end: 0,
            consumed: 0,
            spent: U256::ZERO,
            version: 0,
            selection: Selection::default(),
            parked: false,
        }
    }

    /// The nonce that the first one outside every block must have.
    pub(crate) fn base(&self) -> u64 {
        self.account.nonce.max(self.bundled_end).max(self.consumed)
    }

    /// The nonce behind all that are [ready](Self::ready).
    pub(crate) fn next_nonce(&self) -> u64 {
        self.base() + self.ready as u64
    }

    /// The nonce behind all that follow each other from [`base`](Self::base) on, whether they can be paid for or not.
    pub(crate) fn gap(&self) -> u64 {
        let mut next = self.base() + self.run as u64;
        for entry in self.txs.range((self.first + self.run).min(self.txs.len())..) {
            if entry.nonce != next {
                break;
            }
            next += 1;
        }
        next
    }

    /// Where the transaction with this nonce stands, or where it would.
    pub(crate) fn position(&self, nonce: u64) -> Result<usize, usize> {
        // Nonces mostly follow each other, so the place is known without searching.
        let Some(front) = self.txs.front() else { return Err(0) };
        let guess = usize::try_from(nonce.wrapping_sub(front.nonce)).unwrap_or(usize::MAX);
        match self.txs.get(guess) {
            Some(entry) if entry.nonce == nonce => Ok(guess),
            None if self.txs.back().is_some_and(|last| last.nonce < nonce) => Err(self.txs.len()),
            _ => self.txs.binary_search_by_key(&nonce, |entry| entry.nonce),
        }
    }

    /// The index of the first one that the account does not show yet. What stands before is in blocks, and may be much.
    pub(crate) fn unseen(&self) -> usize {
        self.first_from(self.account.nonce)
    }

    /// The index of the first one with this nonce or a higher one.
    pub(crate) fn first_from(&self, nonce: u64) -> usize {
        self.position(nonce).unwrap_or_else(|place| place)
    }

    /// Whether one waits although its nonce is behind the one that the first outside every block must have.
    pub(crate) fn has_late(&self, first: usize) -> bool {
        // From `first` on all wait. Nearly always nothing else does: what stands before is in blocks.
        self.pooled > self.txs.len() - first
    }

    /// How many to look at for those that wait although their nonce is behind that of the one at `first`.
    fn late(&self, first: usize) -> usize {
        if self.has_late(first) { first } else { 0 }
    }

    /// What the account has left once all is paid for that blocks before the index `first` hold and its balance does not
    /// show.
    fn funds(&self, first: usize) -> U256 {
        let bundled = self.txs.range(self.unseen().min(first)..first);
        let bundled = bundled.filter(|entry| !entry.state.is_pooled());
        bundled.fold(self.account.balance, |funds, entry| funds.saturating_sub(entry.cost))
    }

    /// The index of the pending one that the builder gets next.
    pub(crate) fn cursor(&self) -> Option<usize> {
        if self.selection.skipped || self.run == 0 {
            return None;
        }
        let seen = self.selection.from.saturating_sub(self.txs[self.first].nonce);
        let seen = usize::try_from(seen).ok()?;
        (seen < self.run).then_some(self.first + seen)
    }

    /// The index of the one in `state` that would be evicted after `depth` others were: the last, so that no gap is torn.
    /// Of queued ones, which may have gaps, it is the last that did not come back from a block: those stay, and must not
    /// shield others from the limit.
    pub(crate) fn evictable(&self, state: State, depth: usize) -> Option<usize> {
        match state {
            State::Pending => {
                let last =
                    (self.first + self.run).checked_sub(1 + depth).filter(|last| *last >= self.first)?;
                (!self.txs[last].returned).then_some(last)
            }
            _ => {
                let counts = |i: &usize| self.txs[*i].state == state && !self.txs[*i].returned;
                (0..self.txs.len()).rev().filter(counts).nth(depth)
            }
        }
    }

    /// What the sender's transactions in `state` are worth to a builder, who cannot have a later one without the
    /// earlier ones: as much as the least of them pays.
    pub(crate) fn worth(&self, state: State, base_fee: u64) -> u128 {
        let (late, range) = match state {
            State::Pending => (0, self.first..self.first + self.run),
            _ => (self.late(self.first), self.first + self.run..self.txs.len()),
        };
        let late = self.txs.range(..late).filter(|entry| entry.state.is_pooled());
        let all = late.chain(self.txs.range(range));
        all.map(|entry| entry.price(base_fee)).min().unwrap_or(u128::MAX)
    }

    /// Whether the one behind those that are pending could be executed after them, if its sender can pay for it.
    pub(crate) fn next_fits(&self, head: &Head) -> bool {
        let nonce = self.base() + self.run as u64;
        let next = self.txs.get(self.first + self.run);
        next.is_some_and(|entry| entry.nonce == nonce && entry.fits(head) && entry.pays_base_fee(head))
    }

    /// Whether the one at index `i` waits for the base fee to fall.
    pub(crate) fn is_below(&self, i: usize) -> bool {
        let first = self.first + self.run;
        (first..first + self.below).contains(&i)
    }

    /// How many are pending, or would be at a lower base fee and with more room.
    pub(crate) fn count_ready(&self, head: &Head) -> usize {
        let behind = self.first + self.run;
        if behind >= self.txs.len() || self.account.code == Code::Contract {
            return self.run;
        }
        let mut funds = self.account.balance;
        if !self.can_pay_all() {
            let pending = self.txs.range(self.first..behind);
            funds = pending.fold(self.funds(self.first), |funds, entry| funds.saturating_sub(entry.cost));
        }
        let mut ready = self.run;
        for (entry, nonce) in self.txs.range(behind..).zip(self.base() + self.run as u64..) {
            if entry.nonce != nonce || !entry.fits(head) || entry.cost > funds {
                break;
            }
            funds -= entry.cost;
            ready += 1;
        }
        ready
    }

    /// Whether the account can pay for all of its transactions here, and so for each.
    pub(crate) fn can_pay_all(&self) -> bool {
        self.account.code != Code::Contract && self.spent <= self.account.balance
    }

    /// How many could be executed one after the other, and the index of the first of them.
    pub(crate) fn executable(&self, head: &Head) -> (usize, usize) {
        let base = self.base();
        let first = self.first_from(base);
        if self.account.code == Code::Contract {
            return (first, 0);
        }
        let mut funds = self.funds(first);
        let mut count = 0;
        for (entry, nonce) in self.txs.range(first..).zip(base..) {
            let fits = entry.fits(head) && entry.pays_base_fee(head);
            if entry.nonce != nonce || !fits || entry.cost > funds {
                break;
            }
            funds -= entry.cost;
            count += 1;
        }
        (first, count)
    }

    /// Takes what the account is now, and counts anew what its balance does not show yet.
    pub(crate) fn set_account(&mut self, account: Account) {
        self.account = account;
        self.count_spent();
    }

    /// Counts anew what the balance does not show yet, and where the blocks end.
    pub(crate) fn count_spent(&mut self) {
        let unseen = self.txs.range(self.unseen()..);
        self.spent = unseen.fold(U256::ZERO, |sum, entry| sum.saturating_add(entry.cost));
        let bundled = self.txs.iter().rev().find(|entry| !entry.state.is_pooled());
        self.bundled_end = bundled.map_or(0, |entry| entry.nonce + 1);
    }

    /// Takes the cost of one that left out of the sum.
    pub(crate) fn unspend(&mut self, nonce: u64, cost: U256) {
        if nonce < self.account.nonce {
            return;
        }
        if self.spent == U256::MAX {
            self.count_spent();
        } else {
            self.spent -= cost;
        }
    }
}

/// How many pending and queued transactions each sender may have.
#[derive(Debug)]
pub(crate) struct SenderLimits {
    default: usize,
    exceptions: AddressMap<usize>,
}

impl SenderLimits {
    pub(crate) fn new(default: usize) -> Self {
        Self { default, exceptions: AddressMap::default() }
    }

    pub(crate) fn set(&mut self, sender: Address, limit: usize) {
        self.exceptions.insert(sender, limit);
    }

    pub(crate) fn of(&self, sender: &Address) -> usize {
        // Nearly always there are none, and nothing is hashed then.
        let exception = if self.exceptions.is_empty() { None } else { self.exceptions.get(sender) };
        exception.copied().unwrap_or(self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::draft::{GWEI, sender, tx};
    use types::Time;

    const HEAD: Head = Head { base_fee_wei: GWEI as u64, gas_limit: 120_000_000 };

    /// A rich sender with these nonces, all queued.
    fn with(nonces: &[u64]) -> Sender {
        let account = Account { balance: U256::from(GWEI * GWEI * 1_000), ..Account::default() };
        let mut who = Sender::new(sender(0), account);
        for nonce in nonces {
            who.txs.push_back(Entry::new(tx(0, *nonce, 1), nonce + 1, Time::ZERO));
        }
        who.pooled = nonces.len();
        who.count_spent();
        who
    }

    #[test]
    fn a_nonce_stands_where_it_would_be_searched() {
        let who = with(&[3, 4, 7]);
        let found = [2, 3, 4, 5, 7, 8, u64::MAX].map(|nonce| who.position(nonce));
        assert_eq!(found, [Err(0), Ok(0), Ok(1), Err(2), Ok(2), Err(3), Err(3)]);
        assert_eq!((who.first_from(5), with(&[]).position(0)), (2, Err(0)));
    }

    #[test]
    fn only_what_follows_and_can_be_paid_for_is_executable() {
        let mut who = with(&[0, 1, 3]);
        assert_eq!((who.executable(&HEAD), who.gap()), ((0, 2), 2));
        who.set_account(Account { balance: who.txs[0].cost, ..who.account });
        assert_eq!((who.executable(&HEAD), who.can_pay_all()), ((0, 1), false));
        who.set_account(Account { code: Code::Contract, ..with(&[]).account });
        assert_eq!(who.executable(&HEAD), (0, 0), "a contract cannot send");
        let mut later = with(&[0, 1, 3]);
        later.txs[0].state = State::Open;
        (later.pooled, later.consumed) = (2, 0);
        later.count_spent();
        assert_eq!((later.base(), later.executable(&HEAD)), (1, (1, 1)));
        later.consumed = 3;
        assert_eq!((later.base(), later.executable(&HEAD), later.has_late(2)), (3, (2, 1), true));
    }

    #[test]
    fn the_last_one_is_evicted_and_never_one_that_came_back() {
        let mut who = with(&[0, 1, 2]);
        assert_eq!(
            [0, 1, 2, 3].map(|depth| who.evictable(State::Queued, depth)),
            [Some(2), Some(1), Some(0), None]
        );
        who.txs[2].returned = true;
        assert_eq!(who.evictable(State::Queued, 0), Some(1));
        who.txs.iter_mut().for_each(|entry| entry.state = State::Pending);
        (who.first, who.run) = (0, 3);
        assert_eq!(who.evictable(State::Pending, 0), None, "no gap is torn before it");
    }

    #[test]
    fn a_limit_is_the_default_or_an_exception() {
        let mut limits = SenderLimits::new(16);
        assert_eq!(limits.of(&sender(0)), 16);
        limits.set(sender(0), 2);
        assert_eq!([0, 1].map(|who| limits.of(&sender(who))), [2, 16]);
    }
}
