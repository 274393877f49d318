//! What must hold after every input, whatever happened.

use super::world::{clock, genesis};
use crate::{Bundle, Queue, Record, ServiceView, State, SubmissionPlan, queue::wait};
use jam::follow::{ChainView, Fate};
use std::collections::BTreeMap;

/// Every part is right, and the parts agree.
pub fn indexes(queue: &Queue) {
    queue.bundles.check();
    queue.cores.check(queue.config.cores);
    submitted(queue);
}

/// Exactly what is submitted has a core and deadlines.
fn submitted(queue: &Queue) {
    let (mut cores, mut waits) = (BTreeMap::new(), vec![]);
    for bundle in queue.bundles.iter() {
        let State::Submitted { core, .. } = bundle.state else {
            assert_eq!(bundle.timer, None, "only what is submitted has a timer");
            continue;
        };
        let other = cores.insert(core, bundle.number());
        // Between a restart and the first view of the chain it is not known what has left its core.
        assert!(other.is_none() || queue.head.is_none(), "two bundles on core {core}");
        assert_eq!(bundle.timer.is_none(), queue.cores.is_occupied(core), "it runs while the core is free");
        assert!(!bundle.versions.is_empty(), "what was sent has a version");
        waits.push(wait(bundle));
    }
    queue.deadlines.check(waits);
    if queue.head.is_some() {
        assert_eq!(queue.cores.assignments(), cores, "submitted");
    }
    assert!(queue.cores.given() <= queue.config.max_inflight.min(usize::from(queue.config.cores)));
}

/// The records give the queue back, as far as the journal determines it.
pub(crate) fn journal(queue: &Queue, records: &[Record]) {
    let replayed = Queue::replay(queue.config.clone(), clock(), genesis(), records.iter().cloned()).unwrap();
    assert_eq!(replayed.journal_state(), queue.journal_state(), "the journal and the queue differ");
}

/// The records that are still needed give the queue back too, and are few.
pub(crate) fn compacted(queue: &Queue, records: &[Record]) {
    let replayed =
        Queue::replay(queue.config.clone(), clock(), queue.bundles.base(), records.iter().cloned()).unwrap();
    assert_eq!(replayed.journal_state(), queue.journal_state(), "the compacted journal and the queue differ");
    let needed = Record::still_needed(records).into_iter().filter(|needed| *needed).count();
    assert!(!queue.bundles.is_empty() || needed <= 1, "{needed} records about nothing");
}

/// Whatever was looked at only by index is as if everything had been looked at.
pub(crate) fn level(queue: &Queue, view: &ChainView<'_>, service: &ServiceView) {
    if queue.halted.is_some() {
        return;
    }
    for bundle in queue.bundles.iter() {
        let expected = expected(queue, bundle, view, service);
        assert_eq!(bundle.state.name(), expected, "bundle {}", bundle.number());
    }
    for core in 0..queue.config.cores {
        assert_eq!(queue.cores.is_occupied(core), view.core(core).is_some(), "core {core}");
    }
}

fn expected(queue: &Queue, bundle: &Bundle, view: &ChainView<'_>, service: &ServiceView) -> &'static str {
    let number = bundle.number();
    if bundle.run.last.number <= service.best.head().number {
        return "Accumulated";
    }
    let stands = |fate: Fate| matches!(fate, Fate::Reported { .. } | Fate::Available { .. });
    if bundle.versions.iter().any(|version| stands(view.fate(version.package)))
        || service.best.is_waiting(number, &bundle.run.last.hash)
    {
        return "Guaranteed";
    }
    match queue.abandonment.from() {
        Some(from) if number > from || number == from && !queue.abandonment.is_retrying() => "Abandoned",
        _ if matches!(bundle.phase, crate::bundle::Phase::Out) => "Submitted",
        _ => "Queued",
    }
}

/// What is sent has an anchor that is on the best branch and lives long enough.
pub(crate) fn submission(queue: &Queue, submission: &SubmissionPlan) {
    let head = queue.head.as_ref().unwrap();
    let age = head.age(submission.context.anchor).expect("the anchor is a recent block");
    assert!(age <= usize::from(queue.config.history - queue.config.anchor_margin), "the anchor is {age} old");
    assert_eq!(submission.anchor_height, head.best().height - age as u64);
}
