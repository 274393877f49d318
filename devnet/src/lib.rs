//! devnet
pub mod chain;
pub mod genesis;
pub mod keys;
pub mod vrf;
