//! REST for managed accounts, `/v1`, on the same port as JSON-RPC and under its rules for hosts and connections.
//!
//! ```text
//!   /v1/.. ─▶ token? ─▶ table of routes ─▶ body, query, path ─▶ sender::Sender ─▶ JSON, or a problem (RFC 9457)
//! ```
//!
//! It is a crate of its own, since `sender` may not use `rpc`; and there is no framework: what one would do here is
//! a table ([`routes::ROUTES`]), and the table also makes the OpenAPI document, so that neither can know a path that the
//! other does not. The document is kept in the repository and a test compares it.
//!
//! Everything needs the operator's token, on a development network nothing does. The document and its page need none.

mod accounts;
mod call;
mod openapi;
mod page;
mod problem;
mod routes;
mod schemas;
mod transactions;
mod webhooks;

pub use openapi::document;

use ::sender::{Sender, http::Client};
use bytes::Bytes;
use call::Call;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body as _, Incoming},
    header::{self, HeaderName, HeaderValue},
};
use problem::Problem;
use routes::{ROUTES, Route};
use rpc::{Body, Routes};
use serde::Serialize;
use std::sync::Arc;

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The page loads nothing and runs nothing.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// See the [crate](self).
pub struct Rest {
    sender: Sender,
    /// The token and the limits are those of JSON-RPC.
    config: rpc::Config,
    /// Whether no token is needed.
    open: bool,
    /// What webhooks are delivered with, to refuse an address that could never be reached.
    webhooks: Client,
    document: Bytes,
    page: Bytes,
}

/// A result.
struct Answer {
    status: StatusCode,
    body: Option<Vec<u8>>,
    replayed: bool,
}

impl Answer {
    fn json<T: Serialize>(status: StatusCode, value: &T) -> Result<Self, Problem> {
        let body = serde_json::to_vec(value).map_err(|why| Problem::internal(&why))?;
        Ok(Self { status, body: Some(body), replayed: false })
    }

    fn ok<T: Serialize>(value: &T) -> Result<Self, Problem> {
        Self::json(StatusCode::OK, value)
    }

    const fn nothing() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: None, replayed: false }
    }

    const fn replayed(mut self, replayed: bool) -> Self {
        self.replayed = replayed;
        self
    }
}

impl Rest {
    /// REST over these accounts, under the token and limits of JSON-RPC; `open` if no token is needed.
    pub fn new(sender: Sender, config: rpc::Config, open: bool, webhooks: Client) -> Arc<Self> {
        let document = document();
        let page = page::render(&document).into();
        let document = format!("{document:#}\n").into();
        Arc::new(Self { sender, config, open, webhooks, document, page })
    }

    /// Answers `/v1` and leaves the rest to somebody else.
    pub fn routes(self: &Arc<Self>, otherwise: Option<Routes>) -> Routes {
        let rest = self.clone();
        Arc::new(move |request| {
            let path = request.uri().path();
            if path == "/v1" || path.starts_with("/v1/") {
                let rest = rest.clone();
                return async move { rest.answer(request).await }.boxed();
            }
            match &otherwise {
                Some(otherwise) => otherwise(request),
                None => futures_util::future::ready(rpc::nothing_else(&request)).boxed(),
            }
        })
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        match (request.method(), path) {
            (&Method::GET, "/v1/openapi.json") => {
                response(StatusCode::OK, "application/json", self.document.clone())
            }
            (&Method::GET, "/v1" | "/v1/" | "/v1/docs") => {
                let mut response = response(StatusCode::OK, "text/html; charset=utf-8", self.page.clone());
                let policy = HeaderValue::from_static(PAGE_POLICY);
                response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
                response
            }
            _ => self.call(request).await.unwrap_or_else(|problem| problem.into_response()),
        }
    }

    async fn call(&self, request: Request<Incoming>) -> Result<Response<Body>, Problem> {
        if !self.open && !rpc::is_operator(&self.config, request.headers()) {
            return Err(Problem::unauthorized());
        }
        let (route, names) = find(request.method(), request.uri().path())?;
        let call = self.read(request, names).await?;
        let Answer { status, body, replayed } = (route.handler)(self, &call).await?;
        let mut response = response(status, "application/json", body.unwrap_or_default().into());
        if replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        Ok(response)
    }

    /// Reads what came with a request. A page of another origin can post a form without asking, but not JSON; so only
    /// JSON is taken, also where nothing is needed.
    async fn read(&self, request: Request<Incoming>, names: Vec<String>) -> Result<Call, Problem> {
        let (head, body) = request.into_parts();
        if head.method == Method::POST && !call::is_json(&head.headers) {
            return Err(Problem::media_type());
        }
        let limits = &self.config.limits;
        if body.size_hint().lower() > limits.body_bytes_max as u64 {
            rpc::discard(body, limits).await;
            return Err(Problem::body_too_large(limits.body_bytes_max));
        }
        let body = Limited::new(body, limits.body_bytes_max).collect();
        let body = match tokio::time::timeout(limits.idle_timeout, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(why)) if why.is::<LengthLimitError>() => {
                return Err(Problem::body_too_large(limits.body_bytes_max));
            }
            Ok(Err(_)) => return Err(Problem::invalid("the body did not arrive")),
            Err(_) => return Err(Problem::slow()),
        };
        Call::new(&head, names, body)
    }
}

/// The route of a path, and what stands where the path has names.
fn find(method: &Method, path: &str) -> Result<(&'static Route, Vec<String>), Problem> {
    let mut other = Vec::new();
    for route in ROUTES {
        match call::match_path(route.path, path) {
            Some(names) if route.method == method.as_str() => return Ok((route, names?)),
            Some(_) => other.push(route.method),
            None => {}
        }
    }
    Err(if other.is_empty() { Problem::no_route() } else { Problem::no_method(&other) })
}

/// An answer. Nobody keeps it, and no browser takes it for anything but what it is.
fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Body> {
    let is_empty = body.is_empty();
    let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if !is_empty {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}
