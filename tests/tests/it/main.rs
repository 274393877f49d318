//! Pectin's integration tests, one binary: what needs more than one crate, or the fixtures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod blocks;
mod browser;
mod children;
mod cli;
mod clients;
mod crash;
mod devnet;
mod fuzz;
mod network;
mod node;
mod observe;
mod purity;
mod rest;
mod rpc;
mod sender_e2e;
mod sender_sim;
mod sender_store;
mod sim;
mod store;
mod traces;
mod vectors;
mod wallet;
