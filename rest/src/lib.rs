//! REST for managed accounts, `/v1`, on the same port as JSON-RPC and under its rules for hosts and connections.
//!
//! ```text
//!   /v1/.. ─▶ token? ─▶ axum's router ─▶ admission ─▶ extractors ─▶ sender::Sender ─▶ JSON, or a problem (RFC 9457)
//! ```
//!
//! It is a crate of its own, since `sender` may not use `rpc`. The server is `rpc`'s: it hands over requests, and axum's
//! router is called as a service. One list ([`api::routes`]) makes the router and the OpenAPI document, and schemas are
//! derived from the serde types, so the document knows every path and field that callers meet. It is kept in the
//! repository and a test compares it.
//!
//! Everything needs the operator's token, except on a development network. The document and its page need none.

mod accounts;
mod api;
mod chains;
mod extract;
mod forward;
mod page;
mod problem;
mod schemas;
mod transactions;
mod webhooks;

pub use api::document;

use ::sender::{
    Sender,
    http::{Client, Rules},
};
use axum::{
    Router,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::{
    HeaderMap, Method, Request, StatusCode, Uri,
    body::Incoming,
    header::{self, HeaderName, HeaderValue},
};
use problem::Problem;
use rpc::{Body, Routes};
use serde::Serialize;
use std::sync::Arc;
use tower_service::Service;

/// The docs page loads nothing and runs nothing.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// No cache keeps a response, and no browser takes it for anything but what it is.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

/// See the [crate](self).
pub struct Rest {
    sender: Sender,
    /// The token and the limits are those of JSON-RPC.
    config: rpc::Config,
    /// Whether no token is needed.
    open: bool,
    /// What webhooks are delivered with, to reject an address that could never be reached.
    webhooks: Client,
    /// Reaches other processes that share the store.
    peers: Client,
    document: Bytes,
    page: Bytes,
}

/// What a handler returns.
type Reply = Result<Response, Problem>;

/// A value as JSON. axum's own `Json` would answer a value that cannot be written with the serializer's message.
fn json<T: Serialize>(status: StatusCode, value: &T) -> Reply {
    let body = serde_json::to_vec(value).map_err(|why| Problem::internal(&why))?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

fn ok<T: Serialize>(value: &T) -> Reply {
    json(StatusCode::OK, value)
}

impl Rest {
    /// REST over these accounts, under the token and limits of JSON-RPC; `open` if no token is needed.
    pub fn new(sender: Sender, config: rpc::Config, open: bool, webhooks: Client) -> Arc<Self> {
        let document = document();
        let page = page::render(&document).into();
        let document = format!("{document:#}\n").into();
        // Their addresses come from the store, which only they write to.
        let peers = Client::new(Rules::anywhere());
        Arc::new(Self { sender, config, open, webhooks, peers, document, page })
    }

    /// Answers `/v1`; other paths go to `otherwise`.
    pub fn routes(self: &Arc<Self>, otherwise: Option<Routes>) -> Routes {
        let (rest, router) = (self.clone(), api::router(self));
        Arc::new(move |request| {
            let path = request.uri().path();
            if path == "/v1" || path.starts_with("/v1/") {
                let (rest, router) = (rest.clone(), router.clone());
                return async move { rest.answer(router, request).await }.boxed();
            }
            match &otherwise {
                Some(otherwise) => otherwise(request),
                None => futures_util::future::ready(rpc::nothing_else(&request)).boxed(),
            }
        })
    }

    async fn answer(&self, router: Router, request: Request<Incoming>) -> hyper::Response<Body> {
        let mut response = match (request.method(), request.uri().path()) {
            (&Method::GET, "/v1/openapi.json") => {
                ([(header::CONTENT_TYPE, "application/json")], self.document.clone()).into_response()
            }
            (&Method::GET, "/v1" | "/v1/" | "/v1/docs") => {
                let kind = (header::CONTENT_TYPE, "text/html; charset=utf-8");
                let policy = (header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
                ([kind, policy], self.page.clone()).into_response()
            }
            // Before the router, so that without the token no path can be told from another.
            _ if !self.is_allowed(request.headers()) => Problem::unauthorized().into_response(),
            _ => dispatch(router, request).await,
        };
        let headers = response.headers_mut();
        headers.extend(HEADERS);
        // hyper sets it where there may be one; axum also does for 204.
        headers.remove(header::CONTENT_LENGTH);
        response.map(|body| body.map_err(Into::into).boxed_unsync())
    }

    fn is_allowed(&self, headers: &HeaderMap) -> bool {
        self.open || rpc::is_operator(&self.config, headers)
    }
}

/// Calls the router, with two deviations from what axum does by itself.
async fn dispatch(mut router: Router, mut request: Request<Incoming>) -> Response {
    if let Some(uri) = revealed(request.method(), request.uri()) {
        *request.uri_mut() = uri;
    }
    // axum answers HEAD with the handler of GET. Here it is a method that no path has, like TRACE.
    if request.method() == Method::HEAD {
        *request.method_mut() = Method::TRACE;
    }
    let Ok(response) = router.call(request).await;
    match response.headers().get(header::ALLOW) {
        Some(allow) if response.status() == StatusCode::METHOD_NOT_ALLOWED => {
            Problem::no_method(allow.to_str().unwrap_or_default()).into_response()
        }
        _ => response,
    }
}

/// The router prefers a literal segment to a name in its place, whatever the method. So a transaction with the name `raw`,
/// `by-hash` or `by-key` could not be found; with its first letter escaped, the segment is no literal any more.
fn revealed(method: &Method, uri: &Uri) -> Option<Uri> {
    const TRANSACTIONS: &str = "/v1/transactions/";
    let path = uri.path().strip_prefix(TRANSACTIONS)?;
    let hidden = match *method {
        Method::GET => path == "raw",
        Method::POST => {
            matches!(path, "by-hash/cancel" | "by-hash/replace" | "by-key/cancel" | "by-key/replace")
        }
        _ => false,
    };
    let (first, others) = path.split_at_checked(1).filter(|_| hidden)?;
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{TRANSACTIONS}%{:02x}{others}{query}", first.as_bytes().first()?).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_literals_too_are_revealed() {
        let revealed = |method, path: &'static str| {
            revealed(&method, &Uri::from_static(path)).map(|uri| uri.to_string())
        };
        assert_eq!(
            revealed(Method::GET, "/v1/transactions/raw?a=b"),
            Some("/v1/transactions/%72aw?a=b".into())
        );
        let hidden = "/v1/transactions/by-key/cancel";
        assert_eq!(revealed(Method::POST, hidden), Some("/v1/transactions/%62y-key/cancel".into()));
        assert_eq!(revealed(Method::GET, hidden), None, "the key is `cancel`");
        for path in
            ["/v1/transactions/raw", "/v1/transactions/one/cancel", "/v1/transactions/", "/v1/groups/raw"]
        {
            assert_eq!(revealed(Method::POST, path), None, "{path}");
        }
    }
}
