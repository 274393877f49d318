//! JSON-RPC, as every Ethereum tool speaks it, over HTTP and WebSocket on one port.

mod api;
mod archive;
mod call;
mod chain;
mod config;
mod driver;
pub mod error;
mod hex;
mod hub;
mod params;
mod pooled;
mod reading;
mod server;
mod snapshot;
mod state;
mod view;

pub use api::{Api, Caller, Extension, Json, Sources};
pub use archive::{Archive, ArchiveError, Foreign, LogEntry, LogFilter, MemoryArchive, Place, matching_logs};
pub use chain::{Chain, Forks};
pub use config::{Config, Limits, Rate};
pub use driver::{Driver, Order, OrderError, SubmitError};
pub use error::Error;
pub use params::Params;
pub use pooled::{PoolIndex, Pooled, Times};
pub(crate) use reading::Reading;
pub use server::{Body, Routes, Server, text};
pub use snapshot::{Feed, Happened, Health, Parts, PendingBlock, RecentBlock, Snapshot, SnapshotError, Tags};
pub use state::{LayerState, OpenState, Proof, State, StateError};
