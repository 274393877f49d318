//! All senders with their transactions, found by key, by address and by hash.
//!
//! Invariants: every sender has its address in the index; a hash is in the index exactly if its transaction stands in its
//! sender's list, under the nonce that the index says. So entries come and go only through [`SenderTable::put`] and
//! [`SenderTable::take`].

use crate::{Account, entry::Entry, sender::Sender};
use alloy_primitives::{
    Address, B256,
    map::{AddressMap, B256Map},
};
use core::ops::{Index, IndexMut};
use slab::Slab;

/// Where a transaction stands: its sender's key, and its nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TxKey {
    pub(crate) sender: u32,
    pub(crate) nonce: u64,
}

/// See the [module](self).
#[derive(Default, Debug)]
pub(crate) struct SenderTable {
    senders: Slab<Sender>,
    by_address: AddressMap<u32>,
    by_hash: B256Map<TxKey>,
}

impl SenderTable {
    pub(crate) fn len(&self) -> usize {
        self.senders.len()
    }

    pub(crate) fn get(&self, s: usize) -> Option<&Sender> {
        self.senders.get(s)
    }

    pub(crate) fn get_mut(&mut self, s: usize) -> Option<&mut Sender> {
        self.senders.get_mut(s)
    }

    /// The key of a sender.
    pub(crate) fn key_of(&self, address: &Address) -> Option<usize> {
        self.by_address.get(address).map(|s| *s as usize)
    }

    /// The key of a sender, who is made if unknown, with the nonce up to which the open block took its nonces.
    pub(crate) fn key_or_insert(
        &mut self,
        address: Address,
        account: Account,
        consumed: impl FnOnce() -> u64,
    ) -> usize {
        let senders = &mut self.senders;
        *self.by_address.entry(address).or_insert_with(|| {
            u32::try_from(senders.insert(Sender { consumed: consumed(), ..Sender::new(address, account) }))
                .expect("fewer than 2^32 senders fit in memory")
        }) as usize
    }

    /// Forgets a sender who has nothing here any more.
    pub(crate) fn remove(&mut self, s: usize) -> Sender {
        let sender = self.senders.remove(s);
        debug_assert!(sender.txs.is_empty(), "its transactions would stay in the index");
        self.by_address.remove(&sender.address);
        sender
    }

    pub(crate) fn contains(&self, hash: &B256) -> bool {
        self.by_hash.contains_key(hash)
    }

    /// Sender and index of a transaction.
    pub(crate) fn find(&self, hash: &B256) -> Option<(usize, usize)> {
        let key = *self.by_hash.get(hash)?;
        Some(self.locate(key).expect("a known hash stands in its sender's list"))
    }

    /// Sender and index of whatever has this sender and nonce.
    pub(crate) fn locate(&self, key: TxKey) -> Option<(usize, usize)> {
        let s = key.sender as usize;
        let i = self.senders.get(s)?.position(key.nonce).ok()?;
        Some((s, i))
    }

    /// Puts an entry into its sender's list at index `i`.
    pub(crate) fn put(&mut self, s: usize, i: usize, entry: Entry) -> TxKey {
        let key = TxKey { sender: s as u32, nonce: entry.nonce };
        self.by_hash.insert(entry.tx.hash(), key);
        let sender = &mut self.senders[s];
        sender.pooled += usize::from(entry.state.is_pooled());
        if entry.nonce >= sender.account.nonce {
            sender.spent = sender.spent.saturating_add(entry.cost);
        }
        sender.selection.start_over_at(entry.nonce);
        if i == sender.txs.len() {
            sender.txs.push_back(entry);
        } else {
            sender.txs.insert(i, entry);
        }
        key
    }

    /// Takes an entry out. The sender must be settled afterwards.
    pub(crate) fn take(&mut self, s: usize, i: usize) -> Entry {
        let sender = &mut self.senders[s];
        let entry = sender.txs.remove(i).expect("the index is inside the list");
        sender.unspend(entry.nonce, entry.cost);
        sender.pooled -= usize::from(entry.state.is_pooled());
        if i < sender.first {
            sender.first -= 1;
        } else if i < sender.first + sender.run {
            sender.run -= 1;
        }
        self.by_hash.remove(&entry.tx.hash());
        entry
    }

    pub(crate) fn iter(&self) -> slab::Iter<'_, Sender> {
        self.senders.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> slab::IterMut<'_, Sender> {
        self.senders.iter_mut()
    }
}

impl Index<usize> for SenderTable {
    type Output = Sender;

    fn index(&self, s: usize) -> &Sender {
        &self.senders[s]
    }
}

impl IndexMut<usize> for SenderTable {
    fn index_mut(&mut self, s: usize) -> &mut Sender {
        &mut self.senders[s]
    }
}

#[cfg(any(test, feature = "model"))]
impl SenderTable {
    /// Panics unless the indexes say what the lists say.
    pub(crate) fn check(&self) {
        let mut count = 0;
        for (s, sender) in &self.senders {
            assert_eq!(self.key_of(&sender.address), Some(s), "by address");
            assert!(sender.txs.iter().map(|entry| entry.nonce).is_sorted_by(|a, b| a < b), "by nonce");
            assert_eq!(sender.pooled, sender.txs.iter().filter(|entry| entry.state.is_pooled()).count());
            for entry in &sender.txs {
                let key = TxKey { sender: s as u32, nonce: entry.nonce };
                assert_eq!(self.by_hash.get(&entry.tx.hash()), Some(&key), "by hash");
            }
            count += sender.txs.len();
        }
        assert_eq!((self.by_hash.len(), self.by_address.len()), (count, self.senders.len()));
    }

    /// The hashes of all transactions.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = B256> {
        self.by_hash.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        entry::State,
        model::draft::{sender, tx},
    };
    use alloy_primitives::U256;
    use types::Time;

    /// One sender with nonces 0, 1 and 3.
    fn table() -> (SenderTable, usize) {
        let mut table = SenderTable::default();
        let s = table.key_or_insert(sender(0), Account::default(), || 0);
        for (i, nonce) in [(0, 0), (1, 3), (1, 1)] {
            table.put(s, i, Entry::new(tx(0, nonce, 1), nonce + 1, Time::ZERO));
            table.check();
        }
        (table, s)
    }

    #[test]
    fn a_transaction_is_found_by_hash_and_by_nonce() {
        let (table, s) = table();
        let hash = tx(0, 3, 1).hash();
        assert!(table.contains(&hash));
        assert_eq!(table.find(&hash), Some((s, 2)));
        assert_eq!(table.locate(TxKey { sender: s as u32, nonce: 1 }), Some((s, 1)));
        assert_eq!(table.locate(TxKey { sender: s as u32, nonce: 2 }), None);
        assert_eq!(table.locate(TxKey { sender: 9, nonce: 0 }), None);
    }

    #[test]
    fn what_leaves_leaves_sums_and_run_right() {
        let (mut table, s) = table();
        (table[s].first, table[s].run) = (0, 2);
        let all = table[s].spent;
        let gone = table.take(s, 0);
        table.check();
        assert_eq!((table[s].first, table[s].run, table[s].pooled), (0, 1, 2));
        assert_eq!(table[s].spent, all - gone.cost);
        assert!(!table.contains(&gone.tx.hash()));
        // One in a block is not pooled, but its cost counts until the account shows it.
        let mut bundled = gone;
        bundled.state = State::Open;
        table.put(s, 0, bundled);
        table.check();
        assert_eq!((table[s].pooled, table[s].spent), (2, all));
        (table[s].first, table[s].run) = (1, 1);
        table.take(s, 0);
        assert_eq!((table[s].first, table[s].run), (0, 1), "what is before the run moves it");
    }

    #[test]
    fn a_sender_without_transactions_is_forgotten() {
        let (mut table, s) = table();
        assert_eq!(table.key_or_insert(sender(0), Account::default(), || unreachable!("it is known")), s);
        while !table[s].txs.is_empty() {
            table.take(s, 0);
        }
        assert_eq!(table[s].spent, U256::ZERO);
        table.remove(s);
        table.check();
        assert_eq!((table.len(), table.key_of(&sender(0))), (0, None));
        let again = table.key_or_insert(sender(0), Account::default(), || 7);
        assert_eq!(table[again].consumed, 7);
    }
}
