//! Time that never runs back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};
use types::Time;

/// The system's clock; when that is set back, time stands still until it has caught up.
#[derive(Clone, Debug, Default)]
pub(crate) struct WallClock(Arc<AtomicU64>);

impl WallClock {
    /// The time now.
    pub(crate) fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let shown = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let before = self.0.fetch_max(shown, Ordering::Relaxed);
        Time::from_millis(before.max(shown))
    }
}
