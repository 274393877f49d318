//! What time and the chain do to the pool.

use crate::{Pool, StateChange, expiry::Deadline, senders::SenderTable};
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
                if let Some(s) = self.senders.key_of(address) {
                    self.settle(s);
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
            if let Some(s) = self.senders.key_of(address) {
                self.senders[s].set_account(*account);
            }
        }
    }

    /// Drops what stayed longer than it may. Says how many.
    pub fn cleanup(&mut self, now: Time) -> usize {
        let before = self.log.totals().expired;
        while let Some(deadline) = self.expiry.first()
            && now.since(deadline.added_at) > self.config.ttl
        {
            if let Some((s, i)) = due(&self.senders, &deadline) {
                self.drop_at(s, i, Reason::Expired);
                self.settle(s);
            }
            self.expiry.drop_first();
        }
        self.after_change();
        usize::try_from(self.log.totals().expired - before).expect("no more than fit in memory")
    }

    /// Lets the time to live of everything begin anew. For a clock that was in doubt: what it dated may be older or younger
    /// than it seems.
    pub fn renew(&mut self, now: Time) {
        let senders = &mut self.senders;
        self.expiry.renew(now, |deadline| {
            let found = due(senders, deadline);
            found.into_iter().for_each(|(s, i)| senders[s].txs[i].added_at = now);
            found.is_some()
        });
    }

    /// When [`cleanup`](Self::cleanup) has something to do next.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        while let Some(deadline) = self.expiry.first() {
            if due(&self.senders, &deadline).is_some() {
                // The time to live may be used up to its last millisecond.
                return Some(deadline.added_at + self.config.ttl + types::Duration::from_millis(1));
            }
            self.expiry.drop_first();
        }
        None
    }

    /// Makes every sender right after the base fee or the gas limit changed: each tip is another one now.
    fn settle_all(&mut self) {
        self.eviction.reset();
        let keys = self.senders.iter().map(|(s, _)| s).collect::<Vec<_>>();
        for s in keys {
            self.settle(s);
        }
        self.order.rebuild(&mut self.senders, self.head.base_fee_wei);
    }

    /// What a change may leave to do: room for those who wait, or too many queued.
    pub(crate) fn after_change(&mut self) {
        self.fill();
        self.trim();
    }

    /// Remembers when the time of an entry runs out.
    pub(crate) fn expect_end(&mut self, deadline: Deadline) {
        self.expiry.push(deadline);
        self.expiry.compact(self.size(), |deadline| due(&self.senders, deadline).is_some());
    }
}

/// The transaction that a deadline is about, if it still stands.
fn due(senders: &SenderTable, deadline: &Deadline) -> Option<(usize, usize)> {
    let (s, i) = senders.locate(deadline.key)?;
    let entry = &senders[s].txs[i];
    let stands =
        entry.arrival == deadline.arrival && entry.added_at == deadline.added_at && entry.state.is_pooled();
    stands.then_some((s, i))
}
