//! Transactions come in.

use crate::{Blocks, Broken, Driver};
use alloy_primitives::{Address, B256};
use core::fmt;
use txpool::{StateChange, Status};
use types::{Event, Reason, Time, Transaction};

/// What became of transactions, one for each.
pub type Results = Vec<Result<B256, txpool::Error>>;

/// Takes the results to the client that handed the transactions in.
pub struct Responder(Box<dyn FnOnce(Results) + Send>);

impl Responder {
    /// Calls this with the results, one per transaction.
    pub fn new(tell: impl FnOnce(Results) + Send + 'static) -> Self {
        Self(Box::new(tell))
    }

    /// Tells.
    pub fn tell(self, results: Results) {
        (self.0)(results);
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Responder")
    }
}

impl<B: Blocks> Driver<B> {
    /// Takes transactions whose signatures were recovered. The answer is an effect of the next [step](Driver::step):
    /// accepted means durable.
    pub fn submit(&mut self, txs: Vec<Transaction>, answer: Responder, now: Time) -> Result<(), Broken> {
        self.set_time(now);
        let mut results = Vec::with_capacity(txs.len());
        for tx in txs {
            results.push(self.insert(tx)?);
        }
        self.outbox.answer(answer, results);
        Ok(())
    }

    /// Shows readers everything that was accepted so far, and then answers.
    pub fn show_now(&mut self, answer: Responder) {
        self.view.blocks_changed();
        self.outbox.answer(answer, vec![]);
    }

    fn insert(&mut self, tx: Transaction) -> Result<Result<B256, txpool::Error>, Broken> {
        let account = self.blocks.account(tx.sender())?;
        let hash = tx.hash();
        let now = self.now();
        let inserted = self.pool.insert(tx.clone(), account, now);
        if let Ok(inserted) = &inserted {
            self.outbox.accept(tx, now, inserted.status == Status::Pending);
        }
        self.gather_pool();
        Ok(inserted.map(|_| hash))
    }

    /// Removes everything of a sender that is in no block. Says how many.
    pub fn flush(&mut self, sender: &Address) -> usize {
        let removed = self.pool.remove_sender(sender, &Reason::Flushed);
        self.gather_pool();
        removed
    }

    /// Lets one sender have more, or fewer, transactions waiting.
    pub fn set_sender_limit(&mut self, sender: Address, txs_max: usize) {
        self.pool.set_limit(sender, txs_max);
    }

    /// What the pool says, for the journal and for whoever watches. To be called after each thing that the pool is told:
    /// a transaction may end and be accepted again in one step, and only the order tells which came last.
    pub(crate) fn gather_pool(&mut self) {
        let now = self.time.now();
        for event in self.pool.drain_events() {
            self.view.pool_changed();
            self.outbox.tell_of_pool(event, now);
        }
    }

    /// Tells the pool what the newest block, or the release of some, changed.
    pub(crate) fn state_change<'a>(
        &self,
        accounts: impl IntoIterator<Item = &'a Address>,
    ) -> Result<Vec<(Address, txpool::Account)>, Broken> {
        accounts.into_iter().map(|address| Ok((*address, self.blocks.account(*address)?))).collect()
    }

    pub(crate) fn update_pool(&mut self, accounts: &[(Address, txpool::Account)]) {
        self.note_moved(accounts);
        let head = self.blocks.head();
        self.pool.update(&StateChange { head, accounts });
        self.gather_pool();
    }

    /// Notes whose next nonce may be another one: a change of the account may change it without any event.
    pub(crate) fn note_moved(&mut self, accounts: &[(Address, txpool::Account)]) {
        let known = accounts.iter().map(|(address, _)| *address);
        self.outbox.note_moved(known.filter(|address| self.pool.next_nonce(address).is_some()));
    }

    /// Tells everybody of something that happened.
    pub fn tell(&mut self, event: Event) {
        self.outbox.tell(event);
    }
}
