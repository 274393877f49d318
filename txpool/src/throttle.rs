//! Senders whose transactions were executed for nothing: what comes next of theirs waits.
//!
//! A transaction that no package can carry is found out by executing it, which is not paid for. So its sender waits before another
//! one of its transactions is executed: a second at first, and twice as long each time, up to ten minutes. Who does not do it again for an
//! hour begins anew.

use crate::Pool;
use alloy_primitives::{Address, map::AddressMap};
use types::{Duration, Time};

/// The first wait.
const WAIT_MIN: Duration = Duration::from_secs(1);
/// No wait is longer.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// After this long without another one a sender begins anew.
const FORGET_AFTER: Duration = Duration::from_secs(3600);
/// Senders that are remembered; beyond them those whose wait ended first are forgotten.
const SENDERS_MAX: usize = 4096;

/// How a sender waits.
#[derive(Clone, Copy, Debug)]
struct Wait {
    until: Time,
    length: Duration,
    is_over: bool,
}

impl Wait {
    /// Whether it lasts. One that would last longer than it is was begun by a clock that was ahead.
    fn lasts(&self, now: Time) -> bool {
        !self.is_over && now < self.until && self.until.since(now) <= self.length
    }
}

/// See the [module](self).
#[derive(Default, Debug)]
pub(crate) struct Throttle(AddressMap<Wait>);

impl Throttle {
    /// A sender waits, longer than the last time.
    fn start(&mut self, sender: Address, now: Time) -> Time {
        self.0.retain(|_, wait| now < wait.until + FORGET_AFTER);
        if self.0.len() >= SENDERS_MAX && !self.0.contains_key(&sender) {
            let first = self.0.iter().min_by_key(|(sender, wait)| (wait.until, **sender));
            let first = first.map(|(sender, _)| *sender);
            first.map(|sender| self.0.remove(&sender));
        }
        let before = self.0.get(&sender).map(|wait| wait.length);
        let length = before.map_or(WAIT_MIN, |before| (before * 2).min(WAIT_MAX));
        let until = now + length;
        self.0.insert(sender, Wait { until, length, is_over: false });
        until
    }

    fn is_waiting(&self, sender: &Address, now: Time) -> bool {
        self.0.get(sender).is_some_and(|wait| wait.lasts(now))
    }

    /// The senders whose wait is over since this was last called.
    fn end(&mut self, now: Time) -> Vec<Address> {
        let ended = self.0.iter_mut().filter(|(_, wait)| !wait.is_over && !wait.lasts(now));
        let mut ended = ended
            .map(|(sender, wait)| {
                wait.is_over = true;
                *sender
            })
            .collect::<Vec<_>>();
        ended.sort_unstable();
        ended
    }

    fn first_end(&self) -> Option<Time> {
        self.0.values().filter(|wait| !wait.is_over).map(|wait| wait.until).min()
    }
}

impl Pool {
    /// Says that a transaction of this sender was executed and can be in no package. Nothing of its sender is to be executed for a
    /// while: gives until when. Each time it is twice as long.
    pub fn throttle(&mut self, sender: Address, now: Time) -> Time {
        self.throttled.start(sender, now)
    }

    /// Whether nothing of this sender is to be executed yet.
    pub fn is_throttled(&self, sender: &Address, now: Time) -> bool {
        self.throttled.is_waiting(sender, now)
    }

    /// When the first of the senders that wait has waited long enough; see [`Pool::unthrottle`].
    pub fn throttled_until(&self) -> Option<Time> {
        self.throttled.first_end()
    }

    /// Lets the builder have the transactions of senders again that have waited long enough.
    pub fn unthrottle(&mut self, now: Time) {
        for sender in self.throttled.end(now) {
            let Some(s) = self.senders.key_of(&sender) else { continue };
            self.senders[s].selection.skipped = false;
            self.offer(s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENDER: Address = Address::repeat_byte(1);

    fn at(secs: u64) -> Time {
        Time::from_secs(secs)
    }

    #[test]
    fn each_wait_is_twice_as_long_as_the_last() {
        let mut throttle = Throttle::default();
        let mut now = at(0);
        for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600] {
            let until = throttle.start(SENDER, now);
            assert_eq!(until, now + Duration::from_secs(wait));
            assert!(throttle.is_waiting(&SENDER, now) && !throttle.is_waiting(&SENDER, until));
            assert_eq!(throttle.first_end(), Some(until));
            assert_eq!((throttle.end(now), throttle.end(until)), (vec![], vec![SENDER]));
            assert_eq!((throttle.first_end(), throttle.end(until)), (None, vec![]), "it is told once");
            now = until;
        }
        let late = now + FORGET_AFTER;
        assert_eq!(throttle.start(SENDER, late), late + WAIT_MIN);
    }

    #[test]
    fn senders_do_not_wait_for_each_other_and_are_bounded() {
        let mut throttle = Throttle::default();
        for index in 0..=SENDERS_MAX as u64 {
            throttle.start(Address::left_padding_from(&index.to_be_bytes()), Time::from_millis(index));
        }
        assert_eq!(throttle.0.len(), SENDERS_MAX);
        // Half a second after each began to wait.
        let waits = |index: u64| {
            let sender = Address::left_padding_from(&index.to_be_bytes());
            throttle.is_waiting(&sender, Time::from_millis(index + 500))
        };
        assert_eq!([0, 1, SENDERS_MAX as u64].map(waits), [false, true, true]);
        assert!(!throttle.is_waiting(&SENDER, at(0)));
    }
}
