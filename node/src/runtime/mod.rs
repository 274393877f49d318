//! A running node: the driver's thread, the journal's thread, the network and the RPC server.

mod archive;
mod chain;
mod driving;
mod gateway;
mod methods;
mod publish;
mod writer;

pub use archive::StoreArchive;
pub use methods::{DevMethods, Faucet};
pub(crate) use methods::{Guarantors, reach};
pub use rpc::Config as RpcConfig;
pub(crate) use writer::WriterHealth;

use crate::{
    driver::{Broken, Driver, Output, StartError, Started},
    health::Monitor,
    observe::Observer,
    rest::Rest,
    sender::{self, Pool, Push, SenderConfig, SenderError},
    web::{self, Web},
};
use clock::{SystemClock, Trust};
use devnet::Devnet;
pub(crate) use driving::Command;
use driving::Unanswered;
pub(crate) use gateway::Gateway;
use jam::{Ed25519Secret, HeaderHash, spec::Bootnode};
use methods::Methods;
use network::{Endpoint, Follow, FollowLimits, Handshake, Peers};
use publish::{Publisher, Wishes};
use rpc::{Api, Feed, PoolIndex, Server, Snapshot, Sources};
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};
use store::{Store, StoreError};
use tokio::{net::TcpListener, sync::oneshot};
use types::BlockId;

/// Outputs that may wait for the disk; then the driver waits.
const OUTPUTS_MAX: usize = 64;

/// How long a node that shuts down waits for its journal.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// What a node is made of.
#[derive(Debug)]
pub struct Config {
    /// What the driver starts with.
    pub driver: Started,
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

/// Starts the driver, and lets it take its first step.
fn begin(
    started: Started,
    store: &Store,
    clock: &SystemClock,
    outputs: &mpsc::SyncSender<Output>,
) -> Result<(Driver, First), StartError> {
    let mut driver = Driver::start(started, store, clock.now(), |values| {
        tracing::debug!("reading the state: {values} values so far");
    })?;
    // A machine that starts with a wrong clock must not expire the pool in its first step.
    driver.set_time_confirmed(clock.is_confirmed());
    let output = driver.step(clock.now())?;
    let (handshake, found) = (Handshake::of(driver.follower()), left(&driver));
    let first = First { handshake, snapshot: driver.picture()?, found };
    drop(outputs.send(output));
    Ok((driver, first))
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
    /// Starts, in the runtime that this is called in. Ports are taken before anything else happens.
    pub async fn start(mut config: Config, store: Store) -> Result<Self, NodeError> {
        let dev = config.dev.take();
        let managed = config.sender.take();
        let Config { driver: started, http, p2p, .. } = &config;
        let listener = TcpListener::bind(http).await.map_err(|why| NodeError::Http { addr: *http, why })?;
        // Now, and not when the first transaction comes: it takes some milliseconds.
        tracing::info!("signatures are recovered {} at a time", ecrecover::at_once());
        let params = started.bundler.params;
        let clock = time(&config);
        let (slots, evm) = (started.clock, started.bundler.config);
        let (commands, orders) = mpsc::channel();
        let (outputs, written) = mpsc::sync_channel(OUTPUTS_MAX);
        let (wishes, wished) = tokio::sync::mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let end = Arc::new(parking_lot::Mutex::new(Some(end)));
        let guarantors = Guarantors::default();
        let unanswered = Unanswered::default();

        // The driver never leaves its thread; the first picture is made before anybody can look.
        let (ready, is_ready) = oneshot::channel();
        let driver = {
            let (started, store, clock, end) = (started.clone(), store.clone(), clock.clone(), end.clone());
            let (guarantors, unanswered) = (Arc::clone(&guarantors), unanswered.clone());
            spawn("pectin-driver", move || {
                let mut driver = match begin(started, &store, &clock, &outputs) {
                    Ok((driver, first)) => {
                        drop(ready.send(Ok(first)));
                        driver
                    }
                    Err(why) => {
                        drop(ready.send(Err(why)));
                        return None;
                    }
                };
                let mut world = Wishes::new(clock, wishes, slots, guarantors);
                match driving::run(&mut driver, &orders, &outputs, &unanswered, &mut world) {
                    Ok(()) => Some(left(&driver)),
                    Err(why) => {
                        tell(&end, Some(Ended::Broken(why)));
                        None
                    }
                }
            })?
        };
        let first = is_ready
            .await
            .unwrap_or_else(|_| Err(Broken::State("the driver did not start".into()).into()))?;

        let (heard, follow) = Follow::start(first.handshake, FollowLimits::default());
        let mut limits = network::Limits::default();
        limits.incoming_max = config.p2p_incoming_max.unwrap_or(limits.incoming_max);
        let network = network::Config {
            secret: config.network_key.clone(),
            genesis: config.jam_genesis,
            params,
            role: network::Role::Builder,
            listen: Some(*p2p),
            limits,
        };
        let endpoint = Endpoint::bind(&network, heard)
            .map_err(|why| NodeError::P2p { addr: *p2p, why: why.to_string() })?;
        let mut peers = Peers::new(endpoint.clone(), clock.now().as_millis());
        peers.set(config.peers.iter().copied());
        tokio::spawn(chain::relay(follow, wished, commands.clone(), params));

        let (feed, index) = (Feed::new(first.snapshot), Arc::new(PoolIndex::default()));
        let observer = Arc::new(Observer::default());
        let health = WriterHealth::default();
        let publisher = Publisher {
            feed: feed.clone(),
            index: index.clone(),
            observer: observer.clone(),
            endpoint: endpoint.clone(),
            params,
            clock: clock.clone(),
            commands: commands.clone(),
            unanswered,
            runtime: tokio::runtime::Handle::current(),
        };
        let writer = {
            let (store, health, observer) = (store.clone(), health.clone(), observer.clone());
            spawn("pectin-journal", move || {
                let rebased = |base| drop(publisher.commands.send(Command::Rebase(base)));
                let result = writer::run(
                    &store,
                    &written,
                    &health,
                    observer.commits(),
                    |output| publisher.publish(output),
                    rebased,
                );
                tell(&end, result.err().map(Ended::Store));
            })?
        };
        let gateway =
            Arc::new(Gateway { commands: commands.clone(), health: health.clone(), clock: clock.clone() });
        let sources = |extensions| Sources {
            chain: rpc::Chain::new(
                &evm,
                config.genesis,
                started.settings.beneficiary,
                config.version.clone(),
            ),
            feed: feed.clone(),
            pool: index.clone(),
            archive: Arc::new(StoreArchive(store.clone())),
            driver: gateway.clone(),
            extensions,
        };
        let mut extensions = Vec::<Arc<dyn rpc::Extension>>::new();
        let (mut running, mut rest, mut shown) = (None, None, None);
        if let Some(managed) = managed {
            let (slots, open) = (managed.model.pool_slots, managed.open);
            let own = Api::new(config.rpc.clone(), sources(vec![]));
            let archive = Arc::new(StoreArchive(store.clone()));
            let pool = Pool::new(evm.chain_id, feed.clone(), own, archive, (*gateway).clone(), slots);
            let webhooks = managed.webhooks.clone();
            let sender = sender::start(managed, Arc::new(pool), &clock).await?;
            extensions.push(Arc::new(sender::Methods { sender: sender.clone(), open }));
            extensions.push(Arc::new(Push { sender: sender.clone(), open }));
            rest = Some(Rest::new(sender.clone(), config.rpc.clone(), open, webhooks));
            shown = Some(web::Managed::new(sender.clone(), open, config.rpc.clone()));
            running = Some(sender);
        }
        let monitor = Arc::new(Monitor {
            feed: feed.clone(),
            observer: observer.clone(),
            store: store.clone(),
            writer: health,
            clock: clock.clone(),
            endpoint: endpoint.clone(),
            guarantors: Arc::clone(&guarantors),
            sender: running.clone(),
            slots,
            validators: usize::from(params.validators),
            queue: started.queue.clone(),
            dry_run: started.settings.dry_run,
        });
        let methods = Methods {
            store: store.clone(),
            bundler: started.bundler.clone(),
            feed: feed.clone(),
            pool: index.clone(),
            driver: gateway.clone(),
            endpoint: endpoint.clone(),
            guarantors,
            monitor: Arc::clone(&monitor),
            spec: config.spec.clone(),
            dev,
            sender: running.clone(),
            backing_up: Default::default(),
            rebuilt: Default::default(),
        };
        extensions.insert(0, Arc::new(methods));
        let api = Api::new(config.rpc.clone(), sources(extensions));
        let web = Web::start(web::Sources {
            feed: feed.clone(),
            index,
            api: api.clone(),
            observer,
            store,
            monitor,
            clock,
            facts: facts(&config),
            limits: page_limits(started),
            devnet: config.devnet.clone(),
            managed: shown,
        });
        let pages = web.routes();
        let routes = match rest {
            Some(rest) => rest.routes(Some(pages)),
            None => pages,
        };
        let server = Server::start(listener, api, Some(routes));
        let server = server.map_err(|why| NodeError::Http { addr: *http, why })?;
        let (sender, found) = (running, first.found);
        Ok(Self { commands, endpoint, peers, server, web, feed, driver, writer, ended, sender, found })
    }

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

/// The time that everything in this process acts on. Validators of our own have no better source than this machine;
/// others know whether its clock is right.
fn time(config: &Config) -> SystemClock {
    let Started { bundler, clock, .. } = &config.driver;
    match &config.devnet {
        Some(devnet) => devnet.time().clone(),
        None => SystemClock::new(Trust::Validators {
            count: bundler.params.validators,
            slot: clock.slot_duration(),
        }),
    }
}

/// What the page knows of a node and what never changes while it runs.
fn facts(config: &Config) -> serde_json::Value {
    let Started { bundler, clock, pool, queue, .. } = &config.driver;
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    serde_json::json!({
        "version": config.version,
        "chainId": bundler.config.chain_id,
        "service": bundler.config.service,
        "genesis": config.genesis.hash,
        "dev": config.devnet.is_some(),
        "dryRun": config.driver.settings.dry_run,
        "validators": bundler.params.validators,
        "cores": bundler.params.cores,
        "slotMs": ms(clock.slot_duration()),
        "epochMs": clock.start_of(0).as_millis(),
        "windowOpensBeforeMs": ms(queue.window_opens_before),
        "windowClosesBeforeMs": ms(queue.window_closes_before),
        "guaranteeTimeoutMs": ms(queue.guarantee_timeout),
        "retriesMax": queue.max_retries,
        "history": queue.history,
        "anchorMargin": queue.anchor_margin,
        "depthMax": queue.max_depth,
        "inflightMax": queue.max_inflight,
        "unfinishedMax": queue.max_unfinished,
        "bundleBytesMax": bundler.limits.bundle_bytes_max,
        "exportSegmentsMax": bundler.limits.export_segments_max,
        "gasMax": bundler.limits.gas_max,
        "transactionsMax": bundler.limits.transactions_max,
        "pendingMax": pool.pending_max,
        "queuedMax": pool.queued_max,
        "poolBytesMax": pool.pool_bytes_max,
    })
}

fn page_limits(started: &Started) -> crate::observe::Limits {
    let Started { bundler, pool, queue, .. } = started;
    crate::observe::Limits {
        pending_max: pool.pending_max,
        queued_max: pool.queued_max,
        bundle_bytes_max: bundler.limits.bundle_bytes_max,
        gas_max: bundler.limits.gas_max,
        depth_max: queue.max_depth,
    }
}

fn left(driver: &Driver) -> Left {
    let stats = driver.pool().stats();
    let (queued, ..) = driver.queue().counts();
    Left { pooled: stats.pending + stats.queued, unfinished: driver.chain().unfinished().len(), queued }
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, NodeError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).map_err(NodeError::Thread)
}

/// Tells why the node ended; only the first word counts.
fn tell(end: &parking_lot::Mutex<Option<oneshot::Sender<Ended>>>, why: Option<Ended>) {
    if let Some((why, end)) = why.and_then(|why| Some((why, end.lock().take()?))) {
        drop(end.send(why));
    }
}
