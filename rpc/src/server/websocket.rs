//! A WebSocket: the same calls as over HTTP, several at once, and subscriptions.
//!
//! A reader takes messages and starts a task for each; all write into one queue, bounded in messages and in bytes, which a
//! writer empties. A client that does not read its notifications is cut off, one that sends faster than it is answered
//! waits.

use super::{
    Body, Shared, access,
    batch::{Connection, Requests, write},
    connection_slots::CloseSignal,
    http::{Visit, text},
    outgoing::{Outgoing, Waiting},
    share::{Share, aside},
    subscriptions::{Subscriber, Subscriptions},
};
use crate::{
    Error, Params,
    api::{Caller, Json},
    error,
};
use bytes::Bytes;
use futures_util::{
    SinkExt, StreamExt,
    future::BoxFuture,
    stream::{SplitSink, SplitStream},
};
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
    upgrade::{OnUpgrade, Upgraded as Upgrade},
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message, Utf8Bytes,
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

/// Messages of one client that are worked on at once.
const MESSAGES_AT_ONCE_MAX: usize = 32;

/// A connection that becomes a WebSocket once the answer to its request is sent.
pub(super) struct Upgraded {
    on: OnUpgrade,
    peer: SocketAddr,
    caller: Caller,
    share: Arc<Share>,
    close_signal: CloseSignal,
}

pub(super) fn is_upgrade(request: &Request<Incoming>) -> bool {
    let names = |name, value: &str| {
        let found = request.headers().get(name).and_then(|found: &HeaderValue| found.to_str().ok());
        found.is_some_and(|found| found.split(',').any(|part| part.trim().eq_ignore_ascii_case(value)))
    };
    request.method() == hyper::Method::GET
        && names(header::UPGRADE, "websocket")
        && names(header::CONNECTION, "upgrade")
}

/// A browser connects to wherever a page wants, so the page's origin must be allowed; programs have none.
fn may_connect(request: &Request<Incoming>, origin_allowed: bool) -> bool {
    let value = |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let Some(origin) = value(header::ORIGIN) else { return true };
    let own = origin.split_once("://").map(|(_, host)| host);
    origin_allowed || (own.is_some() && own == value(header::HOST))
}

pub(super) fn upgrade(
    mut request: Request<Incoming>,
    visit: &Visit<'_>,
    shared: &Shared,
    upgraded: &mpsc::Sender<Upgraded>,
) -> Response<Body> {
    if !may_connect(&request, visit.origin_allowed) {
        return text(StatusCode::FORBIDDEN, "origin not allowed\n");
    }
    let key = request.headers().get(header::SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let version = request.headers().get(header::SEC_WEBSOCKET_VERSION).map(HeaderValue::as_bytes);
    let accept = key.and_then(|key| HeaderValue::from_str(&key).ok());
    let (Some(accept), Some(b"13")) = (accept, version) else {
        return text(StatusCode::BAD_REQUEST, "not a WebSocket handshake of version 13\n");
    };
    if !visit.slot.become_websocket() {
        return text(StatusCode::TOO_MANY_REQUESTS, "too many WebSockets, try again later\n");
    }
    let operator = access::is_operator(&shared.api.config, request.headers());
    let caller = Caller { operator, origin: visit.slot.origin(visit.peer), here: None };
    let on = hyper::upgrade::on(&mut request);
    let (share, close_signal) = (visit.slot.share().clone(), visit.slot.close_signal().clone());
    if upgraded.try_send(Upgraded { on, peer: visit.peer, caller, share, close_signal }).is_err() {
        return text(StatusCode::BAD_REQUEST, "this connection is a WebSocket already\n");
    }
    let mut response = text(StatusCode::SWITCHING_PROTOCOLS, "");
    let headers = response.headers_mut();
    headers.clear();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    response
}

/// What the tasks of one client share.
pub(super) struct Client {
    shared: Arc<Shared>,
    peer: SocketAddr,
    caller: Caller,
    close_signal: CloseSignal,
    outgoing: Outgoing,
    subscriptions: Subscriptions,
}

/// One message's view of its connection: subscriptions begin once the answer that names them is under way.
struct OneMessage<'a> {
    client: &'a Arc<Client>,
    begin: Mutex<Vec<oneshot::Sender<()>>>,
}

impl Connection for OneMessage<'_> {
    fn call<'a>(&'a self, method: &'a str, params: &'a Params) -> Option<BoxFuture<'a, Result<Json, Error>>> {
        let Client { shared, outgoing, subscriptions, caller, .. } = &**self.client;
        let (api, (space, verb)) = (&shared.api, method.split_once('_')?);
        let own = ["eth", "builder"].contains(&space);
        let (begin, begun) = oneshot::channel();
        let subscriber = Subscriber { space, outgoing: outgoing.clone(), begun };
        let result = match verb {
            "subscribe" if own => subscriptions.start(api, params, subscriber),
            "subscribe" => {
                let notices = api.subscribe(space, params, caller)?;
                notices.and_then(|notices| subscriptions.start_other(api, notices, subscriber))
            }
            "unsubscribe" if own || subscriptions.has(params) => subscriptions.end(api, params),
            _ => return None,
        };
        if result.is_ok() {
            self.begin.lock().push(begin);
        }
        Some(Box::pin(std::future::ready(result)))
    }
}

pub(super) async fn serve(upgraded: Upgraded, shared: Arc<Shared>) {
    let Upgraded { on, peer, mut caller, share, close_signal } = upgraded;
    let Ok(io) = on.await else { return };
    // Each message is answered by a task of its own, which goes on when the client is gone: what it sent is sent. But what
    // it only wanted to know is not worked on any more.
    let (_here, here) = watch::channel(());
    caller.here = Some(here);
    let limits = &shared.api.config.limits;
    let config = WebSocketConfig::default()
        .max_message_size(Some(limits.body_bytes_max))
        .max_frame_size(Some(limits.body_bytes_max))
        .read_buffer_size(16 * 1024);
    let socket = WebSocketStream::from_raw_socket(TokioIo::new(io), Role::Server, Some(config)).await;
    let (sink, stream) = socket.split();
    let (outgoing, queue) = Outgoing::new(limits);
    let idle = limits.idle_timeout;
    let subscriptions = Subscriptions::new(limits.subscriptions_max, share.clone());
    let mut stopped = shared.stopped.clone();
    let client = Arc::new(Client { shared, peer, caller, close_signal, outgoing, subscriptions });
    tokio::select! {
        () = write_all(sink, queue, &share, idle) => {}
        () = read_all(stream, &client, &share, idle) => {}
        () = client.subscriptions.cut_off() => {}
        () = super::until(&mut stopped) => {}
    }
    client.subscriptions.end_all();
}

type Socket = WebSocketStream<TokioIo<Upgrade>>;

/// Sends what waits to be sent, and pings while nothing does, until the connection breaks or a send takes too long.
async fn write_all(
    mut sink: SplitSink<Socket, Message>,
    mut queue: mpsc::Receiver<Waiting>,
    share: &Share,
    idle: Duration,
) {
    loop {
        // What is being sent counts as long as it is.
        let (message, _part) = match tokio::time::timeout(idle / 2, queue.recv()).await {
            Ok(Some(waiting)) => (waiting.message, Some(waiting.part)),
            Ok(None) => break,
            Err(_) => (Message::Ping(Default::default()), None),
        };
        let _held = message.clone();
        // The library copies a message into its own buffer before it writes any of it, and clients that are told much
        // have thousands of messages: they are sent in turn, so that a request waits for a few and not for all.
        let send = share.work(message.len(), sink.send(message));
        match tokio::time::timeout(idle, send).await {
            Ok(Ok(())) => {}
            _ => break,
        }
    }
    let _ = tokio::time::timeout(idle / 10, sink.close()).await;
}

/// Starts a task for each message, as many and as large ones at once as one client may have.
async fn read_all(mut stream: SplitStream<Socket>, client: &Arc<Client>, share: &Arc<Share>, idle: Duration) {
    let at_once = Arc::new(Semaphore::new(MESSAGES_AT_ONCE_MAX));
    let bytes_max = client.shared.api.config.limits.outgoing_bytes_max.min(Semaphore::MAX_PERMITS);
    let bytes_at_once = Arc::new(Semaphore::new(bytes_max));
    while let Ok(Some(Ok(message))) = tokio::time::timeout(idle, stream.next()).await {
        let text: Bytes = match message {
            Message::Text(text) => text.into(),
            Message::Binary(bytes) => bytes,
            Message::Close(_) => break,
            _ => continue,
        };
        let size = u32::try_from(text.len().min(bytes_max)).unwrap_or(u32::MAX);
        let Ok(turn) = at_once.clone().acquire_owned().await else { break };
        let Ok(part) = bytes_at_once.clone().acquire_many_owned(size).await else { break };
        let (client, share) = (client.clone(), share.clone());
        tokio::spawn(async move {
            share.work(text.len(), client.answer(&text)).await;
            drop((turn, part));
        });
    }
}

impl Client {
    async fn answer(self: &Arc<Self>, text: &[u8]) {
        let api = &self.shared.api;
        let refuse = |error: Error| {
            let mut answer = Vec::new();
            write(&mut answer, None, &Err(error));
            answer
        };
        let message = OneMessage { client: self, begin: Mutex::default() };
        let answer = match Requests::read(text, api.config.limits.batch_calls_max) {
            Err(error) => Some(refuse(error)),
            Ok(requests) if !self.shared.rates.allows(self.peer.ip(), requests.len()) => {
                Some(refuse(Error::new(error::LIMIT, "rate limit exceeded, slow down")))
            }
            Ok(requests) => requests.answer(api, &self.caller, &message).await,
        };
        let answer =
            answer.map(|answer| self.shared.answers.hold(answer, self.caller.origin, &self.close_signal));
        let text = answer.and_then(|answer| aside(answer.len(), || Utf8Bytes::try_from(answer).ok()));
        if let Some(answer) = text {
            self.outgoing.send(Message::Text(answer)).await;
        }
        for begin in message.begin.into_inner() {
            let _ = begin.send(());
        }
    }
}
