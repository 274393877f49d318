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

/// The order, and who must be offered again when the builder starts from the beginning.
#[derive(Default, Debug)]
pub(crate) struct Order {
    offers: BinaryHeap<Offer>,
    seen: Vec<u32>,
}

/// The pending transactions in the order for building; see [`Pool::best`].
#[derive(Debug)]
pub struct Best<'a> {
    pool: &'a mut Pool,
}

impl Best<'_> {
    /// The next one, without handing it out.
    pub fn peek(&mut self) -> Option<Candidate> {
        self.pool.clear_top();
        let offer = *self.pool.order.offers.peek()?;
        let sender = &self.pool.senders[offer.sender as usize];
        Some(candidate(&sender.txs[sender.cursor()?].tx, &offer))
    }

    /// See [`Pool::mark_invalid`].
    pub fn mark_invalid(&mut self, hash: &B256) {
        self.pool.mark_invalid(hash);
    }
}

impl Iterator for Best<'_> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        let pool = &mut *self.pool;
        loop {
            let mut top = pool.order.offers.peek_mut()?;
            let offer = *top;
            let key = offer.sender;
            let Some(sender) = pool.senders.get_mut(key as usize) else {
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
                pool.order.seen.push(key);
            }
            // The next of this sender takes the place: one way down the heap instead of two.
            if index + 1 < sender.first + sender.run {
                let next = &sender.txs[index + 1];
                sender.selection.offered = next.arrival;
                *top = Offer::new(next, key, pool.head.base_fee_wei);
            } else {
                sender.selection.offered = 0;
                PeekMut::pop(top);
            }
            return Some(found);
        }
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
        let selection = &mut self.senders[s].selection;
        selection.skipped = true;
        if !core::mem::replace(&mut selection.seen, true) {
            self.order.seen.push(s as u32);
        }
    }

    /// Starts the order from the beginning: all that is pending can be handed out again.
    pub fn rewind(&mut self) {
        for key in core::mem::take(&mut self.order.seen) {
            let Some(sender) = self.senders.get_mut(key as usize) else { continue };
            sender.selection = Selection { offered: sender.selection.offered, ..Selection::default() };
            self.offer(key as usize);
        }
    }

    /// Lets a sender's next transaction stand in the order, if it does not yet.
    pub(crate) fn offer(&mut self, s: usize) {
        let sender = &mut self.senders[s];
        let Some(index) = sender.cursor() else { return };
        let entry = &sender.txs[index];
        if sender.selection.offered == entry.arrival {
            return;
        }
        sender.selection.offered = entry.arrival;
        self.order.offers.push(Offer::new(entry, s as u32, self.head.base_fee_wei));
        if self.order.offers.len() > 2 * self.senders.len() + 64 {
            self.rebuild_order();
        }
    }

    /// Makes the order anew: after a change of the base fee, or when too much of it is stale.
    pub(crate) fn rebuild_order(&mut self) {
        let base_fee = self.head.base_fee_wei;
        let mut offers = core::mem::take(&mut self.order.offers).into_vec();
        offers.clear();
        for (key, sender) in &mut self.senders {
            let next = sender.cursor().map(|index| &sender.txs[index]);
            sender.selection.offered = next.map_or(0, |entry| entry.arrival);
            offers.extend(next.map(|entry| Offer::new(entry, key as u32, base_fee)));
        }
        self.order.offers = offers.into();
    }

    /// Takes what is stale off the top of the order.
    fn clear_top(&mut self) {
        while let Some(top) = self.order.offers.peek_mut() {
            let sender = self.senders.get_mut(top.sender as usize);
            if sender.is_some_and(|sender| top.index(sender).is_some()) {
                return;
            }
            PeekMut::pop(top);
        }
    }
}
