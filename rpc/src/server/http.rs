//! One HTTP request.

use super::{
    ConnectionSlot, Shared, access,
    batch::{Plain, Requests, write},
    lasting::{is_lasting, lasting},
    websocket,
};
use crate::{Error, Limits, api::Caller, error};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, combinators::UnsyncBoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body as _, Incoming},
    header::{self, HeaderValue},
};
use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What else the node serves on this port: pages, REST, metrics. Host and connection limits are checked before.
pub type Routes = Arc<dyn Fn(Request<Incoming>) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

/// An answer in plain words.
pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(body(text.into()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn body(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

fn json(status: StatusCode, text: Bytes) -> Response<Body> {
    let mut response = Response::new(body(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refused(status: StatusCode, error: Error) -> Response<Body> {
    let mut text = Vec::new();
    write(&mut text, None, &Err(error));
    json(status, text.into())
}

pub(super) async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    slot: &ConnectionSlot,
    shared: Arc<Shared>,
    upgraded: mpsc::Sender<websocket::Upgraded>,
) -> Result<Response<Body>, Infallible> {
    slot.set_busy();
    let config = &shared.api.config;
    if !access::host_allowed(config, request.headers(), request.uri().authority().map(|uri| uri.as_str())) {
        slot.set_idle();
        return Ok(text(StatusCode::FORBIDDEN, "invalid host specified\n"));
    }
    let origin = access::allowed_origin(&config.origins, request.headers());
    let visit = Visit { peer, slot, origin_allowed: origin.is_some() };
    let mut response = route(request, &visit, &shared, &upgraded).await;
    if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(&origin).ok()) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
    }
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(response);
    }
    if is_lasting(&response) {
        return Ok(lasting(response, slot.busy_guard()));
    }
    slot.set_idle();
    Ok(response)
}

/// Where a request comes from.
pub(super) struct Visit<'a> {
    pub(super) peer: SocketAddr,
    pub(super) slot: &'a ConnectionSlot,
    pub(super) origin_allowed: bool,
}

async fn route(
    request: Request<Incoming>,
    visit: &Visit<'_>,
    shared: &Arc<Shared>,
    upgraded: &mpsc::Sender<websocket::Upgraded>,
) -> Response<Body> {
    let at_root = request.uri().path() == "/";
    if at_root && request.method() == Method::POST {
        return call(request, visit, shared).await;
    }
    if at_root && websocket::is_upgrade(&request) {
        return websocket::upgrade(request, visit, shared, upgraded);
    }
    if at_root && request.method() == Method::OPTIONS {
        return preflight(&request, visit.origin_allowed);
    }
    match &shared.routes {
        Some(routes) => routes(request).await,
        None => nothing_else(&request),
    }
}

/// The answer to what nobody serves.
pub fn nothing_else(request: &Request<Incoming>) -> Response<Body> {
    match (request.uri().path(), request.method()) {
        ("/", &Method::GET) => {
            text(StatusCode::OK, "This is Pectin's JSON-RPC. POST a request here, or open a WebSocket.\n")
        }
        ("/", _) => text(StatusCode::METHOD_NOT_ALLOWED, "only POST, or a WebSocket\n"),
        _ => text(StatusCode::NOT_FOUND, "there is nothing here\n"),
    }
}

/// A page from elsewhere that wants to reach the user's own machine asks for that too.
const ASKS_PRIVATE: &str = "access-control-request-private-network";
const ALLOWS_PRIVATE: &str = "access-control-allow-private-network";

/// What a browser asks before it lets a page send JSON.
fn preflight(request: &Request<Incoming>, origin_allowed: bool) -> Response<Body> {
    let mut response = text(StatusCode::NO_CONTENT, "");
    if origin_allowed {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static("content-type, authorization"),
        );
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        if request.headers().contains_key(ASKS_PRIVATE) {
            headers.insert(ALLOWS_PRIVATE, HeaderValue::from_static("true"));
        }
    }
    response
}

/// A page of another origin can send text without asking, but not JSON; so only JSON is taken.
fn is_json(request: &Request<Incoming>) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        ["application/json", "application/json-rpc", "application/jsonrequest"]
            .iter()
            .any(|json| kind.eq_ignore_ascii_case(json))
    })
}

fn too_large(bytes_max: usize) -> Response<Body> {
    let why = format!("request body too large, at most {bytes_max} bytes");
    refused(StatusCode::PAYLOAD_TOO_LARGE, Error::new(error::INVALID_REQUEST, why))
}

/// A client that sends nothing for so long is not writing any more.
const SILENCE: Duration = Duration::from_millis(500);

/// Reads away what is left of a body that is refused, within limits. A client that is still writing when the connection
/// is closed would see that, and not why. One that has only promised to send something is not waited for.
pub async fn discard(mut body: impl hyper::body::Body<Data = Bytes> + Unpin, limits: &Limits) {
    let bytes_max = limits.body_bytes_max.saturating_mul(4);
    let read = async {
        let mut bytes = 0;
        while bytes <= bytes_max
            && let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE, body.frame()).await
        {
            bytes += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    // Whoever is too slow does not learn it.
    let _ = tokio::time::timeout(limits.idle_timeout, read).await;
}

async fn call(request: Request<Incoming>, visit: &Visit<'_>, shared: &Arc<Shared>) -> Response<Body> {
    if !is_json(&request) {
        let why = "invalid content type, only application/json is supported\n";
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    }
    let limits = &shared.api.config.limits;
    let operator = access::is_operator(&shared.api.config, request.headers());
    let caller = Caller { operator, origin: visit.slot.origin(visit.peer), here: None };
    // What would be refused when it is there is not kept.
    if request.body().size_hint().lower() > limits.body_bytes_max as u64 {
        visit.slot.set_idle();
        discard(request.into_body(), limits).await;
        return too_large(limits.body_bytes_max);
    }
    let body = Limited::new(request.into_body(), limits.body_bytes_max).collect();
    visit.slot.set_idle();
    let bytes = match tokio::time::timeout(limits.idle_timeout, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return too_large(limits.body_bytes_max),
        Ok(Err(_)) => return text(StatusCode::BAD_REQUEST, "the body did not arrive\n"),
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time\n"),
    };
    visit.slot.set_busy();
    visit.slot.share().work(bytes.len(), answer_body(&bytes, &caller, visit, shared)).await
}

async fn answer_body(
    bytes: &[u8],
    caller: &Caller,
    visit: &Visit<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let requests = match Requests::read(bytes, shared.api.config.limits.batch_calls_max) {
        Ok(requests) => requests,
        Err(error) => return refused(StatusCode::OK, error),
    };
    if !shared.rates.allows(visit.peer.ip(), requests.len()) {
        let why = Error::new(error::LIMIT, "rate limit exceeded, slow down");
        return refused(StatusCode::TOO_MANY_REQUESTS, why);
    }
    match requests.answer(&shared.api, caller, &Plain).await {
        Some(answer) => {
            json(StatusCode::OK, shared.answers.hold(answer, caller.origin, visit.slot.close_signal()))
        }
        None => json(StatusCode::OK, Bytes::new()),
    }
}
