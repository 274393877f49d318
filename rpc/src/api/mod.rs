//! The methods: a table from names to functions, and what they share.
//!
//! Three kinds of methods differ in where they run. What only looks into the snapshot runs where the request was read.
//! What executes or searches runs on threads of its own, a few at once ([`Gate`]). What waits for the driver is a future,
//! and so is what may be large: then it is written on those threads ([`sized`]).

mod blocks;
mod builder;
mod calls;
mod debug;
mod fair;
mod fees;
mod fill;
mod filters;
mod gate;
mod logs;
mod node;
mod recovering;
mod reply;
mod send;
mod simulate;
mod sized;
mod states;
mod story;
mod trace;
mod transactions;
mod txpool;

pub(crate) use filters::Filters;
pub(crate) use logs::LogRequest;
#[cfg(test)]
pub(crate) use logs::may_match;
pub use reply::Json;
pub(crate) use reply::reply;
pub(crate) use send::SEND;

use crate::{
    Archive, Backend, Config, Error, Feed, Params, PoolIndex, Reading, Stats, evm_chain_spec::EvmChainSpec,
    hub::Hub,
};
use alloy_primitives::B256;
use futures_util::{future::BoxFuture, stream::BoxStream};
use gate::Gate;
use recovering::Recovering;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::watch;
use tracing::Instrument;

/// Who calls.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Whether the operator's token came with the request.
    pub operator: bool,
    /// Where the request comes from.
    pub origin: Origin,
    /// Closed when the client is gone, where nobody else stops waiting for its answers then.
    pub here: Option<watch::Receiver<()>>,
}

/// Where a request comes from. What several clients want at once is shared out by this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Origin {
    /// The client's address, if it comes from the network.
    pub address: Option<IpAddr>,
    /// The number of its connection.
    pub connection: u64,
}

type Now = fn(&Api, &Params) -> Result<Json, Error>;
type Later = for<'a> fn(&'a Arc<Api>, &'a Params, &'a Caller) -> BoxFuture<'a, Result<Json, Error>>;

/// Where a method runs.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    /// At once, where the request was read.
    Now(Now),
    /// On a thread for work that takes its time.
    Apart(Now),
    /// As a future.
    Later(Later),
}

/// What a subscription tells, one after the other. When it ends the client is cut off: it has missed something.
pub type Notices = BoxStream<'static, Json>;

/// Another crate's methods, asked for names that are not known here.
pub trait Extension: Send + Sync + 'static {
    /// The methods that there are, under whose names calls are counted.
    fn methods(&self) -> &'static [&'static str];

    /// Calls a method; `None` if there is no such method.
    fn call<'a>(
        &'a self,
        method: &'a str,
        params: &'a Params,
        caller: &'a Caller,
    ) -> Option<BoxFuture<'a, Result<Json, Error>>>;

    /// Begins a subscription of a name space, asked for as `SPACE_subscribe` over a WebSocket; `None` if there is no such.
    fn subscribe(&self, _space: &str, _params: &Params, _caller: &Caller) -> Option<Result<Notices, Error>> {
        None
    }

    /// Whether the node does its work, as `builder_status` shows it; `None` if this extension does not judge it.
    fn health(&self) -> Option<serde_json::Value> {
        None
    }

    /// Another hash under which a transaction that is not known by this one may be found: a sender that makes its
    /// transactions dearer changes their hashes, and answers for all of them.
    fn other_hash(&self, _hash: B256) -> BoxFuture<'_, Option<B256>> {
        Box::pin(std::future::ready(None))
    }
}

/// Everything that answering needs.
pub struct Api {
    pub(crate) config: Config,
    pub(crate) chain: EvmChainSpec,
    pub(crate) feed: Feed,
    pub(crate) pool: Arc<PoolIndex>,
    pub(crate) archive: Arc<dyn Archive>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) filters: Filters,
    pub(crate) hub: Hub,
    pub(crate) stats: Stats,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    gate: Gate,
    recovering: Arc<Recovering>,
    methods: HashMap<&'static str, Method>,
}

/// What an [`Api`] is made of.
pub struct Sources {
    /// The chain.
    pub chain: EvmChainSpec,
    /// Snapshots and events.
    pub feed: Feed,
    /// What waits in the pool.
    pub pool: Arc<PoolIndex>,
    /// Final blocks.
    pub archive: Arc<dyn Archive>,
    /// The driver.
    pub backend: Arc<dyn Backend>,
    /// Methods of other crates.
    pub extensions: Vec<Arc<dyn Extension>>,
}

/// For log lines.
fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

impl Api {
    /// Starts to follow the feed, in the runtime that this is called in.
    pub fn new(config: Config, sources: Sources) -> Arc<Self> {
        let Sources { chain, feed, pool, archive, backend, extensions } = sources;
        let tables = [
            blocks::METHODS,
            builder::METHODS,
            calls::METHODS,
            debug::METHODS,
            fees::METHODS,
            fill::METHODS,
            filters::METHODS,
            logs::METHODS,
            node::METHODS,
            send::METHODS,
            simulate::METHODS,
            states::METHODS,
            trace::METHODS,
            transactions::METHODS,
            txpool::METHODS,
        ];
        let methods = tables.into_iter().flatten().copied().collect::<HashMap<_, _>>();
        let added = extensions.iter().flat_map(|extension| extension.methods()).copied();
        let stats = Stats::new(methods.keys().copied().chain(added));
        let hub = Hub::start(&feed, archive.clone(), pool.clone(), &config.limits);
        let gate = Gate::new(&config.limits);
        let rules = feed.clone();
        let recovering = Recovering::new(ecrecover::at_once() > 1, move |all| {
            ::txpool::recover_all(all, &rules.snapshot().rules)
        });
        let filters = Filters::new(&config.limits);
        Arc::new(Self {
            config,
            chain,
            feed,
            pool,
            archive,
            backend,
            filters,
            hub,
            stats,
            extensions,
            gate,
            recovering,
            methods,
        })
    }

    /// Calls a method.
    pub async fn call(
        self: &Arc<Self>,
        method: &str,
        params: Params,
        caller: &Caller,
    ) -> Result<Json, Error> {
        let begun = Instant::now();
        let connection = caller.origin.connection;
        let span = tracing::debug_span!(target: "rpc", "request", method, connection);
        let answer = self.dispatch(method, params, caller).instrument(span.clone()).await;
        let took = begun.elapsed();
        self.stats.method(method).note(took, answer.is_err());
        tracing::debug!(target: "rpc", parent: &span, ok = answer.is_ok(), took_us = micros(took), "request answered");
        answer
    }

    async fn dispatch(
        self: &Arc<Self>,
        method: &str,
        params: Params,
        caller: &Caller,
    ) -> Result<Json, Error> {
        match self.methods.get(method) {
            Some(Method::Now(call)) => call(self, &params),
            Some(Method::Later(call)) => call(self, &params, caller).await,
            Some(Method::Apart(call)) => {
                let call = *call;
                self.apart(caller, move |api| call(api, &params)).await
            }
            None => {
                let mut extensions = self.extensions.iter();
                match extensions.find_map(|extension| extension.call(method, &params, caller)) {
                    Some(call) => call.await,
                    None => Err(Error::no_method(method)),
                }
            }
        }
    }

    /// Does what takes its time on the threads for that; not at all if the client is gone before its turn comes.
    async fn apart(
        self: &Arc<Self>,
        caller: &Caller,
        work: impl FnOnce(&Self) -> Result<Json, Error> + Send + 'static,
    ) -> Result<Json, Error> {
        let api = self.clone();
        let done = self.gate.run(caller.origin, move || work(&api));
        let Some(mut here) = caller.here.clone() else { return done.await };
        tokio::select! {
            done = done => done,
            // Nothing is ever sent, so this is the end of the sender.
            _ = here.changed() => Err(Error::other("the client is gone")),
        }
    }

    /// Begins a subscription of an extension.
    pub(crate) fn subscribe(
        &self,
        space: &str,
        params: &Params,
        caller: &Caller,
    ) -> Option<Result<Notices, Error>> {
        self.extensions.iter().find_map(|extension| extension.subscribe(space, params, caller))
    }

    /// The names of all methods but those of extensions, in order.
    pub fn methods(&self) -> Vec<&'static str> {
        let mut names = self.methods.keys().copied().collect::<Vec<_>>();
        names.sort_unstable();
        names
    }

    /// What was counted so far.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading {
            snapshot: self.feed.snapshot(),
            archive: &*self.archive,
            chain: &self.chain,
            backend: &*self.backend,
        }
    }

    pub(crate) fn reply<T: serde::Serialize + ?Sized>(&self, value: &T) -> Result<Json, Error> {
        reply(value, self.config.limits.response_bytes_max)
    }
}
