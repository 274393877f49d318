//! The sender's simulator in small: clean, repeatable, and able to fail. The judge runs thousands of seeds.

use simulators::sender_sim::{BUGS, Options, report::Report, run};

/// Seeds that once failed are run for ever.
const KEPT: &str = include_str!("../../sender-sim-seeds.txt");

fn kept() -> impl Iterator<Item = u64> + Send {
    KEPT.lines().filter_map(|line| line.split('#').next()?.trim().parse().ok())
}

#[test]
fn seeds_that_failed_once_do_not_fail_again() {
    assert!(kept().count() > 0);
    let mut report = Report::default();
    report.run(kept(), &Options::default(), false);
    assert_eq!(report.failures, [], "{report}");
}

#[test]
fn a_few_seeds_are_clean() {
    let mut report = Report::default();
    report.run(10_000..10_030, &Options::default(), false);
    assert_eq!(report.failures, [], "{report}");
    assert!(report.faults > 100, "{report}");
}

#[test]
fn the_same_seed_gives_the_same_log() {
    for seed in [1, 2, 77] {
        let (once, again) = (run(seed, &Options::default()), run(seed, &Options::default()));
        assert_eq!((once.log, once.faults, once.accepted), (again.log, again.faults, again.accepted));
        assert_ne!(once.log, run(seed + 1, &Options::default()).log);
    }
}

#[test]
fn mistakes_are_found() {
    for (name, bug) in BUGS {
        let mut report = Report::default();
        report.run(0..300, &Options { bug: Some(*bug), trace: false }, true);
        assert!(!report.failures.is_empty(), "{name} was not found");
    }
}
