//! Bytes as they are: `debug_getRaw*`.

use super::{Api, Json, Method};
use crate::{
    Error, Params,
    reading::{At, AtAny, Found},
};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{B256, Bytes};

pub(super) const METHODS: &[(&str, Method)] = &[
    (
        "debug_getRawHeader",
        Method::Now(|api, params| raw(api, params, |found| alloy_rlp::encode(found.header()))),
    ),
    (
        "debug_getRawBlock",
        Method::Now(|api, params| raw(api, params, |found| alloy_rlp::encode(found.raw()))),
    ),
    ("debug_getRawReceipts", Method::Now(raw_receipts)),
    ("debug_getRawTransaction", Method::Now(raw_transaction)),
    (
        "debug_getBadBlocks",
        Method::Now(|api, params| {
            params.at_most(0)?;
            api.reply(&[(); 0])
        }),
    ),
];

fn found(api: &Api, params: &Params) -> Result<Found, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    let known = api.reading().block(at)?;
    known.ok_or_else(|| match at {
        At::Hash(hash) => Error::other(format!("block {hash} not found")),
        _ => Error::other("block not found"),
    })
}

fn raw(api: &Api, params: &Params, encode: fn(&Found) -> Vec<u8>) -> Result<Json, Error> {
    api.reply(&Bytes::from(encode(&found(api, params)?)))
}

fn raw_receipts(api: &Api, params: &Params) -> Result<Json, Error> {
    let found = found(api, params)?;
    let receipts = found.receipts().iter().map(|receipt| Bytes::from(receipt.encoded_2718()));
    api.reply(&receipts.collect::<Vec<_>>())
}

fn raw_transaction(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let hash = params.hex::<B256>(0)?;
    api.reply(&api.bytes_of(&hash)?.unwrap_or_default())
}
