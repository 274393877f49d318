//! Senders that wait: for room among the pending, or for the base fee to fall.

use core::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Senders with executable transactions that found pending full: the best tip first, then the first come.
///
/// A sender says itself whether it is parked; what stands here beside that is stale.
#[derive(Default, Debug)]
pub(crate) struct ParkedSenders(BinaryHeap<(u128, Reverse<u64>, u32)>);

impl ParkedSenders {
    /// Parks a sender with the tip and the arrival of the transaction that waits.
    pub(crate) fn push(&mut self, tip: u128, arrival: u64, sender: u32) {
        self.0.push((tip, Reverse(arrival), sender));
    }

    /// The sender who gets room next.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        self.0.pop().map(|(.., sender)| sender)
    }

    /// Throws stale ones away, if with so many senders too many of them must be stale.
    pub(crate) fn compact(&mut self, senders: usize, is_parked: impl Fn(u32) -> bool) {
        if self.0.len() > 2 * senders + 64 {
            let mut waiting = core::mem::take(&mut self.0).into_vec();
            waiting.sort_unstable_by_key(|(.., sender)| *sender);
            waiting.dedup_by_key(|(.., sender)| *sender);
            waiting.retain(|(.., sender)| is_parked(*sender));
            self.0 = waiting.into();
        }
    }
}

/// Senders whose next transaction waits for the base fee to fall, by the fee cap of that one.
#[derive(Default, Debug)]
pub(crate) struct BaseFeeWaiters(BTreeSet<(u128, u32)>);

impl BaseFeeWaiters {
    /// A sender's next transaction waits for another base fee than before, or for none.
    pub(crate) fn replace(&mut self, sender: u32, was: Option<u128>, fee_cap: Option<u128>) {
        if was != fee_cap {
            was.map(|fee_cap| self.0.remove(&(fee_cap, sender)));
            self.0.extend(fee_cap.map(|fee_cap| (fee_cap, sender)));
        }
    }

    /// The highest base fee at which one of them would not wait any more.
    pub(crate) fn highest(&self) -> Option<u128> {
        self.0.last().map(|(fee_cap, _)| *fee_cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_tip_gets_room_first_then_the_first_come() {
        let mut parked = ParkedSenders::default();
        for (tip, arrival, sender) in [(1, 1, 10), (2, 3, 11), (2, 2, 12)] {
            parked.push(tip, arrival, sender);
        }
        assert_eq!([(); 4].map(|()| parked.pop()), [Some(12), Some(11), Some(10), None]);
    }

    #[test]
    fn stale_ones_are_thrown_away_when_there_are_too_many() {
        let mut parked = ParkedSenders::default();
        (0..67).for_each(|arrival| parked.push(1, arrival, (arrival % 2) as u32));
        parked.compact(2, |_| true);
        assert_eq!(parked.0.len(), 67, "few are stale");
        parked.compact(1, |sender| sender == 1);
        assert_eq!((parked.pop(), parked.pop()), (Some(1), None));
    }

    #[test]
    fn the_highest_fee_cap_is_set_free_first() {
        let mut waiters = BaseFeeWaiters::default();
        waiters.replace(1, None, Some(7));
        waiters.replace(2, None, Some(9));
        assert_eq!(waiters.highest(), Some(9));
        waiters.replace(2, Some(9), Some(5));
        assert_eq!(waiters.highest(), Some(7));
        waiters.replace(1, Some(7), None);
        waiters.replace(2, Some(5), Some(5));
        assert_eq!(waiters.highest(), Some(5));
    }
}
