//! Answers about whole blocks and about the pool may be large. Whoever only wants to look something up does not wait until
//! they are written: that is done on the threads for work that takes its time, and so is reading what is not in memory.

use super::{Api, Caller, Json};
use crate::{
    Error,
    reading::{At, Found},
};
use alloy_consensus::ReceiptEnvelope;
use alloy_primitives::B256;
use std::sync::Arc;
use types::Transaction;

/// From this size on writing an answer takes long enough to matter.
const LARGE_BYTES: usize = 128 * 1024;

/// What the text of a hash takes.
const HASH_BYTES: usize = 70;
/// What the text of a transaction takes, without its data.
const TRANSACTION_BYTES: usize = 700;
/// What the text of a receipt takes, without its logs.
const RECEIPT_BYTES: usize = 1_100;
/// What the text of a log takes, without its data.
const LOG_BYTES: usize = 600;

/// About how long the text of these transactions is.
pub(super) fn transactions_bytes(transactions: &[Transaction]) -> usize {
    transactions.iter().map(|tx| TRANSACTION_BYTES + 2 * tx.encoded().len()).sum()
}

/// About how long the text of their hashes is.
pub(super) const fn hashes_bytes(transactions: &[Transaction]) -> usize {
    transactions.len() * HASH_BYTES
}

/// About how long the text of these receipts is.
pub(super) fn receipts_bytes(receipts: &[ReceiptEnvelope]) -> usize {
    let log = |log: &alloy_primitives::Log| LOG_BYTES + 2 * log.data.data.len();
    receipts.iter().map(|receipt| RECEIPT_BYTES + receipt.logs().iter().map(log).sum::<usize>()).sum()
}

impl Api {
    /// Answers with what `show` makes of it, about so many bytes of text.
    pub(super) async fn sized(
        self: &Arc<Self>,
        caller: &Caller,
        bytes: usize,
        show: impl FnOnce(&Self) -> Result<Json, Error> + Send + 'static,
    ) -> Result<Json, Error> {
        if bytes < LARGE_BYTES {
            return show(self);
        }
        self.apart(caller, show).await
    }

    /// Answers with what `show` makes of a block, if there is such a block; `bytes` says about how long that is.
    pub(super) async fn about(
        self: &Arc<Self>,
        caller: &Caller,
        at: At,
        bytes: impl FnOnce(&Found) -> usize,
        show: impl FnOnce(&Self, Option<&Found>) -> Result<Json, Error> + Send + 'static,
    ) -> Result<Json, Error> {
        let reading = self.reading();
        match reading.recent(at)? {
            Some(found) => self.sized(caller, bytes(&found), move |api| show(api, Some(&found))).await,
            None if matches!(at, At::Number(number) if number > reading.latest().number) => show(self, None),
            None => {
                let read = move |api: &Self| show(api, api.reading().block(at)?.as_ref());
                self.sized(caller, usize::MAX, read).await
            }
        }
    }

    /// Answers with what `show` makes of a sealed transaction, if there is one; `bytes` says about how long that is.
    pub(super) async fn about_sealed(
        self: &Arc<Self>,
        caller: &Caller,
        hash: B256,
        bytes: fn(&Found, usize) -> usize,
        show: fn(&Self, &Found, usize) -> Result<Json, Error>,
    ) -> Result<Option<Json>, Error> {
        if let Some((found, index)) = self.reading().recent_transaction(&hash)? {
            let bytes = bytes(&found, index);
            return self.sized(caller, bytes, move |api| show(api, &found, index)).await.map(Some);
        }
        let Some(location) = self.archive.location(&hash).map_err(Error::internal)? else { return Ok(None) };
        let read = move |api: &Self| match api.reading().at_location(location)? {
            Some((found, index)) => show(api, &found, index),
            None => api.reply(&()),
        };
        self.sized(caller, usize::MAX, read).await.map(Some)
    }
}
