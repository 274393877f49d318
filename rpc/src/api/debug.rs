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

/// A block that is not there by its number has no bytes; a hash that names none is a mistake.
fn raw(api: &Api, params: &Params, encode: fn(&Found) -> Vec<u8>) -> Result<Json, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    match (api.reading().block(at)?, at) {
        (Some(found), _) => api.reply(&Bytes::from(encode(&found))),
        (None, At::Hash(hash)) => Err(Error::other(format!("block {hash} not found"))),
        (None, _) => api.reply(&Bytes::new()),
    }
}

fn raw_receipts(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    let Some(found) = api.reading().block(at)? else {
        let none: Option<[Bytes; 0]> = matches!(at, At::Hash(_)).then_some([]);
        return api.reply(&none);
    };
    let receipts = found.receipts().iter().map(|receipt| Bytes::from(receipt.encoded_2718()));
    api.reply(&receipts.collect::<Vec<_>>())
}

fn raw_transaction(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let hash = params.hex::<B256>(0)?;
    api.reply(&api.bytes_of(&hash)?.unwrap_or_default())
}
