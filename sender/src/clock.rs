//! Where the sender's time comes from: leases, loans, intervals and the order of acceptance all rest on it.

use ::clock::SystemClock;
use core::fmt;
use std::sync::Arc;
use types::Time;

/// The time of one process. It runs back only when a clock that was wrong is corrected.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Time + Send + Sync>);

impl Clock {
    /// A clock that shows what this function says.
    pub fn new(now: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time now.
    pub fn now(&self) -> Time {
        (self.0)()
    }
}

impl Default for Clock {
    /// The machine's clock, for a process that has no node's to share.
    fn default() -> Self {
        SystemClock::default().into()
    }
}

impl From<SystemClock> for Clock {
    fn from(clock: SystemClock) -> Self {
        Self::new(move || clock.now())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}
