//! The pool, as its owner sees it.

use super::{Api, Caller, Json, Method, sized::transactions_bytes};
use crate::{Error, Params, view::TransactionView};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, U64};
use serde::Serialize;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};
use txpool::SenderContent;
use types::Transaction;

pub(super) const METHODS: &[(&str, Method)] = &[
    ("txpool_status", Method::Now(status)),
    ("txpool_content", Method::Later(|api, params, caller| Box::pin(content(api, params, caller)))),
    ("txpool_contentFrom", Method::Later(|api, params, caller| Box::pin(content_from(api, params, caller)))),
    ("txpool_inspect", Method::Later(|api, params, caller| Box::pin(inspect(api, params, caller)))),
];

fn status(api: &Api, params: &Params) -> Result<Json, Error> {
    params.at_most(0)?;
    let pool = api.feed.snapshot().pool;
    // go-ethereum counts those as pending that wait for the base fee to fall.
    let (pending, queued) = (pool.pending + pool.below_base_fee, pool.queued - pool.below_base_fee);
    api.reply(&json!({ "pending": U64::from(pending), "queued": U64::from(queued) }))
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

/// About how long all of this is as text.
fn bytes(senders: &[SenderContent]) -> usize {
    senders
        .iter()
        .map(|sender| transactions_bytes(&sender.pending) + transactions_bytes(&sender.queued))
        .sum()
}

fn insert<T>(into: &mut BySender<T>, sender: &str, transactions: ByNonce<T>) {
    if !transactions.is_empty() {
        into.insert(sender.to_owned(), transactions);
    }
}

/// Everything, each transaction shown in this way.
fn by_sender<'a, T>(senders: &'a [SenderContent], show: fn(&'a Transaction) -> T) -> Content<BySender<T>> {
    let mut content = Content { pending: BySender::new(), queued: BySender::new() };
    for sender in senders {
        let name = sender.sender.to_checksum(None);
        insert(&mut content.pending, &name, by_nonce(&sender.pending, show));
        insert(&mut content.queued, &name, by_nonce(&sender.queued, show));
    }
    content
}

async fn content(api: &Arc<Api>, params: &Params, caller: &Caller) -> Result<Json, Error> {
    params.at_most(0)?;
    let senders = api.backend.content(None).await;
    api.sized(caller, bytes(&senders), move |api| api.reply(&by_sender(&senders, waiting))).await
}

async fn inspect(api: &Arc<Api>, params: &Params, caller: &Caller) -> Result<Json, Error> {
    params.at_most(0)?;
    let senders = api.backend.content(None).await;
    api.sized(caller, bytes(&senders), move |api| api.reply(&by_sender(&senders, line))).await
}

async fn content_from(api: &Arc<Api>, params: &Params, caller: &Caller) -> Result<Json, Error> {
    params.at_most(1)?;
    let address = params.hex::<Address>(0)?;
    let senders = api.backend.content(Some(address)).await;
    let bytes = bytes(&senders);
    let show = move |api: &Api| {
        let sender = senders.iter().find(|content| content.sender == address);
        let (pending, queued) =
            sender.map_or((&[][..], &[][..]), |sender| (&sender.pending[..], &sender.queued[..]));
        api.reply(&Content { pending: by_nonce(pending, waiting), queued: by_nonce(queued, waiting) })
    };
    api.sized(caller, bytes, show).await
}
