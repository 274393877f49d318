//! Between the node and anvil: a proxy that forwards a send and then breaks the connection, takes its time, and says
//! that it is busy.

use super::server::{Reply, Server, serve};
use bytes::Bytes;
use harness::rng::Rng;
use hyper::{HeaderMap, Method, header};
use parking_lot::Mutex;
use sender::http::{Client, Request, Rules};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// What goes wrong, in thousandths, and how long everything takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faults {
    pub lost_answers: u64,
    pub busy: u64,
    pub unavailable: u64,
    pub latency_ms: u64,
}

impl Faults {
    pub(super) const HARSH: Self = Self { lost_answers: 100, busy: 30, unavailable: 30, latency_ms: 20 };

    /// Nothing goes wrong, it only takes so long.
    pub(super) const fn slow(latency_ms: u64) -> Self {
        Self { lost_answers: 0, busy: 0, unavailable: 0, latency_ms }
    }
}

/// The proxy, and what it has done.
pub(super) struct Proxy {
    server: Server,
    done: Arc<Done>,
}

#[derive(Default)]
struct Done {
    lost: AtomicU64,
    refused: AtomicU64,
}

impl Proxy {
    pub(super) async fn start(upstream: String, faults: Faults, seed: u64) -> io::Result<Self> {
        let (client, done) = (Client::new(Rules::anywhere()), Arc::new(Done::default()));
        let (rng, counted) = (Arc::new(Mutex::new(Rng::new(seed))), done.clone());
        let server = serve(move |_, body| {
            forward(client.clone(), upstream.clone(), faults, rng.clone(), counted.clone(), body)
        });
        Ok(Self { server: server.await?, done })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Answers to sends that were lost, and questions that were refused.
    pub(super) fn faults(&self) -> (u64, u64) {
        (self.done.lost.load(Ordering::Relaxed), self.done.refused.load(Ordering::Relaxed))
    }
}

async fn forward(
    client: Client,
    url: String,
    faults: Faults,
    rng: Arc<Mutex<Rng>>,
    done: Arc<Done>,
    body: Bytes,
) -> Reply {
    tokio::time::sleep(Duration::from_millis(faults.latency_ms)).await;
    let (busy, unavailable, lost) = {
        let mut rng = rng.lock();
        (rng.chance(faults.busy), rng.chance(faults.unavailable), rng.chance(faults.lost_answers))
    };
    if busy || unavailable {
        done.refused.fetch_add(1, Ordering::Relaxed);
        return Some((if busy { 429 } else { 503 }, Bytes::from_static(b"later")));
    }
    let sends = body.windows(SEND.len()).any(|window| window == SEND);
    let headers =
        HeaderMap::from_iter([(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"))]);
    let request = Request { method: Method::POST, url, headers, body, timeout: Duration::from_secs(30) };
    let answer = client.send(request).await;
    if sends && lost {
        done.lost.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    answer.ok().map(|answer| (answer.status, answer.body))
}

const SEND: &[u8] = b"eth_sendRawTransaction";
