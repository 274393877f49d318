//! Who signed: recovery of secp256k1 signatures, one at a time or many at once.
//!
//! Recovery is two thirds of what an accepted transaction costs, and a busy node has many to do at the same time. So
//! [`signers`] takes as many as there are, and where the machine can it works on several of them with each instruction:
//! on eight with AVX-512 IFMA (Intel's servers since Ice Lake, AMD's since Zen 4), for about a quarter of the price, or on
//! four with AVX2 (nearly all others), for somewhat more than half of it. Everywhere else, and for whatever is left over, it is
//! libsecp256k1, as in [`signer`].
//!
//! ```text
//!   r, s, hash ─scalar─▶ u₁ = −hash/r, u₂ = s/r, in digits ─curve─▶ u₁·G + u₂·R, R = (r, ±√(r³ + 7)) ─▶ keccak ─▶ address
//!                        (one inverse for all)                     (lanes of field arithmetic)
//! ```
//!
//! **Nothing is decided here that libsecp256k1 would decide otherwise.** What is out of the ordinary gets no answer from
//! the lanes and goes to libsecp256k1: values out of range, an r that belongs to no point, sums in which the formulas have an
//! exception (see `curve`; a client can arrange for those). So the lanes must be right only where they answer, and
//! that is arithmetic: each part is tested against other implementations of it, the whole against libsecp256k1 with
//! random, extreme and contrived signatures, and it is a target for the fuzzer.
//!
//! **Nor is it believed unseen.** Before lanes are first used they recover known signatures; if the machine gets
//! these wrong they are never used. And validators recover with libsecp256k1 alone: two implementations would have to be
//! wrong in the same way.
//!
//! **Without `std`** there is neither libsecp256k1 nor are there lanes: one at a time in Rust alone (`plain`). That is what the
//! service is compiled with for JAM's virtual machine.
//!
//! Signatures and hashes are public, so how long it takes may depend on them. **Never use any of this with secrets.**

#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod curve;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod field;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod lanes;
#[cfg(any(test, not(feature = "std")))]
mod plain;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod scalar;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod table;
#[cfg(test)]
mod tests;

use alloy_primitives::{Address, B256, Signature};
#[cfg(feature = "std")]
use secp256k1::{
    Message, SECP256K1,
    ecdsa::{RecoverableSignature, RecoveryId},
};
#[cfg(feature = "std")]
use types::Signer;

#[cfg(all(feature = "std", not(target_arch = "x86_64")))]
mod lanes {
    use super::{B256, Signature, Signer};

    pub(crate) const fn count() -> usize {
        1
    }

    pub(crate) fn signers(signed: &[(Signature, B256)]) -> Vec<Option<Signer>> {
        vec![None; signed.len()]
    }
}

/// The address of who signed this hash; `None` if it is no signature. A high `s` is not refused.
#[cfg(feature = "std")]
pub fn signer(signature: &Signature, hash: B256) -> Option<Address> {
    key(signature, hash).map(|signer| signer.address())
}

/// The public key that signed this hash; `None` if it is no signature. A high `s` is not refused.
#[cfg(feature = "std")]
pub fn key(signature: &Signature, hash: B256) -> Option<Signer> {
    let id = RecoveryId::try_from(i32::from(signature.v())).ok()?;
    let mut compact = [0; 64];
    compact[..32].copy_from_slice(&signature.r().to_be_bytes::<32>());
    compact[32..].copy_from_slice(&signature.s().to_be_bytes::<32>());
    let signature = RecoverableSignature::from_compact(&compact, id).ok()?;
    let public = SECP256K1.recover_ecdsa(&Message::from_digest(hash.0), &signature).ok()?;
    let [_, key @ ..] = public.serialize_uncompressed();
    Some(Signer { key, r_y: None })
}

/// Who signed this hash; `None` if it is no signature. A high `s` is not refused.
#[cfg(not(feature = "std"))]
pub fn signer(signature: &Signature, hash: B256) -> Option<Address> {
    plain::signer(signature, hash)
}

/// The addresses of who signed each of these hashes: what [`signer`] says of each.
#[cfg(feature = "std")]
pub fn signers(signed: &[(Signature, B256)]) -> Vec<Option<Address>> {
    keys(signed).into_iter().map(|signer| signer.map(|signer| signer.address())).collect()
}

/// The public keys that signed each of these hashes: what [`key`] says of each, with y of the signatures' points where it is at hand.
#[cfg(feature = "std")]
pub fn keys(signed: &[(Signature, B256)]) -> Vec<Option<Signer>> {
    let known = lanes::signers(signed);
    known
        .into_iter()
        .zip(signed)
        .map(|(known, (signature, hash))| known.or_else(|| key(signature, *hash)))
        .collect()
}

/// How many this machine recovers at once. The first call makes what that needs, in a few milliseconds; so does the first
/// call of [`signers`].
#[cfg(feature = "std")]
pub fn at_once() -> usize {
    lanes::count()
}
