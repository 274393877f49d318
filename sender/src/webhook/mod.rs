//! Telling endpoints what happened: at least once, under a name that stays the same, each request's events in order.
//!
//! ```text
//!   worker ─DeliveryMessage─▶ one loop ─▶ endpoint A: lane, lane, lane …  (at most [`RUNNING_MAX`] at once)
//!                                      └▶ endpoint B: lane, lane …
//! ```
//!
//! A delivery is a row that was written together with its event, so none can be missed; it goes when the endpoint has
//! answered with 2xx and the row is deleted. What lies in between may happen twice after a crash, and the receiver knows
//! it by `webhook-id`. Each endpoint has its own lanes and its own places, so one that is slow or gone delays nobody else.
//! A failure makes its lane wait, longer and longer; after the last try the delivery becomes a dead letter
//! ([`sender_model::delivery`]), which can be replayed.

mod post;
mod queue;
pub mod signature;
#[cfg(test)]
mod tests;

pub use post::{POST_TIMEOUT, body};

use crate::{
    clock::Clock,
    deliveries::{Deliveries, DeliveryMessage},
    endpoint::Endpoint,
    http::{Client, HttpError, Request, Response},
    stats::Stats,
    store::{SCAN_ROWS_MAX, Store, StoreError},
};
use core::{future::Future, pin::Pin, time::Duration};
use post::{DeliveryTask, Ended};
use queue::{Lane, Queue, lane_of};
use sender_model::{AccountId, Delivery, delivery::due, key};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};
use types::Time;

/// Deliveries to one endpoint that are under way at once.
pub const RUNNING_MAX: usize = 8;
/// After a look at so many rows the next look waits a millisecond for each of them: a long backlog costs no more than a
/// part of the time.
const ROWS_PER_PAUSE_MS: usize = 50;
/// However quiet it is, every account's rows are looked at this often.
const LOOK_EVERY: types::Duration = types::Duration::from_secs(60);

/// An answer that is on its way.
pub type Posting<'a> = Pin<Box<dyn Future<Output = Result<Response, HttpError>> + Send + 'a>>;

/// Takes requests to endpoints.
pub trait Post: Send + Sync {
    /// Sends a request and waits for its answer.
    fn post(&self, request: Request) -> Posting<'_>;
}

impl Post for Client {
    fn post(&self, request: Request) -> Posting<'_> {
        Box::pin(self.send(request))
    }
}

/// Delivers until the channel of messages is closed.
pub async fn run(deliveries: Deliveries, post: Arc<dyn Post>, clock: Clock) {
    let Deliveries { store, messages, endpoints, stats } = deliveries;
    let deliverer = Deliverer {
        store,
        post,
        clock,
        endpoints,
        stats,
        owned: BTreeMap::new(),
        looks: BTreeMap::new(),
        looked: BTreeMap::new(),
        swept_at: Time::ZERO,
        queues: BTreeMap::new(),
        running: JoinSet::new(),
    };
    deliverer.run(messages).await;
}

/// Which delivery has ended, under which epoch, and how.
struct Finished {
    endpoint: String,
    lane: Lane,
    epoch: u64,
    ended: Ended,
}

struct Deliverer {
    store: Arc<dyn Store>,
    post: Arc<dyn Post>,
    clock: Clock,
    endpoints: watch::Receiver<Arc<Vec<Endpoint>>>,
    stats: Arc<Stats>,
    /// The accounts of this process, and their epochs.
    owned: BTreeMap<AccountId, u64>,
    /// Accounts whose rows are to be looked at, and when.
    looks: BTreeMap<AccountId, Time>,
    /// When an account may be looked at again.
    looked: BTreeMap<AccountId, Time>,
    /// When all accounts were looked at last.
    swept_at: Time,
    queues: BTreeMap<String, Queue>,
    running: JoinSet<Finished>,
}

impl Deliverer {
    async fn run(mut self, mut messages: mpsc::UnboundedReceiver<DeliveryMessage>) {
        loop {
            self.look().await;
            self.start_due();
            let pause = self.pause();
            tokio::select! {
                message = messages.recv() => {
                    let Some(message) = message else { return };
                    self.obey(message);
                    while let Ok(more) = messages.try_recv() {
                        self.obey(more);
                    }
                }
                Some(finished) = self.running.join_next() => match finished {
                    Ok(finished) => self.finished(finished),
                    Err(why) => tracing::error!(%why, "a delivery has ended without a word"),
                },
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn obey(&mut self, message: DeliveryMessage) {
        match message {
            DeliveryMessage::Taken(account, epoch) => {
                self.owned.insert(account, epoch);
                self.look_at(account);
            }
            DeliveryMessage::Lost(account) => self.lose(account),
            // Without endpoints nothing new is to be told, and every accepted request is news.
            DeliveryMessage::News(_) if self.endpoints.borrow().is_empty() => {}
            DeliveryMessage::News(account) if self.owned.contains_key(&account) => self.look_at(account),
            DeliveryMessage::News(_) => {}
        }
    }

    fn lose(&mut self, account: AccountId) {
        self.owned.remove(&account);
        self.looks.remove(&account);
        self.looked.remove(&account);
        self.queues.values_mut().for_each(|queue| queue.forget(account));
    }

    fn look_at(&mut self, account: AccountId) {
        let at = self.looked.get(&account).copied().unwrap_or(Time::ZERO);
        self.looks.entry(account).or_insert(at);
    }

    /// Looks at the rows of accounts with news.
    async fn look(&mut self) {
        let now = self.now();
        // A clock that was set back must not put the look off.
        if now < self.swept_at || now.since(self.swept_at) >= LOOK_EVERY {
            self.swept_at = now;
            let owned = self.owned.keys().copied().collect::<Vec<_>>();
            owned.into_iter().for_each(|account| self.look_at(account));
        }
        let ready = self.looks.iter().filter(|(_, at)| **at <= now).map(|(account, _)| *account);
        for account in ready.collect::<Vec<_>>() {
            self.looks.remove(&account);
            let pause_ms = match deliveries_of(&*self.store, account).await {
                Ok(found) => {
                    let pause_ms = found.len() / ROWS_PER_PAUSE_MS;
                    self.take(&found);
                    pause_ms as u64
                }
                Err(why) => {
                    tracing::warn!(%why, %account, "the deliveries cannot be read; they are read again");
                    self.looks.insert(account, now + types::Duration::from_secs(1));
                    1_000
                }
            };
            self.looked.insert(account, self.now() + types::Duration::from_millis(pause_ms));
        }
    }

    /// Takes the first delivery of each lane.
    fn take(&mut self, found: &[Delivery]) {
        for head in due(found, Time::MAX) {
            self.queues.entry(head.endpoint.clone()).or_default().offer(head.clone());
        }
    }

    fn start_due(&mut self) {
        let now = self.now();
        let endpoints = self.endpoints.borrow().clone();
        for (id, queue) in &mut self.queues {
            let endpoint = endpoints.iter().find(|endpoint| endpoint.id == *id);
            while let Some(delivery) = queue.start(now, RUNNING_MAX) {
                let lane = lane_of(&delivery);
                let Some(epoch) = self.owned.get(&delivery.account).copied() else {
                    queue.ended(&lane);
                    continue;
                };
                let task = DeliveryTask {
                    store: self.store.clone(),
                    post: self.post.clone(),
                    clock: self.clock.clone(),
                    stats: self.stats.clone(),
                    endpoint: endpoint.cloned(),
                    epoch,
                };
                let endpoint = id.clone();
                self.running.spawn(async move {
                    let ended = task.run(delivery).await;
                    Finished { endpoint, lane, epoch, ended }
                });
            }
        }
    }

    fn finished(&mut self, finished: Finished) {
        let Finished { endpoint, lane, epoch, ended } = finished;
        let account = lane.0;
        let Some(queue) = self.queues.get_mut(&endpoint) else { return };
        let missed = queue.ended(&lane);
        let owned = self.owned.get(&account).copied();
        match ended {
            Ended::Recorded(Some(next)) if owned == Some(epoch) => queue.offer(next),
            // It found nothing more, but something came after it looked.
            Ended::Recorded(None) if owned == Some(epoch) && missed => self.look_at(account),
            Ended::Recorded(None) if owned == Some(epoch) => {}
            // The worker will notice too, and say so.
            Ended::Stale if owned == Some(epoch) => self.lose(account),
            // It was taken again meanwhile, and this lane was not looked at because it was running.
            Ended::Recorded(_) | Ended::Stale if owned.is_some() => self.look_at(account),
            Ended::Recorded(_) | Ended::Stale => {}
        }
        self.queues.retain(|_, queue| !queue.is_empty());
    }

    /// How long nothing has to be done.
    fn pause(&self) -> Duration {
        let queued = self.queues.values().filter_map(|queue| queue.next_at(RUNNING_MAX));
        let next = queued.chain(self.looks.values().copied()).min();
        let idle = LOOK_EVERY;
        next.map_or(idle, |at| Duration::from_millis(at.since(self.now()).as_millis() as u64 + 1).min(idle))
    }
}

/// All deliveries of an account.
async fn deliveries_of(store: &dyn Store, account: AccountId) -> Result<Vec<Delivery>, StoreError> {
    let (prefix, mut found, mut after) = (key::deliveries(account), Vec::new(), None);
    let mut damaged = BTreeSet::new();
    loop {
        let rows = store.scan(prefix.clone(), after, SCAN_ROWS_MAX).await?;
        let last = rows.len() < SCAN_ROWS_MAX;
        after = rows.last().map(|(key, _)| key.clone());
        for (key, row) in rows {
            match serde_json::from_slice(&row) {
                Ok(delivery) => found.push(delivery),
                Err(_) => drop(damaged.insert(key)),
            }
        }
        if last {
            if !damaged.is_empty() {
                tracing::error!(%account, rows = damaged.len(), "deliveries are damaged and cannot be made");
            }
            return Ok(found);
        }
    }
}
