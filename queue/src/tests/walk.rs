//! Random walks, and that they come everywhere.

use super::harness::*;
use crate::{Config, Record, model::Walk};
use jam::sample::Source;
use std::collections::BTreeSet;

/// What the walks came to, so that they cannot become walks around nothing.
#[derive(Default)]
struct Seen {
    kinds: BTreeSet<&'static str>,
    duplicates: u64,
}

fn kind(record: &Record) -> &'static str {
    match record {
        Record::Enqueued { .. } => "enqueued",
        Record::Formed { first, last } if first < last => "formed of several",
        Record::Formed { .. } => "formed",
        Record::Dissolved { .. } => "dissolved",
        Record::Submitted { version, .. } if version.sends > 1 => "sent again",
        Record::Submitted { .. } => "submitted",
        Record::Taken { .. } => "taken",
        Record::Requeued { again: true, .. } => "requeued, same bytes",
        Record::Requeued { .. } => "requeued, new version",
        Record::Abandoned { .. } => "abandoned",
        Record::Retried => "retried",
        Record::Revived => "revived",
        Record::Released { .. } => "released",
        Record::Finalized { .. } => "finalized",
    }
}

fn walk(config: Config, seed: u64, steps: usize, seen: &mut Seen) {
    let mut source = Source::new(&PARAMS, seed);
    let mut walk = Walk::new(config, |end| source.below(end));
    walk.run(steps);
    seen.kinds.extend(walk.journal().iter().map(kind));
    seen.duplicates += walk.duplicate_guarantees();
}

#[test]
fn any_order_of_anything_ends_well() {
    let mut seen = Seen::default();
    for seed in 0..40 {
        for config in [config(), runs_config(), spec_config()] {
            println!("seed {seed}, {:?}, {} blocks", config.policy, config.run_blocks_max);
            walk(config, seed, 120, &mut seen);
        }
    }
    assert_eq!(seen.kinds.len(), 14, "{:?}", seen.kinds);
    assert!(seen.duplicates > 0);
}
