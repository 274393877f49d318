//! The machine's clocks.

// The one place of this crate that touches the world.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{Change, Clock, Reading, Standing, Trust};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use types::{Duration, Time};

/// Without validators to ask, a jump forward is adopted once it has lasted this long.
const LASTING: Duration = Duration::from_secs(600);

/// The two clocks are read one after the other. If that took longer, the thread was interrupted in between, and they are
/// read again,
const INTERRUPTED_MS: u64 = 20;
/// so often at most.
const READINGS_MAX: usize = 10;

/// The time of this machine, for every thread of a process. Copies show the same time.
#[derive(Clone, Debug)]
pub struct SystemClock(Arc<Mutex<Clock>>);

impl Default for SystemClock {
    /// A clock without validators to ask.
    fn default() -> Self {
        Self::new(Trust::Lasting(LASTING))
    }
}

impl SystemClock {
    /// A clock that begins with what the wall clock shows.
    pub fn new(trust: Trust) -> Self {
        Self(Arc::new(Mutex::new(Clock::new(trust, Self::reading()))))
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let reading = Self::reading();
        let mut clock = self.0.lock();
        let time = clock.time(reading);
        report(clock.take_change());
        time
    }

    /// Takes an announcement by a validator: a block whose slot began at `slot_start` arrived at this reading.
    pub fn announced(&self, validator: [u8; 32], slot_start: Time, reading: Reading) {
        let mut clock = self.0.lock();
        clock.announced(validator, slot_start, reading);
        report(clock.take_change());
    }

    /// Which clock time follows.
    pub fn standing(&self) -> Standing {
        self.0.lock().standing()
    }

    /// Whether time can be relied on for what cannot be undone.
    pub fn is_confirmed(&self) -> bool {
        self.0.lock().is_confirmed()
    }

    /// What the machine's clocks show now.
    pub fn reading() -> Reading {
        let mut reading = Reading { monotonic_ms: monotonic_ms(), wall_ms: 0 };
        for _ in 0..READINGS_MAX {
            reading.wall_ms = wall_ms();
            let after = monotonic_ms();
            let took = after.saturating_sub(reading.monotonic_ms);
            reading.monotonic_ms = after;
            if took <= INTERRUPTED_MS {
                break;
            }
        }
        reading
    }
}

fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `std::time::Instant` stands still while a Linux machine is suspended, and has no number to compute with.
fn monotonic_ms() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const COUNTS_SUSPEND: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    // There the monotonic clock counts while the machine is suspended.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const COUNTS_SUSPEND: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(COUNTS_SUSPEND);
    let (seconds, nanoseconds) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or(0).saturating_mul(1000).saturating_add(nanoseconds.unwrap_or(0) / 1_000_000)
}

fn report(change: Option<Change>) {
    match change {
        None => {}
        Some(Change::Distrusted(standing)) => tracing::warn!("{standing}"),
        Some(Change::Returned) => tracing::info!("the machine's clock agrees with the time again"),
        Some(Change::Adopted { moved_ms }) => {
            tracing::warn!(moved_ms, "the jump of the machine's clock is confirmed; time follows it again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_the_wall_clocks_where_that_runs_well() {
        let clock = SystemClock::default();
        let (first, second) = (clock.now(), clock.now());
        assert!(first <= second);
        assert_eq!(clock.standing(), Standing::Wall);
        assert!(clock.is_confirmed());
        // Not a claim about speed: the wall clock is followed to within a jump.
        assert!(wall_ms().abs_diff(clock.now().as_millis()) <= crate::JUMP_MS);
    }
}
