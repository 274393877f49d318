//! Senders, and transactions that need no signature.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip7702, TxEnvelope, transaction::Recovered};
use alloy_eips::{eip2718::Encodable2718, eip7702::Authorization};
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256};
use types::Transaction;

pub(crate) const GWEI: u128 = 1_000_000_000;

/// A transaction that is about to be made; gas enough for all that the tests put in.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) sender: Address,
    pub(crate) nonce: u64,
    pub(crate) tip: u128,
    pub(crate) fee: u128,
    pub(crate) value: u64,
    pub(crate) data: usize,
    pub(crate) authorities: Vec<Address>,
}

/// The `n`th sender.
pub(crate) fn sender(n: u8) -> Address {
    Address::repeat_byte(n + 1)
}

/// A transfer with a tip of `tip` gwei and plenty of room above the base fee.
pub(crate) fn draft(n: u8, nonce: u64, tip: u128) -> Draft {
    let fee = 100 * GWEI + tip * GWEI;
    Draft { sender: sender(n), nonce, tip: tip * GWEI, fee, value: 1, data: 0, authorities: vec![] }
}

/// The same, made.
pub(crate) fn tx(n: u8, nonce: u64, tip: u128) -> Transaction {
    draft(n, nonce, tip).make()
}

impl Draft {
    /// Makes it, with the sender's address as the recipient so that no two senders' transactions are the same.
    pub(crate) fn make(self) -> Transaction {
        let signature = Signature::test_signature();
        let input = Bytes::from(vec![1; self.data]);
        let envelope = if self.authorities.is_empty() {
            let tx = TxEip1559 {
                chain_id: 732846,
                nonce: self.nonce,
                gas_limit: 100_000,
                max_fee_per_gas: self.fee,
                max_priority_fee_per_gas: self.tip,
                to: TxKind::Call(self.sender),
                value: U256::from(self.value),
                input,
                ..TxEip1559::default()
            };
            TxEnvelope::from(tx.into_signed(signature))
        } else {
            let authorization = Authorization { chain_id: U256::ZERO, address: self.sender, nonce: 0 };
            let tx = TxEip7702 {
                chain_id: 732846,
                nonce: self.nonce,
                gas_limit: 100_000,
                max_fee_per_gas: self.fee,
                max_priority_fee_per_gas: self.tip,
                to: self.sender,
                value: U256::from(self.value),
                input,
                authorization_list: vec![authorization.into_signed(signature)],
                ..TxEip7702::default()
            };
            TxEnvelope::from(tx.into_signed(signature))
        };
        let encoded = envelope.encoded_2718().into();
        let signed = Recovered::new_unchecked(envelope, self.sender);
        Transaction::with_authorities(signed, encoded, self.authorities)
    }
}
