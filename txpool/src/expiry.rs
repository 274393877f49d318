//! When the time of waiting transactions runs out.
//!
//! Deadlines stand in the order of time. One is stale if its transaction has left, or its time has begun anew; that is
//! found out when it comes up, or when there are too many.

use crate::senders::TxKey;
use std::collections::VecDeque;
use types::Time;

/// When the time of an entry runs out; stale if its arrival or its time has changed since.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Deadline {
    /// From when on its time to live runs.
    pub(crate) added_at: Time,
    pub(crate) arrival: u64,
    pub(crate) key: TxKey,
}

/// See the [module](self).
#[derive(Default, Debug)]
pub(crate) struct Expiry(VecDeque<Deadline>);

impl Expiry {
    pub(crate) fn push(&mut self, deadline: Deadline) {
        // Time does not run backwards, so this is the last one, except for what is restored.
        if self.0.back().is_none_or(|last| last.added_at <= deadline.added_at) {
            self.0.push_back(deadline);
        } else {
            let position = self.0.partition_point(|other| other.added_at <= deadline.added_at);
            self.0.insert(position, deadline);
        }
    }

    /// The first to run out.
    pub(crate) fn first(&self) -> Option<Deadline> {
        self.0.front().copied()
    }

    pub(crate) fn drop_first(&mut self) {
        self.0.pop_front();
    }

    /// Throws stale ones away, if with so many waiting transactions too many of them must be stale.
    pub(crate) fn compact(&mut self, waiting: usize, stands: impl Fn(&Deadline) -> bool) {
        if self.0.len() > 2 * waiting + 1024 {
            self.0.retain(stands);
        }
    }

    /// Lets the time of all that still stand begin anew.
    pub(crate) fn renew(&mut self, now: Time, mut stands: impl FnMut(&Deadline) -> bool) {
        self.0.retain_mut(|deadline| {
            let keep = stands(deadline);
            deadline.added_at = now;
            keep
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn deadline(ms: u64, arrival: u64) -> Deadline {
        Deadline { added_at: Time::from_millis(ms), arrival, key: TxKey { sender: 0, nonce: arrival } }
    }

    fn arrivals(mut expiry: Expiry) -> Vec<u64> {
        let mut found = vec![];
        while let Some(first) = expiry.first() {
            found.push(first.arrival);
            expiry.drop_first();
        }
        found
    }

    #[test]
    fn they_stand_in_the_order_of_time_and_of_arrival() {
        let mut expiry = Expiry::default();
        for (ms, arrival) in [(5, 1), (7, 2), (5, 3), (6, 4), (7, 5)] {
            expiry.push(deadline(ms, arrival));
        }
        assert_eq!(arrivals(expiry), [1, 3, 4, 2, 5]);
    }

    #[test]
    fn stale_ones_are_thrown_away_when_there_are_too_many() {
        let mut expiry = Expiry::default();
        (0..1027).for_each(|arrival| expiry.push(deadline(1, arrival)));
        expiry.compact(2, |_| false);
        assert_eq!(expiry.0.len(), 1027);
        expiry.compact(1, |deadline| deadline.arrival == 1000);
        assert_eq!(arrivals(expiry), [1000]);
    }

    #[test]
    fn what_stands_begins_anew() {
        let mut expiry = Expiry::default();
        [1, 2, 3].into_iter().for_each(|arrival| expiry.push(deadline(arrival, arrival)));
        expiry.renew(Time::from_millis(9), |deadline| deadline.arrival != 2);
        assert_eq!(expiry.first(), Some(deadline(9, 1)));
        assert_eq!(arrivals(expiry), [1, 3]);
    }
}
