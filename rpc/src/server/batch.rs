//! From the text of a request to the text of its answer: one call, or several.

use super::share::aside;
use crate::{
    Error, Params,
    api::{Api, Caller, Json, SEND},
    error,
    hex::FromHex,
};
use alloy_primitives::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, sync::Arc};

/// So many calls of a batch are answered before others have their turn.
const CALLS_IN_A_ROW: usize = 32;

/// A request as it stands in the text.
#[derive(Default)]
pub(super) struct Call<'a> {
    jsonrpc: Option<Cow<'a, str>>,
    /// An id of null is an id; only a missing one makes a notification.
    id: Option<&'a RawValue>,
    method: Option<Cow<'a, str>>,
    params: Option<&'a RawValue>,
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Only an object is a request. What serde derives would also read the fields from a list, in order.
impl<'de> Deserialize<'de> for Call<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Call<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a request")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Call<'de>, A::Error> {
                let mut call = Call::default();
                while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
                    match &*key {
                        "jsonrpc" => call.jsonrpc = map.next_value::<Option<Text<'de>>>()?.map(|text| text.0),
                        "method" => call.method = map.next_value::<Option<Text<'de>>>()?.map(|text| text.0),
                        "id" => call.id = Some(map.next_value()?),
                        "params" => call.params = Some(map.next_value()?),
                        _ => drop(map.next_value::<de::IgnoredAny>()?),
                    }
                }
                Ok(call)
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

/// Methods that belong to a connection; a WebSocket has them, HTTP does not.
pub(super) trait Connection: Sync {
    /// Calls a method; `None` if there is no such method on this connection.
    fn call<'a>(&'a self, method: &'a str, params: &'a Params) -> Option<BoxFuture<'a, Result<Json, Error>>>;
}

/// A connection without methods of its own.
pub(super) struct Plain;

impl Connection for Plain {
    fn call<'a>(&'a self, method: &'a str, _: &'a Params) -> Option<BoxFuture<'a, Result<Json, Error>>> {
        let known = ["eth_subscribe", "eth_unsubscribe", "builder_subscribe", "builder_unsubscribe"];
        let answer = || async { Err(Error::new(error::METHOD_NOT_FOUND, "notifications not supported")) };
        known.contains(&method).then(|| Box::pin(answer()) as BoxFuture<'a, _>)
    }
}

/// How many calls a text contains, before anything is done: one, or as many as a batch has.
pub(super) enum Requests<'a> {
    One(&'a str),
    Batch(Vec<Parsed<'a>>),
    /// More than a batch may have, with the id of the first call. None is made, and the answer is one error in a list, as
    /// go-ethereum has it.
    TooMany(Option<&'a RawValue>),
}

impl<'a> Requests<'a> {
    /// Looks at the text; an error is the whole answer.
    pub(super) fn read(text: &'a [u8], batch_calls_max: usize) -> Result<Self, Error> {
        let parse = || Error::new(error::PARSE, "parse error");
        let text = std::str::from_utf8(text).map_err(|_| parse())?.trim_ascii();
        if !text.starts_with('[') {
            return Ok(Self::One(text));
        }
        // Nearly always all are requests; if not, each is looked at by itself.
        let calls = match serde_json::from_str::<Vec<Call<'_>>>(text) {
            Ok(calls) => calls.into_iter().map(check).collect::<Vec<_>>(),
            Err(_) => {
                let calls = serde_json::from_str::<Vec<&RawValue>>(text).map_err(|_| parse())?;
                calls.into_iter().map(|call| read(call.get())).collect()
            }
        };
        match calls.len() {
            0 => Err(Error::new(error::INVALID_REQUEST, "empty batch")),
            many if many > batch_calls_max => {
                Ok(Self::TooMany(calls.into_iter().flatten().find_map(|call| call.id)))
            }
            _ => Ok(Self::Batch(calls)),
        }
    }

    /// How many calls there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) | Self::TooMany(_) => 1,
            Self::Batch(calls) => calls.len(),
        }
    }

    /// The answer; nothing if there were only notifications.
    pub(super) async fn answer(
        self,
        api: &Arc<Api>,
        caller: &Caller,
        connection: &dyn Connection,
    ) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(256);
        match self {
            Self::One(text) => {
                let call = read(text);
                answer_one(api, caller, connection, call, &mut out).await;
            }
            Self::Batch(calls) => {
                answer_batch(api, caller, connection, calls, &mut out).await;
            }
            Self::TooMany(id) => {
                out.push(b'[');
                write(&mut out, id, &Err(Error::new(error::INVALID_REQUEST, "batch too large")));
                out.push(b']');
            }
        }
        Some(out).filter(|out| !out.is_empty())
    }
}

impl Api {
    /// The answer to the body of a request, as HTTP gives it; nothing if there were only notifications.
    pub async fn answer(self: &Arc<Self>, caller: &Caller, body: &[u8]) -> Option<Vec<u8>> {
        match Requests::read(body, self.config.limits.batch_calls_max) {
            Ok(requests) => requests.answer(self, caller, &Plain).await,
            Err(error) => {
                let mut out = Vec::new();
                write(&mut out, None, &Err(error));
                Some(out)
            }
        }
    }
}

pub(super) type Parsed<'a> = Result<Call<'a>, (Option<&'a RawValue>, Error)>;

fn read(text: &str) -> Parsed<'_> {
    match serde_json::from_str::<Call<'_>>(text) {
        Ok(call) => check(call),
        Err(error) if error.is_data() => Err((None, invalid())),
        Err(_) => Err((None, Error::new(error::PARSE, "parse error"))),
    }
}

fn invalid() -> Error {
    Error::new(error::INVALID_REQUEST, "invalid request")
}

fn check(call: Call<'_>) -> Parsed<'_> {
    match call.jsonrpc.as_deref() == Some("2.0") && call.method.is_some() && is_id(call.id) {
        true => Ok(call),
        false => Err((call.id.filter(|id| is_id(Some(id))), invalid())),
    }
}

/// An id is a string, a number or null.
fn is_id(id: Option<&RawValue>) -> bool {
    id.is_none_or(|id| !id.get().starts_with(['{', '[', 't', 'f']))
}

async fn answer_one(
    api: &Arc<Api>,
    caller: &Caller,
    connection: &dyn Connection,
    call: Parsed<'_>,
    out: &mut Vec<u8>,
) {
    match call {
        Ok(call) => {
            let result = dispatch(api, caller, connection, &call).await;
            if let Some(id) = call.id {
                let bytes = result.as_ref().map_or(0, |json| json.get().len());
                aside(bytes, || write(out, Some(id), &result));
            }
        }
        Err((id, error)) => write(out, id, &Err(error)),
    }
}

async fn dispatch(
    api: &Arc<Api>,
    caller: &Caller,
    connection: &dyn Connection,
    call: &Call<'_>,
) -> Result<Json, Error> {
    let method = call.method.as_deref().unwrap_or_default();
    let params = Params::new(call.params)?;
    if let Some(answer) = connection.call(method, &params) {
        return answer.await;
    }
    api.call(method, params, caller).await
}

/// Calls of a batch are answered one after the other, as a client expects that sends a transaction and then asks for
/// it. Transactions that stand next to each other are sent together.
async fn answer_batch(
    api: &Arc<Api>,
    caller: &Caller,
    connection: &dyn Connection,
    calls: Vec<Parsed<'_>>,
    out: &mut Vec<u8>,
) {
    let is_send = |call: &Parsed<'_>| call.as_ref().is_ok_and(|call| call.method.as_deref() == Some(SEND));
    let limit = api.config.limits.response_bytes_max;
    out.push(b'[');
    let mut calls = calls.into_iter().peekable();
    let mut made = 0_usize;
    while let Some(call) = calls.next() {
        made += 1;
        if made.is_multiple_of(CALLS_IN_A_ROW) {
            // Others are served between the calls of a long batch.
            tokio::task::yield_now().await;
        }
        if out.len() > limit {
            answer_separated(out, call.as_ref().ok().and_then(|call| call.id), &Err(too_large()));
            continue;
        }
        if !is_send(&call) {
            let mut one = Vec::new();
            answer_one(api, caller, connection, call, &mut one).await;
            aside(one.len(), || append(out, &one));
            continue;
        }
        let mut sends = vec![call];
        while let Some(next) = calls.next_if(is_send) {
            sends.push(next);
        }
        answer_sends(api, caller, sends, out).await;
    }
    match out.len() {
        1 => out.clear(),
        _ => out.push(b']'),
    }
}

async fn answer_sends(api: &Arc<Api>, caller: &Caller, calls: Vec<Parsed<'_>>, out: &mut Vec<u8>) {
    let calls = calls.into_iter().flatten().collect::<Vec<_>>();
    let raw = calls.iter().map(|call| raw_transaction(call.params)).collect();
    let results = api.send_all(caller, raw).await;
    for (call, result) in calls.iter().zip(results) {
        answer_separated(out, call.id, &result);
    }
}

/// The bytes of a transaction; as it nearly always looks, without a detour.
fn raw_transaction(params: Option<&RawValue>) -> Result<Bytes, Error> {
    let plain = params.and_then(|params| params.get().strip_prefix("[\"")?.strip_suffix("\"]"));
    if let Some(bytes) = plain.and_then(|text| Bytes::from_hex(text).ok()) {
        return Ok(bytes);
    }
    let params = Params::new(params)?;
    params.at_most(1)?;
    params.hex(0)
}

fn too_large() -> Error {
    Error::new(error::TOO_LARGE, "response too large")
}

fn append(out: &mut Vec<u8>, answer: &[u8]) {
    if !answer.is_empty() {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(answer);
    }
}

fn answer_separated(out: &mut Vec<u8>, id: Option<&RawValue>, result: &Result<Json, Error>) {
    if id.is_some() {
        if out.len() > 1 {
            out.push(b',');
        }
        write(out, id, result);
    }
}

/// Writes an answer.
pub(super) fn write(out: &mut Vec<u8>, id: Option<&RawValue>, result: &Result<Json, Error>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.map_or("null", RawValue::get).as_bytes());
    match result {
        Ok(json) => {
            out.extend_from_slice(br#","result":"#);
            out.extend_from_slice(json.get().as_bytes());
        }
        Err(error) => {
            out.extend_from_slice(br#","error":"#);
            // An error has a code, a text and JSON: nothing that cannot be written.
            let _ = serde_json::to_writer(&mut *out, error);
        }
    }
    out.push(b'}');
}
