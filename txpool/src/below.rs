//! Transactions that wait for the base fee to fall.
//!
//! A transaction whose fee cap is below the next block's base fee is accepted, as go-ethereum does, and so are those of
//! its sender behind it. They count as queued where room is concerned, and are promoted when an
//! [`update`](Pool::update) brings a base fee that they pay. One entry per sender stands in an index by fee cap, so
//! nothing has to be searched to find whether a lower base fee would set any of them free.

use crate::Pool;

impl Pool {
    /// Whether a transaction waits for nothing but the base fee to fall, and would be executable at `floor_wei`: its nonce
    /// is its sender's next one, its sender can pay for it, the next block has room for it, and its fee cap is below the
    /// base fee but not below `floor_wei`.
    pub fn waits_for_base_fee(&self, floor_wei: u64) -> bool {
        self.below.highest().is_some_and(|fee_cap| fee_cap >= floor_wei.into())
    }

    /// Counts anew what of a sender is ready, and what of that waits for the base fee.
    pub(crate) fn note_ready(&mut self, s: usize) {
        let sender = &mut self.senders[s];
        sender.ready = sender.count_ready(&self.head);
        let next = sender.txs.get(sender.first + sender.run).filter(|_| sender.ready > sender.run);
        let wanted = next.filter(|entry| !entry.pays_base_fee(&self.head)).map(|entry| entry.fee_cap);
        let below = if wanted.is_some() { sender.ready - sender.run } else { 0 };
        self.counts.replace_below(sender.below, below);
        sender.below = below;
        let was = core::mem::replace(&mut sender.wanted, wanted);
        self.below.replace(s as u32, was, wanted);
    }

    /// Forgets a sender who has nothing here any more.
    pub(crate) fn forget_sender(&mut self, s: usize) {
        let sender = self.senders.remove(s);
        self.counts.replace_below(sender.below, 0);
        self.below.replace(s as u32, sender.wanted, None);
    }
}
