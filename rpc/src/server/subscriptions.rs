//! Subscriptions of one WebSocket client.
//!
//! One task tells a client everything that it subscribed to. It waits for its turn as eager clients do, so that thousands
//! of subscriptions delay nobody who asks.

use super::{outgoing::Outgoing, share::Share, telling::Teller};
use crate::{
    Error, Params,
    api::{Api, Json, LogRequest, Notices},
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
    pub(super) named: Named,
    pub(super) kind: Arc<Kind>,
    /// What happened up to here is not told.
    pub(super) after: u64,
    /// Notifications begin with this: once the answer that names the subscription is under way.
    pub(super) begun: Option<oneshot::Receiver<()>>,
}

/// What the client knows a subscription by.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) method: Arc<str>,
    pub(super) name: Arc<str>,
}

/// What is subscribed to.
pub(super) enum Kind {
    Heads,
    Logs(LogRequest),
    Transactions {
        full: bool,
    },
    PendingBlock,
    Syncing,
    Events,
    /// What an extension tells, by a task of its own.
    Other(AbortHandle),
}

impl Drop for Kind {
    fn drop(&mut self) {
        if let Self::Other(task) = self {
            task.abort();
        }
    }
}

/// Where a subscription is asked for, and where it tells; it begins with `begun`.
pub(super) struct Subscriber<'a> {
    pub(super) space: &'a str,
    pub(super) outgoing: Outgoing,
    pub(super) begun: oneshot::Receiver<()>,
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
            ("eth", "logs") => LogRequest::read_ahead(params, 1, &api.config.limits).map(Self::Logs),
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

    /// Starts a subscription.
    pub(super) fn start(
        &self,
        api: &Arc<Api>,
        params: &Params,
        subscriber: Subscriber<'_>,
    ) -> Result<Json, Error> {
        let kind = Kind::read(subscriber.space, api, params)?;
        self.add(api, subscriber, |named, subscriber| {
            self.teller.lock().get_or_insert_with(|| {
                let teller = Teller {
                    notices: api.hub.listen(),
                    list: self.list.clone(),
                    outgoing: subscriber.outgoing.clone(),
                    share: self.share.clone(),
                    slow: self.slow.clone(),
                };
                tokio::spawn(teller.run()).abort_handle()
            });
            let after = api.hub.sent();
            let begun = match kind {
                Kind::Syncing => {
                    tokio::spawn(
                        named.clone().tell_that_it_is_in_step(subscriber.outgoing, subscriber.begun),
                    );
                    None
                }
                _ => Some(subscriber.begun),
            };
            Subscription { named, kind: Arc::new(kind), after, begun }
        })
    }

    /// Starts a subscription of an extension.
    pub(super) fn start_other(
        &self,
        api: &Api,
        notices: Notices,
        subscriber: Subscriber<'_>,
    ) -> Result<Json, Error> {
        self.add(api, subscriber, |named, subscriber| {
            let (slow, telling) = (self.slow.clone(), named.clone());
            let Subscriber { outgoing, begun, .. } = subscriber;
            let task = tokio::spawn(async move {
                if begun.await.is_ok() {
                    telling.pass_on(notices, &outgoing).await;
                    slow.notify_one();
                }
            });
            let kind = Arc::new(Kind::Other(task.abort_handle()));
            Subscription { named, kind, after: 0, begun: None }
        })
    }

    fn add(
        &self,
        api: &Api,
        subscriber: Subscriber<'_>,
        make: impl FnOnce(Named, Subscriber<'_>) -> Subscription,
    ) -> Result<Json, Error> {
        let mut list = self.list.lock();
        if list.len() >= self.max {
            let why = format!("too many subscriptions, at most {} on a connection", self.max);
            return Err(Error::new(error::LIMIT, why));
        }
        let method = format!("{}_subscription", subscriber.space).into();
        let named = Named { method, name: id().into() };
        let answer = api.reply(&*named.name);
        list.push(make(named, subscriber));
        answer
    }

    /// Ends one; whether there was one.
    pub(super) fn end(&self, api: &Api, params: &Params) -> Result<Json, Error> {
        params.at_most(1)?;
        let name = params.required::<String>(0)?;
        let mut list = self.list.lock();
        match list.iter().position(|subscription| *subscription.named.name == *name) {
            Some(subscriber) => {
                list.remove(subscriber);
                api.reply(&true)
            }
            None => Err(Error::other("subscription not found")),
        }
    }

    /// Whether there is the one that is named.
    pub(super) fn has(&self, params: &Params) -> bool {
        let is = |name: String| self.list.lock().iter().any(|one| *one.named.name == *name);
        params.required::<String>(0).is_ok_and(is)
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
