//! How long submitted bundles are waited for: until a guarantee is given up, and until their anchor is too old.
//!
//! Only submitted bundles stand here. The timeout of one runs only while no other report keeps its core busy.

use std::collections::BTreeSet;
use types::{Duration, Time};

/// What a submitted bundle waits against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    pub(crate) block: u64,
    /// Since when its timeout runs, if it does.
    pub(crate) since: Option<Time>,
    /// The height of its anchor, if it was sent.
    pub(crate) anchor_height: Option<u64>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Deadlines {
    timeout: Duration,
    /// Blocks that an anchor may be among.
    history: u64,
    /// When guarantees are given up, by time.
    timeouts: BTreeSet<(Time, u64)>,
    /// By the height at which their anchor is too old.
    anchors: BTreeSet<(u64, u64)>,
}

impl Deadlines {
    pub(crate) fn new(timeout: Duration, history: u16) -> Self {
        Self { timeout, history: history.into(), timeouts: BTreeSet::new(), anchors: BTreeSet::new() }
    }

    pub(crate) fn insert(&mut self, wait: Wait) {
        self.timeouts.extend(wait.since.map(|since| (since + self.timeout, wait.block)));
        self.anchors.extend(wait.anchor_height.map(|height| (height + self.history, wait.block)));
    }

    /// Takes back what [`insert`](Self::insert) was given.
    pub(crate) fn remove(&mut self, wait: Wait) {
        if let Some(since) = wait.since {
            self.timeouts.remove(&(since + self.timeout, wait.block));
        }
        if let Some(height) = wait.anchor_height {
            self.anchors.remove(&(height + self.history, wait.block));
        }
    }

    /// When the next guarantee is given up.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.timeouts.first().map(|(at, _)| *at)
    }

    /// The first timeout that is due, and whose it is.
    pub(crate) fn due(&self, now: Time) -> Option<(Time, u64)> {
        self.timeouts.first().copied().filter(|(at, _)| *at <= now)
    }

    /// A timeout is over, whatever became of it.
    pub(crate) fn end_timeout(&mut self, timeout: (Time, u64)) {
        self.timeouts.remove(&timeout);
    }

    /// The bundles whose anchor is too old at a height of the best block.
    pub(crate) fn outlived(&self, height: u64) -> impl Iterator<Item = u64> {
        self.anchors.range(..=(height, u64::MAX)).map(|(_, number)| *number)
    }
}

#[cfg(any(test, feature = "model"))]
impl Deadlines {
    /// Panics unless exactly these wait.
    pub(crate) fn check(&self, waits: impl IntoIterator<Item = Wait>) {
        let mut expected = Self { timeouts: BTreeSet::new(), anchors: BTreeSet::new(), ..*self };
        waits.into_iter().for_each(|wait| expected.insert(wait));
        assert_eq!((&self.timeouts, &self.anchors), (&expected.timeouts, &expected.anchors), "deadlines");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn wait(block: u64, since: Option<u64>, height: u64) -> Wait {
        let since = match since {
            Some(ms) => Some(Time::from_millis(ms)),
            None => None,
        };
        Wait { block, since, anchor_height: Some(height) }
    }

    #[test]
    fn the_first_timeout_comes_first_and_stands_still_while_the_core_is_busy() {
        let mut deadlines = Deadlines::new(Duration::from_millis(100), 8);
        deadlines.insert(wait(1, Some(20), 5));
        deadlines.insert(wait(2, Some(10), 5));
        deadlines.insert(wait(3, None, 5));
        assert_eq!(deadlines.next_timeout(), Some(Time::from_millis(110)));
        assert_eq!(deadlines.due(Time::from_millis(109)), None);
        let due = deadlines.due(Time::from_millis(130)).unwrap();
        assert_eq!(due, (Time::from_millis(110), 2));
        deadlines.end_timeout(due);
        assert_eq!(deadlines.due(Time::from_millis(130)), Some((Time::from_millis(120), 1)));
        deadlines.remove(wait(1, Some(20), 5));
        assert_eq!(deadlines.next_timeout(), None);
        deadlines.check([wait(2, None, 5), wait(3, None, 5)]);
    }

    #[test]
    fn an_anchor_is_outlived_after_its_history() {
        let mut deadlines = Deadlines::new(Duration::ZERO, 8);
        deadlines.insert(wait(1, None, 5));
        deadlines.insert(wait(2, None, 6));
        let outlived = |deadlines: &Deadlines, height| deadlines.outlived(height).collect::<Vec<_>>();
        assert_eq!([12, 13, 14].map(|height| outlived(&deadlines, height)), [vec![], vec![1], vec![1, 2]]);
        deadlines.remove(wait(1, None, 5));
        assert_eq!(outlived(&deadlines, 14), [2]);
    }
}
