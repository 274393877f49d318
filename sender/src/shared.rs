//! What all calls and all workers of a sender share.

use crate::{
    clock::wall_clock,
    duty::Duty,
    facade::Error,
    model::{Account, AccountId, Commit, Config, Event, EventKind, OperationError, Subject, Write},
    registry::Registry,
    signer::Keys,
    stats::Stats,
    store::{Outcome, Store},
    target::Target,
    worker::{self, Handle, Message, NotOwned},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{
    sync::{broadcast, mpsc, oneshot, watch},
    task::JoinHandle,
};
use types::Time;

/// Events that a slow reader may be behind before it loses some.
const EVENTS_KEPT: usize = 4_096;

/// What everybody shares.
pub(crate) struct Shared {
    pub store: Arc<dyn Store>,
    pub keys: Arc<dyn Keys>,
    pub targets: BTreeMap<u64, Arc<dyn Target>>,
    pub home_chain: u64,
    pub config: Config,
    pub holder: String,
    pub registry: Registry,
    pub stats: Arc<Stats>,
    pub events: broadcast::Sender<Arc<Event>>,
    pub duties: mpsc::UnboundedSender<Duty>,
    pub stopping: watch::Sender<bool>,
    workers: Mutex<BTreeMap<AccountId, Handle>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Shared {
    pub(crate) fn new(
        settings: crate::settings::Parts,
        registry: Registry,
        duties: mpsc::UnboundedSender<Duty>,
        stats: Arc<Stats>,
    ) -> Self {
        let crate::settings::Parts { store, keys, targets, home_chain, config, holder } = settings;
        Self {
            store,
            keys,
            targets,
            home_chain,
            config,
            holder,
            registry,
            stats,
            events: broadcast::channel(EVENTS_KEPT).0,
            duties,
            stopping: watch::channel(false).0,
            workers: Mutex::default(),
            tasks: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> Time {
        wall_clock()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(crate) fn target(&self, chain_id: u64) -> Result<&Arc<dyn Target>, Error> {
        self.targets.get(&chain_id).ok_or(Error::UnknownChain(chain_id))
    }

    /// How an account is run: with the endpoints of today, and as far as its key is here.
    pub(crate) fn config_of(&self, account: AccountId) -> Config {
        let mut config = self.config.clone();
        config.endpoints = self.registry.endpoint_names();
        config.holds_key = self.keys.signer(account.address).is_some();
        if account.chain_id != self.home_chain {
            // The limit is our own pool's.
            config.pool_slots = config.in_flight_max;
        }
        config
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
        Ok(done.await.map_err(|_| Error::Stopping)??)
    }

    /// Tells the deliverer, if there is one.
    pub(crate) fn charge(&self, duty: Duty) {
        let _nobody_delivers = self.duties.send(duty).is_err();
    }

    /// Lets events be known that are durable: to readers, to the deliverer, to the log, and in numbers.
    pub(crate) fn publish(&self, events: Vec<Event>) {
        let mut told = None;
        for event in events {
            if told != Some(event.account) {
                told = Some(event.account);
                self.charge(Duty::News(event.account));
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
            Self::Lost => crate::store::StoreError::Unknown("the account was lost meanwhile".into()).into(),
            Self::Error(error) => error,
        }
    }
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
