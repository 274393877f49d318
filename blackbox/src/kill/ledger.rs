//! What the judge knows of each transaction that it sent.
//!
//! A node may be killed before it answers. Then the judge does not know, and asks again with the same bytes until it
//! does; only what was answered counts as accepted or refused.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Bytes, TxHash};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use types::Transaction;

/// What a node said about a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Said {
    /// Nothing yet.
    Nothing,
    /// It has it: from now on it must not lose it.
    Accepted,
    /// It does not take it, for this reason.
    Refused(String),
}

/// A transaction that was sent.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Who signed it.
    pub(super) sender: Address,
    /// Its nonce.
    pub(super) nonce: u64,
    /// What the node said.
    pub(super) said: Said,
}

/// All transactions that were sent.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<BTreeMap<B256, Entry>>);

impl Ledger {
    /// Notes that a transaction is about to be sent, and gives its bytes.
    pub(super) fn note(&self, tx: &Transaction) -> (TxHash, Bytes) {
        let (hash, raw) = (tx.hash(), tx.encoded().clone());
        let entry = Entry { sender: tx.sender(), nonce: tx.nonce(), said: Said::Nothing };
        self.0.lock().entry(hash).or_insert(entry);
        (hash, raw)
    }

    /// Notes what the node said. What was accepted once stays accepted.
    pub(super) fn heard(&self, hash: &B256, said: Said) {
        if let Some(entry) = self.0.lock().get_mut(hash)
            && entry.said != Said::Accepted
        {
            entry.said = said;
        }
    }

    /// Everything so far.
    pub(super) fn entries(&self) -> BTreeMap<B256, Entry> {
        self.0.lock().clone()
    }

    /// How many were accepted so far.
    pub(super) fn accepted(&self) -> usize {
        self.0.lock().values().filter(|entry| entry.said == Said::Accepted).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::blocks::{Call, Wallet};

    #[test]
    fn what_was_accepted_once_stays_accepted() {
        let ledger = Ledger::default();
        let tx = Wallet::new(1).eip1559(Call::transfer(Address::ZERO, 3, 7));
        let (hash, raw) = ledger.note(&tx);
        assert_eq!((ledger.accepted(), &raw), (0, tx.encoded()));
        ledger.heard(&hash, Said::Refused("txpool is full".to_owned()));
        ledger.heard(&hash, Said::Accepted);
        ledger.heard(&hash, Said::Refused("nonce too low".to_owned()));
        ledger.note(&tx);
        let entry = &ledger.entries()[&hash];
        assert_eq!((entry.nonce, &entry.said), (3, &Said::Accepted));
        assert_eq!(ledger.accepted(), 1);
    }
}
