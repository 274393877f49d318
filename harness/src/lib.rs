//! What tests, judges and measurements share: real processes, how to talk to them, and small worlds to test in.
//!
//! ```text
//!   processes   product, child, process   the binary that ships, as a child that ends with its parent
//!               anvil, redis_server       other people's servers
//!               http, load, ports, cpu    a blocking client, many of them, free ports, what a process costs
//!   worlds      blocks, rpc_world         a chain in memory, and the real RPC server on it
//!               devnet, network           the driver among real validators; peers that speak the protocol
//!   data        fixtures, openrpc, rng    specification data, the RPC's schemas, randomness from a seed
//! ```
//!
//! This is a crate because its users need different features of the product's crates: the simulators turn planted bugs on,
//! measurements must not, and judges of the product as a process need none. Nothing here turns one on, but for
//! `network`: its peers exchange random values of every type, which `jam` makes with the feature `sample`. So that module has
//! a feature of its own, of the same name.

pub mod anvil;
pub mod blocks;
pub mod child;
pub mod cpu;
pub mod devnet;
pub mod fixtures;
pub mod http;
pub mod load;
#[cfg(feature = "sample")]
pub mod network;
pub mod openrpc;
pub mod pool_backend;
pub mod ports;
pub mod process;
pub mod product;
pub mod program;
pub mod redis_server;
pub mod rng;
pub mod rpc_world;
