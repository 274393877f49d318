//! What the node did, for those who watch it: the log lines, the newest of them kept for the page, and everything that is
//! counted for `/metrics`.
//!
//! ```text
//!   Event ──▶ Observer ──▶ log line (the queue's at info, alarms as such, the pool's only when asked for)
//!                     ├──▶ the newest lines, for the page
//!                     └──▶ counters and histograms ──┐
//!   gauges read when they are asked for ─────────────┴──▶ /metrics
//! ```
//!
//! All of it comes from the one stream of events, so that log, page and metrics cannot disagree.

mod counters;
mod lines;
mod process;
mod scrape;
mod table;
mod text;

pub use lines::Line;
pub use scrape::{Limits, Scraped, scrape};
pub use table::{Kind, METRICS, Metric, reference};

use counters::Counters;
use histogram::Histogram;
use lines::Lines;
use parking_lot::Mutex;
use rpc::{PoolIndex, Snapshot};
use types::{Event, Time};

/// Takes note of everything that happens. Shared by the journal's thread, which tells it, and whoever asks.
#[derive(Debug, Default)]
pub struct Observer {
    lines: Lines,
    pub(crate) counters: Counters,
    /// When a window was missed last.
    missed_at: Mutex<Option<Time>>,
}

impl Observer {
    /// Takes note of what happened, and of the picture that shows it. `index` does not know it yet.
    pub fn note(&self, at: Time, events: &[Event], snapshot: Option<&Snapshot>, index: &PoolIndex) {
        for event in events {
            let level = lines::level(event);
            lines::log(event, level);
            if level <= tracing::Level::INFO {
                self.lines.add(at, event, level);
            }
            if matches!(event, Event::WindowMissed { .. }) {
                *self.missed_at.lock() = Some(at);
            }
            self.counters.note(at, event, index);
        }
        if let Some(snapshot) = snapshot {
            self.counters.note_sizes(&snapshot.insight.sizes);
        }
    }

    /// The kept lines after this number, oldest first.
    pub fn lines_after(&self, number: u64) -> Vec<Line> {
        self.lines.after(number)
    }

    /// When a window was missed last.
    pub fn missed_at(&self) -> Option<Time> {
        *self.missed_at.lock()
    }

    /// How long commits took.
    pub const fn commits(&self) -> &Histogram {
        &self.counters.commit_seconds
    }
}
