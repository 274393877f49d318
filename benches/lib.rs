//! Criterion benchmarks, one file per crate: `cargo bench -p benches`. The ratios that have targets are measured by
//! the judge `ratios`; these show where the time goes.
