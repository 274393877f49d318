//! Transactions and their receipts.

use super::{
    Api, Caller, Json, Method,
    sized::{receipts_bytes, transactions_bytes},
};
use crate::{
    Error, Params,
    reading::{At, Found},
    view::{Mined, TransactionView, receipts},
};
use alloy_primitives::B256;
use std::sync::Arc;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("eth_getTransactionByHash", Method::Later(|api, params, caller| Box::pin(by_hash(api, params, caller)))),
    (
        "eth_getTransactionReceipt",
        Method::Later(|api, params, caller| Box::pin(receipt(api, params, caller))),
    ),
    (
        "eth_getTransactionByBlockNumberAndIndex",
        Method::Now(|api, params| by_index(api, params, params.hex(0)?)),
    ),
    (
        "eth_getTransactionByBlockHashAndIndex",
        Method::Now(|api, params| by_index(api, params, At::Hash(params.hex(0)?))),
    ),
    ("eth_getRawTransactionByHash", Method::Now(raw)),
];

async fn by_hash(api: &Arc<Api>, params: &Params, caller: &Caller) -> Result<Json, Error> {
    let bytes = |found: &Found, index| found.transactions().get(index..=index).map_or(0, transactions_bytes);
    known(api, params, caller, (bytes, show_transaction), Api::pooled).await
}

async fn receipt(api: &Arc<Api>, params: &Params, caller: &Caller) -> Result<Json, Error> {
    let bytes = |found: &Found, index| found.receipts().get(index..=index).map_or(0, receipts_bytes);
    known(api, params, caller, (bytes, show_receipt), |_, _| Ok(None)).await
}

type Bytes = fn(&Found, usize) -> usize;
type Show = fn(&Api, &Found, usize) -> Result<Json, Error>;

/// Answers about a transaction in a sealed block, or else with what there is `otherwise`; under another hash if an
/// extension knows it by one.
async fn known(
    api: &Arc<Api>,
    params: &Params,
    caller: &Caller,
    (bytes, show): (Bytes, Show),
    otherwise: fn(&Api, &B256) -> Result<Option<Json>, Error>,
) -> Result<Json, Error> {
    params.at_most(1)?;
    let first = params.hex::<B256>(0)?;
    let mut hash = Some(first);
    while let Some(this) = hash {
        if let Some(sealed) = api.about_sealed(caller, this, bytes, show).await? {
            return Ok(sealed);
        }
        if let Some(other) = otherwise(api, &this)? {
            return Ok(other);
        }
        hash = if this == first { api.other_hash(first).await } else { None };
    }
    api.reply(&())
}

fn show_transaction(api: &Api, found: &Found, index: usize) -> Result<Json, Error> {
    let mined = Mined::new(found.header(), found.hash().unwrap_or_default(), index);
    api.reply(&TransactionView::new(&found.transactions()[index], Some(mined)))
}

fn show_receipt(api: &Api, found: &Found, index: usize) -> Result<Json, Error> {
    let block = found.hash().unwrap_or_default();
    let (transactions, all) = (found.transactions(), found.receipts());
    let mut views = receipts(&api.chain, found.header(), block, transactions, all, index..index + 1);
    api.reply(&views.next())
}

fn by_index(api: &Api, params: &Params, at: At) -> Result<Json, Error> {
    params.at_most(2)?;
    let index = params.hex::<u64>(1)?;
    let Some(found) = api.reading().block(at)? else { return api.reply(&()) };
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    match index < found.transactions().len() {
        true => show_transaction(api, &found, index),
        false => api.reply(&()),
    }
}

/// The bytes of a transaction, wherever it is.
fn raw(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let hash = params.hex::<B256>(0)?;
    let bytes = api.bytes_of(&hash)?;
    api.reply(&bytes.unwrap_or_default())
}

impl Api {
    /// A transaction that waits.
    fn pooled(&self, hash: &B256) -> Result<Option<Json>, Error> {
        let pooled = self.pool.get(hash);
        pooled.map(|pooled| self.reply(&TransactionView::new(&pooled.tx, None))).transpose()
    }

    /// The hash that an extension knows a transaction by, if it is another one.
    async fn other_hash(&self, hash: B256) -> Option<B256> {
        for extension in &self.extensions {
            if let Some(other) = extension.other_hash(hash).await.filter(|other| *other != hash) {
                return Some(other);
            }
        }
        None
    }

    /// The receipt of a transaction in a sealed block.
    pub(crate) fn receipt(&self, hash: &B256) -> Result<Option<Json>, Error> {
        let found = self.reading().transaction(hash)?;
        found.map(|(found, index)| show_receipt(self, &found, index)).transpose()
    }

    /// The bytes of a transaction, wherever it is.
    pub(crate) fn bytes_of(&self, hash: &B256) -> Result<Option<alloy_primitives::Bytes>, Error> {
        if let Some((found, index)) = self.reading().transaction(hash)? {
            return Ok(Some(found.transactions()[index].encoded().clone()));
        }
        Ok(self.pool.get(hash).map(|pooled| pooled.tx.encoded().clone()))
    }
}
