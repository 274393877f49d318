//! Subscriptions of one WebSocket client.

use super::outgoing::Outgoing;
use crate::{
    Error, Params,
    api::{Api, Json, LogRequest},
    archive::matching_logs,
    error,
    hub::{Notice, id},
    view::{HeaderView, LogView, PendingView, TransactionView},
};
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

    /// Starts a subscription; its notifications begin with `begun`.
    pub(super) fn start(
        &self,
        space: &str,
        api: &Arc<Api>,
        params: &Params,
        outgoing: Outgoing,
        begun: oneshot::Receiver<()>,
    ) -> Result<Json, Error> {
        let kind = Kind::read(space, api, params)?;
        let mut running = self.running.lock();
        if running.len() >= self.max {
            let why = format!("too many subscriptions, at most {} on a connection", self.max);
            return Err(Error::new(error::LIMIT, why));
        }
        let name = id();
        let subscription = Subscription {
            method: format!("{space}_subscription"),
            name: name.clone(),
            kind,
            notices: api.hub.listen(),
            outgoing,
            slow: self.slow.clone(),
        };
        let task = tokio::spawn(async move {
            if begun.await.is_ok() {
                subscription.run().await;
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

    /// Ends all.
    pub(super) fn end_all(&self) {
        self.running.lock().drain().for_each(|(_, task)| task.abort());
    }

    /// Waits until the client is too slow for what it subscribed to.
    pub(super) async fn cut_off(&self) {
        self.slow.notified().await;
    }
}

struct Subscription {
    method: String,
    name: String,
    kind: Kind,
    notices: broadcast::Receiver<Notice>,
    outgoing: Outgoing,
    slow: Arc<Notify>,
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
                self.slow.notify_one();
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

    /// Fails if the client does not read.
    fn notify<T: Serialize>(&self, result: &T) -> Result<(), ()> {
        #[derive(Serialize)]
        struct Notification<'a, T> {
            jsonrpc: &'a str,
            method: &'a str,
            params: Told<'a, T>,
        }
        #[derive(Serialize)]
        struct Told<'a, T> {
            subscription: &'a str,
            result: &'a T,
        }
        let params = Told { subscription: &self.name, result };
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
