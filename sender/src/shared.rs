//! What all calls and all workers of a sender share.

use crate::{
    clock::Clock,
    deliveries::DeliveryMessage,
    facade::Error,
    registry::Registry,
    signer::Keys,
    stats::Stats,
    store::{Outcome, SCAN_ROWS_MAX, Store, StoreError, scan_all},
    target::Target,
    turns::Turns,
    worker::{self, Handle, Message, NotOwned},
};
use sender_model::{
    Account, AccountId, Authority, ChainSettings, Commit, Config, Event, EventKind, OperationError,
    Precondition, Request, Subject, Write, key,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::{
    sync::{broadcast, mpsc, oneshot, watch},
    task::JoinHandle,
};
use types::Time;

/// How old a count of another process's requests may be.
const COUNTED_EVERY: Duration = Duration::from_secs(1);
/// Events that a slow reader may be behind before it loses some.
const EVENTS_KEPT: usize = 4_096;

/// What everybody shares.
pub(crate) struct Shared {
    pub store: Arc<dyn Store>,
    pub keys: Arc<dyn Keys>,
    pub targets: BTreeMap<u64, Arc<dyn Target>>,
    pub home_chain: u64,
    pub config: Config,
    /// Settings of chains, as the sender was started with them.
    pub chain_settings: BTreeMap<u64, ChainSettings>,
    pub holder: String,
    pub clock: Clock,
    pub registry: Registry,
    pub stats: Arc<Stats>,
    pub events: broadcast::Sender<Arc<Event>>,
    pub messages: mpsc::UnboundedSender<DeliveryMessage>,
    pub stopping: watch::Sender<bool>,
    pub turns: Turns,
    workers: Mutex<BTreeMap<AccountId, Handle>>,
    /// Chains that are known to be those that the store belongs to.
    chains: Mutex<BTreeSet<u64>>,
    /// Chains that are not those that the store belongs to, and why.
    other_chains: Mutex<BTreeMap<u64, String>>,
    /// How many requests of accounts that others run have not ended, and when they were counted.
    counts: Mutex<BTreeMap<AccountId, (Time, usize)>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Shared {
    pub(crate) fn new(
        settings: crate::settings::Parts,
        registry: Registry,
        messages: mpsc::UnboundedSender<DeliveryMessage>,
        stats: Arc<Stats>,
    ) -> Self {
        let crate::settings::Parts { store, keys, targets, home_chain, config, chains, holder, clock } =
            settings;
        Self {
            store,
            keys,
            targets,
            home_chain,
            config,
            chain_settings: chains,
            holder,
            clock,
            registry,
            stats,
            events: broadcast::channel(EVENTS_KEPT).0,
            messages,
            stopping: watch::channel(false).0,
            turns: Turns::default(),
            workers: Mutex::default(),
            chains: Mutex::default(),
            other_chains: Mutex::default(),
            counts: Mutex::default(),
            tasks: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(crate) fn target(&self, chain_id: u64) -> Result<&Arc<dyn Target>, Error> {
        self.targets.get(&chain_id).ok_or(Error::UnknownChain(chain_id))
    }

    /// What is set for a chain: by an operator while the sender ran, else when it was started.
    pub(crate) fn settings_of(&self, chain_id: u64) -> ChainSettings {
        let changed = self.registry.chain(chain_id).map(|chain| chain.settings).unwrap_or_default();
        changed.or(self.chain_settings.get(&chain_id).copied().unwrap_or_default())
    }

    /// Tells every chain what is set for it.
    pub(crate) fn configure_targets(&self) {
        for (chain_id, target) in &self.targets {
            target.configure(&self.settings_of(*chain_id));
        }
    }

    /// How an account is run: with the endpoints of today, and as far as its key is here.
    pub(crate) fn config_of(&self, account: AccountId) -> Config {
        let mut config = self.config.clone();
        config.endpoints = self.registry.endpoint_names(account);
        config.holds_key = self.keys.signer(account.address).is_some();
        self.settings_of(account.chain_id).apply(&mut config);
        if let Some(target) = self.targets.get(&account.chain_id) {
            config.limits = target.limits();
            config.look_ms = target.look_ms().unwrap_or(config.look_ms);
        }
        if account.chain_id != self.home_chain {
            // The limit is our own pool's.
            config.pool_slots = config.in_flight_max;
        }
        config
    }

    /// Whether an account can be run here: its key is here, or nothing of it needs one, or nobody else could.
    pub(crate) async fn may_run(&self, account: AccountId) -> Result<bool, Error> {
        let alone = !self.store.is_shared() || self.keys.signer(account.address).is_some();
        Ok(alone || !needs_key(&*self.store, account).await?)
    }

    pub(crate) fn workers(&self) -> MutexGuard<'_, BTreeMap<AccountId, Handle>> {
        self.workers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins something that ends with the sender.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        tasks.retain(|task| !task.is_finished());
        tasks.push(tokio::spawn(task));
    }

    pub(crate) fn take_tasks(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.tasks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Leaves a word with an account's worker, and begins one if there is none. The lock is held so that a worker that is
    /// about to retire either sees the word or is gone before.
    pub(crate) fn tell(self: &Arc<Self>, account: AccountId, message: Message) -> Result<(), Error> {
        let target = self.target(account.chain_id)?.clone();
        let mut workers = self.workers();
        if self.is_stopping() {
            return Err(Error::Stopping);
        }
        let handle = workers.entry(account).or_insert_with(|| worker::start(self, account, target));
        if matches!(message, Message::Admit(_)) {
            handle.expect();
        }
        handle.inbox.send(message).map_err(|_| Error::Stopping)
    }

    /// How many requests of an account wait or are in flight, as far as this process knows.
    pub(crate) fn load(&self, account: AccountId) -> usize {
        self.workers().get(&account).map_or(0, Handle::load)
    }

    /// The same for an account that perhaps another process runs: then the rows are counted, now and then.
    pub(crate) async fn waiting(&self, account: AccountId) -> Result<usize, Error> {
        let owned = |handle: &&Handle| handle.epoch().is_some();
        if let Some(load) = self.workers().get(&account).filter(owned).map(Handle::load) {
            return Ok(load);
        }
        let (now, most) = (self.now(), self.config.queue_max);
        if let Some((at, count)) = self.counts().get(&account)
            && now.since(*at) < COUNTED_EVERY
        {
            return Ok(*count);
        }
        let (mut count, mut after) = (0, None);
        while count < most {
            let rows = self.store.scan(key::all_live(account), after, SCAN_ROWS_MAX).await?;
            count += rows.len();
            after = rows.last().map(|(name, _)| name.clone());
            if rows.len() < SCAN_ROWS_MAX {
                break;
            }
        }
        self.counts().insert(account, (now, count));
        Ok(count)
    }

    /// One more was accepted.
    pub(crate) fn count_one(&self, account: AccountId) {
        if let Some((_, count)) = self.counts().get_mut(&account) {
            *count += 1;
        }
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<AccountId, (Time, usize)>> {
        self.counts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Makes sure that a chain is the one that the store belongs to: chains of different networks often have the same
    /// number, and what is true of the nonces on one is wrong on the other. The first one that is seen is written down.
    pub(crate) async fn check_chain(&self, chain_id: u64) -> Result<(), Error> {
        let known = |chains: &Mutex<BTreeSet<u64>>| {
            chains.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).contains(&chain_id)
        };
        if known(&self.chains) {
            return Ok(());
        }
        let target = self.target(chain_id)?;
        if let Some(genesis) = target.genesis().await? {
            let name = key::chain(chain_id);
            let commit = Commit {
                authority: Authority::Intake,
                preconditions: vec![Precondition::Absent(name.clone())],
                writes: vec![Write::Put(name.clone(), genesis.to_string().into_bytes())],
            };
            let before = self.store.get(vec![name.clone()]).await?.pop().flatten();
            let stored = match before {
                Some(stored) => stored,
                None if self.store.commit(commit).await? == Outcome::Committed => {
                    genesis.to_string().into_bytes()
                }
                None => self.store.get(vec![name]).await?.pop().flatten().unwrap_or_default(),
            };
            if stored != genesis.to_string().into_bytes() {
                let stored = String::from_utf8_lossy(&stored).into_owned();
                let error = Error::OtherChain { chain_id, stored, found: genesis };
                self.other_chains().insert(chain_id, error.to_string());
                return Err(error);
            }
            self.other_chains().remove(&chain_id);
            target.expect_genesis(genesis);
        }
        self.chains.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(chain_id);
        Ok(())
    }

    fn other_chains(&self) -> MutexGuard<'_, BTreeMap<u64, String>> {
        self.other_chains.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Why a chain is not the one that the store belongs to, if it is not.
    pub(crate) fn chain_trouble(&self, chain_id: u64) -> Option<String> {
        self.other_chains().get(&chain_id).cloned()
    }

    /// Has the owner of an account do something. The answer comes when what it changed is durable.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        account: AccountId,
        operation: impl FnOnce(&mut Account, Time) -> Result<T, OperationError> + Send + 'static,
    ) -> Result<Result<T, OperationError>, Unasked> {
        let (answer, answered) = oneshot::channel();
        let run: worker::Operation = Box::new(move |owned| match owned {
            Err(not_owned) => {
                drop(answer.send(Err(Unasked::NotOwned(not_owned))));
                Box::new(|_| {})
            }
            Ok((account, now)) => {
                let result = operation(account, now);
                Box::new(move |durable| {
                    drop(answer.send(if durable || result.is_err() {
                        Ok(result)
                    } else {
                        Err(Unasked::Lost)
                    }));
                })
            }
        });
        self.tell(account, Message::Operation(run)).map_err(Unasked::Error)?;
        answered.await.unwrap_or(Err(Unasked::Error(Error::Stopping)))
    }

    /// Does a commit of somebody who owns nothing, to the end even if whoever asked has gone, and lets it be known.
    pub(crate) async fn commit_intake(
        self: &Arc<Self>,
        commit: Commit,
        then: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> Result<Outcome, Error> {
        let shared = self.clone();
        let done = tokio::spawn(async move {
            let events = events_of(&commit);
            let outcome = shared.store.commit(commit).await;
            if outcome == Ok(Outcome::Committed) {
                shared.publish(events);
                then(&shared);
            }
            outcome
        });
        // The task may have ended after the commit and before its answer.
        let stopped = |_| StoreError::Unknown("the sender is shutting down".into());
        Ok(done.await.map_err(stopped)??)
    }

    /// Tells the deliverer, if there is one.
    pub(crate) fn notify_deliverer(&self, message: DeliveryMessage) {
        let _nobody_delivers = self.messages.send(message).is_err();
    }

    /// Lets events be known that are durable: to readers, to the deliverer, to the log, and in numbers.
    pub(crate) fn publish(&self, events: Vec<Event>) {
        let mut told = None;
        for event in events {
            if told != Some(event.account) {
                told = Some(event.account);
                self.notify_deliverer(DeliveryMessage::News(event.account));
            }
            log(&event);
            self.stats.note(&event);
            // Nobody listens: nobody is told.
            drop(self.events.send(Arc::new(event)));
        }
    }
}

/// Why an operation did not happen.
pub(crate) enum Unasked {
    /// Another process runs the account.
    NotOwned(NotOwned),
    /// The account was lost before what changed was durable; nobody knows whether it is.
    Lost,
    Error(Error),
}

impl Unasked {
    pub(crate) fn into_error(self, account: AccountId) -> Error {
        match self {
            Self::NotOwned(NotOwned { holder }) => Error::NotOwner { account, holder },
            Self::Lost => StoreError::Unknown("the account was lost meanwhile".into()).into(),
            Self::Error(error) => error,
        }
    }
}

/// Whether an account has a request that must be signed here. What outside signers made only has to be watched.
async fn needs_key(store: &dyn Store, account: AccountId) -> Result<bool, Error> {
    let live = scan_all(store, &key::all_live(account)).await?;
    let names: Vec<String> =
        live.iter().filter_map(|(name, _)| Some(key::request(&key::request_of_live(name)?))).collect();
    for names in names.chunks(SCAN_ROWS_MAX) {
        for row in store.get(names.to_vec()).await?.into_iter().flatten() {
            if !serde_json::from_slice::<Request>(&row)?.raw {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The events that a commit writes.
pub(crate) fn events_of(commit: &Commit) -> Vec<Event> {
    let rows = commit.writes.iter().filter_map(|write| match write {
        Write::Put(key, value) if key.starts_with("e/") => Some(value),
        _ => None,
    });
    rows.filter_map(|row| serde_json::from_slice(row).ok()).collect()
}

fn log(event: &Event) {
    let subject = match &event.subject {
        Subject::Request(id) => id.to_string(),
        Subject::Account(id) => id.to_string(),
    };
    let (account, sequence) = (event.account, event.sequence);
    match event.kind {
        EventKind::LowBalance | EventKind::Stalled | EventKind::NonceGap | EventKind::ActionRequired => {
            tracing::warn!(%account, %subject, sequence, "Sender: {:?}", event.kind);
        }
        EventKind::Failed | EventKind::Reverted | EventKind::Replaced => {
            tracing::info!(%account, %subject, sequence, "Sender: {:?}", event.kind);
        }
        _ => tracing::debug!(%account, %subject, sequence, "Sender: {:?}", event.kind),
    }
}
