//! One JSON-RPC call over HTTP, and what can become of it.

use crate::http::{Client, HttpError, Request};
use hyper::{HeaderMap, Method, header};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// What a node answered instead of a result.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct RpcError {
    pub code: i64,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub data: Option<Value>,
}

/// Why there is no result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub(super) enum Failed {
    /// The node answered with an error.
    #[error("{} ({})", .0.message, .0.code)]
    Refused(RpcError),
    /// Something in front of the node answered.
    #[error("HTTP status {0}")]
    Status(u16),
    /// The connection could not be made, or broke.
    #[error("no connection")]
    Disconnected,
    /// It took too long.
    #[error("no answer in time")]
    TimedOut,
    /// The answer makes no sense.
    #[error("an answer that makes no sense: {0}")]
    Strange(&'static str),
    /// The node is of another chain.
    #[error("it is of another chain")]
    OtherChain,
    /// No provider may be asked now.
    #[error("all providers rest")]
    Resting,
}

impl Failed {
    /// Whether another provider may do better: it was not the node that spoke.
    pub(super) fn asks_another(&self) -> bool {
        match self {
            Self::Refused(error) => error.code == -32005 || error.code == 429,
            _ => true,
        }
    }
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<RpcError>,
}

/// Calls a method. The second value is how long the other side wants to be left alone.
pub(super) async fn call(
    client: &Client,
    url: &str,
    timeout: Duration,
    method: &str,
    params: Value,
) -> (Result<Value, Failed>, Option<Duration>) {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    let request = Request {
        method: Method::POST,
        url: url.to_owned(),
        headers,
        body: body.to_string().into(),
        timeout,
    };
    let response = match client.send(request).await {
        Ok(response) => response,
        Err(HttpError::Timeout(_)) => return (Err(Failed::TimedOut), None),
        Err(HttpError::TooLarge(_)) => return (Err(Failed::Strange("it is too long")), None),
        Err(_) => return (Err(Failed::Disconnected), None),
    };
    let wait = response.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let wait = wait.map(Duration::from_secs);
    // Nodes send errors with any status; if the body is JSON-RPC, it is what counts.
    let answer = match serde_json::from_slice::<Envelope>(&response.body) {
        Ok(Envelope { error: Some(error), .. }) => Err(Failed::Refused(error)),
        Ok(Envelope { result, .. }) if response.is_success() => Ok(result.unwrap_or(Value::Null)),
        _ if response.is_success() => Err(Failed::Strange("it is not JSON-RPC")),
        _ => Err(Failed::Status(response.status)),
    };
    (answer, wait)
}
