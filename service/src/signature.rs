//! The builder's signature of a block hash.
//!
//! Ed25519, verified by ZIP 215 like every other signature on JAM: the builder's key is in the chain specification and
//! is the kind of key its node has anyway, and all validators agree on the edge cases. The words before the hash keep a
//! signature made here from being one of anything else.

use alloy_primitives::B256;
use ed25519_zebra::VerificationKey;
#[cfg(feature = "std")]
use jam::Ed25519Secret;
use jam::{Ed25519Key, Signature};

const CONTEXT: &[u8; 12] = b"pectin_block";

/// Signs a block by its hash.
#[cfg(feature = "std")]
pub fn sign(secret: &Ed25519Secret, block: B256) -> Signature {
    let signature = ed25519_zebra::SigningKey::from(secret.to_bytes()).sign(&message(block));
    <[u8; 64]>::from(signature).into()
}

/// Whether the builder signed the block with this hash.
pub fn verifies(builder: &Ed25519Key, block: B256, signature: &Signature) -> bool {
    VerificationKey::try_from(builder.0.0)
        .is_ok_and(|key| key.verify(&signature.0.into(), &message(block)).is_ok())
}

fn message(block: B256) -> [u8; 44] {
    let mut message = [0; 44];
    message[..12].copy_from_slice(CONTEXT);
    message[12..].copy_from_slice(block.as_slice());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_block_by_one_builder() {
        let secret = Ed25519Secret::trivial(0);
        let block = B256::repeat_byte(7);
        let signature = sign(&secret, block);
        assert!(verifies(&secret.public(), block, &signature));
        assert!(!verifies(&secret.public(), B256::ZERO, &signature));
        assert!(!verifies(&Ed25519Secret::trivial(1).public(), block, &signature));
        assert!(!verifies(&Ed25519Key([0xff; 32].into()), block, &signature));
        let other = secret.sign(jam::Purpose::Guarantee, block);
        assert!(!verifies(&secret.public(), block, &other));
    }
}
