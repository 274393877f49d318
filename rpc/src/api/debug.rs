//! Bytes as they are: `debug_getRaw*`.

use super::{
    Api, Caller, Json, Method,
    sized::{receipts_bytes, transactions_bytes},
};
use crate::{
    Error, Params,
    reading::{At, AtAny, Found},
};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{B256, Bytes};
use std::sync::Arc;

pub(super) const METHODS: &[(&str, Method)] = &[
    (
        "debug_getRawHeader",
        Method::Later(|api, params, caller| {
            Box::pin(raw(api, params, caller, |_| 0, |found| alloy_rlp::encode(found.header())))
        }),
    ),
    (
        "debug_getRawBlock",
        Method::Later(|api, params, caller| {
            let bytes = |found: &Found| transactions_bytes(found.transactions());
            Box::pin(raw(api, params, caller, bytes, |found| alloy_rlp::encode(found.raw())))
        }),
    ),
    (
        "debug_getRawReceipts",
        Method::Later(|api, params, caller| Box::pin(raw_receipts(api, params, caller))),
    ),
    ("debug_getRawTransaction", Method::Now(raw_transaction)),
    (
        "debug_getBadBlocks",
        Method::Now(|api, params| {
            params.at_most(0)?;
            api.reply(&[(); 0])
        }),
    ),
];

/// A block that is not there by its number has no bytes; a hash that names none is a mistake.
async fn raw(
    api: &Arc<Api>,
    params: &Params,
    caller: &Caller,
    bytes: fn(&Found) -> usize,
    encode: fn(&Found) -> Vec<u8>,
) -> Result<Json, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    api.about(caller, at, bytes, move |api, found| match (found, at) {
        (Some(found), _) => api.reply(&Bytes::from(encode(found))),
        (None, At::Hash(hash)) => Err(Error::other(format!("block {hash} not found"))),
        (None, _) => api.reply(&Bytes::new()),
    })
    .await
}

async fn raw_receipts(api: &Arc<Api>, params: &Params, caller: &Caller) -> Result<Json, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    let bytes = |found: &Found| receipts_bytes(found.receipts());
    api.about(caller, at, bytes, move |api, found| {
        let Some(found) = found else {
            let none: Option<[Bytes; 0]> = matches!(at, At::Hash(_)).then_some([]);
            return api.reply(&none);
        };
        let receipts = found.receipts().iter().map(|receipt| Bytes::from(receipt.encoded_2718()));
        api.reply(&receipts.collect::<Vec<_>>())
    })
    .await
}

fn raw_transaction(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let hash = params.hex::<B256>(0)?;
    api.reply(&api.bytes_of(&hash)?.unwrap_or_default())
}
