//! Accounts that others act for: those with an authorization (EIP-7702) in the pool, and those whose nonces the open block
//! took without a transaction of theirs.
//!
//! Both are nearly always empty, so looking up an account costs nothing then.

use alloy_primitives::{Address, map::AddressMap};
use types::Transaction;

/// How many pooled transactions carry an authorization of an account.
#[derive(Default, Debug)]
pub(crate) struct Authorities(AddressMap<u32>);

impl Authorities {
    /// Counts the authorities of a transaction that waits.
    pub(crate) fn reserve(&mut self, tx: &Transaction) {
        for authority in tx.authorities() {
            *self.0.entry(*authority).or_default() += 1;
        }
    }

    /// Forgets the authorities of a transaction that does not wait any more.
    pub(crate) fn release(&mut self, tx: &Transaction) {
        for authority in tx.authorities() {
            if let Some(count) = self.0.get_mut(authority) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(authority);
                }
            }
        }
    }

    pub(crate) fn contains(&self, account: &Address) -> bool {
        !self.0.is_empty() && self.0.contains_key(account)
    }
}

/// Accounts whose nonces the open block took without a transaction of theirs, with their next nonces.
#[derive(Default, Debug)]
pub(crate) struct ConsumedNonces(AddressMap<u64>);

impl ConsumedNonces {
    /// Notes the next nonce of an account, and gives the highest that was noted: nonces only rise.
    pub(crate) fn raise(&mut self, account: Address, next: u64) -> u64 {
        let known = self.0.entry(account).or_default();
        *known = next.max(*known);
        *known
    }

    /// The next nonce of an account, if the open block took one.
    pub(crate) fn next(&self, account: &Address) -> Option<u64> {
        if self.0.is_empty() { None } else { self.0.get(account).copied() }
    }

    pub(crate) fn accounts(&self) -> impl Iterator<Item = Address> {
        self.0.keys().copied()
    }

    /// Forgets all, and gives them.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Address> + use<> {
        core::mem::take(&mut self.0).into_keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::draft::{Draft, draft, sender};

    #[test]
    fn an_authority_is_reserved_until_its_last_transaction_leaves() {
        let carrying = |authorities| Draft { authorities, ..draft(0, 0, 1) }.make();
        let (twice, once) = (carrying(vec![sender(1), sender(1)]), carrying(vec![sender(1), sender(2)]));
        let mut authorities = Authorities::default();
        authorities.reserve(&twice);
        authorities.reserve(&once);
        authorities.release(&twice);
        assert_eq!([1, 2, 3].map(|who| authorities.contains(&sender(who))), [true, true, false]);
        authorities.release(&once);
        assert!(!authorities.contains(&sender(1)) && authorities.0.is_empty());
        authorities.release(&once);
        assert!(authorities.0.is_empty(), "what was never reserved is not released");
    }

    #[test]
    fn consumed_nonces_only_rise() {
        let mut consumed = ConsumedNonces::default();
        assert_eq!(consumed.next(&sender(0)), None);
        assert_eq!([4, 2, 5].map(|next| consumed.raise(sender(0), next)), [4, 4, 5]);
        assert_eq!([0, 1].map(|who| consumed.next(&sender(who))), [Some(5), None]);
        assert_eq!(consumed.take().collect::<Vec<_>>(), [sender(0)]);
        assert_eq!(consumed.accounts().count(), 0);
    }
}
