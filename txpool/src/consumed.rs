//! Nonces that the open block took of accounts other than the senders of its transactions.
//!
//! An authorization (EIP-7702) takes a nonce of the account that signed it, and so does the code of a delegated account
//! that creates a contract. The pool's accounts are those after the newest sealed block, so until the open one is sealed
//! it has to be told of these: whoever sends with such a nonce is refused at once, and what already waits with one is not
//! handed to the builder.

use crate::{Account, Pool};
use alloy_primitives::Address;

impl Pool {
    /// Says that a transaction in the block that is being built took nonces of these accounts: each with the nonce that its
    /// next transaction must have. That holds until the next [`update`](Self::update) or [`reinsert`](Self::reinsert),
    /// whose accounts show it if the block was sealed. What waits with such a nonce waits for that.
    pub fn mark_consumed(&mut self, nonces: impl IntoIterator<Item = (Address, u64)>) {
        let mut is_any = false;
        for (address, nonce) in nonces {
            is_any = true;
            let next = self.consumed.raise(address, nonce);
            if let Some(s) = self.senders.key_of(&address) {
                self.senders[s].consumed = next;
                self.settle(s);
            }
        }
        if is_any {
            self.after_change();
        }
    }

    /// The accounts whose nonces were taken.
    pub fn consumed(&self) -> impl Iterator<Item = Address> {
        self.consumed.accounts()
    }

    /// Forgets them all, and gives the keys of those senders that have to be settled.
    pub(crate) fn forget_consumed(&mut self) -> Vec<u32> {
        let keys = self.consumed.take().filter_map(|address| self.senders.key_of(&address));
        let keys = keys.map(|s| s as u32).collect::<Vec<_>>();
        for s in &keys {
            self.senders[*s as usize].consumed = 0;
        }
        keys
    }

    /// The nonce that the first transaction of an account outside every block must have.
    pub(crate) fn base(&self, s: Option<usize>, address: &Address, account: &Account) -> u64 {
        if let Some(s) = s {
            return self.senders[s].base();
        }
        account.nonce.max(self.consumed.next(address).unwrap_or_default())
    }
}
