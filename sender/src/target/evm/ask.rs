//! JSON-RPC over HTTP: several calls in one request, and what can become of them.

use crate::http::{Client, HttpError, Request};
use hyper::{HeaderMap, Method, header};
use sender_model::providers::{Blame, Failed, Question, Trouble, blame};
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

impl RpcError {
    /// The provider's trouble, or none if the error is about the question.
    pub(super) fn trouble(&self, question: Question) -> Option<Trouble> {
        match blame(question, self.code, &self.message) {
            Blame::Question => None,
            Blame::Provider(trouble) => Some(trouble),
        }
    }

    /// As the provider's trouble, where no error can be about the question.
    pub(super) fn failed(&self, question: Question) -> Failed {
        let trouble = self.trouble(question).unwrap_or_else(|| Trouble::Failing(self.message.clone()));
        trouble.into()
    }
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub method: &'static str,
    pub params: Value,
}

impl Call {
    pub(super) const fn new(method: &'static str, params: Value) -> Self {
        Self { method, params }
    }
}

/// The answer to one call.
pub(super) type Answer = Result<Value, RpcError>;

/// Whether an answer says that too much was asked.
pub(super) fn is_too_much(answer: &Answer) -> bool {
    let trouble = answer.as_ref().err().and_then(|error| error.trouble(Question::Read));
    matches!(trouble, Some(Trouble::RateLimited(_)))
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<RpcError>,
}

impl Envelope {
    fn answer(self) -> Answer {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.result.unwrap_or(Value::Null)),
        }
    }
}

/// What came back for a request of one or several calls.
pub(super) enum Batch {
    /// An answer to each call, in their order.
    Answers(Vec<Answer>),
    /// The provider does not take several calls in one request.
    Refused,
}

/// Makes all calls in one request.
pub(super) async fn call(
    client: &Client,
    url: &str,
    timeout: Duration,
    calls: &[Call],
) -> Result<Batch, Failed> {
    let body = |(id, call): (usize, &Call)| json!({ "jsonrpc": "2.0", "id": id, "method": call.method, "params": call.params });
    let mut bodies: Vec<Value> = calls.iter().enumerate().map(body).collect();
    let body = if bodies.len() == 1 { bodies.remove(0) } else { Value::Array(bodies) };
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
        Err(HttpError::Timeout(_)) => return Err(Trouble::TimedOut.into()),
        Err(HttpError::TooLarge(_)) => return Err(Trouble::Garbage("it is too long".into()).into()),
        Err(_) => return Err(Trouble::Disconnected.into()),
    };
    let wait = response.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let wait = wait.map(Duration::from_secs);
    // Nodes send errors with any status; if the body is JSON-RPC, it is what counts.
    read(&response.body, calls.len(), response.is_success()).ok_or_else(|| {
        let trouble = match response.status {
            429 => Trouble::RateLimited("HTTP status 429".into()),
            401..=403 => Trouble::Denied(format!("HTTP status {}", response.status)),
            status if !response.is_success() => Trouble::Status(status),
            _ => Trouble::Garbage(beginning(&response.body)),
        };
        Failed { trouble, wait }
    })
}

/// The answers in a body; none if it is not JSON-RPC.
fn read(body: &[u8], calls: usize, success: bool) -> Option<Batch> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let one = |value: Value| {
        let said = value.get("error").is_some() || (success && value.get("result").is_some());
        said.then(|| serde_json::from_value::<Envelope>(value).ok()).flatten()
    };
    match value {
        Value::Array(values) if calls > 1 => {
            let mut answers: Vec<Option<Answer>> = (0..calls).map(|_| None).collect();
            for envelope in values.into_iter().filter_map(one) {
                let index = usize::try_from(envelope.id.as_u64()?).ok()?;
                *answers.get_mut(index)? = Some(envelope.answer());
            }
            answers.into_iter().collect::<Option<Vec<_>>>().map(Batch::Answers)
        }
        Value::Object(_) if calls > 1 => {
            // One error for all of them. If it is about them, each alone will meet it again.
            one(value).map(|_| Batch::Refused)
        }
        value => one(value).map(|envelope| Batch::Answers(vec![envelope.answer()])),
    }
}

/// The beginning of what is not JSON, for readers of the health page.
fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(60)]);
    text.chars().filter(|letter| !letter.is_control()).collect()
}
