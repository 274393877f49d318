//! The server: one port for HTTP and WebSocket, and for whatever else the node wants to serve there.
//!
//! ```text
//!   accept (at most so many) -> Host? Origin? -> POST /            -> body (limited) -> one call or a batch -> answer
//!                                             -> GET /, upgrade    -> WebSocket: the same, and subscriptions
//!                                             -> anything else     -> the node's routes
//! ```
//!
//! Requests are read by hyper and answered here without a framework in between: on the way of a transaction nearly all
//! that is left is the recovery of its signature, and a batch of transactions is recovered in parallel and offered to
//! the driver in one go, which a framework that calls method by method cannot do.

mod access;
mod batch;
mod http;
mod rate;
mod subscriptions;
mod websocket;

pub use access::is_operator;
pub use http::{Body, Routes, text};

use crate::api::Api;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rate::Rates;
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinHandle,
};

/// What connections share.
pub(crate) struct Shared {
    pub(crate) api: Arc<Api>,
    pub(crate) routes: Option<Routes>,
    pub(crate) rates: Rates,
    pub(crate) stopped: watch::Receiver<bool>,
}

/// A server that runs until it is stopped.
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    open: Arc<Semaphore>,
    connections_max: usize,
}

/// How long a stopping server waits for answers that are under way.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// After an error of `accept`, such as no file descriptors left, it is tried again after this time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

impl Server {
    /// Serves on a listener; `routes` answer what is neither JSON-RPC nor WebSocket.
    pub fn start(listener: TcpListener, api: Arc<Api>, routes: Option<Routes>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let connections_max = api.config.limits.connections_max;
        let open = Arc::new(Semaphore::new(connections_max));
        let rates = Rates::new(&api.config.limits);
        let shared = Arc::new(Shared { api, routes, rates, stopped });
        let task = tokio::spawn(accept(listener, shared, open.clone()));
        Ok(Self { address, stop, task, open, connections_max })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, closes idle ones, and lets answers that are under way finish.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
        let all = u32::try_from(self.connections_max).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(STOP_TIMEOUT, self.open.acquire_many(all)).await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, open: Arc<Semaphore>) {
    let mut stopped = shared.stopped.clone();
    loop {
        let accepted = tokio::select! {
            () = until(&mut stopped) => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Beyond the limit a connection is closed at once; the client sees that it was not served.
        let Ok(place) = open.clone().try_acquire_owned() else { continue };
        let _ = stream.set_nodelay(true);
        let shared = shared.clone();
        tokio::spawn(async move {
            let _counted = Counted::new(&shared.api);
            connection(stream, peer, shared.clone()).await;
            drop(place);
        });
    }
}

/// An open connection, counted until it is closed.
struct Counted(Arc<Api>);

impl Counted {
    fn new(api: &Arc<Api>) -> Self {
        api.stats.connections.fetch_add(1, Relaxed);
        Self(api.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.stats.connections.fetch_sub(1, Relaxed);
    }
}

/// Waits until the server is stopped.
async fn until(stopped: &mut watch::Receiver<bool>) {
    // Without a sender there is no server any more.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn connection(stream: tokio::net::TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    let mut stopped = shared.stopped.clone();
    let (upgraded, mut upgrade) = tokio::sync::mpsc::channel(1);
    let idle_timeout = shared.api.config.limits.idle_timeout;
    let service = service_fn(|request| http::answer(request, peer, shared.clone(), upgraded.clone()));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(idle_timeout).max_headers(64).half_close(false);
    let served = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut served = std::pin::pin!(served);
    tokio::select! {
        _ = served.as_mut() => {}
        () = until(&mut stopped) => {
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
    // A WebSocket goes on where the request ended, and keeps the connection's place.
    if let Ok(task) = upgrade.try_recv() {
        websocket::serve(task, shared.clone()).await;
    }
}
