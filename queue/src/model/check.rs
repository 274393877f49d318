//! What must hold after every input, whatever happened.

use super::world::{clock, genesis};
use crate::{Bundle, Queue, Record, ServiceView, State, SubmissionPlan};
use jam::follow::{ChainView, Fate};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Every index says what the bundles say.
pub fn indexes(queue: &Queue) {
    let numbers = |is: fn(&State) -> bool| {
        let those = queue.bundles.iter().filter(|(_, bundle)| is(&bundle.state));
        those.map(|(number, _)| *number).collect::<BTreeSet<_>>()
    };
    assert_eq!(queue.queued, numbers(|state| matches!(state, State::Queued { .. })), "queued");
    let guaranteed = numbers(|state| matches!(state, State::Guaranteed { .. })).len();
    assert_eq!(queue.guaranteed, guaranteed, "guaranteed");
    submitted(queue);
    let packages = queue
        .bundles
        .iter()
        .flat_map(|(number, bundle)| bundle.versions.iter().map(move |version| (version.package, *number)));
    assert_eq!(queue.by_package, packages.collect::<HashMap<_, _>>(), "by package");
    one_chain(queue);
}

fn one_chain(queue: &Queue) {
    let mut below = queue.base;
    for (number, bundle) in &queue.bundles {
        assert_eq!((*number, bundle.parent), (bundle.block.number, below), "the bundles are one chain");
        below = bundle.block;
    }
}

/// Cores, timers and anchors of what is submitted.
fn submitted(queue: &Queue) {
    let (mut cores, mut timers, mut anchors) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for (number, bundle) in &queue.bundles {
        let State::Submitted { core, .. } = bundle.state else {
            assert_eq!(bundle.timer, None, "only what is submitted has a timer");
            continue;
        };
        let other = cores.insert(core, *number);
        // Between a restart and the first view of the chain it is not known what has left its core.
        assert!(other.is_none() || queue.head.is_none(), "two bundles on core {core}");
        assert_eq!(bundle.timer.is_none(), queue.occupied.contains(&core), "it runs while the core is free");
        timers.extend(bundle.timer.map(|since| (since + queue.config.guarantee_timeout, *number)));
        let version = bundle.versions.last().unwrap();
        anchors.insert((version.anchor_height + u64::from(queue.config.history), *number));
    }
    assert_eq!(queue.timers, timers, "timers");
    assert_eq!(queue.anchors, anchors, "anchors");
    if queue.head.is_some() {
        assert_eq!(queue.submitted, cores, "submitted");
    }
    let left = (0..queue.config.cores).filter(|core| !queue.submitted.contains_key(core));
    let (busy, free) = left.partition::<BTreeSet<_>, _>(|core| queue.occupied.contains(core));
    assert_eq!((&queue.busy_cores, &queue.free_cores), (&busy, &free), "cores");
    assert!(queue.submitted.len() <= queue.config.max_inflight.min(usize::from(queue.config.cores)));
}

/// The records give the queue back, as far as the journal determines it.
pub(crate) fn journal(queue: &Queue, records: &[Record]) {
    let replayed = Queue::replay(queue.config.clone(), clock(), genesis(), records.iter().cloned()).unwrap();
    assert_eq!(replayed.journal_state(), queue.journal_state(), "the journal and the queue differ");
}

/// The records that are still needed give the queue back too, and are few.
pub(crate) fn compacted(queue: &Queue, records: &[Record]) {
    let replayed = Queue::replay(queue.config.clone(), clock(), queue.base, records.iter().cloned()).unwrap();
    assert_eq!(replayed.journal_state(), queue.journal_state(), "the compacted journal and the queue differ");
    let needed = Record::still_needed(records).into_iter().filter(|needed| *needed).count();
    assert!(!queue.bundles.is_empty() || needed <= 1, "{needed} records about nothing");
}

/// Whatever was looked at only by index is as if everything had been looked at.
pub(crate) fn level(queue: &Queue, view: &ChainView<'_>, service: &ServiceView) {
    if queue.halted.is_some() {
        return;
    }
    for bundle in queue.bundles.values() {
        let expected = expected(queue, bundle, view, service);
        assert_eq!(bundle.state.name(), expected, "block {}", bundle.block.number);
    }
    for core in 0..queue.config.cores {
        assert_eq!(queue.occupied.contains(&core), view.core(core).is_some(), "core {core}");
    }
}

fn expected(queue: &Queue, bundle: &Bundle, view: &ChainView<'_>, service: &ServiceView) -> &'static str {
    let number = bundle.block.number;
    if number <= service.best.head().number {
        return "Accumulated";
    }
    let stands = |fate: Fate| matches!(fate, Fate::Reported { .. } | Fate::Available { .. });
    if bundle.versions.iter().any(|version| stands(view.fate(version.package)))
        || service.best.is_waiting(&bundle.block.hash)
    {
        return "Guaranteed";
    }
    match queue.abandoned_from {
        Some(from) if number > from || number == from && !queue.retrying => "Abandoned",
        _ if matches!(bundle.phase, crate::bundle::Phase::Out) => "Submitted",
        _ => "Queued",
    }
}

/// What is sent has an anchor that is on the best branch and lives long enough.
pub(crate) fn submission(queue: &Queue, submission: &SubmissionPlan) {
    let head = queue.head.as_ref().unwrap();
    let age = head.anchors.iter().position(|anchor| anchor.hash == submission.context.anchor);
    let age = age.expect("the anchor is a recent block");
    assert!(age <= usize::from(queue.config.history - queue.config.anchor_margin), "the anchor is {age} old");
    assert_eq!(submission.anchor_height, head.best.height - age as u64);
}
