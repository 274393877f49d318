//! When packages may be sent: a window before each slot, and not twice in one slot to guarantors that were not reached.

use crate::Config;
use jam::SlotClock;
use std::collections::BTreeSet;
use types::{Duration, Time};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct SubmissionWindow {
    clock: SlotClock,
    opens_before: Duration,
    closes_before: Duration,
    /// The last slot in which sending failed, and the blocks that it failed for.
    failed: (u32, BTreeSet<u64>),
    /// The slot whose window was announced.
    announced: Option<u32>,
}

impl SubmissionWindow {
    pub(crate) const fn new(clock: SlotClock, config: &Config) -> Self {
        Self {
            clock,
            opens_before: config.window_opens_before,
            closes_before: config.window_closes_before,
            failed: (0, BTreeSet::new()),
            announced: None,
        }
    }

    pub(crate) const fn clock(&self) -> SlotClock {
        self.clock
    }

    pub(crate) fn slot_at(&self, now: Time) -> u32 {
        self.clock.slot_at(now)
    }

    pub(crate) fn is_open(&self, now: Time) -> bool {
        let (opens, closes) = self.before_next_slot(now);
        now >= opens && now < closes
    }

    /// Whether runs for this window are packed now: from some time before it opens until it closes.
    pub(crate) fn is_packing_time(&self, now: Time, before: Duration) -> bool {
        let (opens, closes) = self.before_next_slot(now);
        now + before >= opens && now < closes
    }

    /// When the window before the next slot opens, or has opened.
    pub(crate) fn opening(&self, now: Time) -> Time {
        self.before_next_slot(now).0
    }

    /// When something could be sent next: now, if the window is open and still of use, or when the next one opens.
    pub(crate) fn next_opening(&self, now: Time, is_of_use: bool) -> Time {
        let (opens, closes) = self.before_next_slot(now);
        let is_over = now >= closes || !is_of_use;
        if is_over { opens + self.clock.slot_duration() } else { opens.max(now) }
    }

    /// When the window closes in which something could be sent next.
    pub(crate) fn next_closing(&self, now: Time, is_of_use: bool) -> Time {
        let (_, closes) = self.before_next_slot(now);
        let is_open = now < closes && is_of_use;
        if is_open { closes } else { closes + self.clock.slot_duration() }
    }

    /// Whether this window has not been announced yet; it is from now on.
    pub(crate) fn announce(&mut self, now: Time) -> bool {
        let slot = self.slot_at(now);
        self.announced.replace(slot) != Some(slot)
    }

    /// A block that was sent at a time reached no guarantor. All connected guarantors of the core were tried then, so the
    /// same bytes wait for the next window.
    pub(crate) fn note_failure(&mut self, block: u64, sent_at: Time) {
        let slot = self.slot_at(sent_at);
        // The answer about an earlier slot may come after one about this slot.
        if slot > self.failed.0 {
            self.failed = (slot, BTreeSet::new());
        }
        if slot == self.failed.0 {
            self.failed.1.insert(block);
        }
    }

    /// Whether a block was sent in this slot already and reached no guarantor.
    pub(crate) fn has_failed(&self, block: u64, now: Time) -> bool {
        let (slot, blocks) = &self.failed;
        blocks.contains(&block) && *slot == self.slot_at(now)
    }

    /// The clock was corrected: what failed in a slot that has not come is forgotten.
    pub(crate) fn set_back(&mut self, now: Time) {
        if self.failed.0 > self.slot_at(now) {
            self.failed = (0, BTreeSet::new());
        }
    }

    /// When the window before the next slot opens and closes.
    fn before_next_slot(&self, now: Time) -> (Time, Time) {
        let next = self.clock.next_start(now);
        (next - self.opens_before, next - self.closes_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::Params;

    const SLOT_MS: u64 = 6000;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn window() -> SubmissionWindow {
        let clock = SlotClock::starting_at(Time::ZERO, SLOT_MS);
        SubmissionWindow::new(clock, &Config::new(&Params::TINY, SLOT_MS))
    }

    #[test]
    fn it_opens_three_seconds_before_a_slot_and_closes_one_second_before() {
        let window = window();
        assert_eq!([2999, 3000, 4999, 5000].map(|ms| window.is_open(at(ms))), [false, true, true, false]);
        let opening = |ms, of_use| window.next_opening(at(ms), of_use);
        assert_eq!([opening(10, true), opening(3500, true)], [at(3000), at(3500)]);
        assert_eq!([opening(3500, false), opening(5000, true)], [at(9000), at(9000)]);
        let closing = |ms, of_use| window.next_closing(at(ms), of_use);
        assert_eq!([closing(10, true), closing(4999, true)], [at(5000), at(5000)]);
        assert_eq!([closing(10, false), closing(5000, true)], [at(11_000), at(11_000)]);
    }

    #[test]
    fn it_is_announced_once() {
        let mut window = window();
        assert_eq!([3000, 4000, 9000, 9001].map(|ms| window.announce(at(ms))), [true, false, true, false]);
    }

    #[test]
    fn what_failed_waits_for_the_next_slot() {
        let mut window = window();
        window.note_failure(7, at(9500));
        window.note_failure(8, at(3500));
        assert_eq!([7, 8].map(|block| window.has_failed(block, at(9600))), [true, false]);
        assert!(!window.has_failed(7, at(15_000)));
        window.note_failure(8, at(15_000));
        assert_eq!([7, 8].map(|block| window.has_failed(block, at(15_000))), [false, true]);
    }

    #[test]
    fn a_corrected_clock_forgets_slots_that_have_not_come() {
        let mut window = window();
        window.note_failure(7, at(60_000));
        window.set_back(at(60_001));
        assert!(window.has_failed(7, at(60_001)));
        window.set_back(at(9500));
        window.note_failure(8, at(9500));
        assert!(window.has_failed(8, at(9500)), "later slots do not hide it");
    }
}
