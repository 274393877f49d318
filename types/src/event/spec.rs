//! The queue's events in the exact words of the queue specification, for operators whose tools search for them
//! (`--log-format spec`). Events that the specification does not name are shown with their fields.

use super::Event;
use crate::Run;
use core::fmt;

/// The log line of an event in the words of the queue specification.
#[derive(Clone, Copy, Debug)]
pub struct SpecLine<'a>(pub &'a Event);

impl fmt::Display for SpecLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Event::Window { queued, inflight, submitted, can_submit } => write!(
                f,
                "Queue Runner: In submission window queued={queued} inflightMapSize={inflight} \
                 effectiveInflight={submitted} canSubmit={can_submit}"
            ),
            Event::Submitted { run, version, core } => {
                line(f, "Marked submitted", run)?;
                write!(f, " blockNumber={} version={version} core={core}", run.first.number)
            }
            Event::Guaranteed { run, version } => {
                line(f, "Marked guaranteed", run)?;
                write!(f, " version={version} (core now free!)")
            }
            Event::Accumulated { run } => {
                line(f, "Marked accumulated", run)?;
                f.write_str(" (cleanup)")
            }
            Event::GuaranteeTimeout { run, version } => {
                line(f, "Timeout detected - will requeue", run)?;
                write!(f, " version={version}")
            }
            Event::AnchorStale { run } => {
                f.write_str("Queue Runner: Bundle anchor getting stale, will rebuild")?;
                write!(f, " bundleID={}", run.bundle_name())
            }
            Event::Requeued { run, version } => {
                line(f, "Requeued", run)?;
                write!(f, " version={version}")
            }
            Event::Finalized { run } => line(f, "Marked finalized", run),
            other => other.fmt(f),
        }
    }
}

fn line(f: &mut fmt::Formatter<'_>, what: &str, run: &Run) -> fmt::Result {
    write!(f, "Queue: {what} bundleID={}", run.bundle_name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;

    #[test]
    fn lines_have_the_words_of_the_specification() {
        let run = Run::of(crate::BlockId::new(7, B256::ZERO));
        let events = [
            Event::Window { queued: 3, inflight: 2, submitted: 1, can_submit: true },
            Event::Submitted { run, version: 1, core: 0 },
            Event::Guaranteed { run, version: 1 },
            Event::Accumulated { run },
            Event::GuaranteeTimeout { run, version: 1 },
            Event::AnchorStale { run },
            Event::Abandoned { run },
        ];
        let expected = [
            "Queue Runner: In submission window queued=3 inflightMapSize=2 effectiveInflight=1 canSubmit=true",
            "Queue: Marked submitted bundleID=B-7 blockNumber=7 version=1 core=0",
            "Queue: Marked guaranteed bundleID=B-7 version=1 (core now free!)",
            "Queue: Marked accumulated bundleID=B-7 (cleanup)",
            "Queue: Timeout detected - will requeue bundleID=B-7 version=1",
            "Queue Runner: Bundle anchor getting stale, will rebuild bundleID=B-7",
            "bundle abandoned bundle=7 blocks=1",
        ];
        assert_eq!(events.each_ref().map(|event| SpecLine(event).to_string()), expected);
    }
}
