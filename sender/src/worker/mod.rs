//! One account's worker: it takes the lease, loads the account, and then does, again and again, what the model says:
//! recover, confirm, send, so much at a time.
//!
//! ```text
//!        no worker ──word──▶ take the lease ──▶ load ──▶ pass ◀──▶ wait ──idle──▶ give the lease back, retire
//!                                 ▲  held by another │              │
//!                                 └── wait ◀─────────┴──── lost ◀───┘ a commit that did anything but succeed
//! ```
//!
//! Nothing is lost while it waits: what it is told stands in its inbox, what it asked is a future that it holds, what
//! others have left are rows that it looks at in every sweep, and the model says when it wants to be asked next. Answers
//! are handled many at a time and committed together; before a look at the chain is taken in, what was decided on
//! the look before is written, so that nothing is ever judged by one look and written under another.

mod act;
mod drive;
mod gauges;
mod inbox;
mod own;

use crate::{
    deliveries::DeliveryMessage,
    shared::Shared,
    target::{News, Target},
};
use act::Reply;
use futures_util::stream::FuturesUnordered;
use sender_model::{Account, AccountId, Request};
use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};
use tokio::sync::{mpsc, watch};
use types::Time;

/// Another process runs the account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NotOwned {
    /// Who.
    pub holder: String,
}

/// Called when what an operation changed is durable, or is known not to be.
pub(crate) type AfterCommit = Box<dyn FnOnce(bool) + Send>;

/// Something to do with the account, if it is ours.
pub(crate) type Operation = Box<dyn FnOnce(Result<(&mut Account, Time), NotOwned>) -> AfterCommit + Send>;

/// A word to a worker.
pub(crate) enum Message {
    /// A request is durable.
    Admit(Box<Request>),
    /// Do this.
    Operation(Operation),
    /// There is something to do: take the account.
    Wake,
}

/// How others reach a worker.
pub(crate) struct Handle {
    pub inbox: mpsc::UnboundedSender<Message>,
    gauge: Arc<Gauge>,
}

/// What others may know of a worker without asking it.
#[derive(Default)]
pub(crate) struct Gauge {
    /// The epoch under which it owns the account; zero if it does not.
    pub epoch: AtomicU64,
    /// Requests that wait or are in flight.
    pub load: AtomicUsize,
    /// Requests that were accepted since it counted.
    pub fresh: AtomicUsize,
    /// The balance that it saw last, as far as it fits, in wei; for picking funded accounts.
    pub funded: AtomicU64,
}

impl Gauge {
    /// A request that was on its way has arrived. It was counted before it was sent.
    fn admitted(&self) {
        self.fresh.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Handle {
    /// Requests that wait or are in flight.
    pub(crate) fn load(&self) -> usize {
        self.gauge.load.load(Ordering::Relaxed) + self.gauge.fresh.load(Ordering::Relaxed)
    }

    /// The epoch under which the account is owned, if it is.
    pub(crate) fn epoch(&self) -> Option<u64> {
        Some(self.gauge.epoch.load(Ordering::Relaxed)).filter(|epoch| *epoch > 0)
    }

    /// A request was accepted and is on its way.
    pub(crate) fn expect(&self) {
        self.gauge.fresh.fetch_add(1, Ordering::Relaxed);
    }
}

/// One account's worker.
struct Worker {
    shared: Arc<Shared>,
    id: AccountId,
    target: Arc<dyn Target>,
    inbox: mpsc::UnboundedReceiver<Message>,
    gauge: Arc<Gauge>,
    news: Option<watch::Receiver<News>>,
    /// The news that were taken in.
    heard: News,
    endpoints: watch::Receiver<Arc<Vec<crate::endpoint::Endpoint>>>,
    chains: watch::Receiver<Arc<Vec<crate::registry::StoredChain>>>,
    stopping: watch::Receiver<bool>,
    /// How often in a row the account could not be taken, or was lost before anything was written.
    failures: u32,
}

/// An account that is ours, and what was asked for it.
struct Owned {
    account: Account,
    epoch: u64,
    renew_at: Time,
    /// When to look for what others have left.
    sweep_at: Time,
    /// When the numbers were shown last.
    shown_at: Time,
    /// Whether the last pass ended although there was more to do.
    has_more: bool,
    /// Since when there is nothing to do.
    idle_since: Option<Time>,
    asked: FuturesUnordered<act::Asking>,
    /// Those who wait for the next commit.
    waiting: Vec<AfterCommit>,
}

/// Begins a worker.
pub(crate) fn start(shared: &Arc<Shared>, id: AccountId, target: Arc<dyn Target>) -> Handle {
    let (inbox, words) = mpsc::unbounded_channel();
    let gauge = Arc::new(Gauge::default());
    let worker = Worker {
        shared: shared.clone(),
        id,
        news: target.news(id.address),
        heard: News::default(),
        target,
        inbox: words,
        gauge: gauge.clone(),
        endpoints: shared.registry.watch_endpoints(),
        chains: shared.registry.watch_chains(),
        stopping: shared.stopping.subscribe(),
        failures: 0,
    };
    let guard = Guard { shared: shared.clone(), id, gauge: gauge.clone() };
    shared.spawn(async move {
        let _guard = guard;
        worker.run().await;
    });
    Handle { inbox, gauge }
}

/// Lets a worker that panicked be followed by another: without it, words would be left with one that is gone for ever.
struct Guard {
    shared: Arc<Shared>,
    id: AccountId,
    gauge: Arc<Gauge>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut workers = self.shared.workers();
        let is_own = workers.get(&self.id).is_some_and(|handle| Arc::ptr_eq(&handle.gauge, &self.gauge));
        if !is_own {
            return;
        }
        workers.remove(&self.id);
        drop(workers);
        self.shared.stats.set(self.id, None);
        self.shared.notify_deliverer(DeliveryMessage::Lost(self.id));
        if std::thread::panicking() {
            tracing::error!(account = %self.id, "Sender: a worker panicked; another will take the account");
        }
    }
}

/// Why a worker stops driving an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// It is not ours any more, or might not be.
    Lost,
    /// It needs a key that is not here.
    Elsewhere,
    /// There is nothing to do.
    Idle,
    /// The sender stops.
    Stopping,
}

impl Worker {
    async fn run(mut self) {
        loop {
            let ending = match self.own().await {
                Ok(mut owned) => {
                    let ending = self.drive(&mut owned).await;
                    self.disown(owned, ending).await;
                    ending
                }
                Err(ending) => ending,
            };
            match ending {
                Ending::Lost => self.failures = self.failures.saturating_add(1),
                Ending::Stopping => break,
                Ending::Elsewhere => {
                    self.refuse(&NotOwned { holder: "whoever holds its key".into() });
                    if self.retire() {
                        return;
                    }
                }
                Ending::Idle if self.retire() => return,
                Ending::Idle => {}
            }
        }
        self.refuse_all();
        self.shared.workers().remove(&self.id);
    }

    /// Leaves, unless somebody has left a word meanwhile.
    fn retire(&mut self) -> bool {
        let mut workers = self.shared.workers();
        let quiet = self.inbox.is_empty();
        if quiet {
            workers.remove(&self.id);
            self.shared.stats.set(self.id, None);
        }
        quiet
    }
}
