//! A log.

use crate::LogEntry;
use alloy_primitives::{Address, B256, Bytes, U64};
use serde::Serialize;

/// A log as clients see it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogView {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
    block_number: U64,
    transaction_hash: B256,
    transaction_index: U64,
    block_hash: Option<B256>,
    block_timestamp: U64,
    log_index: U64,
    removed: bool,
}

impl LogView {
    /// Shows a log; `removed` says that its block was given up.
    pub(crate) fn new(entry: &LogEntry, removed: bool) -> Self {
        let (topics, data) = (entry.log.data.topics().to_vec(), entry.log.data.data.clone());
        Self {
            address: entry.log.address,
            topics,
            data,
            block_number: U64::from(entry.block.number),
            transaction_hash: entry.transaction,
            transaction_index: U64::from(entry.transaction_index),
            block_hash: Some(entry.block.hash).filter(|hash| !hash.is_zero()),
            block_timestamp: U64::from(entry.timestamp),
            log_index: U64::from(entry.log_index),
            removed,
        }
    }
}
