//! What the node did, for those who watch it: the log lines, the newest of them kept for the page, and everything that is
//! counted for `/metrics`.
//!
//! ```text
//!   Event ──▶ Observer ──▶ log line (target `queue` at info, `service` as warnings and errors, `pool` at debug)
//!                     ├──▶ the newest lines, for the page
//!                     └──▶ counters and histograms ──┐
//!   gauges read when they are asked for ─────────────┴──▶ /metrics
//! ```
//!
//! All of it comes from the one stream of events, so that log, page and metrics cannot disagree.

mod counters;
pub mod health;
mod lines;
mod process;
mod scrape;
mod table;
mod text;

pub use lines::{Line, Wording};
pub use scrape::{Build, Limits, Scraped, scrape};
pub use table::{Kind, METRICS, Metric, reference};
pub use text::CONTENT_TYPE;

use counters::Counters;
use histogram::Histogram;
use jam::SlotClock;
use lines::Lines;
use parking_lot::Mutex;
use rpc::{PoolIndex, Snapshot};
use types::{Event, Time};

/// Takes note of everything that happens. Shared by the journal's thread, which tells it, and whoever asks.
#[derive(Debug)]
pub struct Observer {
    /// When slots of the JAM chain begin: log lines say in which one an event happened.
    slots: SlotClock,
    wording: Wording,
    lines: Lines,
    counters: Counters,
    /// When a window was missed last.
    missed_at: Mutex<Option<Time>>,
}

impl Observer {
    /// An observer of a node whose slots begin so, and whose log lines are worded so.
    pub fn new(slots: SlotClock, wording: Wording) -> Self {
        Self {
            slots,
            wording,
            lines: Lines::default(),
            counters: Counters::default(),
            missed_at: Mutex::default(),
        }
    }

    /// Takes note of what happened, and of the snapshot that shows it. `index` does not know it yet.
    pub fn note(&self, at: Time, events: &[Event], snapshot: Option<&Snapshot>, index: &PoolIndex) {
        let slot = Some(self.slots.slot_at(at));
        for event in events {
            if matches!(event, Event::WindowMissed { .. }) {
                *self.missed_at.lock() = Some(at);
            }
            self.counters.note(at, event, index);
            let level = lines::level(event);
            if level <= tracing::Level::INFO {
                self.lines.add(at, event, level);
            }
            // Last: a tool that acts on a log line finds everything else told already.
            lines::log(event, level, slot, self.wording);
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

    /// Windows in which a bundle should have been sent and was not.
    pub fn windows_missed(&self) -> u64 {
        self.counters.windows_missed()
    }

    /// How often an alarm was raised, by its name in the metric `pectin_alarms_total`.
    pub fn alarms(&self, name: &str) -> u64 {
        self.counters.alarm(name)
    }

    /// How long commits took.
    pub const fn commits(&self) -> &Histogram {
        &self.counters.commit_seconds
    }
}
