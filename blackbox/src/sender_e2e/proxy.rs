//! Between the node and anvil: a proxy that forwards a send and then breaks the connection, takes its time, and says
//! that it is busy; or one that lies, has few states and takes few calls.

use super::server::{self, Server, serve};
use bytes::Bytes;
use harness::rng::Rng;
use hyper::{HeaderMap, Method, header};
use parking_lot::Mutex;
use sender::http::{Client, Request, Rules};
use serde_json::{Value, json};
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
pub struct Faults {
    /// Answers to sends that are lost, in thousandths.
    pub lost_answers: u64,
    /// "429", in thousandths.
    pub busy: u64,
    /// "503", in thousandths.
    pub unavailable: u64,
    /// Answers of "0x0", whatever was asked.
    pub nonsense: u64,
    /// Calls that are taken in a second; none without a limit.
    pub calls_per_second: Option<u64>,
    /// Whether states of older blocks than the newest are missing.
    pub pruned: bool,
    /// Whether it does not know `eth_simulateV1`.
    pub no_simulations: bool,
    /// How long everything takes.
    pub latency_ms: u64,
}

impl Faults {
    pub(super) const HARSH: Self = Self { lost_answers: 100, busy: 30, unavailable: 30, ..Self::slow(20) };

    /// A provider that lies, has few states and takes few calls.
    pub(super) const LYING: Self =
        Self { nonsense: 200, calls_per_second: Some(20), pruned: true, ..Self::slow(20) };

    /// Nothing goes wrong, it only takes so long.
    pub(super) const fn slow(latency_ms: u64) -> Self {
        Self {
            lost_answers: 0,
            busy: 0,
            unavailable: 0,
            nonsense: 0,
            calls_per_second: None,
            pruned: false,
            no_simulations: false,
            latency_ms,
        }
    }
}

/// What a provider answers to everything.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// A result or an error, to each call.
    Body(&'static str, Value),
    /// An HTTP status.
    Status(u16),
    /// A web page.
    Html,
    /// Nothing, ever.
    Nothing,
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
    lies: AtomicU64,
    calls: AtomicU64,
    /// The newest block that was seen in an answer.
    newest: AtomicU64,
    /// The second that is counted, and the calls in it.
    second: Mutex<(u64, u64)>,
}

impl Done {
    /// Whether so many more calls are taken in this second.
    fn takes(&self, calls: u64, limit: Option<u64>) -> bool {
        let Some(limit) = limit else { return true };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs());
        let mut second = self.second.lock();
        if second.0 != now {
            *second = (now, 0);
        }
        second.1 += calls;
        second.1 <= limit
    }
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

    /// A provider that has no chain behind it.
    pub(super) async fn start_fixed(reply: Reply) -> io::Result<Self> {
        let done = Arc::new(Done::default());
        let counted = done.clone();
        let server = serve(move |_, body| {
            let (reply, counted) = (reply.clone(), counted.clone());
            async move {
                counted.calls.fetch_add(calls(&body).len() as u64, Ordering::Relaxed);
                match reply {
                    Reply::Body(kind, value) => Some((200, answer(&body, kind, &value))),
                    Reply::Status(status) => Some((status, Bytes::from_static(b"no"))),
                    Reply::Html => {
                        Some((200, Bytes::from_static(b"<!DOCTYPE html><p>Upgrade your plan</p>")))
                    }
                    Reply::Nothing => std::future::pending().await,
                }
            }
        });
        Ok(Self { server: server.await?, done })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Calls that came, and answers that were made up.
    pub(super) fn calls(&self) -> (u64, u64) {
        (self.done.calls.load(Ordering::Relaxed), self.done.lies.load(Ordering::Relaxed))
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
) -> server::Reply {
    tokio::time::sleep(Duration::from_millis(faults.latency_ms)).await;
    let (busy, unavailable, lost, lies) = {
        let mut rng = rng.lock();
        let lies = rng.chance(faults.nonsense);
        (rng.chance(faults.busy), rng.chance(faults.unavailable), rng.chance(faults.lost_answers), lies)
    };
    let calls = calls(&body);
    done.calls.fetch_add(calls.len() as u64, Ordering::Relaxed);
    let busy = busy || !done.takes(calls.len() as u64, faults.calls_per_second);
    if faults.pruned && calls.iter().any(|call| wants_old_state(call, done.newest.load(Ordering::Relaxed))) {
        return Some((
            200,
            answer(&body, "error", &json!({ "code": -32000, "message": "missing trie node" })),
        ));
    }
    if faults.no_simulations && calls.iter().any(|call| call["method"] == "eth_simulateV1") {
        let error = json!({ "code": -32601, "message": "the method does not exist/is not available" });
        return Some((200, answer(&body, "error", &error)));
    }
    if lies {
        done.lies.fetch_add(1, Ordering::Relaxed);
        return Some((200, answer(&body, "result", &json!("0x0"))));
    }
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
    let answer = answer.ok()?;
    for part in self::calls(&answer.body) {
        done.newest.fetch_max(number(&part["result"]["number"]).unwrap_or_default(), Ordering::Relaxed);
    }
    Some((answer.status, answer.body))
}

const SEND: &[u8] = b"eth_sendRawTransaction";

/// The calls of a request.
fn calls(body: &[u8]) -> Vec<Value> {
    match serde_json::from_slice(body) {
        Ok(Value::Array(calls)) => calls,
        Ok(call) => vec![call],
        Err(_) => vec![],
    }
}

fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// States that a provider with few of them still has.
const STATES_KEPT: u64 = 2;

/// Whether a call wants an older state than the provider has.
fn wants_old_state(call: &Value, newest: u64) -> bool {
    let of_state = matches!(call["method"].as_str(), Some("eth_getTransactionCount" | "eth_getBalance"));
    let at = &call["params"][1];
    of_state && (*at == "finalized" || number(at).is_some_and(|number| number + STATES_KEPT < newest))
}

/// One answer for all calls of a request.
fn answer(body: &[u8], kind: &str, value: &Value) -> Bytes {
    let one = |call: &Value| json!({ "jsonrpc": "2.0", "id": call["id"], kind: value });
    let said = match serde_json::from_slice(body) {
        Ok(Value::Array(calls)) => calls.iter().map(one).collect(),
        Ok(call) => one(&call),
        Err(_) => Value::Null,
    };
    said.to_string().into()
}
