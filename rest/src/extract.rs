//! What comes with a request: names in the path, the query, the idempotency key, the body.
//!
//! The extractors are our own. axum's answer in plain text and not with a problem, take a broken escape (`%zz`) for a
//! text, reject a query that has a name twice, and limit how long a body is but not how long it takes.

use super::{
    Rest,
    forward::{Call, OwnedAt},
    problem::Problem,
};
use alloy_primitives::Address;
use axum::{
    body::Body as AnyBody,
    extract::{FromRequest, FromRequestParts, Path, Request, State},
    middleware::Next,
    response::Response,
};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{HeaderMap, Method, body::Body as _, header, http::request::Parts};
use sender_model::{AccountId, RequestId};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, value},
};
use std::{collections::BTreeMap, error::Error, fmt::Display, str::FromStr, sync::Arc};
use utoipa::IntoParams;

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What every request has to pass after its route is known and before its handler runs, in this order: escapes of the
/// path, the body's type, its size and time, the query's escapes, the idempotency key. The handler gets the whole body.
pub(super) async fn admit(
    State(rest): State<Arc<Rest>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    check_escapes(head.uri.path())?;
    // A page of another origin can post a form without asking, but not JSON; so only JSON is taken, also where nothing
    // is needed.
    if head.method == Method::POST && !is_json(&head.headers) {
        return Err(Problem::media_type());
    }
    let body = read(body, &rest.config.limits).await?;
    check_escapes(head.uri.query().unwrap_or_default())?;
    Key::of(&head.headers)?;
    let call = Call::of(&head, &body);
    let response = next.run(Request::from_parts(head, AnyBody::from(body))).await;
    let (Some(owner), Some(call)) = (response.extensions().get::<OwnedAt>(), call) else {
        return Ok(response);
    };
    Ok(call.forward(&rest.peers, owner).await.unwrap_or(response))
}

/// Reads a body of limited size in limited time.
async fn read(body: AnyBody, limits: &rpc::Limits) -> Result<Bytes, Problem> {
    if body.size_hint().lower() > limits.body_bytes_max as u64 {
        rpc::discard(body, limits).await;
        return Err(Problem::body_too_large(limits.body_bytes_max));
    }
    let body = Limited::new(body, limits.body_bytes_max).collect();
    match tokio::time::timeout(limits.idle_timeout, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(why)) if why.is::<LengthLimitError>() => Err(Problem::body_too_large(limits.body_bytes_max)),
        Ok(Err(_)) => Err(Problem::invalid("the body did not arrive")),
        Err(_) => Err(Problem::slow()),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Whether each `%` of a part of a URL begins a byte, and the bytes are UTF-8.
fn check_escapes(text: &str) -> Result<(), Problem> {
    let is_byte =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    if decoded.is_ok() && text.split('%').skip(1).all(is_byte) {
        Ok(())
    } else {
        Err(Problem::invalid("the URL is not written as URLs are"))
    }
}

/// The name in the path.
pub(super) struct Name<T>(pub(super) T);

impl<S: Send + Sync, T: FromStr<Err: Display>> FromRequestParts<S> for Name<T> {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Problem> {
        // It fails only where the route has no name or more than one: a mistake of ours.
        let text = Path::<String>::from_request_parts(head, state).await;
        let Path(text) = text.map_err(|why| Problem::internal(&why))?;
        text.parse().map(Self).map_err(Problem::invalid)
    }
}

/// The query. Names that it does not know are ignored, and the last value of a name counts.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = head.uri.query().unwrap_or_default();
        let values = form_urlencoded::parse(query.as_bytes()).collect::<BTreeMap<_, _>>();
        let values = value::MapDeserializer::<_, value::Error>::new(values.into_iter());
        // The error begins with the name of the value.
        serde_path_to_error::deserialize(values).map(Self).map_err(Problem::invalid)
    }
}

/// Reads a value of a query by `FromStr`, whose errors are written for callers.
pub(super) fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct OnChain {
    /// The chain; the node's own by default.
    #[serde(default, deserialize_with = "parsed")]
    pub(super) chain_id: Option<u64>,
}

/// The account that the path names, on the chain that the query names.
pub(super) struct Account(pub(super) AccountId);

impl FromRequestParts<Arc<Rest>> for Account {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, rest: &Arc<Rest>) -> Result<Self, Problem> {
        let Name(address) = Name::<Address>::from_request_parts(head, rest).await?;
        let Query(OnChain { chain_id }) = Query::from_request_parts(head, rest).await?;
        Ok(Self(AccountId { chain_id: chain_id.unwrap_or_else(|| rest.sender.home_chain()), address }))
    }
}

/// The idempotency key.
pub(super) struct Key(pub(super) Option<RequestId>);

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it describes the header, which `Key` reads")]
pub(super) struct KeyHeader {
    /// The transaction's name. The same key and body give the same transaction; another body is rejected (422). The key
    /// stays used for 30 days after the transaction's end (sender-idempotency-days): once its record is removed, the
    /// answer is 410 REQUEST_FORGOTTEN with the outcome, and nothing is sent.
    #[param(rename = "Idempotency-Key", value_type = RequestId, required = false)]
    key: Option<RequestId>,
}

impl Key {
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(Self(None)) };
        let text = key.to_str().ok().map(|text| text.trim().trim_matches('"'));
        let wrong = || Problem::invalid("an Idempotency-Key has 1 to 128 letters, digits or any of _ - . :");
        text.and_then(|text| text.parse().ok()).map(|key| Self(Some(key))).ok_or_else(wrong)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::of(&head.headers)
    }
}

/// The body. One that is empty is an empty object.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        // `admit` has read it. axum's `Bytes` would limit it a second time.
        let body = request.into_body().collect().await.map_err(|why| Problem::internal(&why))?.to_bytes();
        let text = if body.is_empty() { b"{}" } else { &*body };
        parse(text).map(Self).map_err(|why| Problem::invalid(format_args!("the body: {why}")))
    }
}

/// Reads JSON; the error begins with the field's path, if it is about one.
pub(super) fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Box<dyn Error>> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn broken_escapes_are_rejected() {
        for right in ["", "/v1/a/x%3Ay/b", "a=%C3%A4&b=+"] {
            assert!(check_escapes(right).is_ok(), "{right}");
        }
        for wrong in ["/v1/a/%/b", "/v1/a/%4/b", "/v1/a/%zz/b", "/v1/a/%ff/b", "a=%"] {
            assert!(check_escapes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn errors_of_a_body_name_the_field() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only its errors matter")]
        struct Fees {
            cap: u64,
        }
        let why = |text: &str| parse::<Fees>(text.as_bytes()).unwrap_err().to_string();
        assert!(why(r#"{"cap": "much"}"#).starts_with("cap: invalid type: string"));
        assert!(why(r#"{"pac": 1}"#).contains("unknown field `pac`, expected `cap`"));
        assert!(why("{}").starts_with("missing field `cap`"));
        assert!(why(r#"{"cap": 1} {}"#).starts_with("trailing characters"));
        assert!(parse::<Value>(b"{}").is_ok());
    }
}
