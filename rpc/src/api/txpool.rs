//! The pool, as its owner sees it.

use super::{Api, Caller, Json, Method};
use crate::{Error, Params, view::TransactionView};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, U64};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};
use types::Transaction;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("txpool_status", Method::Now(status)),
    ("txpool_content", Method::Later(content)),
    ("txpool_contentFrom", Method::Later(content_from)),
    ("txpool_inspect", Method::Later(inspect)),
];

fn status(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    let pool = api.feed.snapshot().pool;
    api.reply(&json!({ "pending": U64::from(pool.pending), "queued": U64::from(pool.queued) }))
}

type ByNonce<T> = BTreeMap<u64, T>;
type BySender<T> = BTreeMap<String, ByNonce<T>>;

#[derive(Serialize)]
struct Content<T> {
    pending: T,
    queued: T,
}

fn by_nonce<'a, T>(transactions: &'a [Transaction], show: impl Fn(&'a Transaction) -> T) -> ByNonce<T> {
    transactions.iter().map(|tx| (tx.nonce(), show(tx))).collect()
}

fn waiting(tx: &Transaction) -> TransactionView<'_> {
    TransactionView::new(tx, None)
}

/// One line for those who look with their own eyes.
fn line(tx: &Transaction) -> String {
    let to = tx.to().map_or_else(|| "contract creation".to_owned(), |to| to.to_checksum(None));
    format!("{to}: {} wei + {} gas × {} wei", tx.value(), tx.gas_limit(), tx.max_fee_per_gas())
}

fn content<'a>(api: &'a Arc<Api>, params: &'a Params, _: &'a Caller) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        params.at_most(0)?;
        let senders = api.driver.content(None).await;
        let mut content = Content { pending: BySender::new(), queued: BySender::new() };
        for sender in &senders {
            let name = sender.sender.to_checksum(None);
            insert(&mut content.pending, &name, by_nonce(&sender.pending, waiting));
            insert(&mut content.queued, &name, by_nonce(&sender.queued, waiting));
        }
        api.reply(&content)
    })
}

fn insert<T>(into: &mut BySender<T>, sender: &str, transactions: ByNonce<T>) {
    if !transactions.is_empty() {
        into.insert(sender.to_owned(), transactions);
    }
}

fn inspect<'a>(api: &'a Arc<Api>, params: &'a Params, _: &'a Caller) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        params.at_most(0)?;
        let senders = api.driver.content(None).await;
        let mut content = Content { pending: BySender::new(), queued: BySender::new() };
        for sender in &senders {
            let name = sender.sender.to_checksum(None);
            insert(&mut content.pending, &name, by_nonce(&sender.pending, line));
            insert(&mut content.queued, &name, by_nonce(&sender.queued, line));
        }
        api.reply(&content)
    })
}

fn content_from<'a>(
    api: &'a Arc<Api>,
    params: &'a Params,
    _: &'a Caller,
) -> BoxFuture<'a, Result<Json, Error>> {
    Box::pin(async move {
        params.at_most(1)?;
        let address = params.hex::<Address>(0)?;
        let senders = api.driver.content(Some(address)).await;
        let sender = senders.iter().find(|content| content.sender == address);
        let of = |transactions: Option<&'_ Vec<Transaction>>| transactions.cloned().unwrap_or_default();
        let pending = of(sender.map(|sender| &sender.pending));
        let queued = of(sender.map(|sender| &sender.queued));
        let content = Content { pending: by_nonce(&pending, waiting), queued: by_nonce(&queued, waiting) };
        api.reply(&content)
    })
}
