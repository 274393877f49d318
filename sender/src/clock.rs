//! The one place that reads the machine's clock. What it says never goes back, whatever the machine's clock does: leases,
//! loans, intervals and the order of acceptance all rest on it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};
use types::Time;

/// The latest time that anybody in this process was told, in milliseconds.
static LATEST: AtomicU64 = AtomicU64::new(0);

/// The time now. In one process it never goes back.
pub fn wall_clock() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    not_before(&LATEST, u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The time, or the latest one that was told before if that is later.
fn not_before(latest: &AtomicU64, now_ms: u64) -> Time {
    let before = latest.fetch_max(now_ms, Ordering::Relaxed);
    Time::from_millis(before.max(now_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_stands_still_until_it_has_caught_up() {
        let latest = AtomicU64::new(0);
        let told: Vec<u64> =
            [10, 12, 3, 11, 12, 15].iter().map(|ms| not_before(&latest, *ms).as_millis()).collect();
        assert_eq!(told, [10, 12, 12, 12, 12, 15]);
        assert!(wall_clock() <= wall_clock());
    }
}
