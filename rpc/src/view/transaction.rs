//! A transaction.

use alloy_consensus::{Header, Transaction as _, Typed2718};
use alloy_eips::{eip2930::AccessList, eip7702::SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, U8, U64, U128, U256};
use serde::Serialize;
use types::{BlockId, Transaction};

/// Where a transaction stands in a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mined {
    /// The block; the open block has no hash yet.
    pub(crate) block: BlockId,
    /// Its timestamp.
    pub(crate) timestamp: u64,
    /// Its base fee.
    pub(crate) base_fee: Option<u64>,
    /// The transaction's index.
    pub(crate) index: usize,
}

impl Mined {
    pub(crate) fn new(header: &Header, hash: B256, index: usize) -> Self {
        let block = BlockId::new(header.number, hash);
        Self { block, timestamp: header.timestamp, base_fee: header.base_fee_per_gas, index }
    }
}

/// What a `v` of zero says about the chain, by EIP-155's formula and in 64 bits.
const UNSIGNED_CHAIN: u64 = 0_u64.wrapping_sub(35) / 2;

/// A transaction as clients see it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TransactionView<'a> {
    block_hash: Option<B256>,
    block_number: Option<U64>,
    block_timestamp: Option<U64>,
    from: Address,
    gas: U64,
    gas_price: U128,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fee_per_gas: Option<U128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_priority_fee_per_gas: Option<U128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fee_per_blob_gas: Option<U128>,
    hash: B256,
    input: &'a Bytes,
    nonce: U64,
    to: Option<Address>,
    transaction_index: Option<U64>,
    value: U256,
    #[serde(rename = "type")]
    ty: U8,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_list: Option<&'a AccessList>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_id: Option<U64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_versioned_hashes: Option<&'a [B256]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_list: Option<&'a [SignedAuthorization]>,
    v: U128,
    r: U256,
    s: U256,
    #[serde(skip_serializing_if = "Option::is_none")]
    y_parity: Option<U64>,
}

impl<'a> TransactionView<'a> {
    /// Shows a transaction; without a place it waits in the pool.
    pub(crate) fn new(tx: &'a Transaction, mined: Option<Mined>) -> Self {
        let dynamic = tx.max_priority_fee_per_gas();
        let price = match mined {
            Some(mined) => tx.effective_gas_price(mined.base_fee),
            None => tx.max_fee_per_gas(),
        };
        let parity = u64::from(tx.signature().v());
        let is_signed = !tx.signature().r().is_zero();
        let v = match (tx.is_legacy(), tx.chain_id()) {
            (true, None) if !is_signed => 0,
            (true, Some(chain_id)) => u128::from(chain_id) * 2 + 35 + u128::from(parity),
            (true, None) => 27 + u128::from(parity),
            (false, _) => parity.into(),
        };
        // Simulated ones have no signature. Old ones among them are shown for the chain that go-ethereum reads out of that.
        let chain_id = tx.chain_id().or_else(|| (!is_signed).then_some(UNSIGNED_CHAIN));
        Self {
            block_hash: mined.map(|mined| mined.block.hash).filter(|hash| !hash.is_zero()),
            block_number: mined.map(|mined| U64::from(mined.block.number)),
            block_timestamp: mined.map(|mined| U64::from(mined.timestamp)),
            from: tx.sender(),
            gas: U64::from(tx.gas_limit()),
            gas_price: U128::from(price),
            max_fee_per_gas: dynamic.map(|_| U128::from(tx.max_fee_per_gas())),
            max_priority_fee_per_gas: dynamic.map(U128::from),
            max_fee_per_blob_gas: tx.max_fee_per_blob_gas().map(U128::from),
            hash: tx.hash(),
            input: tx.input(),
            nonce: U64::from(tx.nonce()),
            to: tx.to(),
            transaction_index: mined.map(|mined| U64::from(mined.index)),
            value: tx.value(),
            ty: U8::from(tx.ty()),
            access_list: tx.access_list(),
            chain_id: chain_id.map(U64::from),
            blob_versioned_hashes: tx.blob_versioned_hashes(),
            authorization_list: tx.authorization_list(),
            v: U128::from(v),
            r: tx.signature().r(),
            s: tx.signature().s(),
            y_parity: (!tx.is_legacy()).then(|| U64::from(parity)),
        }
    }
}
