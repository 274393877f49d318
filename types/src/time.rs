//! Time as the pure crates see it: a number that the driver hands in.

use core::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

/// Milliseconds since the Unix epoch, as the driver tells them.
///
/// The driver makes them non-decreasing, so a clock that jumps back stands still here. Unlike an `Instant`, a `Time`
/// survives a restart: it can be written to the journal and compared afterwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Time(u64);

impl Time {
    /// The earliest time.
    pub const ZERO: Self = Self(0);
    /// The latest time: what never comes.
    pub const MAX: Self = Self(u64::MAX);

    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms)
    }

    /// From seconds since the Unix epoch.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1000))
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// How long ago `earlier` was; zero if it is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    /// Saturates at [`Time::MAX`]: a deadline too far away never comes.
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    /// Saturates at [`Time::ZERO`].
    fn sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}s", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Time::MAX + Duration::from_millis(1), Time::MAX);
        assert_eq!(Time::ZERO + Duration::MAX, Time::MAX);
        assert_eq!(Time::from_secs(1) - Duration::from_secs(2), Time::ZERO);
        assert_eq!(Time::from_secs(u64::MAX), Time::MAX);
    }

    #[test]
    fn displays_seconds_with_milliseconds() {
        assert_eq!(Time::from_millis(12_034).to_string(), "12.034s");
    }
}
