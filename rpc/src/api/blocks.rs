//! Blocks and their receipts.

use super::{
    Api, Caller, Json, Method,
    sized::{hashes_bytes, receipts_bytes, transactions_bytes},
};
use crate::{
    Error, Params,
    reading::{At, AtAny, Found},
    view::{BlockView, HeaderView, receipts},
};
use alloy_primitives::{B256, U64};
use std::sync::Arc;

pub(super) const METHODS: &[(&str, Method)] = &[
    (
        "eth_getBlockByNumber",
        Method::Later(|api, params, caller| Box::pin(block(api, params, caller, |params| params.hex(0)))),
    ),
    (
        "eth_getBlockByHash",
        Method::Later(|api, params, caller| {
            Box::pin(block(api, params, caller, |params| params.hex(0).map(At::Hash)))
        }),
    ),
    ("eth_getHeaderByNumber", Method::Now(|api, params| header(api, params, params.hex(0)?))),
    ("eth_getHeaderByHash", Method::Now(|api, params| header(api, params, At::Hash(params.hex(0)?)))),
    (
        "eth_getBlockReceipts",
        Method::Later(|api, params, caller| Box::pin(block_receipts(api, params, caller))),
    ),
    (
        "eth_getBlockTransactionCountByNumber",
        Method::Now(|api, params| count(api, params, params.hex(0)?, |found| found.transactions().len())),
    ),
    (
        "eth_getBlockTransactionCountByHash",
        Method::Now(|api, params| {
            count(api, params, At::Hash(params.hex(0)?), |found| found.transactions().len())
        }),
    ),
    (
        "eth_getUncleCountByBlockNumber",
        Method::Now(|api, params| count(api, params, params.hex(0)?, |found| found.ommers().len())),
    ),
    (
        "eth_getUncleCountByBlockHash",
        Method::Now(|api, params| count(api, params, At::Hash(params.hex(0)?), |found| found.ommers().len())),
    ),
    ("eth_getUncleByBlockNumberAndIndex", Method::Now(|api, params| ommer(api, params, params.hex(0)?))),
    (
        "eth_getUncleByBlockHashAndIndex",
        Method::Now(|api, params| ommer(api, params, At::Hash(params.hex(0)?))),
    ),
];

async fn block(
    api: &Arc<Api>,
    params: &Params,
    caller: &Caller,
    at: fn(&Params) -> Result<At, Error>,
) -> Result<Json, Error> {
    params.at_most(2)?;
    let (at, full) = (at(params)?, params.optional(1)?.unwrap_or(false));
    let bytes = move |found: &Found| match full {
        true => transactions_bytes(found.transactions()),
        false => hashes_bytes(found.transactions()),
    };
    api.about(caller, at, bytes, move |api, found| api.reply(&found.map(|found| BlockView::new(found, full))))
        .await
}

fn header(api: &Api, params: &Params, at: At) -> Result<Json, Error> {
    params.at_most(1)?;
    match api.reading().block(at)? {
        Some(found) => api.reply(&HeaderView::new(found.header(), found.hash())),
        None => api.reply(&()),
    }
}

async fn block_receipts(api: &Arc<Api>, params: &Params, caller: &Caller) -> Result<Json, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    let bytes = |found: &Found| receipts_bytes(found.receipts());
    api.about(caller, at, bytes, |api, found| {
        let Some(found) = found else { return api.reply(&()) };
        let (transactions, all) = (found.transactions(), 0..found.transactions().len());
        let hash = found.hash().unwrap_or(B256::ZERO);
        let views = receipts(&api.chain, found.header(), hash, transactions, found.receipts(), all);
        api.reply(&views.collect::<Vec<_>>())
    })
    .await
}

fn count(api: &Api, params: &Params, at: At, count: fn(&Found) -> usize) -> Result<Json, Error> {
    params.at_most(1)?;
    api.reply(&api.reading().block(at)?.map(|found| U64::from(count(&found))))
}

fn ommer(api: &Api, params: &Params, at: At) -> Result<Json, Error> {
    params.at_most(2)?;
    let index = params.hex::<u64>(1)?;
    let found = api.reading().block(at)?;
    let ommer = found.as_ref().and_then(|found| found.ommers().get(usize::try_from(index).ok()?));
    api.reply(&ommer.map(|header| HeaderView::new(header, Some(header.hash_slow()))))
}
