//! The EVM service that JAM validators run.

pub mod accumulate;
pub mod blobs;
pub mod config;
pub mod execution;
pub mod exports;
pub mod genesis;
pub mod header;
pub mod payload;
pub mod refine;
pub mod signature;

pub use config::Config;
