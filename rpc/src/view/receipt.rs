//! A receipt.

use super::{LogView, Mined};
use crate::{LogEntry, evm_chain_spec::EvmChainSpec};
use alloy_consensus::{Eip658Value, Header, ReceiptEnvelope, Transaction as _, TxReceipt, Typed2718};
use alloy_primitives::{Address, B256, Bloom, U8, U64, U128};
use serde::Serialize;
use types::Transaction;

/// A receipt as clients see it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReceiptView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_gas_price: Option<U128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_gas_used: Option<U64>,
    block_hash: Option<B256>,
    block_number: U64,
    contract_address: Option<Address>,
    cumulative_gas_used: U64,
    effective_gas_price: U128,
    from: Address,
    gas_used: U64,
    logs: Vec<LogView>,
    logs_bloom: &'a Bloom,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<B256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<U64>,
    to: Option<Address>,
    transaction_hash: B256,
    transaction_index: U64,
    #[serde(rename = "type")]
    ty: U8,
}

/// The receipts of a block from the `first` on, `count` of them.
pub(crate) fn receipts<'a>(
    chain: &'a EvmChainSpec,
    header: &'a Header,
    hash: B256,
    transactions: &'a [Transaction],
    receipts: &'a [ReceiptEnvelope],
    wanted: std::ops::Range<usize>,
) -> impl Iterator<Item = ReceiptView<'a>> + 'a {
    let before = receipts.iter().take(wanted.start);
    let logs_before = before.map(|receipt| receipt.logs().len()).sum::<usize>();
    let gas_before = wanted
        .start
        .checked_sub(1)
        .and_then(|last| receipts.get(last))
        .map_or(0, ReceiptEnvelope::cumulative_gas_used);
    let all = transactions.iter().zip(receipts).enumerate().take(wanted.end).skip(wanted.start);
    all.scan((gas_before, logs_before), move |(gas, logs), (index, (tx, receipt))| {
        let mined = Mined::new(header, hash, index);
        let view = ReceiptView::new(chain, header, mined, tx, receipt, (*gas, *logs));
        *gas = receipt.cumulative_gas_used();
        *logs += receipt.logs().len();
        Some(view)
    })
}

impl<'a> ReceiptView<'a> {
    /// Shows a receipt; `before` are the gas and the logs of the transactions before it.
    fn new(
        chain: &EvmChainSpec,
        header: &Header,
        mined: Mined,
        tx: &Transaction,
        receipt: &'a ReceiptEnvelope,
        (gas_before, logs_before): (u64, usize),
    ) -> Self {
        let blob_gas = tx.blob_gas_used();
        let logs = receipt.logs().iter().enumerate().map(|(index, log)| {
            let entry = LogEntry {
                log: log.clone(),
                block: mined.block,
                timestamp: mined.timestamp,
                transaction: tx.hash(),
                transaction_index: mined.index,
                log_index: logs_before + index,
            };
            LogView::new(&entry, false)
        });
        let (root, status) = match receipt.status_or_post_state() {
            Eip658Value::PostState(root) => (Some(root), None),
            Eip658Value::Eip658(success) => (None, Some(U64::from(u64::from(success)))),
        };
        Self {
            blob_gas_price: blob_gas.map(|_| U128::from(chain.blob_fee(header))),
            blob_gas_used: blob_gas.map(U64::from),
            block_hash: Some(mined.block.hash).filter(|hash| !hash.is_zero()),
            block_number: U64::from(mined.block.number),
            contract_address: tx.to().is_none().then(|| tx.sender().create(tx.nonce())),
            cumulative_gas_used: U64::from(receipt.cumulative_gas_used()),
            effective_gas_price: U128::from(tx.effective_gas_price(mined.base_fee)),
            from: tx.sender(),
            gas_used: U64::from(receipt.cumulative_gas_used().saturating_sub(gas_before)),
            logs: logs.collect(),
            logs_bloom: receipt.logs_bloom(),
            root,
            status,
            to: tx.to(),
            transaction_hash: tx.hash(),
            transaction_index: U64::from(mined.index),
            ty: U8::from(tx.ty()),
        }
    }
}
