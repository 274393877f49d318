//! A running validator: the pure parts, a clock, a disk and a network endpoint.
//!
//! ```text
//!   slot begins ─▶ author, if it is our turn ─▶ import ─▶ store, announce
//!   announcement ─▶ fetch what is missing (CE 128) ─▶ import ─▶ fetch our shards of new reports (CE 137)
//!   a third before the next slot ─▶ assure what we hold (CE 141)
//!   package (CE 133, 146) ─▶ check, refine, share (CE 134) ─▶ two signatures: guarantee (CE 135)
//! ```

mod assure;
mod core;
mod guarantee;
mod server;
mod slots;
mod sync;

use crate::{
    chain::{Node, Rules, Tree, TreeLimits},
    data::{Data, DataLimits},
    event::{Deed, Event},
    execution::Execution,
    faults::Faults,
    genesis::{NoService, service_of},
    keys::Keys,
    store::{Store, StoreError},
};
use ::clock::SystemClock;
use jam::{
    ChainSpec, Ed25519Key, SlotClock, follow::BlockRef, slot::COMMON_ERA, spec::Bootnode, state::StateError,
};
use network::{BindError, Config as NetworkConfig, Endpoint, Limits, Peers, Role};
use parking_lot::Mutex;
use pvm::EngineError;
use server::Server;
use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, broadcast, watch},
    task::JoinHandle,
};
use types::Time;

/// Packages that a validator evaluates at a time.
const EVALUATIONS_MAX: usize = 2;
/// Events that wait for a slow watcher; older ones are lost to it.
const EVENTS_MAX: usize = 4096;
/// How long a validator that stops waits for what it has in the works.
const FAREWELL_ATTEMPTS: u32 = 500;
const FAREWELL_PAUSE: Duration = Duration::from_millis(10);
/// The shortest slot that validators keep up with.
pub const SLOT_MS_MIN: u64 = 100;

/// How a validator runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The chain. Its bootnodes are the validators, in order.
    pub spec: ChainSpec,
    /// Which of the dev validators this is.
    pub index: u16,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where to keep what must survive; without it nothing does.
    pub data_dir: Option<PathBuf>,
    /// How long a slot lasts. All validators and builders of a chain must say the same.
    pub slot_ms: u64,
    /// How many blocks finality stays behind.
    pub finality_lag: u64,
    /// The time. Validators of one process share it.
    pub time: SystemClock,
    /// How services are run. Validators of one process share it.
    pub execution: Execution,
}

/// Why a validator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The specification has no service of ours.
    #[error(transparent)]
    Service(#[from] NoService),
    /// The specification's state is not one.
    #[error("the chain specification's state: {0}")]
    State(#[from] StateError),
    /// Nothing here runs code.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The network.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// There is no such validator.
    #[error("there is no validator {index}: the chain has {count}, whose indices are 0 to {}", .count.saturating_sub(1))]
    NoSuchValidator {
        /// Asked for.
        index: u16,
        /// There are.
        count: u16,
    },
    /// The slot is too short.
    #[error("slots of {0} ms are too short: {SLOT_MS_MIN} ms is the least")]
    SlotTooShort(u64),
    /// The socket has no address.
    #[error("the socket has no address: {0}")]
    Address(std::io::Error),
}

/// The clock of dev chains: slots are counted from the Common Era on, however long they are, so that processes agree
/// without telling each other when a chain began.
pub const fn clock(slot_ms: u64) -> SlotClock {
    SlotClock::starting_at(COMMON_ERA, slot_ms)
}

/// A validator that listens and, once it [began](Validator::begin), takes part.
#[derive(Debug)]
pub struct Validator {
    inner: Arc<Inner>,
    endpoint: Endpoint,
    peers: Option<Peers>,
    slots: Option<JoinHandle<()>>,
}

struct Inner {
    index: u16,
    keys: Keys,
    own: Ed25519Key,
    /// The validators of the chain's beginning, by number: faults name them so.
    founders: Vec<Ed25519Key>,
    params: jam::Params,
    clock: SlotClock,
    time: SystemClock,
    finality_lag: u64,
    execution: Execution,
    core: Mutex<core::Core>,
    store: Option<Store>,
    faults: Faults,
    endpoint: OnceLock<Endpoint>,
    events: broadcast::Sender<Event>,
    evaluations: Semaphore,
    closing: watch::Sender<bool>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Validator({})", self.index)
    }
}

impl Validator {
    /// Opens disk and socket. Must be called within a tokio runtime.
    pub fn bind(options: Options, faults: Faults) -> Result<Self, StartError> {
        Self::watched(options, faults, broadcast::Sender::new(EVENTS_MAX))
    }

    /// The same with a channel that others use too.
    pub(crate) fn watched(
        options: Options,
        faults: Faults,
        events: broadcast::Sender<Event>,
    ) -> Result<Self, StartError> {
        let Options { spec, index, listen, data_dir, slot_ms, finality_lag, time, execution } = options;
        if slot_ms < SLOT_MS_MIN {
            return Err(StartError::SlotTooShort(slot_ms));
        }
        let count = spec.params.validators;
        if index >= count {
            return Err(StartError::NoSuchValidator { index, count });
        }
        let (service, _) = service_of(&spec)?;
        let rules = Rules { params: spec.params, service, execution: execution.clone() };
        let store = data_dir.map(|directory| Store::open(&directory, &spec)).transpose()?;
        let limits = TreeLimits::default();
        let tree = match &store {
            Some(store) => store.load(&rules, limits, &spec)?,
            None => {
                let start = Node::given(&rules, spec.genesis_block(), 0, spec.genesis_state.clone())?;
                Tree::new(rules, limits, start)
            }
        };
        let data = Data::new(DataLimits::default());
        let keys = Keys::trivial(index.into());
        let own = keys.ed25519.public();
        let inner = Arc::new(Inner {
            index,
            own,
            founders: (0..u32::from(count)).map(|i| Keys::trivial(i).ed25519.public()).collect(),
            params: spec.params,
            clock: clock(slot_ms),
            time,
            finality_lag,
            execution,
            core: Mutex::new(core::Core::new(tree, data, limits)),
            store,
            faults,
            endpoint: OnceLock::new(),
            events,
            evaluations: Semaphore::new(EVALUATIONS_MAX),
            closing: watch::Sender::new(false),
            keys,
        });
        let config = NetworkConfig {
            secret: inner.keys.ed25519.clone(),
            genesis: spec.genesis_hash(),
            params: spec.params,
            role: Role::Node,
            listen: Some(listen),
            limits: Limits { redial_first_ms: 50, redial_longest_ms: 1000, ..Limits::default() },
        };
        let endpoint = Endpoint::bind(&config, Arc::new(Server::new(&inner)))?;
        // Set only here, once.
        let _ = inner.endpoint.set(endpoint.clone());
        Ok(Self { inner, endpoint, peers: None, slots: None })
    }

    /// Connects to the other validators and takes part.
    pub fn begin(&mut self, validators: &[Bootnode]) {
        let own = self.inner.own;
        let mut peers = Peers::new(self.endpoint.clone(), u64::from(self.inner.index));
        peers.set(validators.iter().filter(|node| network::initiates(&own, &node.key)).copied());
        // Also those that dial us, of which `peers` does not know.
        self.endpoint.prefer(self.inner.founders.iter().copied());
        self.peers = Some(peers);
        self.slots = Some(tokio::spawn(slots::run(Arc::clone(&self.inner))));
    }

    /// Where it listens.
    pub fn local_addr(&self) -> Result<SocketAddr, StartError> {
        self.endpoint.local_addr().map_err(StartError::Address)
    }

    /// Its key.
    pub fn key(&self) -> Ed25519Key {
        self.inner.own
    }

    /// What it does.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.inner.events.subscribe()
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        let core = self.inner.core.lock();
        let block = |node: &Node| BlockRef { hash: node.hash, slot: node.slot(), height: node.height };
        Status {
            best: block(core.tree.best()),
            finalized: block(core.tree.finalized()),
            connections: self.endpoint.connections().len(),
        }
    }

    /// Reads something of its tree of blocks.
    pub fn with_tree<T>(&self, read: impl FnOnce(&Tree) -> T) -> T {
        read(&self.inner.core.lock().tree)
    }

    /// Stops: nothing is sent any more, what was written is on disk, and the files are free again.
    pub async fn shutdown(self) {
        let Self { inner, endpoint, peers, slots } = self;
        inner.closing.send_replace(true);
        if let Some(slots) = slots {
            slots.abort();
            let _ = slots.await;
        }
        drop(peers);
        endpoint.shutdown().await;
        drop(endpoint);
        if let Some(store) = &inner.store {
            inner.note_disk(store.flush());
        }
        // A package may still be in the works.
        for _ in 0..FAREWELL_ATTEMPTS {
            if Arc::strong_count(&inner) == 1 {
                return;
            }
            tokio::time::sleep(FAREWELL_PAUSE).await;
        }
    }
}

/// How a validator stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Its best block.
    pub best: BlockRef,
    /// The finalized block.
    pub finalized: BlockRef,
    /// Peers that are connected.
    pub connections: usize,
}

impl Inner {
    fn tell(&self, deed: Deed) {
        tracing::debug!(validator = self.index, ?deed, "validator");
        // Nobody may be watching.
        let _ = self.events.send(Event { validator: self.index, deed });
    }

    fn slot_now(&self) -> u32 {
        self.clock.slot_at(self.now())
    }

    fn now(&self) -> Time {
        self.time.now()
    }

    fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.get()
    }

    /// Whether a fault keeps a peer and us apart. Builders are heard by everybody.
    fn is_parted(&self, peer: &Ed25519Key) -> bool {
        let number = self.founders.iter().position(|key| key == peer);
        number.is_some_and(|number| self.faults.are_parted(self.index, number as u16))
    }

    /// The connection to another validator, if there is one and no fault is in between.
    fn connection(&self, peer: &Ed25519Key) -> Option<network::Connection> {
        if self.is_parted(peer) { None } else { self.endpoint()?.connection(peer) }
    }
}

/// Runs a validator as a process of its own until `stop` resolves.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> Result<(), StartError> {
    let faults = Faults::new(options.spec.params.validators);
    let validators = options.spec.bootnodes.clone();
    let (service, _) = service_of(&options.spec)?;
    let (chain, jam_genesis) = (options.spec.id.clone(), options.spec.genesis_hash());
    let data_dir =
        options.data_dir.as_ref().map_or_else(|| "none".to_owned(), |dir| dir.display().to_string());
    let (slot_ms, count) = (options.slot_ms, options.spec.params.validators);
    tracing::info!(%chain, chain_id = service.chain_id, service = service.service, %jam_genesis, slot_ms, "chain");
    let mut validator = Validator::bind(options, faults)?;
    let (key, addr) = (validator.key(), validator.local_addr()?);
    let (index, peer, bootnodes) = (validator.inner.index, key.certificate_name(), validators.len());
    tracing::info!(index, of = count, %key, %peer, %addr, %data_dir, bootnodes, "validator listens");
    let Status { best, finalized, .. } = validator.status();
    tracing::info!(
        best = best.height,
        best_slot = best.slot,
        best_block = %best.hash,
        finalized = finalized.height,
        finalized_slot = finalized.slot,
        finalized_block = %finalized.hash,
        "recovered"
    );
    validator.begin(&validators);
    validator.endpoint.log_peers();
    stop.await;
    validator.shutdown().await;
    Ok(())
}
