//! One signature at a time, in Rust alone.

use alloy_primitives::{Address, B256, Signature, keccak256};
use k256::ecdsa::{RecoveryId, Signature as Parsed, VerifyingKey};

/// Who signed this hash; nobody if it is no signature. A high `s` is not refused.
pub(crate) fn signer(signature: &Signature, hash: B256) -> Option<Address> {
    let mut odd = signature.v();
    let parsed =
        Parsed::from_scalars(signature.r().to_be_bytes::<32>(), signature.s().to_be_bytes::<32>()).ok()?;
    // k256 takes the low one of s and its opposite only; the point is the same if the parity is changed with it.
    let parsed = match parsed.normalize_s() {
        Some(low) => {
            odd = !odd;
            low
        }
        None => parsed,
    };
    let key =
        VerifyingKey::recover_from_prehash(hash.as_slice(), &parsed, RecoveryId::new(odd, false)).ok()?;
    let point = key.to_encoded_point(false);
    Some(Address::from_slice(&keccak256(&point.as_bytes()[1..])[12..]))
}
