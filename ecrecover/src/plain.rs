//! One signature at a time, in Rust alone: what the service's program recovers with. The arithmetic is that of `signatures`.

use alloy_primitives::{Address, B256, Signature, keccak256};

/// Who signed this hash; `None` if it is no signature. A high `s` is not refused.
pub(crate) fn signer(signature: &Signature, hash: B256) -> Option<Address> {
    let key = signatures::recover(&signatures::Signature {
        r: signature.r().into_limbs(),
        s: signature.s().into_limbs(),
        odd_y: signature.v(),
        hash: hash.0,
    })?;
    Some(Address::from_slice(&keccak256(key)[12..]))
}
