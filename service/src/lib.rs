//! The EVM service that JAM validators run.

pub mod accumulate;
