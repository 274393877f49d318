//! devnet
pub mod chain;
pub mod data;
mod devnet;
pub mod event;
pub mod faults;
pub mod genesis;
pub mod guarantor;
pub mod keys;
pub mod pool;
pub mod store;
pub mod validator;
pub mod vrf;

pub use devnet::{Config, Devnet};
