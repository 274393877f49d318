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
        let Missing { nonce, gas: gas_limit, chain_id } = missing;
        let to = self.to.map_or(TxKind::Create, TxKind::Call);
        let (value, input) = (self.value, self.input.clone());
        let access_list = self.access_list.clone().unwrap_or_default();
        let nothing = Signature::new(U256::ZERO, U256::ZERO, false);
        let max_fee_per_gas = self.max_fee.unwrap_or(0);
        let max_priority_fee_per_gas = self.max_tip.unwrap_or(0);
        let gas_price = self.fee_cap();
        let envelope = match self.transaction_type() {
            0 => {
                let tx = TxLegacy { chain_id: None, nonce, gas_price, gas_limit, to, value, input };
                let encoded = legacy(&tx);
                let signed = Signed::new_unchecked(tx, nothing, keccak256(&encoded));
                let recovered = Recovered::new_unchecked(signed.into(), self.from.unwrap_or_default());
                return Transaction::from_parts(recovered, encoded);
            }
            1 => {
                let tx = TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input };
                TxEnvelope::from(tx.into_signed(nothing))
            }
            3 => TxEnvelope::Eip4844(
                TxEip4844Variant::TxEip4844(TxEip4844 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to: self.to.unwrap_or_default(),
                    value,
                    access_list,
                    blob_versioned_hashes: self.blob_hashes.clone().unwrap_or_default(),
                    max_fee_per_blob_gas: self.max_blob_fee.unwrap_or(0),
                    input,
                })
                .into_signed(nothing),
            ),
            4 => TxEnvelope::from(
                TxEip7702 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to: self.to.unwrap_or_default(),
                    value,
                    access_list,
                    authorization_list: self.authorizations.clone().unwrap_or_default(),
                    input,
                }
                .into_signed(nothing),
            ),
            _ => TxEnvelope::from(
                TxEip1559 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to,
                    value,
                    access_list,
                    input,
                }
                .into_signed(nothing),
            ),
        };
        let encoded = envelope.encoded_2718().into();
        Transaction::from_parts(Recovered::new_unchecked(envelope, self.from.unwrap_or_default()), encoded)
    }
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
