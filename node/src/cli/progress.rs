//! What long work shows: one line that is written over and over on a terminal. In a file or a pipe it would be noise, so
//! nothing is shown there, or a line every few seconds where the work may take minutes.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

/// How often the line changes at most.
const EVERY: Duration = Duration::from_millis(100);
/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(3);
/// Characters of a bar.
const BAR: u64 = 30;

/// How it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shown {
    /// One line, written over.
    Over,
    /// Lines below each other.
    Below,
    Not,
}

/// A line that shows how far something is.
pub(super) struct Progress {
    shown: Shown,
    last: Option<Instant>,
    begun: Instant,
}

impl Progress {
    /// Begins; shows nothing yet, and never anything where there is no terminal.
    pub(super) fn new() -> Self {
        Self::begun(Shown::Not)
    }

    /// Begins; where there is no terminal a line is written every few seconds.
    pub(super) fn in_lines() -> Self {
        Self::begun(Shown::Below)
    }

    fn begun(elsewhere: Shown) -> Self {
        let shown = if std::io::stderr().is_terminal() { Shown::Over } else { elsewhere };
        Self { shown, last: None, begun: Instant::now() }
    }

    /// Shows a line instead of the one before, unless that was a moment ago.
    pub(super) fn show(&mut self, text: impl FnOnce() -> String) {
        let every = match self.shown {
            Shown::Over => EVERY,
            Shown::Below => LINE_EVERY,
            Shown::Not => return,
        };
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < every) {
            return;
        }
        self.last = Some(now);
        let seconds = self.begun.elapsed().as_secs();
        // A terminal that is gone is no reason to stop.
        let _ = match self.shown {
            Shown::Over => write!(std::io::stderr(), "\r\x1b[K{} ({seconds} s)", text()),
            _ => writeln!(std::io::stderr(), "{} ({seconds} s)", text()),
        };
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.last.is_some() && self.shown == Shown::Over {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Does the work while a line says how far it is; who does the work need not know.
pub(super) fn during<T: Send>(line: impl Fn() -> String, work: impl FnOnce() -> T + Send) -> T {
    look_on(Progress::new(), line, work)
}

fn look_on<T: Send>(mut progress: Progress, line: impl Fn() -> String, work: impl FnOnce() -> T + Send) -> T {
    if progress.shown == Shown::Not {
        return work();
    }
    let watcher = std::thread::current();
    std::thread::scope(|scope| {
        let working = scope.spawn(move || {
            let done = work();
            watcher.unpark();
            done
        });
        while !working.is_finished() {
            progress.show(&line);
            std::thread::park_timeout(EVERY);
        }
        working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
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
    fn work_is_looked_at_until_it_is_done() {
        let begun = Instant::now();
        let looks = std::cell::Cell::new(0);
        let line = || {
            looks.set(looks.get() + 1);
            "working".to_owned()
        };
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let shown = Progress { shown: Shown::Over, last: None, begun };
        let waited = look_on(shown, line, move || {
            // Nobody tells: it is only waited for, as long as a few looks take.
            assert!(is_done.recv_timeout(3 * EVERY).is_err());
            7
        });
        assert_eq!(waited, 7);
        assert!(looks.get() >= 2, "{looks:?}");
        drop(done);
        let hidden = Progress { shown: Shown::Not, last: None, begun };
        assert_eq!(look_on(hidden, || unreachable!("nobody sees it"), || 8), 8);
    }

    #[test]
    fn bars_are_never_too_long() {
        assert_eq!(bar(0, 0), format!("[{}] 0%", ".".repeat(30)));
        assert_eq!(bar(9, 3), format!("[{}] 100%", "#".repeat(30)));
        assert!(bar(1, 2).starts_with("[###############..............."));
    }
}
