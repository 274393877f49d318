//! Blocks and their receipts.

use super::{Api, Json, Method};
use crate::{
    Error, Params,
    reading::{At, AtAny, Found},
    view::{BlockView, HeaderView, receipts},
};
use alloy_primitives::{B256, U64};

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_getBlockByNumber", Method::Now(by_number)),
    ("eth_getBlockByHash", Method::Now(by_hash)),
    ("eth_getHeaderByNumber", Method::Now(|api, params| header(api, params, params.hex(0)?))),
    ("eth_getHeaderByHash", Method::Now(|api, params| header(api, params, At::Hash(params.hex(0)?)))),
    ("eth_getBlockReceipts", Method::Now(block_receipts)),
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

fn by_number(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(2)?;
    block(api, params.hex(0)?, params.optional(1)?.unwrap_or(false))
}

fn by_hash(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(2)?;
    block(api, At::Hash(params.hex(0)?), params.optional(1)?.unwrap_or(false))
}

fn block(api: &Api, at: At, full: bool) -> Result<Json, Error> {
    match api.reading().block(at)? {
        Some(found) => api.reply(&BlockView::new(&found, full)),
        None => api.reply(&()),
    }
}

fn header(api: &Api, params: &Params, at: At) -> Result<Json, Error> {
    params.at_most(1)?;
    match api.reading().block(at)? {
        Some(found) => api.reply(&HeaderView::new(found.header(), found.hash())),
        None => api.reply(&()),
    }
}

fn block_receipts(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let AtAny(at) = params.required(0)?;
    let Some(found) = api.reading().block(at)? else { return api.reply(&()) };
    let (transactions, all) = (found.transactions(), 0..found.transactions().len());
    let hash = found.hash().unwrap_or(B256::ZERO);
    let views = receipts(&api.chain, found.header(), hash, transactions, found.receipts(), all);
    api.reply(&views.collect::<Vec<_>>())
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
