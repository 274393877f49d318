//! Pectin's integration tests, one binary: what needs more than one crate, or the fixtures.

mod vectors;
