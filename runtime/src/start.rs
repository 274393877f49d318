//! How a node starts, in stages: the RPC port, the driver with its first step, the network, the journal, and then
//! everything that serves readers.
//!
//! Each stage takes what the stages before it made. Ports are taken before anything else happens, and nothing is served
//! before the driver has a snapshot to show.

use super::{
    Blocks, Config, Driver, Ended, First, Left, Node, NodeError, StartError, StoreArchive,
    driving::{self, Command, Unanswered},
    facts,
    gateway::Gateway,
    left,
    managed::{self, Pool, Push, SenderConfig},
    methods::{DevMethods, Guarantors, Methods},
    monitor::Monitor,
    publish::{Publisher, Wishes},
    relay,
    shown::{Shown, Step},
    writer::{self, WriterHealth},
};
use clock::{SystemClock, Trust};
use driver::{Broken, EvmBuilder, Started};
use network::{Endpoint, Follow, FollowLimits, Handshake, Peers};
use observe::Observer;
use page::Web;
use rest::Rest;
use rpc::{Api, Feed, PoolIndex, Server, Sources};
use std::{
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};
use store::Store;
use tokio::{
    net::TcpListener,
    sync::{mpsc::UnboundedReceiver, oneshot},
};

/// Outputs that may wait for the disk; then the driver waits.
const OUTPUTS_MAX: usize = 64;

/// How often a start that takes long says how far it is.
const NOTED_EVERY: Duration = Duration::from_secs(3);

/// Where the first reason for an end is told.
type End = Arc<parking_lot::Mutex<Option<oneshot::Sender<Ended>>>>;

/// The driver's thread, and the ends of its channels.
struct Driving {
    thread: JoinHandle<Option<Left>>,
    first: First,
    commands: mpsc::Sender<Command>,
    steps: mpsc::Receiver<Step>,
    wishes: UnboundedReceiver<relay::Wish>,
    unanswered: Unanswered,
    guarantors: Guarantors,
}

/// The first step is waited for so long before clients are served.
const FIRST_STEP_MAX: Duration = Duration::from_secs(5);

/// The connection to the validators.
struct Connected {
    endpoint: Endpoint,
    peers: Peers,
}

/// What readers read, and the journal's thread that feeds it.
struct Journal {
    thread: JoinHandle<()>,
    feed: Feed,
    index: Arc<PoolIndex>,
    observer: Arc<Observer>,
    health: WriterHealth,
}

/// What serves clients and operators.
struct Serving {
    server: Server,
    web: Arc<Web>,
    sender: Option<::sender::Sender>,
}

impl Node {
    /// Starts, in the runtime that this is called in. Ports are taken before anything else happens.
    pub async fn start(mut config: Config, store: Store) -> Result<Self, NodeError> {
        let (dev, managed) = (config.dev.take(), config.sender.take());
        let listener = listen(config.http).await?;
        // Now, and not when the first transaction comes: it takes some milliseconds.
        tracing::info!(lanes = ecrecover::at_once(), "signature recovery ready");
        let clock = time(&config);
        let (end, ended) = oneshot::channel();
        let end = Arc::new(parking_lot::Mutex::new(Some(end)));
        let driving = drive(&config, &store, &clock, &end).await?;
        let Driving { thread: driver, first, commands, steps, wishes, unanswered, guarantors } = driving;
        let found = first.found;
        let Connected { endpoint, peers } =
            connect(&config, first.handshake, wishes, &commands, clock.now().as_millis())?;
        let observer = Arc::new(Observer::new(config.driver.clock, config.wording));
        let publisher = Publisher {
            feed: Feed::new(first.snapshot),
            index: Arc::new(PoolIndex::default()),
            observer,
            endpoint: endpoint.clone(),
            params: config.driver.params,
            clock: clock.clone(),
            commands: commands.clone(),
            unanswered,
            runtime: tokio::runtime::Handle::current(),
        };
        let (journal, is_shown) = keep_journal(publisher, &store, steps, end)?;
        // What was accepted before is known before anybody can ask for it. A journal that cannot be written must not keep
        // the node from saying so.
        drop(tokio::time::timeout(FIRST_STEP_MAX, is_shown).await);
        let feed = journal.feed.clone();
        let gateway =
            Gateway { commands: commands.clone(), health: journal.health.clone(), clock: clock.clone() };
        let parts = Serve { config: &config, store, clock, endpoint: &endpoint, guarantors, gateway };
        let (serving, writer) = parts.serve(listener, journal, dev, managed).await?;
        let Serving { server, web, sender } = serving;
        Ok(Self { commands, endpoint, peers, server, web, feed, driver, writer, ended, sender, found })
    }
}

async fn listen(addr: SocketAddr) -> Result<TcpListener, NodeError> {
    TcpListener::bind(addr).await.map_err(|why| NodeError::Http { addr, why })
}

/// The time that everything in this process acts on. Validators of our own have no better source than this machine;
/// others know whether its clock is right.
fn time(config: &Config) -> SystemClock {
    let Started { params, clock, .. } = &config.driver;
    match &config.devnet {
        Some(devnet) => devnet.time().clone(),
        None => SystemClock::new(Trust::Validators { count: params.validators, slot: clock.slot_duration() }),
    }
}

/// Starts the driver's thread. The driver never leaves it; its first snapshot is made before anybody can look.
async fn drive(config: &Config, store: &Store, clock: &SystemClock, end: &End) -> Result<Driving, NodeError> {
    let (commands, orders) = mpsc::channel();
    let (outputs, steps) = mpsc::sync_channel(OUTPUTS_MAX);
    let (wish, wishes) = tokio::sync::mpsc::unbounded_channel();
    let (guarantors, unanswered) = (Guarantors::default(), Unanswered::default());
    let (ready, is_ready) = oneshot::channel();
    let (jobs, asked) = mpsc::channel();
    let answers = commands.clone();
    // It ends with the driver, which it works for.
    spawn("pectin-packer", move || driving::pack(&asked, &answers))?;
    let thread = {
        let (started, builder, slots) = (config.driver.clone(), config.builder.clone(), config.driver.clock);
        let (store, clock, end) = (store.clone(), clock.clone(), end.clone());
        let (guarantors, unanswered) = (Arc::clone(&guarantors), unanswered.clone());
        spawn("pectin-driver", move || {
            let mut shown = Shown::default();
            let mut driver = match begin(started, builder, &store, &clock, &outputs, &mut shown) {
                Ok((driver, first)) => {
                    drop(ready.send(Ok(first)));
                    driver
                }
                Err(why) => {
                    drop(ready.send(Err(why)));
                    return None;
                }
            };
            let mut world = Wishes::new(clock, wish, slots, guarantors, jobs);
            let ran = driving::run(&mut driver, &orders, &outputs, &mut shown, &unanswered, &mut world);
            ran.map(|()| left(&driver)).map_err(|why| tell(&end, Some(Ended::Broken(why)))).ok()
        })?
    };
    let broken = |_| Err(Broken::State("the driver did not start".into()).into());
    let first = is_ready.await.unwrap_or_else(broken)?;
    Ok(Driving { thread, first, commands, steps, wishes, unanswered, guarantors })
}

/// Starts the driver, and lets it take its first step.
fn begin(
    started: Started,
    builder: EvmBuilder,
    store: &Store,
    clock: &SystemClock,
    outputs: &mpsc::SyncSender<Step>,
    shown: &mut Shown,
) -> Result<(Driver, First), StartError> {
    let recovered = store.load_telling(noted("unfinished blocks"))?;
    let blocks: Blocks = store.blocks(builder, noted("values and blocks"))?;
    let mut driver = Driver::start(started, recovered, blocks, clock.now())?;
    // A machine that starts with a wrong clock must not expire the pool in its first step.
    driver.set_time_confirmed(clock.is_confirmed());
    let mut first = driver.step(clock.now())?;
    // Nothing can be sent before the chain was seen, so nothing is to be packed.
    debug_assert!(first.jobs.is_empty());
    first.jobs.clear();
    let step = shown.step(first)?;
    let snapshot = shown.snapshot(&driver.snapshot()?)?;
    let (handshake, found) = (Handshake::of(driver.follower()), left(&driver));
    drop(outputs.send(step));
    Ok((driver, First { handshake, snapshot, found }))
}

/// Writes a line every few seconds while something long is read.
fn noted(what: &'static str) -> impl FnMut(u64) {
    let mut last = Instant::now();
    move |read| {
        if last.elapsed() >= NOTED_EVERY {
            last = Instant::now();
            tracing::info!(read, what, "reading the data file");
        }
    }
}

/// Takes the network port, and dials the validators.
fn connect(
    config: &Config,
    handshake: Handshake,
    wishes: UnboundedReceiver<relay::Wish>,
    commands: &mpsc::Sender<Command>,
    seed: u64,
) -> Result<Connected, NodeError> {
    let (heard, follow) = Follow::start(handshake, FollowLimits::default());
    let mut limits = network::Limits::default();
    limits.incoming_max = config.p2p_incoming_max.unwrap_or(limits.incoming_max);
    let network = network::Config {
        secret: config.network_key.clone(),
        genesis: config.jam_genesis,
        params: config.driver.params,
        role: network::Role::Builder,
        listen: Some(config.p2p),
        limits,
    };
    let endpoint = Endpoint::bind(&network, heard)
        .map_err(|why| NodeError::P2p { addr: config.p2p, why: why.to_string() })?;
    let mut peers = Peers::new(endpoint.clone(), seed);
    peers.set(config.peers.iter().copied());
    tokio::spawn(relay::relay(follow, wishes, commands.clone(), config.driver.params));
    Ok(Connected { endpoint, peers })
}

/// Starts the journal's thread. Tells when its first step is durable and shown.
fn keep_journal(
    publisher: Publisher,
    store: &Store,
    steps: mpsc::Receiver<Step>,
    end: End,
) -> Result<(Journal, oneshot::Receiver<()>), NodeError> {
    let (feed, index, observer) =
        (publisher.feed.clone(), publisher.index.clone(), publisher.observer.clone());
    let health = WriterHealth::default();
    let (store, told, commits) = (store.clone(), health.clone(), observer.clone());
    let (first, is_shown) = oneshot::channel();
    let mut first = Some(first);
    let thread = spawn("pectin-journal", move || {
        let rebased = |base| drop(publisher.commands.send(Command::Rebase(base)));
        let publish = |step| {
            publisher.publish(step);
            first.take().map(|first| first.send(()));
        };
        let result = writer::run(&store, &steps, &told, commits.commits(), publish, rebased);
        tell(&end, result.err().map(Ended::Store));
    })?;
    Ok((Journal { thread, feed, index, observer, health }, is_shown))
}

/// What the last stage is made from.
struct Serve<'a> {
    config: &'a Config,
    store: Store,
    clock: SystemClock,
    endpoint: &'a Endpoint,
    guarantors: Guarantors,
    gateway: Gateway,
}

/// Managed accounts, and how they are reached.
#[derive(Default)]
struct Managed {
    sender: Option<::sender::Sender>,
    extensions: Vec<Arc<dyn rpc::Extension>>,
    rest: Option<Arc<Rest>>,
    page: Option<page::Managed>,
}

impl Serve<'_> {
    /// Starts managed accounts, the page and the RPC server.
    async fn serve(
        self,
        listener: TcpListener,
        journal: Journal,
        dev: Option<DevMethods>,
        managed: Option<SenderConfig>,
    ) -> Result<(Serving, JoinHandle<()>), NodeError> {
        let config = self.config;
        let mut managed = self.manage(&journal, managed).await?;
        let monitor = self.monitor(&journal, managed.sender.clone());
        let methods = Methods {
            store: self.store.clone(),
            bundler: config.builder.bundler.clone(),
            feed: journal.feed.clone(),
            pool: journal.index.clone(),
            backend: Arc::new(self.gateway.clone()),
            gateway: self.gateway.clone(),
            endpoint: self.endpoint.clone(),
            guarantors: self.guarantors.clone(),
            monitor: Arc::clone(&monitor),
            spec: config.spec.clone(),
            dev,
            sender: managed.sender.clone(),
            backing_up: Default::default(),
            rebuilt: Default::default(),
        };
        managed.extensions.insert(0, Arc::new(methods));
        let api = Api::new(config.rpc.clone(), self.sources(&journal, managed.extensions));
        let web = Web::start(page::Sources {
            feed: journal.feed.clone(),
            index: journal.index.clone(),
            api: api.clone(),
            observer: journal.observer.clone(),
            store: self.store.clone(),
            health: Arc::new(move || monitor.health()),
            clock: self.clock.clone(),
            build: config.build,
            facts: facts::facts(config),
            limits: facts::limits(config),
            devnet: config.devnet.clone(),
            managed: managed.page,
        });
        let pages = web.routes();
        let routes = match managed.rest {
            Some(rest) => rest.routes(Some(pages)),
            None => pages,
        };
        let server = Server::start(listener, api, Some(routes));
        let server = server.map_err(|why| NodeError::Http { addr: config.http, why })?;
        Ok((Serving { server, web, sender: managed.sender }, journal.thread))
    }

    fn sources(&self, journal: &Journal, extensions: Vec<Arc<dyn rpc::Extension>>) -> Sources {
        let EvmBuilder { bundler, beneficiary, .. } = &self.config.builder;
        let (genesis, version) = (self.config.genesis, self.config.version.clone());
        Sources {
            chain: rpc::EvmChainSpec::new(&bundler.config, genesis, *beneficiary, version),
            feed: journal.feed.clone(),
            pool: journal.index.clone(),
            archive: Arc::new(StoreArchive(self.store.clone())),
            backend: Arc::new(self.gateway.clone()),
            extensions,
        }
    }

    /// Starts managed accounts over this node's pool, if there are to be some.
    async fn manage(&self, journal: &Journal, managed: Option<SenderConfig>) -> Result<Managed, NodeError> {
        let Some(managed) = managed else { return Ok(Managed::default()) };
        let config = self.config;
        let (slots, open) = (managed.model.pool_slots, managed.open);
        let own = Api::new(config.rpc.clone(), self.sources(journal, vec![]));
        let archive = Arc::new(StoreArchive(self.store.clone()));
        let chain_id = config.builder.bundler.config.chain_id;
        let pool = Pool::new(chain_id, journal.feed.clone(), own, archive, self.gateway.clone(), slots);
        let webhooks = managed.webhooks.clone();
        let sender = managed::start(managed, Arc::new(pool), &self.clock).await?;
        Ok(Managed {
            extensions: vec![
                Arc::new(managed::Methods { sender: sender.clone(), open }),
                Arc::new(Push { sender: sender.clone(), open }),
            ],
            rest: Some(Rest::new(sender.clone(), config.rpc.clone(), open, webhooks)),
            page: Some(page::Managed::new(sender.clone(), open, config.rpc.clone())),
            sender: Some(sender),
        })
    }

    fn monitor(&self, journal: &Journal, sender: Option<::sender::Sender>) -> Arc<Monitor> {
        let Started { params, clock: slots, queue, settings, .. } = &self.config.driver;
        Arc::new(Monitor {
            feed: journal.feed.clone(),
            observer: journal.observer.clone(),
            store: self.store.clone(),
            writer: journal.health.clone(),
            clock: self.clock.clone(),
            endpoint: self.endpoint.clone(),
            guarantors: self.guarantors.clone(),
            sender,
            slots: *slots,
            validators: usize::from(params.validators),
            queue: queue.clone(),
            dry_run: settings.dry_run,
        })
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, NodeError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).map_err(NodeError::Thread)
}

/// Tells why the node ended; only the first reason counts.
fn tell(end: &End, why: Option<Ended>) {
    if let Some((why, end)) = why.and_then(|why| Some((why, end.lock().take()?))) {
        drop(end.send(why));
    }
}
