//! The simulator in small: clean, repeatable, and able to fail. The judge runs thousands of seeds.

use queue::Policy;
use simulators::sim::{BUGS, Options, report::Report, run};

/// Seeds that once failed are run for ever.
const KEPT: &str = include_str!("../../sim-seeds.txt");

fn kept() -> impl Iterator<Item = u64> + Send {
    KEPT.lines().filter_map(|line| line.split('#').next()?.trim().parse().ok())
}

#[test]
fn seeds_that_failed_once_do_not_fail_again() {
    assert!(kept().count() > 0);
    for policy in [Policy::Pectin, Policy::Spec] {
        let mut report = Report::default();
        report.run(kept(), &Options { policy, ..Options::default() }, false);
        assert_eq!(report.failures, [], "{report}");
    }
}

#[test]
fn a_few_seeds_are_clean() {
    for policy in [Policy::Pectin, Policy::Spec] {
        let mut report = Report::default();
        report.run(10_000..10_040, &Options { policy, ..Options::default() }, false);
        assert_eq!((&report.failures[..], report.dropped_innocents()), (&[][..], 0), "{report}");
        assert!(report.faults > 100, "{report}");
    }
}

#[test]
fn the_same_seed_gives_the_same_log() {
    for seed in [1, 2, 32, 77] {
        let options = Options::default();
        let (once, again) = (run(seed, &options), run(seed, &options));
        assert_eq!((once.log, once.faults, once.accepted), (again.log, again.faults, again.accepted));
        assert_ne!(once.log, run(seed + 1, &options).log);
    }
}

#[test]
fn frequent_mistakes_are_found_at_once() {
    for name in ["act-before-record", "global-inflight", "late-guarantee-double", "accumulated-is-applied"] {
        let bug = BUGS.iter().find(|(known, _)| *known == name).map(|(_, bug)| *bug);
        let mut report = Report::default();
        report.run(0..100, &Options { bug, ..Options::default() }, true);
        assert!(!report.failures.is_empty(), "{name} was not found");
    }
}
