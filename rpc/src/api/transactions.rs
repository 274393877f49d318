//! Transactions and their receipts.

use super::{
    Api, Caller, Json, Method,
    sized::{receipts_bytes, transactions_bytes},
};
use crate::{
    Error, Params,
    reading::At,
    view::{Mined, TransactionView, receipts},
};
use alloy_primitives::B256;
use std::{slice, sync::Arc};

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
    params.at_most(1)?;
    let hash = params.hex::<B256>(0)?;
    if let Some(found) = transaction_of(api, hash, caller).await? {
        return Ok(found);
    }
    let found = match api.other_hash(hash).await {
        Some(other) => transaction_of(api, other, caller).await?,
        None => None,
    };
    Ok(found.unwrap_or_else(null))
}

async fn transaction_of(api: &Arc<Api>, hash: B256, caller: &Caller) -> Result<Option<Json>, Error> {
    match api.bytes_about(&hash, |tx, _| transactions_bytes(slice::from_ref(tx)))? {
        Some(bytes) => {
            let show = move |api: &Api| Ok(api.transaction(&hash)?.unwrap_or_else(null));
            api.sized(caller, bytes, show).await.map(Some)
        }
        None => api.transaction(&hash),
    }
}

fn by_index(api: &Api, params: &Params, at: At) -> Result<Json, Error> {
    params.at_most(2)?;
    let index = params.hex::<u64>(1)?;
    let Some(found) = api.reading().block(at)? else { return api.reply(&()) };
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    match found.transactions().get(index) {
        Some(tx) => {
            let mined = Mined::new(found.header(), found.hash().unwrap_or_default(), index);
            api.reply(&TransactionView::new(tx, Some(mined)))
        }
        None => api.reply(&()),
    }
}

async fn receipt(api: &Arc<Api>, params: &Params, caller: &Caller) -> Result<Json, Error> {
    params.at_most(1)?;
    let hash = params.hex::<B256>(0)?;
    if let Some(found) = receipt_of(api, hash, caller).await? {
        return Ok(found);
    }
    let found = match api.other_hash(hash).await {
        Some(other) => receipt_of(api, other, caller).await?,
        None => None,
    };
    Ok(found.unwrap_or_else(null))
}

async fn receipt_of(api: &Arc<Api>, hash: B256, caller: &Caller) -> Result<Option<Json>, Error> {
    match api.bytes_about(&hash, |_, receipt| receipts_bytes(slice::from_ref(receipt)))? {
        Some(bytes) => {
            let show = move |api: &Api| Ok(api.receipt(&hash)?.unwrap_or_else(null));
            api.sized(caller, bytes, show).await.map(Some)
        }
        None => Ok(None),
    }
}

fn null() -> Json {
    Json::from(serde_json::value::RawValue::NULL.to_owned())
}

/// The bytes of a transaction, wherever it is.
fn raw(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(1)?;
    let hash = params.hex::<B256>(0)?;
    let bytes = api.bytes_of(&hash)?;
    api.reply(&bytes.unwrap_or_default())
}

impl Api {
    /// A transaction, wherever it is.
    fn transaction(&self, hash: &B256) -> Result<Option<Json>, Error> {
        if let Some((found, index)) = self.reading().transaction(hash)? {
            let mined = Mined::new(found.header(), found.hash().unwrap_or_default(), index);
            return self.reply(&TransactionView::new(&found.transactions()[index], Some(mined))).map(Some);
        }
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
        let Some((found, index)) = self.reading().transaction(hash)? else { return Ok(None) };
        let block = found.hash().unwrap_or_default();
        let (transactions, all) = (found.transactions(), found.receipts());
        let mut views = receipts(&self.chain, found.header(), block, transactions, all, index..index + 1);
        views.next().map(|view| self.reply(&view)).transpose()
    }

    /// The bytes of a transaction, wherever it is.
    pub(crate) fn bytes_of(&self, hash: &B256) -> Result<Option<alloy_primitives::Bytes>, Error> {
        if let Some((found, index)) = self.reading().transaction(hash)? {
            return Ok(Some(found.transactions()[index].encoded().clone()));
        }
        Ok(self.pool.get(hash).map(|pooled| pooled.tx.encoded().clone()))
    }
}
