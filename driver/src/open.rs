//! The block that is being built.

use crate::OpenBlock;
use bundler::Refused;
use types::{Time, Transaction};

/// See the [module](self).
pub(crate) struct Open<O> {
    block: O,
    /// When its first transaction came.
    first_at: Option<Time>,
    /// How often its transactions were suspected; above zero there are few of them.
    attempts: u32,
    transactions_max: usize,
    is_full: bool,
    /// Grows with each transaction, so that the published view knows whether the block changed.
    changes: u64,
}

impl<O: OpenBlock> core::fmt::Debug for Open<O> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Open").field("transactions", &self.block.transactions().len()).finish()
    }
}

impl<O> Open<O> {
    /// An empty one for transactions that were suspected so often.
    pub(crate) const fn new(block: O, attempts: u32, transactions_max: usize) -> Self {
        Self { block, first_at: None, attempts, transactions_max, is_full: false, changes: 0 }
    }

    /// The clock was corrected: its first transaction did not come later than now.
    pub(crate) fn set_back(&mut self, now: Time) {
        self.first_at = self.first_at.map(|first| first.min(now));
    }

    /// Whether a transaction that was suspected so often may come in.
    pub(crate) const fn takes(&self, attempts: u32) -> bool {
        !self.is_full && self.attempts == attempts
    }

    /// Whether its transactions were suspected before.
    pub(crate) const fn is_suspect(&self) -> bool {
        self.attempts > 0
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    pub(crate) const fn first_at(&self) -> Option<Time> {
        self.first_at
    }

    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }

    pub(crate) const fn block(&self) -> &O {
        &self.block
    }

    pub(crate) fn into_block(self) -> O {
        self.block
    }
}

impl<O: OpenBlock> Open<O> {
    /// Executes a transaction into the block. One that finds no room makes the block full.
    pub(crate) fn push(&mut self, tx: &Transaction, now: Time) -> Result<(), Refused> {
        let outcome = self.block.push(tx);
        match &outcome {
            Ok(()) => {
                self.first_at.get_or_insert(now);
                self.changes += 1;
                self.is_full = self.transactions().len() >= self.transactions_max;
            }
            Err(Refused::Full(_)) => self.is_full = true,
            Err(_) => {}
        }
        outcome
    }

    pub(crate) fn transactions(&self) -> &[Transaction] {
        self.block.transactions()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope, transaction::Recovered};
    use alloy_primitives::{Address, Signature};
    use bundler::Limit;
    use types::Reason;

    /// A block with room for so many, which executes nothing.
    struct Room {
        left: usize,
        transactions: Vec<Transaction>,
    }

    impl OpenBlock for Room {
        fn push(&mut self, tx: &Transaction) -> Result<(), Refused> {
            if tx.sender() == Address::ZERO {
                return Err(Refused::Never(Reason::NonceTooLow));
            }
            self.left = self.left.checked_sub(1).ok_or(Refused::Full(Limit::Gas { needed: 1, max: 0 }))?;
            self.transactions.push(tx.clone());
            Ok(())
        }

        fn transactions(&self) -> &[Transaction] {
            &self.transactions
        }

        fn consumed(&self) -> &[(Address, u64)] {
            &[]
        }
    }

    fn open(room: usize, transactions_max: usize) -> Open<Room> {
        Open::new(Room { left: room, transactions: vec![] }, 1, transactions_max)
    }

    fn tx(sender: u8) -> Transaction {
        let envelope = TxEnvelope::from(TxEip1559::default().into_signed(Signature::test_signature()));
        Transaction::new(Recovered::new_unchecked(envelope, Address::repeat_byte(sender)))
    }

    #[test]
    fn it_is_full_at_its_limit_or_when_one_finds_no_room() {
        let mut limited = open(9, 2);
        limited.push(&tx(1), Time::ZERO).unwrap();
        assert!(!limited.is_full() && limited.takes(1) && !limited.takes(0));
        limited.push(&tx(2), Time::ZERO).unwrap();
        assert!(limited.is_full() && !limited.takes(1));
        let mut small = open(1, 9);
        small.push(&tx(1), Time::ZERO).unwrap();
        assert!(!small.is_full());
        small.push(&tx(2), Time::ZERO).unwrap_err();
        assert_eq!((small.is_full(), small.transactions().len(), small.changes()), (true, 1, 1));
    }

    #[test]
    fn its_time_runs_from_its_first_transaction() {
        let at = Time::from_millis;
        let mut block = open(9, 9);
        block.push(&tx(0), at(5)).unwrap_err();
        assert_eq!((block.first_at(), block.changes(), block.is_full()), (None, 0, false));
        block.push(&tx(1), at(6)).unwrap();
        block.push(&tx(2), at(7)).unwrap();
        assert_eq!((block.first_at(), block.changes()), (Some(at(6)), 2));
        block.set_back(at(8));
        assert_eq!(block.first_at(), Some(at(6)));
        block.set_back(at(2));
        assert_eq!(block.first_at(), Some(at(2)));
    }
}
