//! A small HTTP client for what the sender talks to: webhook endpoints, nodes of other chains, remote signers.
//!
//! It exists because of what it does not do. A webhook's address comes from whoever may register one, and a client that
//! follows it anywhere is a way into the operator's own network. So a name is resolved once, **every** address that it has
//! must be allowed by the [`Rules`], and the connection goes to an address that was checked, not to the name again; a
//! redirect is an answer like any other and is not followed; the answer has a length and a time at most. TLS asks for the
//! name that stood in the URL.
//!
//! Errors never repeat a URL: its path may be a secret.

mod connect;
mod rules;
#[cfg(test)]
mod tests;

pub use rules::{BadCertificates, BadNetwork, Network, Rules};

use bytes::Bytes;
use connect::Connector;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{HeaderMap, Method, Uri, body::Body};
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use std::{fmt, net::IpAddr, time::Duration};

/// Idle connections that are kept for one host.
const IDLE_PER_HOST_MAX: usize = 16;
/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Headers of an answer.
const HEADERS_MAX: usize = 64;

/// A question.
#[derive(Clone)]
pub struct Request {
    /// What to do.
    pub method: Method,
    /// With what.
    pub url: String,
    /// In which circumstances.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// How long everything may take, from the look at the name to the last byte of the answer.
    pub timeout: Duration,
}

impl fmt::Debug for Request {
    /// URL, headers and body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Request");
        shown.field("method", &self.method).field("bytes", &self.body.len());
        shown.field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// An answer, whatever its status.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Response {
    /// Whether the status says that all is well.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HttpError {
    /// The URL cannot be used.
    #[error("the URL cannot be used: {0}")]
    Url(&'static str),
    /// The rules do not allow where the URL leads.
    #[error("{host} leads to {address}, which is not a public address and not allowed")]
    Forbidden {
        /// The name that was asked for.
        host: String,
        /// Where it leads.
        address: IpAddr,
    },
    /// Nobody knows the name.
    #[error("the name {host} is not known: {why}")]
    Unresolved {
        /// The name.
        host: String,
        /// What the system said.
        why: String,
    },
    /// There is no connection; nothing was sent.
    #[error("no connection to {host}: {why}")]
    Connect {
        /// The name.
        host: String,
        /// What the system said.
        why: String,
    },
    /// The connection broke. What was sent may have arrived.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The answer took too long. What was sent may have arrived.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The answer is too long. What was sent has arrived.
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
}

impl HttpError {
    /// Whether it is about the connection, and not about how the other side answers.
    pub const fn is_connection(&self) -> bool {
        matches!(self, Self::Unresolved { .. } | Self::Connect { .. } | Self::Broken(_))
    }

    /// Whether the other side may have got the question.
    pub const fn may_have_arrived(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Timeout(_) | Self::TooLarge(_))
    }
}

/// The client. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    connector: Connector,
    connections: legacy::Client<Connector, Full<Bytes>>,
    response_bytes_max: usize,
}

impl Client {
    /// A client that goes where the rules allow it.
    pub fn new(rules: Rules) -> Self {
        let response_bytes_max = rules.response_bytes_max;
        let connector = Connector::new(rules);
        let connections = legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .http1_max_headers(HEADERS_MAX)
            .build(connector.clone());
        Self { connector, connections, response_bytes_max }
    }

    /// Whether the rules allow a URL, as its name resolves now. Every connection is checked again.
    pub async fn check(&self, url: &str) -> Result<(), HttpError> {
        self.connector.addresses(&parse(url)?).await.map(drop)
    }

    /// Asks, and waits for the whole answer.
    pub async fn send(&self, request: Request) -> Result<Response, HttpError> {
        let timeout = request.timeout;
        tokio::time::timeout(timeout, self.exchange(request))
            .await
            .unwrap_or(Err(HttpError::Timeout(timeout)))
    }

    async fn exchange(&self, request: Request) -> Result<Response, HttpError> {
        let mut question = hyper::Request::new(Full::new(request.body));
        *question.method_mut() = request.method;
        *question.uri_mut() = parse(&request.url)?;
        *question.headers_mut() = request.headers;
        let answer = self.connections.request(question).await.map_err(|why| reason(&why))?;
        let (head, body) = answer.into_parts();
        let too_large = HttpError::TooLarge(self.response_bytes_max);
        if body.size_hint().lower() > self.response_bytes_max as u64 {
            return Err(too_large);
        }
        let body = Limited::new(body, self.response_bytes_max).collect().await;
        let body = body.map_err(|why| match why.is::<LengthLimitError>() {
            true => too_large,
            false => HttpError::Broken(why.to_string()),
        })?;
        Ok(Response { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() })
    }
}

/// Reads a URL, as far as one can tell without the network.
fn parse(url: &str) -> Result<Uri, HttpError> {
    let uri = url.parse::<Uri>().map_err(|_| HttpError::Url("it is not one"))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        _ => return Err(HttpError::Url("it begins with neither http:// nor https://")),
    }
    let authority = uri.authority().ok_or(HttpError::Url("it names no host"))?;
    if authority.host().is_empty() {
        return Err(HttpError::Url("it names no host"));
    }
    if authority.as_str().contains('@') {
        return Err(HttpError::Url("it carries a user name; use a header instead"));
    }
    Ok(uri)
}

/// Our own error, if it is in there; else what hyper says.
fn reason(error: &legacy::Error) -> HttpError {
    let mut source = std::error::Error::source(error);
    while let Some(why) = source {
        if let Some(ours) = why.downcast_ref::<HttpError>() {
            return ours.clone();
        }
        source = why.source();
    }
    let innermost = std::iter::successors(std::error::Error::source(error), |why| why.source()).last();
    HttpError::Broken(innermost.map_or_else(|| error.to_string(), ToString::to_string))
}
