//! JAMNP-S: JAM's network protocol over QUIC, both halves.
//!
//! ```text
//!                 ┌ Endpoint ─ one UDP socket, dials and accepts, TLS 1.3, both sides show who they are
//!   Peers ──dial──┤
//!                 └ Connection ─ one per peer: blocks, state, submit, share, report, shard, assurance, segments
//!
//!   a peer asks ──▶ stream: kind, messages, FIN ──▶ Service ──▶ answer, FIN          or reset: Refusal
//!   UP 0        ──▶ Feed ──▶ Follow ──ChainEvent──▶ the driver's jam::follow::Follower
//!   submit()    ──▶ the core's guarantors in turn until one takes it (FIN), or the window closes
//! ```
//!
//! A peer is its Ed25519 key: its certificate carries the key and the key's name, and the handshake proves that the peer
//! has it. Of two connections to one peer one is kept. A peer that breaks the protocol too often is expelled.
//!
//! **Limits.** [`Limits`]: 64 connections from outside, 64 streams each, no 0-RTT; a message's length is compared with
//! that of its kind ([`kind`]) before anything is allocated; requests that are not answered yet share 256 MiB, of which one
//! peer gets at most 48; everything has a time limit; announcements and events that wait are bounded.
//!
//! **Errors.** [`StreamError`] says what went wrong on a stream, and whether it was the peer's fault; [`Refusal`] why a
//! peer does not do what it was asked; [`DialError`] why a peer cannot be reached. [`SubmitError::retry`] answers the only
//! question a builder has: the same bytes again, another package, or never.
//!
//! **Memory.** A message is copied once when it is read, from QUIC's packets into one piece, and blobs are slices of it.
//! It is not copied to be sent: pieces go to QUIC as they are, and the same [`Submission`] can be sent many times.
//!
//! ```no_run
//! use jam::{ChainSpec, Ed25519Secret, follow::{Follower, Limits as Depth, Start}};
//! use network::{BlockId, Config, Endpoint, Follow, FollowLimits, Handshake, Limits, Peers, Role};
//!
//! async fn follow(spec: ChainSpec, secret: Ed25519Secret) -> Result<(), Box<dyn std::error::Error>> {
//!     let genesis = BlockId { hash: spec.genesis_hash(), slot: 0 };
//!     let status = Handshake { finalized: genesis, leaves: vec![genesis] };
//!     let (feed, mut chain) = Follow::start(status, FollowLimits::default());
//!     let config = Config {
//!         secret,
//!         genesis: genesis.hash,
//!         params: spec.params,
//!         role: Role::Builder,
//!         listen: None,
//!         limits: Limits::default(),
//!     };
//!     let endpoint = Endpoint::bind(&config, feed)?;
//!     let mut peers = Peers::new(endpoint.clone(), 7);
//!     peers.set(spec.bootnodes.iter().copied());
//!     let start = Start::from_state(&spec.params, genesis.hash, &spec.genesis_state)?;
//!     let mut follower = Follower::new(spec.params, start, Depth::default());
//!     while let Some(event) = chain.next().await {
//!         let update = event.apply(&mut follower);
//!         chain.want(follower.wanted());
//!         chain.tell(&follower);
//!         println!("best moved: {}, final moved: {}", update.best_moved, update.finalized_moved);
//!     }
//!     endpoint.shutdown().await;
//!     Ok(())
//! }
//! ```

mod accept;
mod announce;
pub mod certificate;
mod comings;
mod config;
mod connection;
mod endpoint;
mod error;
mod follow;
mod frame;
mod identity;
pub mod kind;
mod memory;
mod message;
#[cfg(feature = "offline")]
pub mod offline;
mod patience;
mod peers;
mod proof;
mod registry;
mod serve;
mod service;
mod submit;
#[cfg(test)]
mod tests;

pub use config::{Config, Limits, Role};
pub use connection::Connection;
pub use endpoint::{BindError, DialError, Endpoint};
pub use error::{Refusal, StreamError};
pub use follow::{ChainEvent, Feed, Follow, FollowLimits, StateWanted};
pub use identity::IdentityError;
pub use kind::Kind;
pub use message::{
    Announcement, AssuranceMessage, BlockId, BlockRequest, BundleSubmission, Direction, Handshake,
    PackageSubmission, SegmentRequest, SegmentRoots, ShardAnswer, ShardRequest, SharedBundle, SharedReport,
    StateRange, StateRequest,
};
pub use patience::{Backoff, Patience};
pub use peers::{PeerStatus, Peers};
pub use proof::StateTrie;
pub use registry::initiates;
pub use service::{Caller, Note, Service, Silent};
pub use submit::{Retry, Submission, SubmitError, Taken, addresses, guarantors_of_state, submit};

/// The features for tests that this crate was compiled with; none in a product build.
pub const TEST_FEATURES: &[&str] = &[
    #[cfg(feature = "offline")]
    "network/offline",
];
