//! Who gives up a transaction first when the pool is full.
//!
//! Two indexes, for pending and for queued ones, exist only while the pool is nearly full. They hold one candidate per
//! sender; every change of a sender gives it a new version, so stale candidates are recognised when they come up.

use crate::{entry::State, sender::Sender, senders::SenderTable};
use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// A sender who could give up its last transaction; the greatest goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Victim {
    worth: Reverse<u128>,
    pooled: usize,
    arrival: u64,
    sender: u32,
    version: u64,
    /// How many of the same sender are planned to go before this one.
    depth: usize,
}

impl Victim {
    /// The candidate of a sender after `depth` others of it went.
    pub(crate) fn of(s: usize, sender: &Sender, kind: State, depth: usize, base_fee: u64) -> Option<Self> {
        let entry = &sender.txs[sender.evictable(kind, depth)?];
        Some(Self {
            worth: Reverse(sender.worth(kind, base_fee)),
            pooled: sender.pooled - depth,
            arrival: entry.arrival,
            sender: s as u32,
            version: sender.version,
            depth,
        })
    }

    pub(crate) const fn sender(&self) -> usize {
        self.sender as usize
    }

    pub(crate) const fn depth(&self) -> usize {
        self.depth
    }

    /// What the sender's transactions are worth to a builder.
    pub(crate) const fn worth(&self) -> u128 {
        self.worth.0
    }
}

/// See the [module](self).
#[derive(Default, Debug)]
pub(crate) struct EvictionOrder {
    pending: Option<BinaryHeap<Victim>>,
    queued: Option<BinaryHeap<Victim>>,
    versions: u64,
}

impl EvictionOrder {
    /// The version of a sender that has changed.
    pub(crate) const fn next_version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }

    /// Whether there is an index of a kind, which must be told of changes.
    pub(crate) const fn has(&self, kind: State) -> bool {
        match kind {
            State::Pending => self.pending.is_some(),
            _ => self.queued.is_some(),
        }
    }

    /// Forgets the index of a kind: it is not likely to be needed again.
    pub(crate) fn forget(&mut self, kind: State) {
        *self.index(kind) = None;
    }

    /// Forgets both indexes: after a change of the base fee, which changes every worth.
    pub(crate) fn reset(&mut self) {
        (self.pending, self.queued) = (None, None);
    }

    /// Takes a sender that has changed into the index of a kind.
    pub(crate) fn note(&mut self, s: usize, kind: State, senders: &SenderTable, base_fee: u64) {
        let victim = Victim::of(s, &senders[s], kind, 0, base_fee);
        let index = self.index(kind).get_or_insert_default();
        index.extend(victim);
        if index.len() > 2 * senders.len() + 64 {
            self.build(kind, senders, base_fee);
        }
    }

    pub(crate) fn push(&mut self, kind: State, victim: Victim) {
        self.index(kind).get_or_insert_default().push(victim);
    }

    /// The first fresh victim of a kind.
    pub(crate) fn pop(&mut self, kind: State, senders: &SenderTable, base_fee: u64) -> Option<Victim> {
        if !self.has(kind) {
            self.build(kind, senders, base_fee);
        }
        loop {
            let victim = self.index(kind).as_mut()?.pop()?;
            if senders.get(victim.sender()).is_some_and(|sender| sender.version == victim.version) {
                return Some(victim);
            }
        }
    }

    fn build(&mut self, kind: State, senders: &SenderTable, base_fee: u64) {
        let victims = senders.iter().filter_map(|(s, sender)| Victim::of(s, sender, kind, 0, base_fee));
        *self.index(kind) = Some(victims.collect());
    }

    const fn index(&mut self, kind: State) -> &mut Option<BinaryHeap<Victim>> {
        match kind {
            State::Pending => &mut self.pending,
            _ => &mut self.queued,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Account,
        entry::Entry,
        model::draft::{GWEI, sender, tx},
    };
    use types::Time;

    const BASE_FEE: u64 = GWEI as u64;

    /// Senders with queued transactions of these tips, in the order of their arrival.
    fn senders(tips: &[&[u128]]) -> SenderTable {
        let (mut table, mut arrival) = (SenderTable::default(), 0);
        for (who, tips) in tips.iter().enumerate() {
            let s = table.key_or_insert(sender(who as u8), Account::default(), || 0);
            for (i, tip) in tips.iter().enumerate() {
                arrival += 1;
                table.put(s, i, Entry::new(tx(who as u8, i as u64, *tip), arrival, Time::ZERO));
            }
        }
        table
    }

    fn order(order: &mut EvictionOrder, senders: &SenderTable) -> Vec<usize> {
        core::iter::from_fn(|| order.pop(State::Queued, senders, BASE_FEE))
            .map(|victim| victim.sender())
            .collect()
    }

    #[test]
    fn the_cheapest_goes_first_then_the_largest_then_the_last_come() {
        let senders = senders(&[&[5], &[1], &[2, 9], &[2], &[1]]);
        // A sender is worth what the least of its transactions pays.
        assert_eq!(order(&mut EvictionOrder::default(), &senders), [4, 1, 2, 3, 0]);
    }

    #[test]
    fn what_has_changed_since_is_stale() {
        let mut senders = senders(&[&[1], &[2], &[3]]);
        let mut eviction = EvictionOrder::default();
        assert!(!eviction.has(State::Queued));
        let first = eviction.pop(State::Queued, &senders, BASE_FEE).unwrap();
        assert_eq!((first.sender(), eviction.has(State::Queued)), (0, true));
        eviction.push(State::Queued, first);
        for s in [0, 1] {
            senders[s].version = eviction.next_version();
        }
        eviction.note(1, State::Queued, &senders, BASE_FEE);
        assert_eq!(order(&mut eviction, &senders), [1, 2], "sender 0 was not noted again");
        eviction.forget(State::Queued);
        assert_eq!(order(&mut eviction, &senders), [0, 1, 2], "the index is made anew");
    }

    #[test]
    fn an_index_does_not_grow_without_bound() {
        let mut senders = senders(&[&[1]]);
        let mut eviction = EvictionOrder::default();
        for _ in 0..1000 {
            senders[0].version = eviction.next_version();
            eviction.note(0, State::Queued, &senders, BASE_FEE);
            assert!(eviction.queued.as_ref().is_some_and(|index| index.len() <= 66));
        }
        assert_eq!(order(&mut eviction, &senders), [0]);
    }
}
