//! The hash function of the tree, as a type parameter.
//!
//! The product has one, [`Blake2b`]. The parameter exists because the rules of the tree do not depend on it, and the
//! published vectors of other hash functions then check our rules too.

use alloy_primitives::B256;
use blake2b_simd::{
    Params,
    many::{HashManyJob, hash_many},
};

/// What a node hashes to. The empty node is [`B256::ZERO`].
pub type Hash = B256;

/// What a key holds. Zero is a value like any other; a key that never was written is absent instead.
pub type Value = B256;

/// A hash function for the tree.
pub trait Hasher: Send + Sync + 'static {
    /// Whether each kind of node is hashed under a tag of its own.
    ///
    /// Without tags an inner node can be shown as a stem, and so an account that exists as one that does not. False is
    /// for checking vectors that were made this way, and for nothing else.
    const TAGGED: bool = true;

    /// Hashes one message.
    fn hash(message: &[u8]) -> Hash;

    /// Hashes every message, which may be quicker than one after the other. Both slices have the same length.
    fn hash_many(messages: &[&[u8]], hashes: &mut [Hash]) {
        for (message, hash) in messages.iter().zip(hashes) {
            *hash = Self::hash(message);
        }
    }
}

/// BLAKE2b with 32 bytes of output.
#[derive(Clone, Copy, Debug)]
pub enum Blake2b {}

/// The most that any CPU hashes side by side.
const LANES: usize = blake2b_simd::many::MAX_DEGREE;

impl Hasher for Blake2b {
    fn hash(message: &[u8]) -> Hash {
        B256::from_slice(params().hash(message).as_bytes())
    }

    fn hash_many(messages: &[&[u8]], hashes: &mut [Hash]) {
        let params = params();
        for (messages, hashes) in messages.chunks(LANES).zip(hashes.chunks_mut(LANES)) {
            let mut jobs: [HashManyJob<'_>; LANES] =
                core::array::from_fn(|i| HashManyJob::new(&params, messages.get(i).copied().unwrap_or(&[])));
            hash_many(&mut jobs[..messages.len()]);
            for (job, hash) in jobs.iter().zip(hashes) {
                *hash = B256::from_slice(job.to_hash().as_bytes());
            }
        }
    }
}

fn params() -> Params {
    let mut params = Params::new();
    params.hash_length(32);
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;

    #[test]
    fn many_at_once_are_the_same_as_one_by_one() {
        assert_eq!(
            Blake2b::hash(b"abc"),
            b256!("bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319")
        );
        for n in 0..11_usize {
            let messages = (0..n).map(|i| alloc::vec![i as u8; i * 13]).collect::<alloc::vec::Vec<_>>();
            let messages = messages.iter().map(alloc::vec::Vec::as_slice).collect::<alloc::vec::Vec<_>>();
            let mut hashes = alloc::vec![Hash::ZERO; n];
            Blake2b::hash_many(&messages, &mut hashes);
            for (message, hash) in messages.iter().zip(hashes) {
                assert_eq!(hash, Blake2b::hash(message));
            }
        }
    }
}
