//! The driver's time: it stands still for a moment that seems to lie back, and may be in doubt.

use types::{Duration, Time};

/// Time that lies back by more than this was corrected; less is the order in which threads are heard.
pub(crate) const CORRECTION_MIN: Duration = Duration::from_millis(500);

/// Whether what waited too long may expire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Certainty {
    /// Not while the time is in doubt.
    InDoubt,
    /// The time was in doubt when this was last asked, and is certain now: what a wrong clock dated must be dated anew.
    ConfirmedAnew,
    /// Yes.
    Certain,
}

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverTime {
    now: Time,
    /// Whether time is certain enough to let transactions expire.
    is_confirmed: bool,
    /// Whether it was not, since transactions last expired.
    was_in_doubt: bool,
}

impl DriverTime {
    pub(crate) const fn new(now: Time) -> Self {
        Self { now, is_confirmed: true, was_in_doubt: false }
    }

    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// Takes the time, and gives whether it was corrected. It stands still for a moment that seems to lie back, since
    /// commands may come late; a time that lies back further is a correction of the clock.
    pub(crate) fn set(&mut self, now: Time) -> bool {
        let is_corrected = now + CORRECTION_MIN < self.now;
        self.now = if is_corrected { now } else { self.now.max(now) };
        is_corrected
    }

    /// Takes the time, and believes no correction.
    #[cfg(feature = "bugs")]
    pub(crate) fn set_forward(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Whether the clock is believed.
    pub(crate) const fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Says whether the clock is believed.
    pub(crate) const fn set_confirmed(&mut self, is_confirmed: bool) {
        self.was_in_doubt |= !self.is_confirmed;
        self.is_confirmed = is_confirmed;
    }

    /// Whether what waited too long may expire now.
    pub(crate) const fn certainty(&mut self) -> Certainty {
        let was_in_doubt = self.was_in_doubt;
        self.was_in_doubt = !self.is_confirmed;
        match (self.is_confirmed, was_in_doubt) {
            (false, _) => Certainty::InDoubt,
            (true, true) => Certainty::ConfirmedAnew,
            (true, false) => Certainty::Certain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn it_stands_still_for_a_moment_that_seems_to_lie_back() {
        let mut time = DriverTime::new(at(10_000));
        assert_eq!((time.set(at(9_500)), time.now()), (false, at(10_000)));
        assert_eq!((time.set(at(10_100)), time.now()), (false, at(10_100)));
        assert_eq!((time.set(at(9_599)), time.now()), (true, at(9_599)), "that was a correction");
    }

    #[test]
    fn a_doubt_is_heard_of_once_when_it_is_over() {
        let mut time = DriverTime::new(at(0));
        assert_eq!(time.certainty(), Certainty::Certain);
        time.set_confirmed(false);
        assert_eq!([time.certainty(), time.certainty()], [Certainty::InDoubt; 2]);
        time.set_confirmed(true);
        assert_eq!([time.certainty(), time.certainty()], [Certainty::ConfirmedAnew, Certainty::Certain]);
        // A doubt that came and went between two questions counts too.
        time.set_confirmed(false);
        time.set_confirmed(true);
        assert_eq!(time.certainty(), Certainty::ConfirmedAnew);
    }
}
