//! JSON-RPC, as every Ethereum tool speaks it, over HTTP and WebSocket on one port.
//!
//! ```text
//!                      Feed: Snapshots, Events            Archive: final blocks      Backend: the loop that owns the pool
//!  node ──publish──▶  ┌──────────┬──────────┐                    │                        ▲
//!                     ▼          ▼          ▼                    │                        │ recovered transactions, orders
//!  client ──▶ Server ─▶ Api: ── reads ── subscriptions, filters ─┴── calls (revm) ── eth_sendRawTransaction
//! ```
//!
//! # Rules
//!
//! * **Reads never wait for the driver.** The node publishes an immutable [`Snapshot`] after each commit ([`Feed`]); a
//!   call takes the newest one and answers from it. What waits in the pool is in the [`PoolIndex`], what is final in the
//!   [`Archive`]. Only what really needs the driver ([`Backend`]) is a message to it: new transactions, the whole content
//!   of the pool, the operator's orders.
//! * **Tags.** `pending` is the open block, `latest` the newest sealed one, `safe` the newest applied one, `finalized`
//!   the newest one that is applied in a final block of JAM. An omitted block is `latest`. A released block is a
//!   reorganisation: its logs come again with `removed: true`.
//! * **Signatures are recovered here**, on the threads that read requests; those of a batch in parallel.
//! * **Errors** ([`Error`]) have the codes and words of go-ethereum, always with HTTP status 200. What is malformed below
//!   JSON-RPC has an HTTP status of its own (413, 415, 429, ..); nothing that a client sends leads to 500.
//! * **Work that takes its time** (calls, estimates, simulations, traces, logs, and whatever is large or has to be read
//!   from the disk) runs on threads of its own at a low priority, a few at once, with limits of gas, time and memory; what
//!   comes beyond waits, and beyond that is refused.
//! * **Nobody takes more than a share.** A connection that asks for much waits for its turn behind those that ask for
//!   little, and its calls behind theirs; large requests come one after the other. At the connection limit the
//!   longest-idle connection is closed; at the limit of filters, one of the address that has most of them. Large answers
//!   together take so much memory and no more, and a client that does not read them is disconnected.
//!
//! # Limits
//!
//! All in [`Limits`]: 2 MiB for a body, 100 calls in a batch, 10 MB for an answer, 256 connections of which 128 WebSockets,
//! 64 subscriptions each, 50 million gas and 5 seconds for a call, and so on. Requests must name a Host that is allowed ([`Config::hosts`]); pages
//! of other origins may read answers only if asked for ([`Config::origins`]); each client has a rate.
//!
//! # What the node does
//!
//! ```text
//!   let feed = Feed::new(Snapshot::new(blocks, parts)?);              // once
//!   let api = Api::new(config, Sources { chain, feed, pool, archive, driver, extensions });
//!   let server = Server::start(listener, api, routes)?;
//!
//!   pool_index.insert(tx, now, pending); pool_index.note(&events, now); pool_index.set_next_nonce(..)
//!   feed.publish(Snapshot::new(blocks, parts)?); feed.tell(now, events)     // after each commit, in this order
//! ```
//!
//! A [`RecentBlock`] is made once, when its block is sealed, and shared by all snapshots; so publishing costs a list of
//! pointers. The open block ([`PendingBlock`]) is as fresh as the node likes: `eth_getTransactionCount` does not need it.
//!
//! Other crates add methods by an [`Extension`], other pages and interfaces by [`Routes`].

mod api;
mod archive;
mod backend;
mod call;
mod config;
pub mod error;
mod evm_chain_spec;
mod hex;
mod hub;
mod insight;
mod params;
mod pooled;
mod reading;
mod server;
mod snapshot;
mod state;
mod stats;
mod view;

pub use api::{Api, Caller, Extension, Json, Notices, Origin, Sources};
pub use archive::{
    Archive, ArchiveError, Foreign, HeaderAndState, LogEntry, LogFilter, LogLimits, MemoryArchive,
    TxLocation, matching_logs,
};
pub use backend::{Backend, Order, OrderError, SendError};
pub use config::{Config, Limits, Rate};
pub use error::Error;
pub use evm_chain_spec::{EvmChainSpec, Forks};
pub use insight::Insight;
pub use params::Params;
pub use pooled::{PoolIndex, Pooled, Times};
pub(crate) use reading::Reading;
pub use server::{Body, Routes, Server, discard, is_operator, nothing_else, text};
pub use snapshot::{
    Feed, Happened, Health, Parts, PendingBlock, RecentBlock, RecentBlocks, Snapshot, SnapshotError, Tags,
};
pub use state::{LayerState, OpenState, Pretended, Proof, State, StateError, ValuesState};
pub use stats::{MethodStats, SECONDS, Stats};
