//! What long work shows: one line that is written over and over, on a terminal alone. In a file or a pipe it would be
//! noise, so nothing is shown there.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

/// How often the line changes at most.
const EVERY: Duration = Duration::from_millis(100);
/// Characters of a bar.
const BAR: u64 = 30;

/// A line that shows how far something is.
pub(super) struct Progress {
    shown: bool,
    last: Option<Instant>,
    begun: Instant,
}

impl Progress {
    /// Begins; shows nothing yet.
    pub(super) fn new() -> Self {
        Self { shown: std::io::stderr().is_terminal(), last: None, begun: Instant::now() }
    }

    /// Shows a line instead of the one before, unless that was a moment ago.
    pub(super) fn show(&mut self, text: impl FnOnce() -> String) {
        let now = Instant::now();
        if !self.shown || self.last.is_some_and(|last| now.duration_since(last) < EVERY) {
            return;
        }
        self.last = Some(now);
        let seconds = self.begun.elapsed().as_secs();
        // A terminal that is gone is no reason to stop.
        let _ = write!(std::io::stderr(), "\r\x1b[K{} ({seconds} s)", text());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.last.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// A bar of so much of all.
pub(super) fn bar(done: u64, all: u64) -> String {
    let all = all.max(1);
    let filled = done.min(all) * BAR / all;
    let cells = (0..BAR).map(|cell| if cell < filled { '#' } else { '.' });
    format!("[{}] {}%", cells.collect::<String>(), done.min(all) * 100 / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_never_too_long() {
        assert_eq!(bar(0, 0), format!("[{}] 0%", ".".repeat(30)));
        assert_eq!(bar(9, 3), format!("[{}] 100%", "#".repeat(30)));
        assert!(bar(1, 2).starts_with("[###############..............."));
    }
}
