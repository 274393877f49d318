//! What an endpoint is told, and how much it allows.

use jam::{Ed25519Secret, HeaderHash, Params, params::PACKAGE_BYTES_MAX};
use std::{net::SocketAddr, time::Duration};

/// As what we connect to others. Whoever accepts a connection takes both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Offers the builder's protocol name first and the plain one second, since some nodes know only the plain one.
    Builder,
    /// Offers the plain name.
    Node,
}

/// Who we are, on which chain, and where.
#[derive(Clone, Debug)]
pub struct Config {
    /// Our key: what peers know us by.
    pub secret: Ed25519Secret,
    /// The hash of the chain's first header; peers of other chains are not talked to.
    pub genesis: HeaderHash,
    /// The chain's parameters.
    pub params: Params,
    /// As what we connect to others.
    pub role: Role,
    /// Where to listen. Without it we only dial.
    pub listen: Option<SocketAddr>,
    /// How much is allowed.
    pub limits: Limits,
}

/// How much of everything is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections that others opened. Peers that we dial count separately: there are as many as we are told to keep.
    pub incoming_max: usize,
    /// Handshakes under way of connections that others open. Beyond a quarter of it senders must first show that they
    /// receive at their address.
    pub handshakes_max: usize,
    /// Streams that a peer may have open at a time.
    pub streams_max: u32,
    /// Bytes that all peers together may have us hold for requests that are not answered yet.
    pub request_bytes_max: usize,
    /// The same for one peer.
    pub peer_request_bytes_max: usize,
    /// Bytes on their way that QUIC holds for one connection.
    pub connection_window_bytes: u32,
    /// Violations of the protocol that a peer may commit at once before its connection is closed.
    pub violations_max: u32,
    /// After this long one violation is forgiven.
    pub forgive_ms: u64,
    /// Time for a handshake.
    pub handshake_ms: u64,
    /// Time for a request to arrive whole.
    pub receive_ms: u64,
    /// Time for us to work on a request.
    pub handle_ms: u64,
    /// Time for an answer to be taken, or for a peer to answer a question.
    pub answer_ms: u64,
    /// A connection on which nothing arrives for this long is dead.
    pub idle_ms: u64,
    /// If there is nothing else to say, something is said this often.
    pub keep_alive_ms: u64,
    /// The first pause before a peer is dialled again.
    pub redial_first_ms: u64,
    /// The longest pause before a peer is dialled again.
    pub redial_longest_ms: u64,
    /// Announcements that may wait for a slow peer. Older ones are left out: a later block implies them.
    pub announcements_waiting_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            incoming_max: 64,
            handshakes_max: 32,
            streams_max: 64,
            request_bytes_max: 256 << 20,
            peer_request_bytes_max: 48 << 20,
            connection_window_bytes: 4 << 20,
            violations_max: 16,
            forgive_ms: 10_000,
            handshake_ms: 5_000,
            receive_ms: 10_000,
            handle_ms: 60_000,
            answer_ms: 10_000,
            idle_ms: 20_000,
            keep_alive_ms: 5_000,
            redial_first_ms: 250,
            redial_longest_ms: 30_000,
            announcements_waiting_max: 64,
        }
    }
}

impl Limits {
    /// Makes the limits fit together: a peer may always send one message of the largest kind.
    pub(crate) fn checked(mut self, params: &Params) -> Self {
        let largest = params.bundle_bytes_max as usize + 2 * PACKAGE_BYTES_MAX;
        self.peer_request_bytes_max = self.peer_request_bytes_max.max(2 * largest);
        self.request_bytes_max = self.request_bytes_max.max(self.peer_request_bytes_max);
        self.streams_max = self.streams_max.max(1);
        self.keep_alive_ms = self.keep_alive_ms.clamp(1, (self.idle_ms / 2).max(1));
        self
    }

    pub(crate) const fn receive(&self) -> Duration {
        Duration::from_millis(self.receive_ms)
    }

    pub(crate) const fn handle(&self) -> Duration {
        Duration::from_millis(self.handle_ms)
    }

    pub(crate) const fn answer(&self) -> Duration {
        Duration::from_millis(self.answer_ms)
    }

    pub(crate) const fn handshake(&self) -> Duration {
        Duration::from_millis(self.handshake_ms)
    }
}
