//! Subscriptions of one WebSocket client.

use super::outgoing::Outgoing;
use crate::{
    Error, Params,
    api::{Api, Json, LogRequest, Notices},
    archive::matching_logs,
    error,
    hub::{Notice, id},
    view::{HeaderView, LogView, PendingView, TransactionView},
};
use futures_util::StreamExt;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use std::{collections::HashMap, sync::Arc};
use tokio::{
    sync::{Notify, broadcast, oneshot},
    task::AbortHandle,
};
use tokio_tungstenite::tungstenite::Message;

/// The subscriptions of one client.
pub(super) struct Subscriptions {
    running: Mutex<HashMap<String, AbortHandle>>,
    max: usize,
    /// A client did not read what it subscribed to.
    slow: Arc<Notify>,
}

#[derive(Clone)]
enum Kind {
    Heads,
    Logs(Box<LogRequest>),
    Transactions { full: bool },
    PendingBlock,
    Syncing,
    Events,
}

impl Kind {
    fn read(space: &str, api: &Api, params: &Params) -> Result<Self, Error> {
        params.at_most(2)?;
        let name = match params.raw(0) {
            None if space == "builder" => "events".to_owned(),
            _ => params.required::<String>(0)?,
        };
        match (space, &*name) {
            ("eth", "newHeads") => Ok(Self::Heads),
            ("eth", "logs") => Ok(Self::Logs(Box::new(LogRequest::read(params, 1, &api.config.limits)?))),
            ("eth", "newPendingTransactions") => {
                Ok(Self::Transactions { full: params.optional(1)?.unwrap_or(false) })
            }
            ("eth", "pendingBlock") => Ok(Self::PendingBlock),
            ("eth", "syncing") => Ok(Self::Syncing),
            ("builder", "events") => Ok(Self::Events),
            _ => {
                let shown = name.chars().take(64).collect::<String>();
                let why = format!("no \"{shown}\" subscription in {space} namespace");
                Err(Error::new(error::METHOD_NOT_FOUND, why))
            }
        }
    }
}

impl Subscriptions {
    pub(super) fn new(max: usize) -> Self {
        Self { running: Mutex::default(), max, slow: Arc::default() }
    }

    /// Starts a subscription.
    pub(super) fn start(&self, api: &Arc<Api>, params: &Params, place: Place<'_>) -> Result<Json, Error> {
        let kind = Kind::read(place.space, api, params)?;
        let notices = api.hub.listen();
        self.spawn(api, place, |told| Subscription { kind, notices, told }.run())
    }

    /// Starts a subscription of an extension.
    pub(super) fn start_other(&self, api: &Api, notices: Notices, place: Place<'_>) -> Result<Json, Error> {
        self.spawn(api, place, |told| pass_on(notices, told))
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        api: &Api,
        place: Place<'_>,
        run: impl FnOnce(Told) -> F,
    ) -> Result<Json, Error> {
        let mut running = self.running.lock();
        if running.len() >= self.max {
            let why = format!("too many subscriptions, at most {} on a connection", self.max);
            return Err(Error::new(error::LIMIT, why));
        }
        let name = id();
        let Place { space, outgoing, begun } = place;
        let (method, slow) = (format!("{space}_subscription"), self.slow.clone());
        let subscription = run(Told { method, name: name.clone(), outgoing, slow });
        let task = tokio::spawn(async move {
            if begun.await.is_ok() {
                subscription.await;
            }
        });
        running.insert(name.clone(), task.abort_handle());
        api.reply(&name)
    }

    /// Ends one; whether there was one.
    pub(super) fn end(&self, api: &Api, params: &Params) -> Result<Json, Error> {
        params.at_most(1)?;
        let name = params.required::<String>(0)?;
        match self.running.lock().remove(&name) {
            Some(task) => {
                task.abort();
                api.reply(&true)
            }
            None => Err(Error::other("subscription not found")),
        }
    }

    /// Whether there is the one that is named.
    pub(super) fn has(&self, params: &Params) -> bool {
        params.required::<String>(0).is_ok_and(|name| self.running.lock().contains_key(&name))
    }

    /// Ends all.
    pub(super) fn end_all(&self) {
        self.running.lock().drain().for_each(|(_, task)| task.abort());
    }

    /// Waits until the client is too slow for what it subscribed to.
    pub(super) async fn cut_off(&self) {
        self.slow.notified().await;
    }
}

/// Where a subscription is asked for, and where it tells; it begins with `begun`.
pub(super) struct Place<'a> {
    pub(super) space: &'a str,
    pub(super) outgoing: Outgoing,
    pub(super) begun: oneshot::Receiver<()>,
}

/// How a subscription tells its client.
struct Told {
    method: String,
    name: String,
    outgoing: Outgoing,
    slow: Arc<Notify>,
}

/// Tells what an extension has to tell. The client is cut off when it does not read, or has missed something.
async fn pass_on(mut notices: Notices, told: Told) {
    while let Some(notice) = notices.next().await {
        if told.notify(&notice).is_err() {
            break;
        }
    }
    told.slow.notify_one();
}

struct Subscription {
    kind: Kind,
    notices: broadcast::Receiver<Notice>,
    told: Told,
}

impl Subscription {
    async fn run(mut self) {
        if matches!(self.kind, Kind::Syncing) {
            let _ = self.notify(&false);
        }
        loop {
            let told = match self.notices.recv().await {
                Ok(notice) => self.tell(&notice),
                Err(broadcast::error::RecvError::Lagged(_)) => Err(()),
                Err(broadcast::error::RecvError::Closed) => return,
            };
            if told.is_err() {
                self.told.slow.notify_one();
                return;
            }
        }
    }

    fn tell(&self, notice: &Notice) -> Result<(), ()> {
        match (&self.kind, notice) {
            (Kind::Heads, Notice::Block { block, removed: false }) => {
                self.notify(&HeaderView::new(block.block.header(), Some(block.block.id().hash)))
            }
            (Kind::Logs(request), Notice::Block { block, removed }) => {
                let mut logs = matching_logs(block, &request.filter);
                logs.try_for_each(|entry| self.notify(&LogView::new(&entry, *removed)))
            }
            (Kind::Transactions { full }, Notice::Transactions(transactions)) => {
                transactions.iter().try_for_each(|tx| match full {
                    true => self.notify(&TransactionView::new(tx, None)),
                    false => self.notify(&tx.hash()),
                })
            }
            (Kind::PendingBlock, Notice::Pending(pending)) => self.notify(&PendingView::new(pending)),
            (Kind::Events, Notice::Happened(happened)) => happened.events.iter().try_for_each(|event| {
                self.notify(&json!({ "at": happened.at.as_millis(), "event": EventView(event) }))
            }),
            _ => Ok(()),
        }
    }

    fn notify<T: Serialize>(&self, result: &T) -> Result<(), ()> {
        self.told.notify(result)
    }
}

impl Told {
    /// Fails if the client does not read.
    fn notify<T: Serialize>(&self, result: &T) -> Result<(), ()> {
        #[derive(Serialize)]
        struct Notification<'a, T> {
            jsonrpc: &'a str,
            method: &'a str,
            params: Body<'a, T>,
        }
        #[derive(Serialize)]
        struct Body<'a, T> {
            subscription: &'a str,
            result: &'a T,
        }
        let params = Body { subscription: &self.name, result };
        let notification = Notification { jsonrpc: "2.0", method: &self.method, params };
        let text = serde_json::to_string(&notification).map_err(drop)?;
        self.outgoing.try_send(Message::text(text))
    }
}

/// An event with its name, its line, and what it is about.
struct EventView<'a>(&'a types::Event);

impl Serialize for EventView<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::view::event(self.0).serialize(serializer)
    }
}
