//! One story per test.
