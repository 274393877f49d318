//! A whole network in one process, over real QUIC.

use crate::{
    authorizer::Authorizer,
    event::Event,
    execution::{Execution, SERVICES, Services},
    faults::Faults,
    genesis::{Genesis, params},
    validator::{Options, StartError, Status, Validator, clock},
};
use ::clock::SystemClock;
use jam::{ChainSpec, SlotClock, spec::Bootnode};
use parking_lot::Mutex;
use pvm::{EngineKind, Machines};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::sync::broadcast;
use types::BlockId;

/// Events that wait for a slow watcher; older ones are lost to it.
const EVENTS_MAX: usize = 4096;
/// A socket may take a moment to be free again.
const BIND_ATTEMPTS: u32 = 100;
const BIND_PAUSE: Duration = Duration::from_millis(20);

/// What a network shall be like.
#[derive(Clone, Debug)]
pub struct Config {
    /// Cores; there are three validators for each.
    pub cores: u16,
    /// How long a slot lasts.
    pub slot_ms: u64,
    /// How many blocks finality stays behind.
    pub finality_lag: u64,
    /// The service, with its builder's key.
    pub service: service::Config,
    /// The first EVM block.
    pub head: BlockId,
    /// Where validators listen.
    pub ip: IpAddr,
    /// The first validator's port, followed by those of the others; without it the system chooses.
    pub base_port: Option<u16>,
    /// Where validators keep what must survive, each in a directory of its own; without it nothing does.
    pub data_dir: Option<PathBuf>,
    /// Who may use the cores.
    pub authorizer: Authorizer,
    /// How services are run.
    pub services: Services,
    /// What runs code.
    pub engine: EngineKind,
}

impl Config {
    /// Six validators on two cores on the loopback, six seconds a slot, finality two blocks behind, nothing kept.
    pub const fn new(service: service::Config, head: BlockId) -> Self {
        Self {
            cores: 2,
            slot_ms: 6000,
            finality_lag: 2,
            service,
            head,
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            base_port: None,
            data_dir: None,
            authorizer: Authorizer::Null,
            services: SERVICES,
            engine: EngineKind::Auto,
        }
    }
}

/// A running network.
#[derive(Debug)]
pub struct Devnet {
    config: Config,
    spec: ChainSpec,
    clock: SlotClock,
    time: SystemClock,
    faults: Faults,
    execution: Execution,
    events: broadcast::Sender<Event>,
    validators: Mutex<Vec<Option<Validator>>>,
}

impl Devnet {
    /// How services are run.
    pub const fn services(&self) -> Services {
        self.config.services
    }

    /// What runs the code of services.
    pub fn machines(&self) -> Arc<Machines> {
        Arc::clone(self.execution.machines())
    }

    /// Starts all validators. Must be called within a tokio runtime.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let genesis = Genesis {
            authorizer: config.authorizer,
            ..Genesis::new(params(config.cores), config.service, config.head)
        };
        let time = SystemClock::default();
        let execution = Execution::new(config.engine, config.services)?.shared();
        let faults = Faults::new(genesis.params.validators);
        let events = broadcast::Sender::new(EVENTS_MAX);
        let mut spec = genesis.spec(&[]);
        let mut validators = Vec::new();
        for index in 0..genesis.params.validators {
            let port = config.base_port.map_or(0, |base| base.saturating_add(index));
            let options = options(&config, &spec, index, SocketAddr::new(config.ip, port), &time, &execution);
            validators.push(Validator::watched(options, faults.clone(), events.clone())?);
        }
        let addresses = validators.iter().map(Validator::local_addr).collect::<Result<Vec<_>, _>>()?;
        spec.bootnodes = genesis.spec(&addresses).bootnodes;
        for validator in &mut validators {
            validator.begin(&spec.bootnodes);
        }
        let validators = Mutex::new(validators.into_iter().map(Some).collect());
        Ok(Self { clock: clock(config.slot_ms), time, config, spec, faults, execution, events, validators })
    }

    /// The chain specification, with all validators as bootnodes.
    pub const fn chain_spec(&self) -> &ChainSpec {
        &self.spec
    }

    /// The validators: keys and addresses.
    pub fn peers(&self) -> &[Bootnode] {
        &self.spec.bootnodes
    }

    /// The time that all validators of this process share.
    pub const fn time(&self) -> &SystemClock {
        &self.time
    }

    /// When slots begin.
    pub const fn clock(&self) -> SlotClock {
        self.clock
    }

    /// Faults on demand. For a validator that is down see [`Devnet::stop_validator`].
    pub const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What validators do, from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// How each validator stands; `None` for those that are down.
    pub fn status(&self) -> Vec<Option<Status>> {
        self.validators.lock().iter().map(|validator| validator.as_ref().map(Validator::status)).collect()
    }

    /// Reads something of a validator's tree of blocks; `None` if it is down.
    pub fn with_tree<T>(&self, index: u16, read: impl FnOnce(&crate::chain::Tree) -> T) -> Option<T> {
        let validators = self.validators.lock();
        Some(validators.get(usize::from(index))?.as_ref()?.with_tree(read))
    }

    /// The next slots have no block.
    pub fn skip_slots(&self, count: u32) {
        self.faults.skip_slots(self.clock.slot_at(self.time.now()), count);
    }

    /// Takes a validator down. Whether it was up.
    pub async fn stop_validator(&self, index: u16) -> bool {
        let validator = self.validators.lock().get_mut(usize::from(index)).and_then(Option::take);
        let Some(validator) = validator else { return false };
        self.faults.set_down(index, true);
        validator.shutdown().await;
        true
    }

    /// Starts a validator that is down again, with what it kept, at the same address. Whether it was down.
    pub async fn start_validator(&self, index: u16) -> Result<bool, StartError> {
        let place = usize::from(index);
        let is_down = self.validators.lock().get(place).is_some_and(Option::is_none);
        let Some(node) = self.spec.bootnodes.get(place).filter(|_| is_down) else { return Ok(false) };
        let mut attempt = 0;
        let mut validator = loop {
            let options = options(&self.config, &self.spec, index, node.addr, &self.time, &self.execution);
            match Validator::watched(options, self.faults.clone(), self.events.clone()) {
                Err(StartError::Bind(_) | StartError::Store(_)) if attempt < BIND_ATTEMPTS => {
                    attempt += 1;
                    tokio::time::sleep(BIND_PAUSE).await;
                }
                other => break other?,
            }
        };
        validator.begin(&self.spec.bootnodes);
        self.faults.set_down(index, false);
        if let Some(place) = self.validators.lock().get_mut(place) {
            *place = Some(validator);
        }
        Ok(true)
    }

    /// Stops all validators.
    pub async fn shutdown(&self) {
        let validators = std::mem::take(&mut *self.validators.lock());
        // Together: each waits until its peers know, for a second if they do not say so.
        let stopping = validators.into_iter().flatten().map(|validator| tokio::spawn(validator.shutdown()));
        for stopped in stopping.collect::<Vec<_>>() {
            drop(stopped.await);
        }
    }
}

fn options(
    config: &Config,
    spec: &ChainSpec,
    index: u16,
    listen: SocketAddr,
    time: &SystemClock,
    execution: &Execution,
) -> Options {
    Options {
        spec: spec.clone(),
        index,
        listen,
        data_dir: config.data_dir.as_ref().map(|directory| directory.join(format!("validator-{index}"))),
        slot_ms: config.slot_ms,
        finality_lag: config.finality_lag,
        time: time.clone(),
        execution: execution.clone(),
    }
}
