//! The specification's vectors, through the judge that operators run.

use tests::{fixtures, vectors::Report};

#[test]
fn every_vector_in_the_fixtures_passes() {
    let Some(dir) = fixtures::folder("vectors") else { return };
    let report = Report::of(&dir).unwrap();
    println!("{report}");
    assert_eq!(report.failed(), 0, "{report}");
}
