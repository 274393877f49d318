//! The product's driver on a real network, without a disk, for tests of the network.

mod builder;
mod network;
mod setup;

pub use builder::{Builder, Way};
pub use network::Network;
pub use setup::{Applied, Setup, applied_runs};
