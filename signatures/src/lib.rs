//! Many secp256k1 signatures checked together, with hints.
//!
//! To recover the signer of one signature takes a square root and some 130 doublings of a point. To *check* who signed
//! many takes neither, if another party says the result in advance: the builder of a bundle knows the public keys from
//! admission. So a bundle carries [`Hints`], and validators, followers and the PVM program check them all with one equation.
//!
//! ```text
//!   signatures ┐                                ┌─▶ transcript ─▶ weights a₁, a₂, …
//!              ├─ ranges, coordinates, curve ───┤
//!   hints      ┘   (each names its culprit)     └─▶ Σ aᵢ·Rᵢ − (Σ aᵢ·hashᵢ/sᵢ)·G − Σ (aᵢ·rᵢ/sᵢ)·Qᵢ = 0 ?
//! ```
//!
//! **Why it is right.** Signature i has the signer Qᵢ if and only if Eᵢ = Rᵢ − hashᵢ/sᵢ·G − rᵢ/sᵢ·Qᵢ is zero (infinity). The
//! group has prime order, so a sum of aᵢ·Eᵢ with random weights is zero for at most one value of each weight if its Eᵢ is
//! not zero: a wrong key passes with probability 2⁻¹²⁸. That needs (1) points of *this* group, so coordinates are below p and
//! satisfy the curve's equation, for R and for Q; (2) weights that no one could know when choosing what is checked, see
//! [`Weights`]; (3) one R for each signature: x is r, never r + n, and its y has the parity that the signature says. s must
//! not be high, as Ethereum demands; the hash may be zero or above n, as everywhere.
//!
//! **What it costs.** A sum of three terms of 128 bits for each signature, by buckets (`sum`), with six multiplications for
//! each addition (`adder`). Signatures of one key share their term. In the PVM (one gas per instruction), all keys distinct, with the
//! transcript: 133.7 k gas each for 100 signatures, 85.3 k for 1,000, 70.0 k for 5,000; 34.2 k for 5,000 by 500 keys. One recovery
//! by [`recover`] costs 510 k. Equal and opposite points, which a signer can arrange for, do not make it cost more (1,000 copies of one
//! signature whose key is listed 1,000 times: 75.6 k). Natively
//! the example `speed` measures it beside libsecp256k1 and the lanes.
//!
//! A failed sum names no culprit, so a builder checks before it sends. Signatures that may be invalid without harm, such as
//! EIP-7702 authorizations, do not belong here: [`recover`] them one by one.
//!
//! ```
//! use signatures::{Hints, Refused, Signature, Weights, hint_of, verify};
//!
//! let signature = Signature {
//!     r: [0x59f2815b16f81798, 0x029bfcdb2dce28d9, 0x55a06295ce870b07, 0x79be667ef9dcbbac],
//!     s: [2, 0, 0, 0],
//!     odd_y: false,
//!     hash: [7; 32],
//! };
//! let mut hints = Hints::collect([hint_of(&signature).unwrap()]);
//! let signers = verify(&[signature], &hints, Weights::Transcript).unwrap();
//! assert_eq!(signers.key_of(0), Some(&hints.keys[0]));
//!
//! hints.signatures[0].r_y[31] ^= 1;
//! assert_eq!(verify(&[signature], &hints, Weights::Transcript).unwrap_err(), Refused::NoPoint { signature: 0 });
//! ```
//!
//! The crate is `no_std`, has no `unsafe` and no dependency but a hash. Everything is public data, so how long it takes depends on it:
//! **never use any of this with secrets.**

#![no_std]

extern crate alloc;

mod adder;
mod bugs;
mod check;
mod field;
mod hints;
mod inverse;
mod point;
mod recover;
mod scalar;
mod sum;
mod table;
#[cfg(test)]
mod tests;
mod weights;

#[cfg(feature = "bugs")]
pub use bugs::Bug;
pub use field::multiply_add;
pub use hints::{Hint, Hints, hint_of, r_y};
pub use inverse::invert_in_place;
pub use recover::recover;
pub use weights::Weights;

/// A signature and what was signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    /// x of its point R, modulo n; lowest limb first, as `U256::into_limbs` gives it.
    pub r: [u64; 4],
    /// The other number; lowest limb first.
    pub s: [u64; 4],
    /// Whether R's y is odd.
    pub odd_y: bool,
    /// The hash that was signed.
    pub hash: [u8; 32],
}

/// Why signatures or their hints are refused. Numbers are indexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// There are too many signatures, or not as many hints as signatures, or more keys than signatures.
    #[error("hints do not belong to these signatures: their numbers differ")]
    Count,
    /// A hint names a key that is not there.
    #[error("hint {signature} names a key that is not there")]
    NoSuchKey {
        /// The signature.
        signature: usize,
    },
    /// A key belongs to no signature.
    #[error("key {key} belongs to no signature")]
    KeyUnused {
        /// The key.
        key: usize,
    },
    /// A key is no point of the curve, or its coordinates are not below p.
    #[error("key {key} is no point of the curve")]
    KeyNoPoint {
        /// The key.
        key: usize,
    },
    /// r or s is zero or not below n, or s is high.
    #[error("signature {signature}: r or s is out of range")]
    OutOfRange {
        /// The signature.
        signature: usize,
    },
    /// R's y is not below p, has the wrong parity, or does not belong to x = r.
    #[error("hint {signature} is not y of the signature's point")]
    NoPoint {
        /// The signature.
        signature: usize,
    },
    /// Some key did not make its signature.
    #[error("the sum over all signatures is not zero: some key is wrong")]
    Sum,
}

/// Who made signatures that were checked.
#[derive(Clone, Copy, Debug)]
pub struct Signers<'a>(&'a Hints);

impl<'a> Signers<'a> {
    /// The keys, each of which made at least one of the signatures. Hash each once: an address is the end of the Keccak-256 hash.
    pub fn keys(&self) -> &'a [[u8; 64]] {
        &self.0.keys
    }

    /// The index of the key that made a signature.
    pub fn index_of(&self, signature: usize) -> Option<usize> {
        self.0.signatures.get(signature).map(|hint| hint.key as usize)
    }

    /// The key that made a signature.
    pub fn key_of(&self, signature: usize) -> Option<&'a [u8; 64]> {
        self.0.keys.get(self.index_of(signature)?)
    }
}

/// How many additions of points it takes to check so many signatures of so many keys, counted as the choice of windows counts them: what
/// falls with the number of signatures in the cost of one.
pub fn additions(signatures: usize, keys: usize) -> usize {
    sum::additions(check::terms_for(signatures, keys))
}

/// Who signed: the keys that the hints name, if every one of them made its signatures.
pub fn verify<'a>(
    signatures: &[Signature],
    hints: &'a Hints,
    weights: Weights<'_>,
) -> Result<Signers<'a>, Refused> {
    check::check(signatures, hints, weights, bugs::Rules::default())?;
    Ok(Signers(hints))
}

/// [`verify`] with a mistake.
#[cfg(feature = "bugs")]
pub fn verify_with_bug(
    signatures: &[Signature],
    hints: &Hints,
    weights: Weights<'_>,
    bug: Bug,
) -> Result<(), Refused> {
    check::check(signatures, hints, weights, bugs::Rules { bug: Some(bug) })
}
