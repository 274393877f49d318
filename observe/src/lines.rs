//! Log lines: which level an event has, and the newest ones for the page.

use parking_lot::Mutex;
use std::collections::VecDeque;
use tracing::{Level, field};
use types::{BlockId, Event, Fields, SpecLine, Subject, Time};

/// So many lines are kept for pages that are opened later.
const KEPT: usize = 400;

/// A line of the log that was made of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Counts from 1.
    pub number: u64,
    /// When.
    pub at: Time,
    /// How grave: `info`, `warn` or `error`.
    pub level: &'static str,
    /// The words.
    pub text: String,
    /// The block that it is about.
    pub block: Option<BlockId>,
}

/// The level of an event's line: the queue's are news, alarms are such, the pool's are details.
pub(super) const fn level(event: &Event) -> Level {
    match event {
        Event::ForeignHead { .. }
        | Event::ServiceDiffers { .. }
        | Event::CodeChanged { is_known: false, .. }
        | Event::Refused { .. } => Level::ERROR,
        Event::GuaranteeTimeout { .. }
        | Event::WindowMissed { .. }
        | Event::NotSubmitted { .. }
        | Event::Abandoned { .. }
        | Event::Dissolved { .. }
        | Event::RunRefused { .. }
        | Event::Released { .. }
        | Event::ServiceUnreadable { .. }
        | Event::DuplicateGuarantee { .. } => Level::WARN,
        Event::CodeChanged { .. }
        | Event::Window { .. }
        | Event::Sealed { .. }
        | Event::Submitted { .. }
        | Event::Guaranteed { .. }
        | Event::Accumulated { .. }
        | Event::Finalized { .. }
        | Event::AnchorStale { .. }
        | Event::Requeued { .. } => Level::INFO,
        _ => Level::DEBUG,
    }
}

/// How events are written to the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wording {
    /// A message with fields.
    #[default]
    Fields,
    /// The exact lines of the queue specification.
    Spec,
}

/// Writes an event at a level as a message with fields. `tracing` wants levels, targets and names of fields that are known
/// when it is compiled, hence a macro; fields that are `None` are not written.
macro_rules! write_event {
    ($level:ident, $target:literal, $slot:expr, $fields:expr) => {{
        let Fields { bundle, blocks, version, core, block, transactions, tx, sender, pending, .. } = $fields;
        let Fields { replacement, attempts, reason, by, queued, inflight, submitted, .. } = $fields;
        let Fields { can_submit, chain, local, code, error, message, .. } = $fields;
        tracing::$level!(
            target: $target,
            bundle,
            blocks,
            version,
            core,
            block = block.map(field::display),
            transactions,
            tx = tx.map(field::display),
            sender = sender.map(field::display),
            pending,
            replacement = replacement.map(field::display),
            attempts,
            reason = reason.map(field::display),
            by = by.map(field::display),
            queued,
            inflight,
            submitted,
            can_submit,
            chain = chain.map(field::display),
            local = local.map(field::display),
            code = code.map(field::display),
            error,
            slot = $slot,
            "{message}"
        )
    }};
}

/// Writes the line of an event that happened in this slot of the JAM chain.
pub(super) fn log(event: &Event, level: Level, slot: Option<u32>, wording: Wording) {
    let fields = event.fields();
    if wording == Wording::Spec && fields.subject == Subject::Queue {
        let line = SpecLine(event);
        return match level {
            Level::ERROR => tracing::error!(target: "queue", "{line}"),
            Level::WARN => tracing::warn!(target: "queue", "{line}"),
            Level::INFO => tracing::info!(target: "queue", "{line}"),
            _ => tracing::debug!(target: "queue", "{line}"),
        };
    }
    match (fields.subject, level) {
        (Subject::Queue, Level::ERROR) => write_event!(error, "queue", slot, fields),
        (Subject::Queue, Level::WARN) => write_event!(warn, "queue", slot, fields),
        (Subject::Queue, _) => write_event!(info, "queue", slot, fields),
        (Subject::Service, Level::ERROR) => write_event!(error, "service", slot, fields),
        (Subject::Service, Level::INFO) => write_event!(info, "service", slot, fields),
        (Subject::Service, _) => write_event!(warn, "service", slot, fields),
        // The pool has no slot: its transactions wait for blocks, which have.
        (Subject::Pool, _) => write_event!(debug, "pool", None::<u32>, fields),
    }
}

/// The block, or the first block of the bundle, that an event is about.
const fn block(event: &Event) -> Option<BlockId> {
    match event {
        Event::Sealed { block, .. } | Event::Refused { block, .. } | Event::Released { block, .. } => {
            Some(*block)
        }
        Event::WindowMissed { run }
        | Event::NotSubmitted { run, .. }
        | Event::Submitted { run, .. }
        | Event::Guaranteed { run, .. }
        | Event::DuplicateGuarantee { run }
        | Event::Accumulated { run }
        | Event::Finalized { run }
        | Event::GuaranteeTimeout { run, .. }
        | Event::AnchorStale { run }
        | Event::Requeued { run, .. }
        | Event::Dissolved { run, .. }
        | Event::RunRefused { run, .. }
        | Event::Abandoned { run } => Some(run.first),
        _ => None,
    }
}

/// The newest lines.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<VecDeque<Line>>);

impl Lines {
    pub(super) fn add(&self, at: Time, event: &Event, level: Level) {
        let level = match level {
            Level::ERROR => "error",
            Level::WARN => "warn",
            _ => "info",
        };
        let mut kept = self.0.lock();
        let number = kept.back().map_or(1, |last| last.number + 1);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Line { number, at, level, text: event.to_string(), block: block(event) });
    }

    pub(super) fn after(&self, number: u64) -> Vec<Line> {
        let kept = self.0.lock();
        let first = kept.partition_point(|line| line.number <= number);
        kept.range(first..).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, B256};

    #[test]
    fn the_queue_is_news_and_the_pool_is_detail() {
        let (block, hash, sender) = (BlockId::default(), B256::ZERO, Address::ZERO);
        let run = types::Run::of(block);
        assert_eq!(level(&Event::Accumulated { run }), Level::INFO);
        assert_eq!(level(&Event::GuaranteeTimeout { run, version: 1 }), Level::WARN);
        assert_eq!(level(&Event::ForeignHead { head: block }), Level::ERROR);
        for event in [
            Event::Added { hash, sender, pending: true },
            Event::Promoted { hash, sender },
            Event::Bundled { hash, block },
            Event::Final { hash, block },
        ] {
            assert_eq!(level(&event), Level::DEBUG);
        }
    }

    #[test]
    fn the_newest_lines_are_kept_and_numbered() {
        let lines = Lines::default();
        for number in 0..KEPT as u64 + 5 {
            let run = types::Run::of(BlockId::new(number, B256::ZERO));
            lines.add(Time::from_millis(number), &Event::Finalized { run }, Level::INFO);
        }
        assert_eq!((lines.after(0).len(), lines.after(0)[0].number), (KEPT, 6));
        let last = lines.after(KEPT as u64 + 4);
        assert_eq!((last.len(), last[0].text.as_str()), (1, "bundle finalized bundle=404 blocks=1"));
        assert_eq!(last[0].block.map(|block| block.number), Some(404));
        assert!(lines.after(KEPT as u64 + 5).is_empty());
    }
}
