//! The builder node: the driver that owns pool and queue, the threads around it, and the command line.
//!
//! ```text
//!   RPC ──────────────┐                        ┌── journal thread: commit, then ──▶ answers, readers, packages
//!   network (QUIC) ───┼─ commands ─▶ driver ───┤                                            │
//!   operator ─────────┘   (one thread)         └◀─ base of the state has moved ◀────────────┘
//! ```
//!
//! * The crate `driver` decides everything and touches nothing: it takes commands and the time, and gives batches with what
//!   may follow once they are durable.
//! * [`runtime`] gives it a thread, a journal, a network and an RPC server.
//! * [`data`] is the data directory and its copies, [`rebuild`] makes a bundle again from it.
//! * [`observe`] turns events into log lines, metrics and what the operator's page shows; `web` serves them.
//! * [`health`] judges whether the node does its work, once for all who show it.
//! * [`sender`] and [`rest`] are managed accounts: over this node's pool, on JSON-RPC, and as REST.
//! * [`features`] tells a product build from a build for tests.
//! * [`cli`] is the binary `pectin`.

pub mod accounts;
pub mod banner;
pub mod cli;
pub mod data;
pub mod features;
pub mod health;
pub mod logging;
pub mod observe;
pub mod rebuild;
pub mod rest;
pub mod runtime;
pub mod sender;
pub mod wallet;
mod web;
