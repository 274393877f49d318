//! Hash functions that the vectors name and the product does not use.
//!
//! A profile is `tagged/…` or `plain/…` and a function. The keys of the version `eip7864-2025` differ from ours in one
//! point only: the tree index is little-endian; a hash function that turns it round before it hashes shows that.

use sha2::Digest;
use state::{Blake2b, Hash, Hasher};
use std::marker::PhantomData;

/// A function from bytes to 32 bytes.
pub trait Function: Send + Sync + 'static {
    /// Hashes.
    fn of(message: &[u8]) -> Hash;
}

/// BLAKE3.
pub enum Blake3 {}

/// SHA-256.
pub enum Sha256 {}

impl Function for Blake3 {
    fn of(message: &[u8]) -> Hash {
        Hash::from(*blake3::hash(message).as_bytes())
    }
}

impl Function for Sha256 {
    fn of(message: &[u8]) -> Hash {
        Hash::from_slice(&sha2::Sha256::digest(message))
    }
}

impl Function for Blake2b {
    fn of(message: &[u8]) -> Hash {
        <Self as Hasher>::hash(message)
    }
}

/// With tags.
pub struct Tagged<F>(PhantomData<F>);

/// As the EIP's text has it.
pub struct Plain<F>(PhantomData<F>);

/// With the tree index turned round, in the 64 bytes that a stem is the hash of.
pub struct LittleEndian<F>(PhantomData<F>);

impl<F: Function> Hasher for Tagged<F> {
    fn hash(message: &[u8]) -> Hash {
        F::of(message)
    }
}

impl<F: Function> Hasher for Plain<F> {
    const TAGGED: bool = false;

    fn hash(message: &[u8]) -> Hash {
        F::of(message)
    }
}

impl<F: Function> Hasher for LittleEndian<F> {
    fn hash(message: &[u8]) -> Hash {
        let mut message = message.to_vec();
        message[32..].reverse();
        F::of(&message)
    }
}
