//! The server half: what a node does when a peer asks.
//!
//! Every method has a default that refuses, so a builder answers only what it wants and a validator everything. A call
//! ends early if its peer goes away or it takes too long; what must be finished anyway belongs into a task of its own.

use crate::{
    Kind,
    connection::Connection,
    error::{Refusal, StreamError},
    message::{
        Announcement, AssuranceMessage, BlockRequest, BundleSubmission, Handshake, PackageSubmission,
        SegmentRequest, ShardAnswer, ShardRequest, SharedBundle, SharedReport, StateRange, StateRequest,
    },
};
use async_trait::async_trait;
use jam::{Block, Ed25519Key, Guarantee, WorkPackage, bundle::Import};
use std::net::SocketAddr;

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    /// Its key, which the handshake has proved.
    pub key: Ed25519Key,
    /// Where it is.
    pub addr: SocketAddr,
    /// Whether it connected as a builder.
    pub builder: bool,
}

/// Something that happened on the network that nobody asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// Somebody wanted to connect, and the handshake failed.
    HandshakeFailed {
        /// From where.
        addr: SocketAddr,
        /// Why.
        why: String,
    },
    /// Somebody wanted to connect, and there was no room.
    NoRoom {
        /// From where.
        addr: SocketAddr,
    },
    /// A peer broke the protocol.
    Violation {
        /// Who.
        peer: Ed25519Key,
        /// On which kind of stream, if it came to that.
        kind: Option<Kind>,
        /// How.
        error: StreamError,
    },
    /// A peer broke the protocol so often that its connection was closed.
    Expelled {
        /// Who.
        peer: Ed25519Key,
    },
}

/// What a node does when a peer asks, tells, comes or goes.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// A peer is connected.
    fn connected(&self, _connection: &Connection) {}

    /// A connection to a peer is gone. A new one may have been reported already: the endpoint knows.
    fn disconnected(&self, _peer: Ed25519Key) {}

    /// Something happened that nobody asked for.
    fn noted(&self, _note: Note) {}

    /// What we tell a peer when UP 0 begins. Without it we take no part in announcements.
    fn handshake(&self) -> Option<Handshake> {
        None
    }

    /// What a peer told when UP 0 began.
    async fn greeted(&self, _caller: &Caller, _handshake: Handshake) {}

    /// A peer announces a block.
    async fn announced(&self, _caller: &Caller, _announcement: Announcement) {}

    /// Blocks (CE 128). They must follow each other as asked for.
    async fn blocks(&self, _caller: &Caller, _request: BlockRequest) -> Result<Vec<Block>, Refusal> {
        Err(Refusal::Unsupported)
    }

    /// A part of a state (CE 129).
    async fn state(&self, _caller: &Caller, _request: StateRequest) -> Result<StateRange, Refusal> {
        Err(Refusal::Unsupported)
    }

    /// Whether a package for a core is welcome (CE 133, CE 146), asked before its data is read.
    async fn admits(&self, _caller: &Caller, _core: u16, _package: &WorkPackage) -> Result<(), Refusal> {
        Ok(())
    }

    /// A package (CE 133). `Ok` means that we take it.
    async fn package(&self, _caller: &Caller, _submission: PackageSubmission) -> Result<(), Refusal> {
        Err(Refusal::Unsupported)
    }

    /// A bundle (CE 146). `Ok` means that we take it.
    async fn bundle(&self, _caller: &Caller, _submission: BundleSubmission) -> Result<(), Refusal> {
        Err(Refusal::Unsupported)
    }

    /// A bundle from another guarantor of the core (CE 134).
    async fn share(&self, _caller: &Caller, _bundle: SharedBundle) -> Result<SharedReport, Refusal> {
        Err(Refusal::Unsupported)
    }

    /// A guaranteed report (CE 135).
    async fn report(&self, _caller: &Caller, _guarantee: Guarantee) -> Result<(), Refusal> {
        Err(Refusal::Unsupported)
    }

    /// Shards (CE 137).
    async fn shard(&self, _caller: &Caller, _request: ShardRequest) -> Result<ShardAnswer, Refusal> {
        Err(Refusal::Unsupported)
    }

    /// An assurance (CE 141).
    async fn assurance(&self, _caller: &Caller, _assurance: AssuranceMessage) -> Result<(), Refusal> {
        Err(Refusal::Unsupported)
    }

    /// Segments (CE 148), all that were asked for, in order.
    async fn segments(&self, _caller: &Caller, _request: SegmentRequest) -> Result<Vec<Import>, Refusal> {
        Err(Refusal::Unsupported)
    }
}

/// Serves nothing and hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Service for Silent {}
