//! The one place that reads the machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};
use types::Time;

/// The time now.
pub fn wall_clock() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
