//! Slots and time.

use crate::Params;
use types::{Duration, Time};

/// The start of the JAM Common Era: noon UTC on 1 January 2025.
pub const COMMON_ERA: Time = Time::from_secs(1_735_732_800);

/// When slots begin. Real chains count from the Common Era in slots of six seconds; a dev chain may start whenever it
/// likes and run faster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotClock {
    epoch: Time,
    slot_ms: u64,
}

impl SlotClock {
    /// The clock of a chain with these parameters in the Common Era.
    pub const fn common_era(params: &Params) -> Self {
        Self { epoch: COMMON_ERA, slot_ms: params.slot_secs as u64 * 1000 }
    }

    /// A clock whose slot 0 begins at `epoch`. A slot lasts at least a millisecond.
    pub const fn starting_at(epoch: Time, slot_ms: u64) -> Self {
        Self { epoch, slot_ms: if slot_ms == 0 { 1 } else { slot_ms } }
    }

    /// How long a slot lasts.
    pub const fn slot_duration(&self) -> Duration {
        Duration::from_millis(self.slot_ms)
    }

    /// The slot at a time; 0 before the clock starts.
    pub fn slot_at(&self, now: Time) -> u32 {
        let slots = now.since(self.epoch).as_millis() / u128::from(self.slot_ms);
        u32::try_from(slots).unwrap_or(u32::MAX)
    }

    /// When a slot begins.
    pub fn start_of(&self, slot: u32) -> Time {
        self.epoch + Duration::from_millis(self.slot_ms.saturating_mul(u64::from(slot)))
    }

    /// When the slot after the present one begins.
    pub fn next_start(&self, now: Time) -> Time {
        if now < self.epoch { self.epoch } else { self.start_of(self.slot_at(now).saturating_add(1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_begin_where_they_should() {
        let clock = SlotClock::common_era(&Params::FULL);
        let start = clock.start_of(1000);
        assert_eq!(start, Time::from_secs(1_735_732_800 + 6000));
        assert_eq!(clock.slot_at(start), 1000);
        assert_eq!(clock.slot_at(start - Duration::from_millis(1)), 999);
        assert_eq!(clock.next_start(start), clock.start_of(1001));
    }

    #[test]
    fn no_time_is_out_of_range() {
        let clock = SlotClock::starting_at(Time::from_secs(10), 0);
        assert_eq!(clock.slot_at(Time::ZERO), 0);
        assert_eq!(clock.next_start(Time::ZERO), Time::from_secs(10));
        assert_eq!(clock.slot_at(Time::MAX), u32::MAX);
        assert!(clock.next_start(Time::MAX) > Time::from_secs(10));
    }
}
