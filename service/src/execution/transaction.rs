//! From signed transactions to what revm executes.

use alloy_consensus::{Transaction, TxEnvelope, Typed2718, crypto::SECP256K1N_HALF};
use alloy_eips::eip7702::{RecoveredAuthority, RecoveredAuthorization, SignedAuthorization};
use alloy_primitives::Address;
use revm::{context::TxEnv, context_interface::either::Either};

/// The transaction as revm wants it.
pub fn environment(tx: &TxEnvelope, sender: Address) -> TxEnv {
    TxEnv {
        tx_type: tx.ty(),
        caller: sender,
        gas_limit: tx.gas_limit(),
        gas_price: tx.max_fee_per_gas(),
        kind: tx.kind(),
        value: tx.value(),
        data: tx.input().clone(),
        nonce: tx.nonce(),
        chain_id: tx.chain_id(),
        access_list: tx.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: tx.max_priority_fee_per_gas(),
        blob_hashes: tx.blob_versioned_hashes().map(<[_]>::to_vec).unwrap_or_default(),
        max_fee_per_blob_gas: tx.max_fee_per_blob_gas().unwrap_or_default(),
        authorization_list: tx.authorization_list().unwrap_or_default().iter().map(authorization).collect(),
    }
}

/// Who delegates; a signature that is none is no error but delegates nothing.
fn authorization(signed: &SignedAuthorization) -> Either<SignedAuthorization, RecoveredAuthorization> {
    let authority = signed
        .signature()
        .ok()
        .filter(|signature| signature.s() <= SECP256K1N_HALF)
        .and_then(|signature| ecrecover::signer(&signature, signed.signature_hash()))
        .map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
    Either::Right(RecoveredAuthorization::new_unchecked(signed.inner().clone(), authority))
}
