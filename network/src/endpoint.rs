//! One QUIC endpoint that dials and accepts.

use crate::{
    accept::{accept, run},
    certificate::peer_of,
    comings,
    config::{Config, Limits},
    connection::{Connection, Shared},
    error::Farewell,
    identity::{Identity, IdentityError, names},
    memory::Memory,
    message::{Announcement, Payload, Rules},
    registry::{Admission, Registry},
    service::{Caller, Service},
};
use jam::Ed25519Key;
use quinn::{
    ClientConfig, EndpointConfig, IdleTimeout, ServerConfig, TokioRuntime, TransportConfig, VarInt,
    crypto::rustls::HandshakeData,
};
use rustls::pki_types::CertificateDer;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::broadcast,
    time::{Instant, timeout},
};

/// Why a connection is not kept if there are too many.
pub(crate) const NO_ROOM: &str = "no room";

/// Why an endpoint cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is not ours or in use.
    #[error("cannot listen on {addr}: {error}")]
    Address {
        /// The address.
        addr: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// Our own TLS settings cannot be made.
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// Why a peer cannot be reached.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DialError {
    /// We are shutting down.
    #[error("the endpoint is closed")]
    Closed,
    /// The address cannot be dialled.
    #[error("cannot dial: {0}")]
    Address(String),
    /// Nobody answered in time.
    #[error("no answer within {ms} ms")]
    Timeout {
        /// The limit.
        ms: u64,
    },
    /// The peer is another one, on another chain, or does not want us.
    #[error("handshake failed: {0}")]
    Handshake(String),
    /// The peer is ourselves.
    #[error("that is our own key")]
    Ourselves,
}

/// One QUIC endpoint that dials and accepts. Cheap to clone; must be made within a tokio runtime.
#[derive(Clone)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

struct Inner {
    key: Ed25519Key,
    builder_name: Vec<u8>,
    quic: quinn::Endpoint,
    registry: Registry,
    memory: Memory,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Endpoint({})", self.inner.key)
    }
}

impl Endpoint {
    /// Opens a socket; accepts connections if an address to listen on is given.
    pub fn bind(config: &Config, service: Arc<dyn Service>) -> Result<Self, BindError> {
        let limits = config.limits.checked(&config.params);
        let identity = Identity::new(&config.secret)?;
        let transport = Arc::new(transport(&limits));
        let mut server = ServerConfig::with_crypto(Arc::new(identity.server(config.genesis)?));
        server.transport_config(transport.clone()).max_incoming(limits.handshakes_max);
        server.migration(false);
        let mut client = ClientConfig::new(Arc::new(identity.client(config.genesis, config.role)?));
        client.transport_config(transport);
        let addr = config.listen.unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into());
        let at = |error| BindError::Address { addr, error };
        let socket = UdpSocket::bind(addr).map_err(at)?;
        let server = config.listen.map(|_| server);
        let mut quic =
            quinn::Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(TokioRuntime))
                .map_err(at)?;
        quic.set_default_client_config(client);
        let shared = Arc::new(Shared {
            rules: Rules::new(config.params),
            limits,
            service,
            announcements: broadcast::Sender::new(limits.announcements_waiting_max.max(1)),
            began: Instant::now(),
        });
        let [builder_name, _] = names(config.genesis);
        let key = config.secret.public();
        let inner = Inner {
            key,
            builder_name,
            quic,
            registry: Registry::new(key, limits.incoming_max),
            memory: Memory::new(limits.request_bytes_max, limits.peer_request_bytes_max),
            shared,
        };
        let endpoint = Self { inner: Arc::new(inner) };
        if config.listen.is_some() {
            tokio::spawn(accept(endpoint.clone()));
        }
        Ok(endpoint)
    }

    /// Our key.
    pub fn key(&self) -> Ed25519Key {
        self.inner.key
    }

    /// Where we are, with the port that the system chose.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.quic.local_addr()
    }

    /// How much is allowed.
    pub fn limits(&self) -> &Limits {
        &self.inner.shared.limits
    }

    /// Connects to a peer, or gives the connection that there is.
    pub async fn dial(&self, peer: Ed25519Key, addr: SocketAddr) -> Result<Connection, DialError> {
        if self.inner.registry.is_closing() {
            return Err(DialError::Closed);
        }
        if peer == self.inner.key {
            return Err(DialError::Ourselves);
        }
        if let Some(connection) = self.connection(&peer) {
            return Ok(connection);
        }
        let connecting = self
            .inner
            .quic
            .connect(addr, &peer.certificate_name())
            .map_err(|error| DialError::Address(error.to_string()))?;
        let limit = self.limits().handshake();
        let quic = timeout(limit, connecting)
            .await
            .map_err(|_| DialError::Timeout { ms: self.limits().handshake_ms })?
            .map_err(|error| DialError::Handshake(error.to_string()))?;
        self.adopt(quic, true).map_err(|why| DialError::Handshake(why.into()))
    }

    /// The connection to a peer, whoever opened it.
    pub fn connection(&self, peer: &Ed25519Key) -> Option<Connection> {
        self.inner.registry.get(peer)
    }

    /// All connections.
    pub fn connections(&self) -> Vec<Connection> {
        self.inner.registry.all()
    }

    /// Waits until there is a connection to a peer. `None` if the endpoint is shut down before.
    pub async fn connected(&self, peer: &Ed25519Key) -> Option<Connection> {
        let mut changes = self.inner.registry.changes();
        loop {
            if let Some(connection) = self.connection(peer) {
                return Some(connection);
            }
            if self.inner.registry.is_closing() || changes.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Waits until the number of connections satisfies a condition, or the endpoint is shut down.
    pub async fn connections_are(&self, enough: impl Fn(usize) -> bool) {
        let mut changes = self.inner.registry.changes();
        while !enough(self.inner.registry.all().len()) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Peers that displace others when there is no room.
    pub fn prefer(&self, peers: impl IntoIterator<Item = Ed25519Key>) {
        self.inner.registry.prefer(peers);
    }

    /// Writes a log line whenever a peer comes or goes, with how many of the [preferred](Self::prefer) ones are there.
    /// For a process that is one node; where many share a log their lines would be noise.
    pub fn log_peers(&self) {
        tokio::spawn(comings::log(self.clone()));
    }

    /// Announces a block to all peers with which announcements are exchanged.
    pub fn announce(&self, announcement: &Announcement) {
        for bytes in announcement.write().into_iter().flatten() {
            // Nobody may be listening; that is fine.
            let _ = self.inner.shared.announcements.send(bytes);
        }
    }

    /// Bytes that requests which are not answered yet may still take.
    pub fn free_request_bytes(&self) -> usize {
        self.inner.memory.free_bytes()
    }

    /// Closes all connections and waits until the peers know, for at most a second.
    pub async fn shutdown(&self) {
        self.inner.registry.close();
        for connection in self.connections() {
            connection.close_with(Farewell::Shutdown);
        }
        self.inner.quic.close(VarInt::from_u32(0), b"shutting down");
        let quiet = async {
            self.inner.quic.wait_idle().await;
            self.connections_are(|count| count == 0).await;
        };
        let _ = timeout(Duration::from_secs(1), quiet).await;
    }

    /// Takes in a connection whose handshake is done.
    pub(crate) fn adopt(&self, quic: quinn::Connection, dialled: bool) -> Result<Connection, &'static str> {
        let caller = self.caller(&quic).ok_or("the peer did not say who it is")?;
        let shared = self.inner.shared.clone();
        let connection = Connection::new(quic, caller, dialled, shared, self.inner.memory.share());
        match self.inner.registry.admit(&connection) {
            Admission::Kept => {
                self.inner.shared.service.connected(&connection);
                tokio::spawn(run(self.clone(), connection.clone()));
                Ok(connection)
            }
            Admission::Duplicate(kept) => {
                connection.close_with(Farewell::Duplicate);
                Ok(kept)
            }
            Admission::Full => {
                connection.close_with(Farewell::Full);
                Err(NO_ROOM)
            }
        }
    }

    pub(crate) fn quic(&self) -> &quinn::Endpoint {
        &self.inner.quic
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    fn caller(&self, quic: &quinn::Connection) -> Option<Caller> {
        let certificates = quic.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
        let handshake = quic.handshake_data()?.downcast::<HandshakeData>().ok()?;
        Some(Caller {
            key: peer_of(certificates.first()?).ok()?,
            addr: quic.remote_address(),
            builder: handshake.protocol.as_ref() == Some(&self.inner.builder_name),
        })
    }
}

fn transport(limits: &Limits) -> TransportConfig {
    let mut config = TransportConfig::default();
    let idle = VarInt::from_u64(limits.idle_ms).unwrap_or(VarInt::MAX);
    config
        .max_concurrent_bidi_streams(limits.streams_max.into())
        .max_concurrent_uni_streams(0_u32.into())
        .stream_receive_window(limits.connection_window_bytes.into())
        .receive_window(limits.connection_window_bytes.into())
        .send_window(u64::from(limits.connection_window_bytes))
        .max_idle_timeout(Some(IdleTimeout::from(idle)))
        .keep_alive_interval(Some(Duration::from_millis(limits.keep_alive_ms)))
        .datagram_receive_buffer_size(None);
    config
}
