//! What went wrong, as RFC 9457 writes it, with a code for programs and whether the same may work later.

use super::response;
use ::sender::{Error, facade::ErrorKind, http::HttpError};
use hyper::{
    Response, StatusCode,
    header::{self, HeaderValue},
};
use rpc::Body;
use sender_model::{AcceptError, OperationError, UsedName};
use serde_json::{Value, json};
use std::fmt;

/// What went wrong.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    /// For programs.
    error: &'static str,
    detail: String,
    should_retry: bool,
    /// More, for programs.
    more: Option<Value>,
    /// Methods that the path has.
    allow: Option<String>,
}

impl Problem {
    fn new(status: StatusCode, error: &'static str, detail: impl Into<String>) -> Self {
        Self { status, error, detail: detail.into(), should_retry: false, more: None, allow: None }
    }

    pub(super) fn unauthorized() -> Self {
        let why = "this needs the operator's token: Authorization: Bearer TOKEN";
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", why)
    }

    pub(super) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", "there is nothing here; see /v1/docs")
    }

    pub(super) fn no_method(allowed: &[&str]) -> Self {
        let allow = allowed.join(", ");
        let why = format!("this path takes {allow}");
        let problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", why);
        Self { allow: Some(allow), ..problem }
    }

    pub(super) fn media_type() -> Self {
        let why = "only application/json is taken, also for an empty body";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", why)
    }

    pub(super) fn body_too_large(bytes_max: usize) -> Self {
        let why = format!("the body has more than {bytes_max} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", why)
    }

    pub(super) fn slow() -> Self {
        let why = "the body did not arrive in time";
        Self { should_retry: true, ..Self::new(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", why) }
    }

    /// What was sent makes no sense.
    pub(super) fn invalid(why: impl fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID", why.to_string())
    }

    pub(super) fn not_found(why: impl fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", why.to_string())
    }

    /// The node has a fault. What exactly is the log's business.
    pub(super) fn internal(why: &dyn fmt::Display) -> Self {
        tracing::error!(%why, "a REST call failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", "internal error")
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let mut body = json!({
            "title": self.status.canonical_reason().unwrap_or_default(),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "error": self.error,
            "shouldRetry": self.should_retry,
        });
        if let (Value::Object(body), Some(Value::Object(more))) = (&mut body, self.more) {
            body.extend(more);
        }
        let mut response = response(self.status, "application/problem+json", body.to_string().into());
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(allow) = self.allow.and_then(|allow| HeaderValue::from_str(&allow).ok()) {
            response.headers_mut().insert(header::ALLOW, allow);
        }
        response
    }
}

/// A webhook's address that cannot be used.
impl From<HttpError> for Problem {
    fn from(why: HttpError) -> Self {
        match why {
            HttpError::Url(_) => Self::invalid(why),
            _ => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "WEBHOOK_ADDRESS", why.to_string()),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, code) = match error.kind() {
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            ErrorKind::Invalid => (StatusCode::BAD_REQUEST, "INVALID"),
            ErrorKind::Gone => (StatusCode::GONE, "GONE"),
            ErrorKind::Conflict => (StatusCode::CONFLICT, "CONFLICT"),
            ErrorKind::Unprocessable => (StatusCode::UNPROCESSABLE_ENTITY, "UNPROCESSABLE"),
            ErrorKind::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE"),
            ErrorKind::Busy => (StatusCode::TOO_MANY_REQUESTS, "BUSY"),
            ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
            ErrorKind::Unknown => (StatusCode::SERVICE_UNAVAILABLE, "UNKNOWN"),
            ErrorKind::Internal => return Self::internal(&error),
        };
        let (code, more) = match &error {
            Error::Operation(OperationError::NonceConflict { current, attempted }) => {
                ("NONCE_CONFLICT", Some(json!({ "currentNonce": current, "attemptedNonce": attempted })))
            }
            Error::Forgotten(used) => {
                let UsedName { id, outcome, hash, completed_at, .. } = &**used;
                let more = json!({
                    "requestId": id, "outcome": outcome, "hash": hash, "completedAt": completed_at.as_millis(),
                });
                ("REQUEST_FORGOTTEN", Some(more))
            }
            Error::Uncertain { id, .. } => (code, Some(json!({ "requestId": id }))),
            Error::GroupChain { group_chain, chain_id, .. } => {
                ("CHAIN_MISMATCH", Some(json!({ "groupChainId": group_chain, "chainId": chain_id })))
            }
            Error::Accept(AcceptError::Mismatch(_)) => ("IDEMPOTENCY_MISMATCH", None),
            Error::Accept(AcceptError::Expired) => ("EXPIRED", None),
            Error::UnknownAccount(_) => ("UNKNOWN_ACCOUNT", None),
            _ => (code, None),
        };
        let should_retry = error.should_retry();
        Self { should_retry, more, ..Self::new(status, code, error.to_string()) }
    }
}
