//! What comes with a request: names in the path, the query, the idempotency key, the body.

use super::problem::Problem;
use alloy_primitives::Address;
use bytes::Bytes;
use hyper::{HeaderMap, header, http::request::Parts};
use sender_model::{AccountId, RequestId};
use serde::de::DeserializeOwned;
use std::{collections::BTreeMap, fmt::Display, str::FromStr};

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// One request, taken apart.
pub(super) struct Call {
    names: Vec<String>,
    query: BTreeMap<String, String>,
    key: Option<RequestId>,
    body: Bytes,
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// What stands where the pattern has names in braces, if the path is like it.
pub(super) fn match_path(pattern: &str, path: &str) -> Option<Result<Vec<String>, Problem>> {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    let mut names = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(names.into_iter().map(decode).collect()),
            (Some(wanted), Some(given)) if wanted.starts_with('{') && !given.is_empty() => names.push(given),
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return None,
        }
    }
}

/// Text of a URL, where bytes may be written as `%41`.
fn decode(text: &str) -> Result<String, Problem> {
    let wrong = || Problem::invalid("the URL is not written as URLs are");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                (high.ok_or_else(wrong)? * 16 + low.ok_or_else(wrong)?) as u8
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

impl Call {
    pub(super) fn new(head: &Parts, names: Vec<String>, body: Bytes) -> Result<Self, Problem> {
        let key = head.headers.get(IDEMPOTENCY_KEY).map(|key| {
            let text = key.to_str().ok().map(|text| text.trim().trim_matches('"'));
            let wrong =
                || Problem::invalid("an Idempotency-Key has 1 to 128 letters, digits or any of _ - . :");
            text.and_then(|text| text.parse().ok()).ok_or_else(wrong)
        });
        let parts = head.uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty());
        let query = parts.map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decode(name)?, decode(value)?))
        });
        Ok(Self { names, query: query.collect::<Result<_, Problem>>()?, key: key.transpose()?, body })
    }

    /// The idempotency key.
    pub(super) fn key(&self) -> Option<RequestId> {
        self.key.clone()
    }

    /// A name in the path.
    pub(super) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }

    /// A name in the path, as something.
    pub(super) fn named<T: FromStr<Err: Display>>(&self, index: usize) -> Result<T, Problem> {
        self.name(index).parse().map_err(Problem::invalid)
    }

    /// A value of the query that may be missing.
    pub(super) fn query<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, Problem> {
        let read = |text: &String| text.parse().map_err(|why| Problem::invalid(format!("{name}: {why}")));
        self.query.get(name).map(read).transpose()
    }

    /// The account that the path names, on the chain that the query names.
    pub(super) fn account(&self, home_chain: u64) -> Result<AccountId, Problem> {
        let address = self.named::<Address>(0)?;
        Ok(AccountId { chain_id: self.query("chainId")?.unwrap_or(home_chain), address })
    }

    /// The body. One that is empty is an empty object.
    pub(super) fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let text = if self.body.is_empty() { b"{}" } else { &*self.body };
        serde_json::from_slice(text).map_err(|why| Problem::invalid(format!("the body: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_matched() {
        let names = |pattern, path| match_path(pattern, path).map(|names| names.unwrap());
        assert_eq!(names("/v1/a/{id}/b", "/v1/a/x%3Ay/b"), Some(vec!["x:y".to_owned()]));
        assert_eq!(names("/v1/a", "/v1/a"), Some(vec![]));
        for path in ["/v1/a//b", "/v1/a/x", "/v1/a/x/b/", "/v1/a/x/c", "/"] {
            assert!(match_path("/v1/a/{id}/b", path).is_none(), "{path}");
        }
        for wrong in ["/v1/a/%/b", "/v1/a/%4/b", "/v1/a/%zz/b", "/v1/a/%ff/b"] {
            assert!(match_path("/v1/a/{id}/b", wrong).unwrap().is_err(), "{wrong}");
        }
    }
}
