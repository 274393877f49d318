//! The service as PVM code.
//!
//! ```text
//!   refine(arguments)      what the host tells of the work item ─▶ service::answer     ─▶ an output; segments go out by host call
//!   accumulate(arguments)  each item that the host delivers     ─▶ service::accumulate ─▶ entries of the service's storage
//! ```
//!
//! All rules are in the crate `service`, which runs natively too. Here is what a virtual machine needs around them: the entry points,
//! the host calls, an allocator, and functions for memory. Nothing that a package brings makes this code panic: a refusal is an ordinary output. It would
//! panic if the host itself broke the Gray Paper's promises or the memory ran out, and that is a trap.

#![no_std]

extern crate alloc;

#[cfg(target_env = "polkavm")]
mod accumulate;
#[cfg(target_env = "polkavm")]
mod arguments;
#[cfg(target_env = "polkavm")]
mod host;
#[cfg(target_env = "polkavm")]
mod machine;
#[cfg(target_env = "polkavm")]
mod memory;
#[cfg(target_env = "polkavm")]
mod refine;
