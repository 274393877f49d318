//! What a simulation gave.

use alloy_consensus::{Eip658Value, Receipt, ReceiptEnvelope, Transaction as _, TxType};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::Log;
use revm::context::result::ExecutionResult;
use types::{ReceiptedBlock, Transaction};

/// A block that was simulated, and what its calls gave.
pub(crate) struct Simulated {
    pub(crate) block: ReceiptedBlock,
    /// Where the fork has them.
    pub(crate) withdrawals: Option<Vec<Withdrawal>>,
    pub(crate) calls: Vec<Called>,
}

/// What a call gave.
pub(crate) struct Called {
    pub(crate) result: ExecutionResult,
    /// With those of plain transfers if they were wanted.
    pub(crate) logs: Vec<Log>,
}

/// What one block's calls came to so far.
#[derive(Default)]
pub(super) struct Done {
    pub(super) gas_used: u64,
    pub(super) transactions: Vec<Transaction>,
    pub(super) receipts: Vec<ReceiptEnvelope>,
    pub(super) calls: Vec<Called>,
}

impl Done {
    pub(super) fn blob_gas_used(&self) -> u64 {
        self.transactions.iter().filter_map(|tx| tx.blob_gas_used()).sum()
    }

    pub(super) fn add(&mut self, tx: Transaction, result: ExecutionResult, logs: Vec<Log>) {
        self.gas_used += result.tx_gas_used();
        let receipt = Receipt {
            status: Eip658Value::Eip658(result.is_success()),
            cumulative_gas_used: self.gas_used,
            logs: if result.is_success() { result.logs().to_vec() } else { vec![] },
        };
        let ty = tx.tx_type();
        let receipt = receipt.with_bloom();
        self.receipts.push(match ty {
            TxType::Legacy => ReceiptEnvelope::Legacy(receipt),
            TxType::Eip2930 => ReceiptEnvelope::Eip2930(receipt),
            TxType::Eip4844 => ReceiptEnvelope::Eip4844(receipt),
            TxType::Eip7702 => ReceiptEnvelope::Eip7702(receipt),
            _ => ReceiptEnvelope::Eip1559(receipt),
        });
        self.transactions.push(tx);
        self.calls.push(Called { result, logs });
    }
}
