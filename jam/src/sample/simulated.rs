//! Signatures for simulations: as distinguishable as real ones, a hundred times cheaper, and worth nothing.
//!
//! A simulation spends most of its time on signatures that it made itself. With simulated keys everything is checked as
//! ever (who signed what, for what, with which key), but a signature is a hash. They are recognised only in a process
//! that said so.

use crate::{Ed25519Key, Ed25519Secret, Hash, Purpose, Signature, hash::blake2b};
use std::sync::atomic::{AtomicBool, Ordering};

static ALLOWED: AtomicBool = AtomicBool::new(false);

const MARK: &[u8; 16] = b"simulated key!!!";

/// From now on this process takes simulated keys for keys. For simulations only.
pub fn allow_simulated_keys() {
    ALLOWED.store(true, Ordering::Relaxed);
}

pub(crate) fn is_simulated(key: &Ed25519Key) -> bool {
    key[..16] == *MARK && ALLOWED.load(Ordering::Relaxed)
}

pub(crate) fn simulated_signature(key: &Ed25519Key, purpose: Purpose, subject: Hash) -> Signature {
    let hash = blake2b(&[key.as_slice(), purpose.context(), subject.as_slice()]);
    let mut signature = Signature::ZERO;
    signature[..32].copy_from_slice(hash.as_slice());
    signature
}

/// Someone who signs: a validator with a real key, or with a simulated one.
#[derive(Clone, Debug)]
pub enum Signer {
    /// With a real key.
    Real(Box<Ed25519Secret>),
    /// With a simulated key.
    Simulated(Ed25519Key),
}

impl Signer {
    /// Validator `index` with its trivial key.
    pub fn real(index: u32) -> Self {
        Self::Real(Box::new(Ed25519Secret::trivial(index)))
    }

    /// Validator `index` with a simulated key.
    pub fn simulated(index: u32) -> Self {
        let mut key = Hash::ZERO;
        key[..16].copy_from_slice(MARK);
        key[28..].copy_from_slice(&index.to_be_bytes());
        Self::Simulated(Ed25519Key(key))
    }

    /// The public key.
    pub fn public(&self) -> Ed25519Key {
        match self {
            Self::Real(secret) => secret.public(),
            Self::Simulated(key) => *key,
        }
    }

    /// Signs `subject` for a purpose.
    pub fn sign(&self, purpose: Purpose, subject: Hash) -> Signature {
        match self {
            Self::Real(secret) => secret.sign(purpose, subject),
            Self::Simulated(key) => simulated_signature(key, purpose, subject),
        }
    }
}
