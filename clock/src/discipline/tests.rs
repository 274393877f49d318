//! A machine whose wall clock is set, stopped and corrected, with validators that announce blocks.

use super::*;
use proptest::prelude::*;

const SLOT_MS: u64 = 6000;
const HOUR_MS: i64 = 3_600_000;
/// A multiple of a slot.
const START_MS: u64 = 1_800_000_000_000;

/// The truth, and the clocks of one machine.
struct Machine {
    clock: Clock,
    /// Milliseconds that have really passed.
    passed_ms: u64,
    /// What the monotonic clock missed: a virtual machine was stopped.
    stopped_ms: u64,
    /// How far the wall clock is wrong.
    wrong_ms: i64,
}

impl Machine {
    fn new(trust: Trust, wrong_ms: i64) -> Self {
        let wall_ms = START_MS.saturating_add_signed(wrong_ms);
        let clock = Clock::new(trust, Reading { monotonic_ms: 5000, wall_ms });
        Self { clock, passed_ms: 0, stopped_ms: 0, wrong_ms }
    }

    fn builder(wrong_ms: i64) -> Self {
        Self::new(Trust::Validators { count: 6, slot: Duration::from_millis(SLOT_MS) }, wrong_ms)
    }

    fn true_ms(&self) -> u64 {
        START_MS + self.passed_ms
    }

    fn reading(&self) -> Reading {
        Reading {
            monotonic_ms: 5000 + self.passed_ms - self.stopped_ms,
            wall_ms: self.true_ms().saturating_add_signed(self.wrong_ms),
        }
    }

    /// How far time is wrong now.
    fn error_ms(&mut self) -> i64 {
        let time = self.clock.time(self.reading());
        signed(time.as_millis()) - signed(self.true_ms())
    }

    /// Time passes; time is looked at every 100 ms and does not run back.
    fn pass(&mut self, ms: u64) {
        let mut last = self.clock.time(self.reading());
        for _ in 0..ms / 100 {
            self.passed_ms += 100;
            let now = self.clock.time(self.reading());
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
    }

    /// Slots go by; `validators` announce each one's block 300 ms after it began.
    fn slots(&mut self, count: usize, validators: core::ops::Range<u8>) {
        for _ in 0..count {
            self.pass(SLOT_MS - self.passed_ms % SLOT_MS + 300);
            let slot_start = Time::from_millis(self.true_ms() / SLOT_MS * SLOT_MS);
            for validator in validators.clone() {
                self.clock.announced([validator; 32], slot_start, self.reading());
            }
        }
    }
}

/// Wall clock one hour ahead for 20 s, then back: nothing was sealed or submitted for the rest of the hour.
#[test]
fn a_transient_jump_changes_nothing() {
    for jump in [HOUR_MS, -HOUR_MS, 2000] {
        let mut machine = Machine::builder(0);
        machine.slots(3, 0..6);
        machine.wrong_ms = jump;
        machine.pass(1000);
        let holding = Standing::Holding { wall_ahead_ms: jump };
        assert_eq!(machine.clock.take_change(), Some(Change::Distrusted(holding)));
        assert_eq!((machine.clock.standing(), machine.clock.is_confirmed()), (holding, false));
        machine.slots(3, 0..6);
        assert!(machine.error_ms().abs() <= 1, "{}", machine.error_ms());
        assert_eq!(machine.clock.standing(), Standing::Validators { wall_ahead_ms: jump });
        machine.wrong_ms = 0;
        machine.pass(1000);
        assert_eq!((machine.error_ms(), machine.clock.standing()), (0, Standing::Wall));
        assert_eq!(machine.clock.take_change(), Some(Change::Returned));
        assert!(machine.clock.is_confirmed());
    }
}

/// A virtual machine was stopped for three hours: the monotonic clock missed them, the wall clock was set right.
#[test]
fn a_jump_that_validators_confirm_is_followed() {
    let mut machine = Machine::builder(0);
    machine.slots(3, 0..6);
    machine.passed_ms += 3 * HOUR_MS.unsigned_abs();
    machine.stopped_ms += 3 * HOUR_MS.unsigned_abs();
    machine.pass(100);
    assert_eq!(machine.error_ms(), -3 * HOUR_MS);
    machine.slots(1, 0..6);
    assert_eq!(machine.error_ms(), -3 * HOUR_MS, "one announcement of each says nothing about the pace");
    machine.slots(1, 0..6);
    assert_eq!((machine.error_ms(), machine.clock.standing()), (0, Standing::Wall));
    assert_eq!(machine.clock.take_change(), Some(Change::Adopted { moved_ms: 3 * HOUR_MS }));
}

#[test]
fn a_third_of_the_validators_is_not_enough() {
    let mut machine = Machine::builder(0);
    machine.passed_ms += 3 * HOUR_MS.unsigned_abs();
    machine.stopped_ms += 3 * HOUR_MS.unsigned_abs();
    machine.slots(10, 0..2);
    assert_eq!(machine.error_ms(), -3 * HOUR_MS);
    machine.slots(2, 0..3);
    assert_eq!(machine.error_ms(), 0);
}

/// A machine whose clock is wrong from the start, in both directions, follows the validators.
#[test]
fn a_clock_that_is_wrong_from_the_start_is_overruled_and_heals() {
    for wrong in [HOUR_MS, -HOUR_MS] {
        let mut machine = Machine::builder(wrong);
        machine.pass(1000);
        assert_eq!(machine.error_ms(), wrong);
        assert!(!machine.clock.is_confirmed());
        for _ in 0..3 {
            // Not by `slots`: here time may run back.
            machine.passed_ms += SLOT_MS - machine.passed_ms % SLOT_MS + 300;
            let slot_start = Time::from_millis(machine.true_ms() / SLOT_MS * SLOT_MS);
            for validator in 0..6 {
                machine.clock.announced([validator; 32], slot_start, machine.reading());
            }
        }
        // Announcements take 300 ms here.
        assert_eq!(machine.error_ms(), -300);
        let ahead = wrong + 300;
        assert_eq!(machine.clock.standing(), Standing::Validators { wall_ahead_ms: ahead });
        machine.slots(3, 0..6);
        assert_eq!(machine.error_ms(), -300);
        machine.wrong_ms = 0;
        machine.pass(10_000);
        assert_eq!((machine.error_ms(), machine.clock.standing()), (0, Standing::Wall));
    }
}

/// A peer that catches up announces old blocks, many within a moment.
#[test]
fn old_blocks_say_nothing() {
    let mut machine = Machine::builder(0);
    for ago in (1..600).rev() {
        machine.pass(100);
        let slot_start = Time::from_millis(machine.true_ms() / SLOT_MS * SLOT_MS - ago * SLOT_MS);
        for validator in 0..6 {
            machine.clock.announced([validator; 32], slot_start, machine.reading());
        }
    }
    assert_eq!((machine.error_ms(), machine.clock.standing()), (0, Standing::Wall));
}

/// A chain that stood still for a day, in a network that starts again: each peer's newest block is a day old.
#[test]
fn a_chain_that_stood_still_says_nothing() {
    let mut machine = Machine::builder(0);
    for _ in 0..3 {
        machine.pass(SLOT_MS);
        let slot_start = Time::from_millis(START_MS - 24 * HOUR_MS.unsigned_abs());
        for validator in 0..6 {
            machine.clock.announced([validator; 32], slot_start, machine.reading());
        }
    }
    machine.slots(5, 0..6);
    assert_eq!((machine.error_ms(), machine.clock.standing()), (0, Standing::Wall));
}

#[test]
fn small_differences_are_followed_without_running_back() {
    for wrong in [400, -400, 1000, -1000] {
        let mut machine = Machine::builder(0);
        machine.pass(1000);
        machine.wrong_ms = wrong;
        machine.pass(100);
        assert!(machine.error_ms().abs() <= 11, "{}", machine.error_ms());
        machine.pass(20_000);
        assert_eq!((machine.error_ms(), machine.clock.standing()), (wrong, Standing::Wall));
    }
}

#[test]
fn without_validators_a_jump_forward_must_last() {
    let mut machine = Machine::new(Trust::Lasting(Duration::from_secs(600)), 0);
    machine.wrong_ms = HOUR_MS;
    machine.pass(599_000);
    assert_eq!(machine.error_ms(), 0);
    machine.pass(2000);
    assert_eq!((machine.error_ms(), machine.clock.standing()), (HOUR_MS, Standing::Wall));
    // Back is not adopted, however long it lasts; time goes on nevertheless.
    machine.wrong_ms = -HOUR_MS;
    machine.pass(1_000_000);
    assert_eq!(machine.error_ms(), HOUR_MS);
}

proptest! {
    /// Whatever the wall clock does, time advances with the monotonic clock and is right once all is well again.
    #[test]
    fn nothing_that_the_wall_clock_does_is_lasting(
        jumps in proptest::collection::vec((-10 * HOUR_MS..10 * HOUR_MS, 1_u64..20), 0..20),
    ) {
        let mut machine = Machine::builder(0);
        machine.slots(3, 0..6);
        for (wrong, slots) in jumps {
            machine.wrong_ms = wrong;
            let before = machine.clock.time(machine.reading());
            machine.slots(slots as usize, 0..6);
            let after = machine.clock.time(machine.reading());
            let passed = u128::from(slots * SLOT_MS);
            prop_assert!(after.since(before).as_millis().abs_diff(passed) <= 30_000 + passed / 5);
            prop_assert!(machine.error_ms().abs() <= 30_000, "{}", machine.error_ms());
        }
        machine.wrong_ms = 0;
        machine.slots(60, 0..6);
        prop_assert_eq!((machine.error_ms(), machine.clock.standing()), (0, Standing::Wall));
    }
}
