//! The order for building: the best tip first, each sender's nonces in order, ties by arrival, suspects last.
//!
//! Only one transaction of each sender stands in the order at a time, the one that the builder would get next; when it
//! is handed out, the sender's next one takes its place. So an insert costs at most one push, and the order never has
//! to be searched: what has become stale is recognised when it comes to the top.
//!
//! What was handed out is remembered per sender until [`Pool::rewind`]; thus the builder can stop, let inserts happen,
//! and go on.

use crate::{
    Pool,
    entry::Entry,
    sender::{Selection, Sender},
    senders::SenderTable,
};
use alloy_primitives::B256;
use core::cmp::Reverse;
use std::collections::{BinaryHeap, binary_heap::PeekMut};
use types::Transaction;

/// A transaction that the builder may take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The transaction.
    pub tx: Transaction,
    /// What it pays per unit of gas above the base fee.
    pub tip_wei: u128,
    /// How many blocks were abandoned with it. Above zero it is a suspect: it belongs into a smaller block, behind
    /// the others.
    pub attempts: u32,
}

impl Candidate {
    /// Whether a block with it was abandoned.
    pub const fn is_suspect(&self) -> bool {
        self.attempts > 0
    }
}

/// What stands in the order for one sender; the greatest comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Offer {
    attempts: Reverse<u32>,
    tip: u128,
    arrival: Reverse<u64>,
    sender: u32,
}

/// The order, and which senders must be offered again when the builder starts from the beginning.
#[derive(Default, Debug)]
pub(crate) struct BuildOrder {
    offers: BinaryHeap<Offer>,
    seen: Vec<u32>,
}

impl BuildOrder {
    /// Lets a sender's next transaction stand in the order, if it does not yet.
    pub(crate) fn offer(&mut self, s: usize, senders: &mut SenderTable, base_fee: u64) {
        let sender = &mut senders[s];
        let Some(index) = sender.cursor() else { return };
        let entry = &sender.txs[index];
        if sender.selection.offered == entry.arrival {
            return;
        }
        sender.selection.offered = entry.arrival;
        self.offers.push(Offer::new(entry, s as u32, base_fee));
        if self.offers.len() > 2 * senders.len() + 64 {
            self.rebuild(senders, base_fee);
        }
    }

    /// Makes the order anew: after a change of the base fee, or when too much of it is stale.
    pub(crate) fn rebuild(&mut self, senders: &mut SenderTable, base_fee: u64) {
        let mut offers = core::mem::take(&mut self.offers).into_vec();
        offers.clear();
        for (key, sender) in senders.iter_mut() {
            let next = sender.cursor().map(|index| &sender.txs[index]);
            sender.selection.offered = next.map_or(0, |entry| entry.arrival);
            offers.extend(next.map(|entry| Offer::new(entry, key as u32, base_fee)));
        }
        self.offers = offers.into();
    }

    /// The next one, without handing it out.
    fn peek(&mut self, senders: &mut SenderTable) -> Option<Candidate> {
        self.clear_top(senders);
        let offer = *self.offers.peek()?;
        let sender = &senders[offer.sender as usize];
        Some(candidate(&sender.txs[sender.cursor()?].tx, &offer))
    }

    /// Hands the next one out.
    fn next(&mut self, senders: &mut SenderTable, base_fee: u64) -> Option<Candidate> {
        loop {
            let mut top = self.offers.peek_mut()?;
            let offer = *top;
            let key = offer.sender;
            let Some(sender) = senders.get_mut(key as usize) else {
                PeekMut::pop(top);
                continue;
            };
            let Some(index) = offer.index(sender) else {
                PeekMut::pop(top);
                continue;
            };
            let found = candidate(&sender.txs[index].tx, &offer);
            sender.selection.from = sender.txs[index].nonce + 1;
            if !core::mem::replace(&mut sender.selection.seen, true) {
                self.seen.push(key);
            }
            // The next of this sender takes the place: one way down the heap instead of two.
            if index + 1 < sender.first + sender.run {
                let next = &sender.txs[index + 1];
                sender.selection.offered = next.arrival;
                *top = Offer::new(next, key, base_fee);
            } else {
                sender.selection.offered = 0;
                PeekMut::pop(top);
            }
            return Some(found);
        }
    }

    /// Hands nothing more of a sender out until the order starts from the beginning.
    fn skip(&mut self, s: usize, senders: &mut SenderTable) {
        let selection = &mut senders[s].selection;
        selection.skipped = true;
        if !core::mem::replace(&mut selection.seen, true) {
            self.seen.push(s as u32);
        }
    }

    /// Starts from the beginning: all that is pending can be handed out again.
    fn rewind(&mut self, senders: &mut SenderTable, base_fee: u64) {
        for key in core::mem::take(&mut self.seen) {
            let Some(sender) = senders.get_mut(key as usize) else { continue };
            sender.selection = Selection { offered: sender.selection.offered, ..Selection::default() };
            self.offer(key as usize, senders, base_fee);
        }
    }

    /// Takes what is stale off the top of the order.
    fn clear_top(&mut self, senders: &mut SenderTable) {
        while let Some(top) = self.offers.peek_mut() {
            let sender = senders.get_mut(top.sender as usize);
            if sender.is_some_and(|sender| top.index(sender).is_some()) {
                return;
            }
            PeekMut::pop(top);
        }
    }
}

/// The pending transactions in the order for building; see [`Pool::best`].
#[derive(Debug)]
pub struct Best<'a> {
    pool: &'a mut Pool,
}

impl Best<'_> {
    /// The next one, without handing it out.
    pub fn peek(&mut self) -> Option<Candidate> {
        self.pool.order.peek(&mut self.pool.senders)
    }

    /// See [`Pool::mark_invalid`].
    pub fn mark_invalid(&mut self, hash: &B256) {
        self.pool.mark_invalid(hash);
    }
}

impl Iterator for Best<'_> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        self.pool.order.next(&mut self.pool.senders, self.pool.head.base_fee_wei)
    }
}

fn candidate(tx: &Transaction, offer: &Offer) -> Candidate {
    Candidate { tx: tx.clone(), tip_wei: offer.tip, attempts: offer.attempts.0 }
}

impl Offer {
    pub(crate) fn new(entry: &Entry, sender: u32, base_fee: u64) -> Self {
        Self {
            attempts: Reverse(entry.attempts),
            tip: entry.tip(base_fee),
            arrival: Reverse(entry.arrival),
            sender,
        }
    }

    pub(crate) const fn sender(&self) -> u32 {
        self.sender
    }

    /// The index of what is offered, unless something else should stand here by now.
    fn index(&self, sender: &mut Sender) -> Option<usize> {
        if sender.selection.offered != self.arrival.0 {
            return None;
        }
        let index = sender.cursor().filter(|index| sender.txs[*index].arrival == self.arrival.0);
        if index.is_none() {
            sender.selection.offered = 0;
        }
        // The same transaction may stand here twice if it came back as a suspect; only one of them is right.
        index.filter(|index| sender.txs[*index].attempts == self.attempts.0)
    }
}

impl Pool {
    /// The pending transactions in the order for building, each handed out once: the best tip first, a sender's
    /// nonces in order, ties by arrival, suspects last.
    ///
    /// The pool remembers how far this came. Drop it, insert more, mark what was executed
    /// [open](Self::mark_open), ask again: it goes on with the best of what was not handed out yet. A new block starts
    /// from the beginning, with [`rewind`](Self::rewind) or by itself after [`update`](Self::update).
    pub const fn best(&mut self) -> Best<'_> {
        Best { pool: self }
    }

    /// Says that a transaction which was handed out cannot be executed in this block. Until the builder starts from
    /// the beginning nothing more of its sender is handed out, unless another one takes its nonce.
    pub fn mark_invalid(&mut self, hash: &B256) {
        let Some((s, _)) = self.find(hash) else { return };
        self.order.skip(s, &mut self.senders);
    }

    /// Starts the order from the beginning: all that is pending can be handed out again.
    pub fn rewind(&mut self) {
        self.order.rewind(&mut self.senders, self.head.base_fee_wei);
    }

    /// Lets a sender's next transaction stand in the order, if it does not yet.
    pub(crate) fn offer(&mut self, s: usize) {
        self.order.offer(s, &mut self.senders, self.head.base_fee_wei);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Account,
        model::draft::{GWEI, sender, tx},
    };
    use alloy_consensus::Transaction as _;
    use alloy_primitives::Address;
    use types::Time;

    const BASE_FEE: u64 = GWEI as u64;

    /// Senders with pending transactions of these tips.
    fn senders(tips: &[&[u128]]) -> SenderTable {
        let (mut table, mut arrival) = (SenderTable::default(), 0);
        for (who, tips) in tips.iter().enumerate() {
            let s = table.key_or_insert(sender(who as u8), Account::default(), || 0);
            for (i, tip) in tips.iter().enumerate() {
                arrival += 1;
                table.put(s, i, Entry::new(tx(who as u8, i as u64, *tip), arrival, Time::ZERO));
            }
            table[s].run = tips.len();
        }
        table
    }

    fn rest(order: &mut BuildOrder, senders: &mut SenderTable) -> Vec<(Address, u64)> {
        let next = core::iter::from_fn(|| order.next(senders, BASE_FEE));
        next.map(|candidate| (candidate.tx.sender(), candidate.tx.nonce())).collect()
    }

    #[test]
    fn the_best_tip_first_and_each_senders_nonces_in_order() {
        let mut senders = senders(&[&[1, 9], &[5, 2], &[5]]);
        let mut order = BuildOrder::default();
        (0..3).for_each(|s| order.offer(s, &mut senders, BASE_FEE));
        let expected = [(1, 0), (2, 0), (1, 1), (0, 0), (0, 1)].map(|(who, nonce)| (sender(who), nonce));
        assert_eq!(order.peek(&mut senders).map(|first| first.tx.sender()), Some(sender(1)));
        assert_eq!(rest(&mut order, &mut senders), expected);
        assert_eq!(rest(&mut order, &mut senders), []);
        order.rewind(&mut senders, BASE_FEE);
        assert_eq!(rest(&mut order, &mut senders), expected);
    }

    #[test]
    fn a_sender_that_is_skipped_comes_again_from_the_beginning() {
        let mut senders = senders(&[&[3, 3], &[1]]);
        let mut order = BuildOrder::default();
        order.rebuild(&mut senders, BASE_FEE);
        order.next(&mut senders, BASE_FEE);
        order.skip(0, &mut senders);
        assert_eq!(rest(&mut order, &mut senders), [(sender(1), 0)]);
        order.rewind(&mut senders, BASE_FEE);
        assert_eq!(rest(&mut order, &mut senders).len(), 3);
    }

    #[test]
    fn an_offer_of_what_has_left_is_stale() {
        let mut senders = senders(&[&[3, 2], &[1]]);
        let mut order = BuildOrder::default();
        order.rebuild(&mut senders, BASE_FEE);
        senders.take(0, 0);
        assert_eq!(order.peek(&mut senders).map(|first| first.tx.sender()), Some(sender(1)));
        order.offer(0, &mut senders, BASE_FEE);
        assert_eq!(rest(&mut order, &mut senders), [(sender(0), 1), (sender(1), 0)]);
    }
}
