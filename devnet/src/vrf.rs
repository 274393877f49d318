//! Seals and entropy: Bandersnatch VRF signatures (IETF), as the Gray Paper has them.
//!
//! A signature is the output point followed by the proof that it belongs to the key, the context and the message. The
//! output depends on key and context alone: nobody can choose the chain's entropy by choosing what is in a block.

use ark_vrf::{
    ietf::{Prover, Verifier},
    reexports::ark_serialize::{CanonicalDeserialize, CanonicalSerialize},
    suites::bandersnatch::{IetfProof, Input, Output, Public, Secret},
};
use jam::{
    Hash,
    hash::blake2b,
    keys::{BandersnatchKey, VrfSignature},
};
use std::fmt;

const POINT_BYTES: usize = 32;
const FITS: &str = "points and proofs have a fixed length, which is that of the buffer";

/// A Bandersnatch secret key. Never printed.
#[derive(Clone)]
pub struct VrfSecret {
    secret: Secret,
    public: BandersnatchKey,
}

impl fmt::Debug for VrfSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VrfSecret(of {})", self.public)
    }
}

impl VrfSecret {
    /// From a validator's seed, as JIP-5 derives it.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let secret = Secret::from_seed(blake2b(&[b"jam_val_key_bandersnatch", seed]).as_slice());
        let mut public = BandersnatchKey::ZERO;
        secret.public().serialize_compressed(public.as_mut_slice()).expect(FITS);
        Self { secret, public }
    }

    /// The key of dev validator `index`, which everybody knows.
    pub fn trivial(index: u32) -> Self {
        Self::from_seed(&jam::keys::trivial_seed(index))
    }

    /// The public key.
    pub const fn public(&self) -> BandersnatchKey {
        self.public
    }

    /// What a signature in this context gives, without making one.
    pub fn output(&self, context: &[&[u8]]) -> Option<Hash> {
        Some(hash_of(&self.secret.output(input(context)?)))
    }

    /// Signs a message in a context. `None` only if the context maps to no point, which has never been seen.
    pub fn sign(&self, context: &[&[u8]], message: &[u8]) -> Option<VrfSignature> {
        let input = input(context)?;
        let output = self.secret.output(input);
        let proof = self.secret.prove(input, output, message);
        let mut signature = VrfSignature::ZERO;
        output.serialize_compressed(&mut signature[..POINT_BYTES]).expect(FITS);
        proof.serialize_compressed(&mut signature[POINT_BYTES..]).expect(FITS);
        Some(signature)
    }
}

/// What a signature gives, if it is the key's signature of the message in the context.
pub fn verify(
    key: &BandersnatchKey,
    context: &[&[u8]],
    message: &[u8],
    signature: &VrfSignature,
) -> Option<Hash> {
    let key = Public::deserialize_compressed(key.as_slice()).ok()?;
    let output = Output::deserialize_compressed(&signature[..POINT_BYTES]).ok()?;
    let proof = IetfProof::deserialize_compressed(&signature[POINT_BYTES..]).ok()?;
    key.verify(input(context)?, output, message, &proof).ok()?;
    Some(hash_of(&output))
}

fn input(context: &[&[u8]]) -> Option<Input> {
    Input::new(&context.concat())
}

fn hash_of(output: &Output) -> Hash {
    Hash::from_slice(&output.hash()[..32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam_std_common as theirs;

    #[test]
    fn keys_and_signatures_are_those_of_the_reference() {
        let entropy = [7; 32];
        for index in 0..3 {
            let ours = VrfSecret::trivial(index);
            let reference = theirs::SecretKeyset::trivial(index).bandersnatch;
            assert_eq!(ours.public().0, reference.public().0);
            let message = theirs::bandersnatch::Message::FallbackSeal(theirs::Entropy(entropy));
            let signature = ours.sign(&[b"jam_fallback_seal", &entropy], b"header").unwrap();
            let known = theirs::bandersnatch::vrf::Signature(signature.0);
            known.vrf_verify(&message, b"header", &reference.public()).unwrap();
            assert_eq!(known.vrf_output().0, ours.output(&[b"jam_fallback_seal", &entropy]).unwrap().0);
            assert_eq!(reference.vrf_sign(&message, b"header").0, signature.0);
        }
    }

    #[test]
    fn a_signature_is_of_one_key_context_and_message() {
        let [a, b] = [VrfSecret::trivial(0), VrfSecret::trivial(1)];
        let signature = a.sign(&[b"x"], b"m").unwrap();
        assert_eq!(verify(&a.public(), &[b"x"], b"m", &signature), a.output(&[b"x"]));
        assert_eq!(verify(&b.public(), &[b"x"], b"m", &signature), None);
        assert_eq!(verify(&a.public(), &[b"y"], b"m", &signature), None);
        assert_eq!(verify(&a.public(), &[b"x"], b"n", &signature), None);
        assert_eq!(verify(&a.public(), &[b"x"], b"m", &VrfSignature::ZERO), None);
        assert!(format!("{a:?}").starts_with("VrfSecret(of 0x"));
    }
}
