//! What went wrong, as RFC 9457 writes it, with a code for programs and whether the same may work later.

use super::forward::OwnedAt;
use ::sender::{Error, facade::ErrorKind, http::HttpError};
use alloy_primitives::B256;
use axum::response::{IntoResponse, Response};
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use sender_model::{AcceptError, OperationError, RequestId, StateName, UsedName, openapi};
use serde::Serialize;
use std::fmt;
use utoipa::ToSchema;

/// What went wrong (RFC 9457). Nothing was done, unless the code is UNKNOWN.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Problem {
    /// The status in words.
    title: &'static str,
    #[serde(serialize_with = "as_number")]
    #[schema(value_type = u16)]
    status: StatusCode,
    /// What happened, for people.
    detail: String,
    /// The code, for programs.
    #[schema(pattern = "^[A-Z_]+$")]
    error: &'static str,
    /// Whether the same may work later.
    should_retry: bool,
    #[serde(flatten)]
    #[schema(inline)]
    details: Box<Details>,
    /// Methods that the path has.
    #[serde(skip)]
    allow: Option<String>,
    /// Where the process is that could answer.
    #[serde(skip)]
    owner: Option<String>,
}

/// What some codes come with.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Details {
    /// With NONCE_CONFLICT: the next nonce.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64)]
    current_nonce: Option<u64>,
    /// With NONCE_CONFLICT: the nonce of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64)]
    attempted_nonce: Option<u64>,
    /// With REQUEST_FORGOTTEN, and with UNKNOWN if there is one: the request to ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = RequestId)]
    request_id: Option<RequestId>,
    /// With REQUEST_FORGOTTEN: how the request ended (confirmed, reverted, cancelled, expired or failed) whose record was
    /// removed and whose name is still used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = StateName)]
    outcome: Option<StateName>,
    /// With REQUEST_FORGOTTEN: the transaction that was mined for it, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<openapi::Hash>)]
    hash: Option<Option<B256>>,
    /// With REQUEST_FORGOTTEN: when the request ended, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64)]
    completed_at: Option<u64>,
    /// With CHAIN_MISMATCH: the group's chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64)]
    group_chain_id: Option<u64>,
    /// With CHAIN_MISMATCH: the chain that the request names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64)]
    chain_id: Option<u64>,
}

fn as_number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

impl Problem {
    fn new(status: StatusCode, error: &'static str, detail: impl Into<String>) -> Self {
        Self {
            title: status.canonical_reason().unwrap_or_default(),
            status,
            detail: detail.into(),
            error,
            should_retry: false,
            details: Box::default(),
            allow: None,
            owner: None,
        }
    }

    pub(super) fn unauthorized() -> Self {
        let why = "this needs the operator's token: Authorization: Bearer TOKEN";
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", why)
    }

    pub(super) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", "there is nothing here; see /v1/docs")
    }

    /// `allowed` is the header as axum writes it, which adds HEAD to GET.
    pub(super) fn no_method(allowed: &str) -> Self {
        let allow = allowed.split(',').filter(|method| *method != "HEAD").collect::<Vec<_>>().join(", ");
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
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).expect("numbers and texts can be written");
        let mut response =
            (self.status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(owner) = self.owner {
            response.extensions_mut().insert(OwnedAt(owner));
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
        let (code, details) = match error {
            Error::Operation(OperationError::NonceConflict { current, attempted }) => {
                let nonces = Details {
                    current_nonce: Some(current),
                    attempted_nonce: Some(attempted),
                    ..Details::default()
                };
                ("NONCE_CONFLICT", nonces)
            }
            Error::Forgotten(ref used) => ("REQUEST_FORGOTTEN", Details::of(used)),
            Error::Uncertain { ref id, .. } => {
                (code, Details { request_id: Some(id.clone()), ..Details::default() })
            }
            Error::GroupChain { group_chain, chain_id, .. } => {
                let chains = Details {
                    group_chain_id: Some(group_chain),
                    chain_id: Some(chain_id),
                    ..Details::default()
                };
                ("CHAIN_MISMATCH", chains)
            }
            Error::Accept(AcceptError::Mismatch(_)) => ("IDEMPOTENCY_MISMATCH", Details::default()),
            Error::Accept(AcceptError::Expired) => ("EXPIRED", Details::default()),
            Error::UnknownAccount(_) => ("UNKNOWN_ACCOUNT", Details::default()),
            _ => (code, Details::default()),
        };
        let (should_retry, owner) = (error.should_retry(), error.owner_address().map(str::to_owned));
        Self { should_retry, owner, details: Box::new(details), ..Self::new(status, code, error.to_string()) }
    }
}

impl Details {
    fn of(UsedName { id, outcome, hash, completed_at, .. }: &UsedName) -> Self {
        Self {
            request_id: Some(id.clone()),
            outcome: Some(*outcome),
            hash: Some(*hash),
            completed_at: Some(completed_at.as_millis()),
            ..Self::default()
        }
    }
}
