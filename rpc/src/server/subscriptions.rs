//! Subscriptions of one WebSocket client.
//!
//! One task tells a client everything that it subscribed to. It waits for its turn as eager clients do, so that thousands
//! of subscriptions delay nobody who asks.

use super::{outgoing::Outgoing, share::Share, telling::Teller};
use crate::{
    Error, Params,
    api::{Api, Json, LogRequest},
    error,
    hub::id,
};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::{
    sync::{Notify, oneshot},
    task::AbortHandle,
};

/// The subscriptions of one client.
pub(super) struct Subscriptions {
    list: Arc<Mutex<Vec<Subscription>>>,
    /// The task that tells the client, once there is something to tell.
    teller: Mutex<Option<AbortHandle>>,
    max: usize,
    share: Arc<Share>,
    /// A client did not read what it subscribed to.
    slow: Arc<Notify>,
}

/// One subscription.
pub(super) struct Subscription {
    pub(super) method: String,
    pub(super) name: String,
    pub(super) kind: Arc<Kind>,
    /// What happened up to here is not told.
    pub(super) after: u64,
    /// Notifications begin with this: once the answer that names the subscription is under way.
    pub(super) begun: Option<oneshot::Receiver<()>>,
}

/// What is subscribed to.
pub(super) enum Kind {
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
    pub(super) fn new(max: usize, share: Arc<Share>) -> Self {
        Self { list: Arc::default(), teller: Mutex::default(), max, share, slow: Arc::default() }
    }

    /// Starts a subscription; its notifications begin with `begun`.
    pub(super) fn start(
        &self,
        space: &str,
        api: &Arc<Api>,
        params: &Params,
        outgoing: &Outgoing,
        begun: oneshot::Receiver<()>,
    ) -> Result<Json, Error> {
        let kind = Arc::new(Kind::read(space, api, params)?);
        let mut list = self.list.lock();
        if list.len() >= self.max {
            let why = format!("too many subscriptions, at most {} on a connection", self.max);
            return Err(Error::new(error::LIMIT, why));
        }
        self.teller.lock().get_or_insert_with(|| {
            let teller = Teller {
                notices: api.hub.listen(),
                list: self.list.clone(),
                outgoing: outgoing.clone(),
                share: self.share.clone(),
                slow: self.slow.clone(),
            };
            tokio::spawn(teller.run()).abort_handle()
        });
        let (name, method) = (id(), format!("{space}_subscription"));
        let mut subscription =
            Subscription { method, name: name.clone(), kind, after: api.hub.sent(), begun: Some(begun) };
        if matches!(*subscription.kind, Kind::Syncing) {
            subscription.tell_that_it_is_in_step(outgoing.clone());
        }
        list.push(subscription);
        api.reply(&name)
    }

    /// Ends one; whether there was one.
    pub(super) fn end(&self, api: &Api, params: &Params) -> Result<Json, Error> {
        params.at_most(1)?;
        let name = params.required::<String>(0)?;
        let mut list = self.list.lock();
        match list.iter().position(|subscription| subscription.name == name) {
            Some(place) => {
                list.remove(place);
                api.reply(&true)
            }
            None => Err(Error::other("subscription not found")),
        }
    }

    /// Ends all.
    pub(super) fn end_all(&self) {
        if let Some(teller) = self.teller.lock().take() {
            teller.abort();
        }
        self.list.lock().clear();
    }

    /// Waits until the client is too slow for what it subscribed to.
    pub(super) async fn cut_off(&self) {
        self.slow.notified().await;
    }
}
