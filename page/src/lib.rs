//! What the node serves beside JSON-RPC, on the same port and under the same rules: the operator's page, the stream that
//! keeps it live, metrics, and whether the node is well.
//!
//! | path | what |
//! |---|---|
//! | `/`, `/tx/HASH`, `/bundle/NUMBER` | the page; what it shows first follows from its address |
//! | `/page/..` | its parts |
//! | `/page/accounts` | managed accounts; with the operator's token, except in development |
//! | `/page/live` | server-sent events: a whole snapshot first, then what changed |
//! | `/metrics` | Prometheus |
//! | `/healthz`, `/readyz` | is it up; does it do its work (503 if not), with reasons as [`observe::health`] has them |
//! | `/dev/faults` | in development only: faults on demand |
//!
//! The Host of a request was checked before it comes here, and connections are limited, as for JSON-RPC. Everything but
//! the faults can only be read. The page needs nothing from elsewhere, and its policy forbids it to fetch anything.

mod accounts;
mod assets;
mod faults;
mod live;
mod parts;

pub use accounts::Managed;
use bytes::Bytes;
use clock::SystemClock;
use devnet::Devnet;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderName, HeaderValue},
};
use live::Live;
use observe::{Build, Limits, Observer, Scraped, health::Health};
use rpc::{Api, Body, Feed, PoolIndex, Routes};
use serde_json::{Value, json};
use std::sync::Arc;
use store::Store;
use types::Time;

/// What the page is made of.
pub struct Sources {
    /// Snapshots and events.
    pub feed: Feed,
    /// When bundles and transactions reached each step.
    pub index: Arc<PoolIndex>,
    /// JSON-RPC, for what it has counted.
    pub api: Arc<Api>,
    /// Log lines and counters.
    pub observer: Arc<Observer>,
    /// The store, for what it has counted.
    pub store: Store,
    /// Judges how healthy the node is now.
    pub health: Arc<dyn Fn() -> Health + Send + Sync>,
    /// The node's time.
    pub clock: SystemClock,
    /// The binary that runs.
    pub build: Build,
    /// What never changes while the node runs, for the page.
    pub facts: Value,
    /// What gauges are compared with.
    pub limits: Limits,
    /// The validators, if they are ours to disturb.
    pub devnet: Option<Arc<Devnet>>,
    /// Managed accounts, if there are some.
    pub managed: Option<Managed>,
}

/// See the [crate](self).
pub struct Web {
    sources: Sources,
    live: Live,
    started: Time,
}

impl Web {
    /// Starts to paint for whoever watches, in the runtime that this is called in.
    pub fn start(sources: Sources) -> Arc<Self> {
        let started = sources.clock.now();
        let web = Arc::new(Self { sources, live: Live::default(), started });
        live::start(&web);
        web
    }

    /// Ends the streams, so that nobody waits for them.
    pub fn stop(&self) {
        self.live.stop();
    }

    /// How the server asks.
    pub fn routes(self: &Arc<Self>) -> Routes {
        let web = self.clone();
        Arc::new(move |request| {
            let web = web.clone();
            async move { web.answer(request).await }.boxed()
        })
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        if path == "/dev/faults" {
            return faults::answer(self.sources.devnet.as_ref(), request).await;
        }
        let is_known = assets::is_page(&path)
            || assets::find(&path).is_some()
            || ["/page/live", "/page/accounts", "/metrics", "/healthz", "/readyz"].contains(&path.as_str());
        match (is_known, request.method()) {
            (false, _) => plain(StatusCode::NOT_FOUND, "there is nothing here\n"),
            (true, &Method::GET | &Method::HEAD) => self.get(&path, &request),
            (true, _) => plain(StatusCode::METHOD_NOT_ALLOWED, "this can only be read\n"),
        }
    }

    fn get(self: &Arc<Self>, path: &str, request: &Request<Incoming>) -> Response<Body> {
        match path {
            "/page/live" => live::join(self),
            "/page/accounts" => {
                let Sources { feed, managed, .. } = &self.sources;
                accounts::answer(managed.as_ref(), &feed.snapshot(), request.headers())
            }
            "/metrics" => self.metrics(),
            "/healthz" => {
                let Build { version, commit } = self.sources.build;
                let version = format!("{version} ({commit})");
                json_answer(StatusCode::OK, &json!({ "status": "up", "version": version }))
            }
            "/readyz" => {
                let health = (self.sources.health)();
                let status = if health.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                json_answer(status, &health.to_json())
            }
            _ => assets::answer(path, request.headers()),
        }
    }

    fn metrics(&self) -> Response<Body> {
        let Sources { feed, api, observer, store, health, clock, build, limits, managed, .. } = &self.sources;
        let sender = managed.as_ref().map(|managed| managed.sender.stats()).unwrap_or_default();
        let text = observe::scrape(&Scraped {
            build: *build,
            observer,
            snapshot: &feed.snapshot(),
            rpc: api.stats(),
            store: store.stats(),
            sender: &sender,
            limits: *limits,
            health: &health(),
            viewers: self.live.viewers(),
            started: self.started,
            now: clock.now(),
        });
        answer(StatusCode::OK, observe::CONTENT_TYPE, text)
    }
}

/// An answer. Nobody keeps it, and no browser takes it for anything but what it is.
fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
    with_headers(status, kind, body)
}

fn with_headers(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers: [(HeaderName, &'static str); 4] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    answer(status, "text/plain; charset=utf-8", text)
}

fn json_answer(status: StatusCode, value: &Value) -> Response<Body> {
    answer(status, "application/json", format!("{value}\n"))
}
