//! Receipts, and what a block came to.

use alloc::vec::Vec;
use alloy_consensus::{Eip658Value, Receipt, ReceiptEnvelope, TxType};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::Bloom;
use revm::context::result::ExecutionResult;
use state::evm::BlockChanges;

/// What executing a block gave: to a builder all [`BlockChanges`], to a validator their effects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executed<T = BlockChanges> {
    /// What it did to the state.
    pub changes: T,
    /// One per transaction.
    pub receipts: Vec<ReceiptEnvelope>,
    /// The gas that all transactions used.
    pub gas_used: u64,
    /// The bloom over all logs.
    pub bloom: Bloom,
}

impl<T> Executed<T> {
    /// The receipts, encoded (EIP-2718).
    pub fn encoded_receipts(&self) -> Vec<Vec<u8>> {
        self.receipts.iter().map(Encodable2718::encoded_2718).collect()
    }
}

/// The receipt of a transaction in a block that used `gas_before` until then.
pub(super) fn receipt(ty: TxType, result: &ExecutionResult, gas_before: u64) -> ReceiptEnvelope {
    let receipt = Receipt {
        status: Eip658Value::Eip658(result.is_success()),
        cumulative_gas_used: gas_before + result.tx_gas_used(),
        logs: result.logs().to_vec(),
    };
    let receipt = receipt.with_bloom();
    match ty {
        TxType::Legacy => ReceiptEnvelope::Legacy(receipt),
        TxType::Eip2930 => ReceiptEnvelope::Eip2930(receipt),
        TxType::Eip1559 => ReceiptEnvelope::Eip1559(receipt),
        TxType::Eip4844 => ReceiptEnvelope::Eip4844(receipt),
        TxType::Eip7702 => ReceiptEnvelope::Eip7702(receipt),
    }
}
