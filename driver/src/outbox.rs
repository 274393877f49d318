//! What leaves the driver with the next step: the batch for the journal, and what may happen once that is durable.
//!
//! Whatever happens to a transaction goes through here, so that journal and readers hear of it in the same order.

use crate::{Batch, Blocks, Outgoing, Output, Responder, Results, Snapshot};
use alloy_primitives::{Address, map::AddressSet};
use types::{Event, Time, Transaction};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Outbox<B: Blocks> {
    output: Output<B>,
    /// Senders whose next nonce may have changed.
    moved: AddressSet,
    /// Counts what was accepted, and what was in the pool at the start.
    accepted: u64,
}

impl<B: Blocks> Default for Outbox<B> {
    fn default() -> Self {
        Self { output: Output::default(), moved: AddressSet::default(), accepted: 0 }
    }
}

impl<B: Blocks> Outbox<B> {
    /// What must become durable.
    pub(crate) const fn batch(&mut self) -> &mut Batch<B::Sealed> {
        &mut self.output.batch
    }

    /// A transaction was accepted.
    pub(crate) fn accept(&mut self, tx: Transaction, at: Time, is_pending: bool) {
        self.output.batch.accepted(&tx, at);
        self.show_accepted(tx, at, is_pending);
    }

    /// A transaction that was durable before a restart is in the pool again.
    pub(crate) fn show_accepted(&mut self, tx: Transaction, at: Time, is_pending: bool) {
        self.accepted += 1;
        self.output.news.accepted.push((tx, at, is_pending));
    }

    /// How many were accepted.
    pub(crate) const fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Answers a client once all so far is durable.
    pub(crate) fn answer(&mut self, answer: Responder, results: Results) {
        self.output.answers.push((answer, results));
    }

    /// Sends a package once all so far is durable.
    pub(crate) fn send(&mut self, outgoing: Outgoing<B::Package>) {
        self.output.sends.push(outgoing);
    }

    /// Packs blocks, on another thread.
    pub(crate) fn pack(&mut self, job: B::Job) {
        self.output.jobs.push(job);
    }

    /// Something happened.
    pub(crate) fn tell(&mut self, event: Event) {
        self.output.news.events.push(event);
    }

    /// Something happened in the pool.
    pub(crate) fn tell_of_pool(&mut self, event: Event, now: Time) {
        if let Some((hash, reason)) = event.ended() {
            self.output.batch.ended(hash, reason, now);
        }
        self.moved.extend(event.sender());
        self.output.news.events.push(event);
    }

    /// At the start only what ended is news.
    pub(crate) fn forget_all_but_ends(&mut self) {
        self.output.news.events.retain(|event| event.ended().is_some());
    }

    /// The next nonces of these may have changed.
    pub(crate) fn note_moved(&mut self, senders: impl IntoIterator<Item = Address>) {
        self.moved.extend(senders);
    }

    /// Tells readers the next nonces of those that moved.
    pub(crate) fn show_nonces(&mut self, next_nonce: impl Fn(&Address) -> Option<u64>) {
        let nonces = self.moved.drain().map(|sender| (sender, next_nonce(&sender)));
        self.output.news.nonces = nonces.collect();
        self.output.news.nonces.sort_unstable();
    }

    /// What reads show from now on.
    pub(crate) fn show(&mut self, snapshot: Snapshot<B>) {
        self.output.news.snapshot = Some(snapshot);
    }

    /// Everything so far.
    pub(crate) fn take(&mut self, now: Time) -> Output<B> {
        self.output.news.at = now;
        core::mem::take(&mut self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EvmBlocks, journal::Entry};
    use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope, transaction::Recovered};
    use alloy_primitives::{B256, Signature};
    use state::{CodeSet, MemoryValues};
    use std::sync::Arc;
    use types::Reason;

    type TestOutbox = Outbox<EvmBlocks<Arc<MemoryValues>, CodeSet>>;

    const NOW: Time = Time::from_millis(7);

    fn tx() -> Transaction {
        let envelope = TxEnvelope::from(TxEip1559::default().into_signed(Signature::test_signature()));
        Transaction::new(Recovered::new_unchecked(envelope, Address::repeat_byte(1)))
    }

    #[test]
    fn what_is_accepted_and_what_ends_is_written_down_in_order() {
        let (mut outbox, sender) = (TestOutbox::default(), Address::repeat_byte(1));
        outbox.accept(tx(), NOW, true);
        outbox.tell_of_pool(Event::Added { hash: B256::ZERO, sender, pending: true }, NOW);
        outbox.tell_of_pool(Event::Dropped { hash: B256::ZERO, sender, reason: Reason::Flushed }, NOW);
        outbox.show_nonces(|_| Some(3));
        let output = outbox.take(NOW);
        let kinds = output.batch.entries().iter().map(|entry| match entry {
            Entry::Accepted { .. } => "accepted",
            Entry::Ended { .. } => "ended",
            _ => "other",
        });
        assert_eq!(kinds.collect::<Vec<_>>(), ["accepted", "ended"], "an event alone is no record");
        assert_eq!((output.news.at, output.news.accepted.len(), output.news.events.len()), (NOW, 1, 2));
        assert_eq!(output.news.nonces, [(sender, Some(3))]);
        assert!(outbox.take(NOW).is_empty(), "everything leaves once");
        assert_eq!(outbox.accepted(), 1, "but it still counts");
    }

    #[test]
    fn after_a_restart_only_what_ended_is_news() {
        let (mut outbox, sender) = (TestOutbox::default(), Address::repeat_byte(1));
        outbox.tell_of_pool(Event::Promoted { hash: B256::ZERO, sender }, NOW);
        outbox.tell_of_pool(Event::Expired { hash: B256::ZERO, sender }, NOW);
        outbox.forget_all_but_ends();
        outbox.show_accepted(tx(), NOW, false);
        let output = outbox.take(NOW);
        assert_eq!(output.news.events, [Event::Expired { hash: B256::ZERO, sender }]);
        assert_eq!((output.batch.len(), output.news.accepted.len()), (1, 1), "it is durable already");
    }
}
