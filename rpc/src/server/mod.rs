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
mod connection_slots;
mod held;
mod http;
mod lasting;
mod outgoing;
mod patient;
mod rate;
mod share;
mod subscriptions;
mod telling;
mod websocket;

pub use access::is_operator;
pub use http::{Body, Routes, discard, nothing_else, text};
pub(crate) use share::aside;

use crate::api::Api;
use connection_slots::{ConnectionSlot, ConnectionSlots};
use held::Answers;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use patient::Patient;
use rate::Rates;
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// What connections share.
pub(crate) struct Shared {
    pub(crate) api: Arc<Api>,
    pub(crate) routes: Option<Routes>,
    pub(crate) rates: Rates,
    answers: Answers,
    pub(crate) stopped: watch::Receiver<bool>,
}

/// A server that runs until it is stopped.
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// Ends when the last connection has ended.
    open: mpsc::Receiver<()>,
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
        let (is_open, open) = mpsc::channel(1);
        let limits = &api.config.limits;
        let (rates, answers, slots) =
            (Rates::new(limits), Answers::new(limits), ConnectionSlots::new(limits));
        let shared = Arc::new(Shared { api, routes, rates, answers, stopped });
        let task = tokio::spawn(accept(listener, shared, slots, is_open));
        Ok(Self { address, stop, task, open })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, closes idle ones, and lets answers that are under way finish.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
        let _ = tokio::time::timeout(STOP_TIMEOUT, self.open.recv()).await;
    }
}

async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    slots: Arc<ConnectionSlots>,
    is_open: mpsc::Sender<()>,
) {
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
        if slots.is_full() {
            // New connections may have sent their requests already; none is closed before its request is read.
            tokio::task::yield_now().await;
        }
        // If every connection is busy the new one is closed at once; its client sees that it was not served.
        let Some(slot) = slots.take() else { continue };
        let _ = stream.set_nodelay(true);
        let (shared, is_open) = (shared.clone(), is_open.clone());
        tokio::spawn(async move {
            let _counted = Counted::new(&shared.api);
            tokio::select! {
                () = connection(stream, peer, shared, &slot) => {}
                () = slot.closed() => {}
            }
            drop(is_open);
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

async fn connection(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>, slot: &ConnectionSlot) {
    let mut stopped = shared.stopped.clone();
    let (upgraded, mut upgrade) = mpsc::channel(1);
    let idle_timeout = shared.api.config.limits.idle_timeout;
    let stream = Patient::new(stream, idle_timeout);
    let service = service_fn(|request| http::answer(request, peer, slot, shared.clone(), upgraded.clone()));
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
    // A WebSocket goes on where the request ended, and keeps the connection's slot.
    if let Ok(task) = upgrade.try_recv() {
        websocket::serve(task, shared.clone()).await;
    }
}
