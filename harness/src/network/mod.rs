//! A validator's half of the network protocol, with real data, for processes that talk to each other.
//!
//! Both sides make the same [`World`] from nothing, so each knows what the other should say. What the validator is told
//! it prints, one line each, so that a test in another process can see what arrived.

mod validator;
mod world;

pub use validator::Validator;
pub use world::{PARAMS, World, bundle_of, importing_bundle};

use jam::{Ed25519Secret, HeaderHash};
use network::{Config, Limits, Role};

/// The configuration of a node on loopback, with a dev key.
pub fn config(index: u32, role: Role, genesis: HeaderHash, limits: Limits) -> Config {
    Config {
        secret: Ed25519Secret::trivial(index),
        genesis,
        params: PARAMS,
        role,
        listen: Some(([127, 0, 0, 1], 0).into()),
        limits,
    }
}
