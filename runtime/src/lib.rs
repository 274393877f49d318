//! A running node: the threads around the driver, its network, its RPC server and its managed accounts.
//!
//! ```text
//!   RPC ──────────────┐                        ┌── journal thread: commit, then ──▶ answers, readers, packages
//!   network (QUIC) ───┼─ commands ─▶ driver ───┤                                            │
//!   operator ─────────┘   (one thread)         └◀─ base of the state has moved ◀────────────┘
//! ```
//!
//! * The crate `driver` decides everything and touches nothing: it takes commands and the time, and gives batches with what
//!   may follow once they are durable. [`Node::start`] gives it a thread, a journal, a network and an RPC server.
//! * [`managed`] runs managed accounts over this node's own pool, with their methods on JSON-RPC.
//! * [`data`] is the data directory and its copies, [`rebuild`] makes a bundle again from it.
//! * [`wallet`] signs for the accounts of a development network.
//!
//! It reads no settings and prints nothing: the crate `node` makes a [`Config`] of flags and files, and speaks to the operator.

mod archive;
pub mod data;
mod driving;
mod facts;
mod gateway;
pub mod managed;
mod methods;
mod monitor;
mod publish;
pub mod rebuild;
mod relay;
mod shown;
mod start;
pub mod wallet;
mod writer;

pub use archive::StoreArchive;
pub use methods::{DevMethods, Faucet};
pub(crate) use methods::{Guarantors, reach};
pub use rpc::Config as RpcConfig;
pub(crate) use writer::WriterHealth;

use devnet::Devnet;
use driver::{Blocks as _, Broken, EvmBlocks, EvmBuilder, EvmPacking, Started};
pub(crate) use driving::Command;
pub(crate) use gateway::Gateway;
use jam::{Ed25519Secret, HeaderHash, spec::Bootnode};
use managed::{SenderConfig, SenderError};
use network::{Endpoint, Handshake, Peers};
use observe::{Build, Wording};
use page::Web;
use rpc::{Feed, Server, Snapshot};
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};
use store::{Base, CodeTable, StoreError};
use tokio::sync::oneshot;
use types::BlockId;

/// Blocks whose values and codes are in the store.
pub(crate) type Blocks = EvmBlocks<Base, CodeTable>;

/// The driver of a node.
pub(crate) type Driver = driver::Driver<Blocks>;

/// Blocks that are to be packed.
pub(crate) type Job = EvmPacking<Base, CodeTable>;

/// How long a node that shuts down waits for its journal.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// What a node is made of.
#[derive(Debug)]
pub struct Config {
    /// What the driver starts with.
    pub driver: Started,
    /// What makes its blocks.
    pub builder: EvmBuilder,
    /// The first EVM block.
    pub genesis: BlockId,
    /// The hash of JAM's first header.
    pub jam_genesis: HeaderHash,
    /// Our key on the network.
    pub network_key: Ed25519Secret,
    /// Where to take connections from validators.
    pub p2p: SocketAddr,
    /// Connections that others may open, if not as many as usual.
    pub p2p_incoming_max: Option<usize>,
    /// Validators to connect to.
    pub peers: Vec<Bootnode>,
    /// Where to serve RPC.
    pub http: SocketAddr,
    /// Who may use RPC, and how much.
    pub rpc: RpcConfig,
    /// What `web3_clientVersion` says.
    pub version: String,
    /// The binary that runs, for metrics.
    pub build: Build,
    /// How events are written to the log.
    pub wording: Wording,
    /// The chain specification, for backups.
    pub spec: String,
    /// Methods that only a development network has.
    pub dev: Option<DevMethods>,
    /// The validators, if they are ours to disturb.
    pub devnet: Option<Arc<Devnet>>,
    /// Managed accounts, if there are to be some.
    pub sender: Option<SenderConfig>,
}

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The RPC port cannot be had.
    #[error(
        "RPC cannot be served on {addr}: {why}; is another program using the port? --http-port takes another one"
    )]
    Http {
        /// The address.
        addr: SocketAddr,
        /// What the system said.
        why: io::Error,
    },
    /// The network port cannot be had.
    #[error("the network port {addr} cannot be used: {why}; --p2p-port takes another one")]
    P2p {
        /// The address.
        addr: SocketAddr,
        /// What the system said.
        why: String,
    },
    /// The driver does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A thread cannot be started.
    #[error("no thread can be started: {0}")]
    Thread(io::Error),
    /// The sender does not start.
    #[error(transparent)]
    Sender(#[from] SenderError),
}

/// Why a driver does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What it holds does not fit together.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Why a running node ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// The driver cannot go on.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The store cannot go on.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread is gone without a word.
    #[error("the node's {0} thread has ended")]
    Thread(&'static str),
}

/// What is left when a node stops, and found when it starts: all of it is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// Transactions in the pool.
    pub pooled: usize,
    /// Sealed blocks that are not final.
    pub unfinished: usize,
    /// Of these, bundles that wait to be submitted.
    pub queued: usize,
}

/// What the driver has to show when it has started.
struct First {
    handshake: Handshake,
    snapshot: Snapshot,
    found: Left,
}

/// A running node.
pub struct Node {
    commands: mpsc::Sender<Command>,
    endpoint: Endpoint,
    peers: Peers,
    server: Server,
    web: Arc<Web>,
    feed: Feed,
    driver: JoinHandle<Option<Left>>,
    writer: JoinHandle<()>,
    ended: oneshot::Receiver<Ended>,
    sender: Option<::sender::Sender>,
    found: Left,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("http", &self.server.address()).finish()
    }
}

impl Node {
    /// Where connections from validators are taken.
    pub fn p2p(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// Writes a log line for each validator that is there, and whenever one comes or goes.
    pub fn log_peers(&self) {
        self.endpoint.log_peers();
    }

    /// What was not final when it started.
    pub const fn found(&self) -> Left {
        self.found
    }

    /// Where RPC is served.
    pub const fn http(&self) -> SocketAddr {
        self.server.address()
    }

    /// What there is and what happens.
    pub const fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Managed accounts, if there are some.
    pub const fn sender(&self) -> Option<&::sender::Sender> {
        self.sender.as_ref()
    }

    /// Waits until the node ends by itself, which it should not.
    pub async fn ended(&mut self) -> Ended {
        (&mut self.ended).await.unwrap_or(Ended::Thread("driver's or journal's"))
    }

    /// Stops: no more requests, the journal finished, the network told. `None` if the journal could not be finished in
    /// time or the driver was broken; nothing that was acknowledged is lost then either.
    pub async fn shutdown(self) -> Option<Left> {
        let Self { commands, endpoint, peers, server, web, driver, writer, sender, .. } = self;
        web.stop();
        server.stop().await;
        if let Some(sender) = sender {
            sender.shutdown().await;
        }
        drop(commands.send(Command::Stop));
        drop(commands);
        let finished = tokio::task::spawn_blocking(move || {
            let left = driver.join().ok().flatten();
            drop(writer.join());
            left
        });
        let left = tokio::time::timeout(STOP_TIMEOUT, finished).await;
        drop(peers);
        endpoint.shutdown().await;
        left.ok().and_then(Result::ok).flatten()
    }
}

fn left(driver: &Driver) -> Left {
    let stats = driver.pool().stats();
    let (queued, ..) = driver.queue().counts();
    Left { pooled: stats.pending + stats.queued, unfinished: driver.blocks().unfinished_len(), queued }
}
