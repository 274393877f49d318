//! A header, and a block around it.

use super::{Mined, TransactionView};
use crate::reading::Found;
use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U64, U256};
use serde::Serialize;

/// A header as clients see it. The open block has neither hash nor nonce nor, so far, a beneficiary.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeaderView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    base_fee_per_gas: Option<U64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_gas_used: Option<U64>,
    difficulty: U256,
    #[serde(skip_serializing_if = "Option::is_none")]
    excess_blob_gas: Option<U64>,
    extra_data: &'a Bytes,
    gas_limit: U64,
    gas_used: U64,
    hash: Option<B256>,
    logs_bloom: &'a Bloom,
    miner: Address,
    mix_hash: B256,
    nonce: Option<B64>,
    number: U64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_beacon_block_root: Option<B256>,
    parent_hash: B256,
    receipts_root: B256,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_hash: Option<B256>,
    sha3_uncles: B256,
    state_root: B256,
    timestamp: U64,
    transactions_root: B256,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawals_root: Option<B256>,
}

impl<'a> HeaderView<'a> {
    /// Shows a header; the open block's has no hash.
    pub(crate) fn new(header: &'a Header, hash: Option<B256>) -> Self {
        Self {
            base_fee_per_gas: header.base_fee_per_gas.map(U64::from),
            blob_gas_used: header.blob_gas_used.map(U64::from),
            difficulty: header.difficulty,
            excess_blob_gas: header.excess_blob_gas.map(U64::from),
            extra_data: &header.extra_data,
            gas_limit: U64::from(header.gas_limit),
            gas_used: U64::from(header.gas_used),
            hash,
            logs_bloom: &header.logs_bloom,
            miner: header.beneficiary,
            mix_hash: header.mix_hash,
            nonce: hash.map(|_| header.nonce),
            number: U64::from(header.number),
            parent_beacon_block_root: header.parent_beacon_block_root,
            parent_hash: header.parent_hash,
            receipts_root: header.receipts_root,
            requests_hash: header.requests_hash,
            sha3_uncles: header.ommers_hash,
            state_root: header.state_root,
            timestamp: U64::from(header.timestamp),
            transactions_root: header.transactions_root,
            withdrawals_root: header.withdrawals_root,
        }
    }
}

/// A block as clients see it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockView<'a> {
    #[serde(flatten)]
    header: HeaderView<'a>,
    size: U64,
    transactions: TransactionsView<'a>,
    uncles: Vec<B256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawals: Option<Vec<WithdrawalView>>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum TransactionsView<'a> {
    Full(Vec<TransactionView<'a>>),
    Hashes(Vec<B256>),
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WithdrawalView {
    index: U64,
    validator_index: U64,
    address: Address,
    amount: U64,
}

impl<'a> BlockView<'a> {
    /// Shows a block with whole transactions or only their hashes.
    pub(crate) fn new(found: &'a Found, full: bool) -> Self {
        let (header, transactions) = (found.header(), found.transactions());
        let hash = found.hash();
        let transactions = match full {
            true => {
                let place = |index| Mined::new(header, hash.unwrap_or_default(), index);
                let all = transactions.iter().enumerate();
                let all = all.map(|(index, tx)| TransactionView::new(tx, Some(place(index))));
                TransactionsView::Full(all.collect())
            }
            false => TransactionsView::Hashes(transactions.iter().map(types::Transaction::hash).collect()),
        };
        Self {
            header: HeaderView::new(header, hash),
            size: U64::from(found.bytes()),
            transactions,
            uncles: found.ommers().iter().map(Header::hash_slow).collect(),
            withdrawals: found.withdrawals().map(|all| all.iter().map(withdrawal).collect()),
        }
    }
}

fn withdrawal(from: &Withdrawal) -> WithdrawalView {
    WithdrawalView {
        index: U64::from(from.index),
        validator_index: U64::from(from.validator_index),
        address: from.address,
        amount: U64::from(from.amount),
    }
}
