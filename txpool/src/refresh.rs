//! Keeping one sender right after something changed: who is pending, who is queued, who is stale.

use crate::{Pool, entry::State};
use types::{Event, Reason};

impl Pool {
    /// Makes a sender right after entries came, went or changed; forgets a sender without any.
    pub(crate) fn settle(&mut self, s: usize) {
        self.drop_stale(s);
        if self.senders[s].txs.is_empty() {
            self.forget_sender(s);
        } else {
            self.sort_out(s);
            self.touch(s);
            self.offer(s);
        }
    }

    /// Lets those follow the pending ones that waited for a gap to be filled. What is pending is not looked at again: a
    /// sender may have many, and gaps are filled all the time when several connections overtake each other.
    pub(crate) fn extend(&mut self, s: usize) {
        if !self.senders[s].can_pay_all() {
            self.settle(s);
            return;
        }
        while self.senders[s].next_fits(&self.head) {
            let next = self.senders[s].first + self.senders[s].run;
            if !self.promote(s, next) {
                self.park(s);
                break;
            }
            self.senders[s].run += 1;
        }
        self.touch(s);
        self.offer(s);
    }

    /// Drops what waits with a nonce that the account has left behind.
    fn drop_stale(&mut self, s: usize) {
        let sender = &self.senders[s];
        if !sender.has_late(sender.first_from(sender.base())) {
            return;
        }
        let mut i = 0;
        while let Some(entry) = self.senders[s].txs.get(i)
            && entry.nonce < self.senders[s].account.nonce
        {
            if entry.state.is_pooled() {
                self.drop_at(s, i, Reason::NonceTooLow);
            } else {
                i += 1;
            }
        }
    }

    /// Demotes what cannot be executed, promotes what can as long as there is room.
    fn sort_out(&mut self, s: usize) {
        let sender = &self.senders[s];
        let (first, count) = sender.executable(&self.head);
        let len = sender.txs.len();
        if sender.has_late(first) {
            (0..first).for_each(|i| self.demote(s, i));
        }
        (first + count..len).for_each(|i| self.demote(s, i));
        let mut run = 0;
        while run < count && self.promote(s, first + run) {
            run += 1;
        }
        for i in first + run..first + count {
            self.demote(s, i);
        }
        let sender = &mut self.senders[s];
        (sender.first, sender.run) = (first, run);
        if run < count {
            self.park(s);
        }
    }

    fn demote(&mut self, s: usize, i: usize) {
        let sender = &self.senders[s];
        if sender.txs[i].state == State::Pending {
            self.log.push(Event::Demoted { hash: sender.txs[i].tx.hash(), sender: sender.address });
            self.shift(s, i, State::Queued);
        }
    }

    /// Whether the entry is pending now.
    fn promote(&mut self, s: usize, i: usize) -> bool {
        let sender = &self.senders[s];
        let entry = &sender.txs[i];
        if entry.state == State::Pending {
            return true;
        }
        if !entry.returned && self.counts.counted(State::Pending) >= self.config.pending_max {
            return false;
        }
        self.log.push(Event::Promoted { hash: entry.tx.hash(), sender: sender.address });
        self.shift(s, i, State::Pending);
        true
    }

    /// Remembers a sender whose next transaction could be executed if pending had room.
    fn park(&mut self, s: usize) {
        let sender = &mut self.senders[s];
        if core::mem::replace(&mut sender.parked, true) {
            return;
        }
        let entry = &sender.txs[sender.first + sender.run];
        let tip = entry.tip(self.head.base_fee_wei);
        self.parked.push(tip, entry.arrival, s as u32);
        let is_parked = |s: u32| self.senders.get(s as usize).is_some_and(|sender| sender.parked);
        self.parked.compact(self.senders.len(), is_parked);
    }

    /// Gives free room in pending to those who wait for it.
    pub(crate) fn fill(&mut self) {
        while self.counts.counted(State::Pending) < self.config.pending_max
            && let Some(key) = self.parked.pop()
        {
            if let Some(sender) = self.senders.get_mut(key as usize)
                && core::mem::take(&mut sender.parked)
            {
                self.settle(key as usize);
            }
        }
    }
}
