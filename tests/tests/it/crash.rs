//! Crashes of the node's journal: some here, all of them in `sim --crashes`.

use simulators::crash;

#[test]
fn a_crash_loses_nothing_and_the_run_goes_on() {
    let report = crash::everywhere(97, |_, _| ());
    assert!(report.wrong.is_empty(), "{:?}", report.wrong.first());
    assert!(report.accepted > 20 && report.operations > 500 && report.crashes > 5, "{report:?}");
}
