//! Receipts, and what a block came to.

use alloy_consensus::{Eip658Value, Receipt, ReceiptEnvelope, TxType, proofs::ordered_trie_root_encoded};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{B256, Bloom};
use revm::context::result::ExecutionResult;
use state::evm::BlockChanges;

/// What executing a block gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executed {
    /// What it did to the state.
    pub changes: BlockChanges,
    /// One per transaction.
    pub receipts: Vec<ReceiptEnvelope>,
    /// The same, encoded (EIP-2718).
    pub encoded_receipts: Vec<Vec<u8>>,
    /// The gas that all transactions used.
    pub gas_used: u64,
    /// The bloom over all logs.
    pub bloom: Bloom,
}

impl Executed {
    pub(super) fn new(
        changes: BlockChanges,
        receipts: Vec<ReceiptEnvelope>,
        gas_used: u64,
        bloom: Bloom,
    ) -> Self {
        let encoded_receipts = receipts.iter().map(Encodable2718::encoded_2718).collect();
        Self { changes, receipts, encoded_receipts, gas_used, bloom }
    }

    /// The root of the receipts' trie.
    pub fn receipts_root(&self) -> B256 {
        ordered_trie_root_encoded(&self.encoded_receipts)
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
