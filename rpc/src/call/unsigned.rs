//! A request as the transaction that it would be, with zeros where the signature will be.

use super::Request;
use alloy_consensus::{
    SignableTransaction, Signed, TxEip1559, TxEip2930, TxEip4844, TxEip4844Variant, TxEip7702, TxEnvelope,
    TxLegacy, transaction::Recovered,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Bytes, Signature, TxKind, U256, keccak256};
use alloy_rlp::{Encodable, Header};
use types::Transaction;

/// What is missing in a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing {
    pub(crate) nonce: u64,
    pub(crate) gas: u64,
    pub(crate) chain_id: u64,
}

impl Request {
    /// The transaction that this would be if it had a signature.
    pub(crate) fn unsigned(&self, missing: Missing) -> Transaction {
        let (envelope, encoded) = match self.transaction_type() {
            0 => self.unsigned_legacy(missing),
            number => {
                let envelope = self.unsigned_typed(number, missing);
                let encoded = envelope.encoded_2718().into();
                (envelope, encoded)
            }
        };
        Transaction::from_parts(Recovered::new_unchecked(envelope, self.from.unwrap_or_default()), encoded)
    }

    fn unsigned_legacy(&self, missing: Missing) -> (TxEnvelope, Bytes) {
        let tx = TxLegacy {
            chain_id: None,
            nonce: missing.nonce,
            gas_price: self.fee_cap(),
            gas_limit: missing.gas,
            to: self.to.map_or(TxKind::Create, TxKind::Call),
            value: self.value,
            input: self.input.clone(),
        };
        let encoded = legacy(&tx);
        (Signed::new_unchecked(tx, no_signature(), keccak256(&encoded)).into(), encoded)
    }

    fn unsigned_typed(&self, number: u8, missing: Missing) -> TxEnvelope {
        let Missing { nonce, gas: gas_limit, chain_id } = missing;
        let kind = self.to.map_or(TxKind::Create, TxKind::Call);
        let to = self.to.unwrap_or_default();
        let (value, input) = (self.value, self.input.clone());
        let access_list = self.access_list.clone().unwrap_or_default();
        let max_fee_per_gas = self.max_fee.unwrap_or(0);
        let max_priority_fee_per_gas = self.max_tip.unwrap_or(0);
        match number {
            1 => {
                let gas_price = self.fee_cap();
                let to = kind;
                let tx = TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input };
                tx.into_signed(no_signature()).into()
            }
            3 => {
                let tx = TxEip4844 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to,
                    value,
                    access_list,
                    blob_versioned_hashes: self.blob_hashes.clone().unwrap_or_default(),
                    max_fee_per_blob_gas: self.max_blob_fee.unwrap_or(0),
                    input,
                };
                TxEnvelope::Eip4844(TxEip4844Variant::TxEip4844(tx).into_signed(no_signature()))
            }
            4 => {
                let tx = TxEip7702 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to,
                    value,
                    access_list,
                    authorization_list: self.authorizations.clone().unwrap_or_default(),
                    input,
                };
                tx.into_signed(no_signature()).into()
            }
            _ => {
                let tx = TxEip1559 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to: kind,
                    value,
                    access_list,
                    input,
                };
                tx.into_signed(no_signature()).into()
            }
        }
    }
}

/// Zeros where the signature will be.
fn no_signature() -> Signature {
    Signature::new(U256::ZERO, U256::ZERO, false)
}

/// A legacy transaction without a signature has zeros for v, r and s.
fn legacy(tx: &TxLegacy) -> Bytes {
    let mut fields = Vec::new();
    tx.nonce.encode(&mut fields);
    tx.gas_price.encode(&mut fields);
    tx.gas_limit.encode(&mut fields);
    tx.to.encode(&mut fields);
    tx.value.encode(&mut fields);
    tx.input.encode(&mut fields);
    fields.extend([alloy_rlp::EMPTY_STRING_CODE; 3]);
    let mut out = Vec::with_capacity(fields.len() + 9);
    Header { list: true, payload_length: fields.len() }.encode(&mut out);
    out.extend(fields);
    out.into()
}
