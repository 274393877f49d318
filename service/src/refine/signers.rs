//! Who signed the transactions of a run: all signatures checked together, with the builder's hints.
//!
//! To recover each signature would be most of what refining costs, in the virtual machine by far. So a run brings its senders' public
//! keys along, and one equation over all signatures says whether they are right (crate `signatures`). The verdict is that of recovery
//! one by one: no key passes but the one that recovery gives.

use super::RefineError;
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use alloy_consensus::{TxEnvelope, transaction::Recovered};
use alloy_eips::Decodable2718;
use alloy_primitives::{Address, Bytes, keccak256};
use signatures::{Hints, Signature, Weights};

/// The transactions of a run with their senders, if every signature was made with the key that its hint names.
pub(super) fn recover<'a>(
    transactions: impl Iterator<Item = (u64, usize, &'a Bytes)>,
    hints: &[u8],
) -> Result<Vec<Recovered<TxEnvelope>>, RefineError> {
    let hints = Hints::decode(hints).ok_or(RefineError::Hints)?;
    let mut decoded = Vec::with_capacity(hints.signatures.len());
    for (block, index, bytes) in transactions {
        let tx = decode(bytes).map_err(|why| RefineError::Transaction { block, index, why })?;
        decoded.push(tx);
    }
    let signed = decoded.iter().map(signature_of).collect::<Vec<_>>();
    let signers = signatures::verify(&signed, &hints, Weights::Transcript)?;
    let addresses = signers.keys().iter().map(address_of).collect::<Vec<_>>();
    let sender = |index| signers.index_of(index).and_then(|key| addresses.get(key).copied());
    let recovered = decoded.into_iter().enumerate().map(|(index, tx)| {
        // The check has seen that there is a hint for each signature, and a key for each hint.
        Recovered::new_unchecked(tx, sender(index).unwrap_or_default())
    });
    Ok(recovered.collect())
}

fn decode(bytes: &Bytes) -> Result<TxEnvelope, String> {
    TxEnvelope::decode_2718_exact(bytes).map_err(|error| error.to_string())
}

/// A transaction's signature, as it is checked together with others.
pub fn signature_of(tx: &TxEnvelope) -> Signature {
    let signature = tx.signature();
    Signature {
        r: signature.r().into_limbs(),
        s: signature.s().into_limbs(),
        odd_y: signature.v(),
        hash: tx.signature_hash().0,
    }
}

fn address_of(key: &[u8; 64]) -> Address {
    Address::from_slice(&keccak256(key)[12..])
}
