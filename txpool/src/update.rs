//! What time and the chain do to the pool.

use crate::{Pool, StateChange, pool::Deadline};
use types::{Reason, Time};

impl Pool {
    /// Takes what a new block changed: promotes what can be executed now, demotes what no longer can, drops what has a
    /// nonce that is used. The builder starts from the beginning.
    pub fn update(&mut self, change: &StateChange<'_>) {
        self.set_accounts(change);
        let moved = self.forget_consumed();
        self.rewind();
        if self.head == change.head {
            for s in moved {
                self.settle(s as usize);
            }
            for (address, _) in change.accounts {
                if let Some(s) = self.by_sender.get(address) {
                    self.settle(*s as usize);
                }
            }
        } else {
            self.head = change.head;
            self.settle_all();
        }
        self.after_change();
    }

    /// Takes the accounts as they are now. Their senders must be settled afterwards.
    pub(crate) fn set_accounts(&mut self, change: &StateChange<'_>) {
        for (address, account) in change.accounts {
            if let Some(s) = self.by_sender.get(address) {
                self.senders[*s as usize].set_account(*account);
            }
        }
    }

    /// Drops what stayed longer than it may. Says how many.
    pub fn cleanup(&mut self, now: Time) -> usize {
        let before = self.totals.expired;
        while let Some(deadline) = self.deadlines.front()
            && now.since(deadline.added_at) > self.config.ttl
        {
            if let Some((s, i)) = self.due(deadline) {
                self.drop_at(s, i, Reason::Expired);
                self.settle(s);
            }
            self.deadlines.pop_front();
        }
        self.after_change();
        usize::try_from(self.totals.expired - before).expect("no more than fit in memory")
    }

    /// Lets the time to live of everything begin anew. For a clock that was in doubt: what it dated may be older or younger
    /// than it seems.
    pub fn renew(&mut self, now: Time) {
        let deadlines = core::mem::take(&mut self.deadlines);
        for deadline in deadlines {
            if let Some((s, i)) = self.due(&deadline) {
                self.senders[s].txs[i].added_at = now;
                self.deadlines.push_back(Deadline { added_at: now, ..deadline });
            }
        }
    }

    /// When [`cleanup`](Self::cleanup) has something to do next.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        while let Some(deadline) = self.deadlines.front() {
            if self.due(deadline).is_some() {
                // The time to live may be used up to its last millisecond.
                return Some(deadline.added_at + self.config.ttl + types::Duration::from_millis(1));
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// Who a deadline is about, if it still stands.
    fn due(&self, deadline: &Deadline) -> Option<(usize, usize)> {
        let s = deadline.place.sender as usize;
        let sender = self.senders.get(s)?;
        let i = sender.position(deadline.place.nonce).ok()?;
        let entry = &sender.txs[i];
        let stands = entry.arrival == deadline.arrival
            && entry.added_at == deadline.added_at
            && entry.state.is_pooled();
        stands.then_some((s, i))
    }

    /// Makes every sender right after the base fee or the gas limit changed: each tip is another one now.
    fn settle_all(&mut self) {
        self.reset_worst();
        let keys = self.senders.iter().map(|(s, _)| s).collect::<Vec<_>>();
        for s in keys {
            self.settle(s);
        }
        self.rebuild_order();
    }

    /// What a change may leave to do: room for those who wait, or too many queued.
    pub(crate) fn after_change(&mut self) {
        self.fill();
        self.trim();
    }

    /// Remembers when the time of an entry runs out.
    pub(crate) fn expect_end(&mut self, deadline: Deadline) {
        // Time does not run backwards, so this is the last one, except for what is restored.
        if self.deadlines.back().is_none_or(|last| last.added_at <= deadline.added_at) {
            self.deadlines.push_back(deadline);
        } else {
            let place = self.deadlines.partition_point(|other| other.added_at <= deadline.added_at);
            self.deadlines.insert(place, deadline);
        }
        if self.deadlines.len() > 2 * self.size() + 1024 {
            let mut deadlines = core::mem::take(&mut self.deadlines);
            deadlines.retain(|deadline| self.due(deadline).is_some());
            self.deadlines = deadlines;
        }
    }
}
