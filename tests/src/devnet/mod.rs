//! A small builder around the real bundler and the real queue, for tests of a running network.
//!
//! It does what a node's driver does, in the same order, without a pool and without a disk.

mod driver;
mod network;
mod setup;

pub use driver::{Driver, Way};
pub use network::Network;
pub use setup::{Setup, applied_once};
