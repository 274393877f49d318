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

    /// Hashes a node: its tag and two halves.
    fn node(tag: u8, left: &Hash, right: &Hash) -> Hash {
        let mut node = message::tagged(tag);
        message::write(&mut node, 0, left);
        message::write(&mut node, 1, right);
        Self::hash(&node[usize::from(!Self::TAGGED)..])
    }

    /// Hashes a leaf: its tag and its value.
    fn leaf(tag: u8, value: &Value) -> Hash {
        let mut node = message::tagged(tag);
        message::write(&mut node, 0, value);
        Self::hash(&node[usize::from(!Self::TAGGED)..message::LEAF_BYTES])
    }

    /// Hashes what a stem is made from: an address and an index.
    fn position(message: &[u8; 64]) -> Hash {
        Self::hash(message)
    }

    /// Hashes every message, which may be quicker than one after the other. Both slices have the same length.
    fn hash_many(messages: &[&[u8]], hashes: &mut [Hash]) {
        for (message, hash) in messages.iter().zip(hashes) {
            *hash = Self::hash(message);
        }
    }
}

/// What nodes are hashed from: a tag and two halves, of which a leaf has the first only.
pub(crate) mod message {
    use super::{Hash, Hasher};

    pub(crate) const LEAF_BYTES: usize = 1 + 32;
    pub(crate) type Node = [u8; 1 + 32 + 32];

    pub(crate) const fn tagged(tag: u8) -> Node {
        let mut node = [0; 65];
        node[0] = tag;
        node
    }

    /// Writes one of the halves.
    pub(crate) fn write(node: &mut Node, half: usize, hash: &Hash) {
        node[1 + 32 * half..][..32].copy_from_slice(hash.as_slice());
    }

    /// What of a node is hashed: of a leaf one half only, and without tags the tag is not part of it.
    pub(crate) fn trim<H: Hasher>(node: &Node, leaf_tag: u8) -> &[u8] {
        let end = if node[0] == leaf_tag { LEAF_BYTES } else { node.len() };
        &node[usize::from(!H::TAGGED)..end]
    }
}

/// BLAKE2b with 32 bytes of output.
#[derive(Clone, Copy, Debug)]
pub enum Blake2b {}

/// Nodes hashed from the words that they are made of, where each instruction costs gas.
#[cfg(any(test, not(feature = "std")))]
mod words {
    use super::{Hash, Value};

    use blake2b::{one_block, words};

    /// The tag stands before all, so every word begins with the last byte of the one before it.
    fn shift<const N: usize, const M: usize>(tag: u8, words: &[u64; N]) -> [u64; M] {
        let mut shifted = [0; M];
        let mut before = u64::from(tag) << 56;
        for (shifted, word) in shifted.iter_mut().zip(words.iter().chain(&[0])) {
            *shifted = word << 8 | before >> 56;
            before = *word;
        }
        shifted
    }

    #[inline(never)]
    pub(super) fn node(tag: u8, left: &Hash, right: &Hash) -> Hash {
        let ([a, b, c, d], [e, f, g, h]) = (words::load(&left.0), words::load(&right.0));
        words::store(one_block::<9, 65>(&shift(tag, &[a, b, c, d, e, f, g, h]))).into()
    }

    pub(super) fn position(message: &[u8; 64]) -> Hash {
        let (halves, _) = message.as_chunks::<32>();
        let ([a, b, c, d], [e, f, g, h]) = (words::load(&halves[0]), words::load(&halves[1]));
        words::store(one_block::<8, 64>(&[a, b, c, d, e, f, g, h])).into()
    }

    #[inline(never)]
    pub(super) fn leaf(tag: u8, value: &Value) -> Hash {
        words::store(one_block::<5, 33>(&shift(tag, &words::load(&value.0)))).into()
    }
}

/// The most that any CPU hashes side by side.
const LANES: usize = blake2b_simd::many::MAX_DEGREE;

impl Hasher for Blake2b {
    fn hash(message: &[u8]) -> Hash {
        B256::from_slice(params().hash(message).as_bytes())
    }

    #[cfg(not(feature = "std"))]
    fn node(tag: u8, left: &Hash, right: &Hash) -> Hash {
        words::node(tag, left, right)
    }

    #[cfg(not(feature = "std"))]
    fn leaf(tag: u8, value: &Value) -> Hash {
        words::leaf(tag, value)
    }

    #[cfg(not(feature = "std"))]
    fn position(message: &[u8; 64]) -> Hash {
        words::position(message)
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
    fn nodes_of_words_are_the_same_as_nodes_of_bytes() {
        let halves = [Hash::ZERO, Hash::repeat_byte(0xff), Blake2b::hash(b"a"), Blake2b::hash(b"b")];
        for (left, right) in halves.iter().flat_map(|left| halves.iter().map(move |right| (left, right))) {
            for tag in [0, 1, 2, 255] {
                assert_eq!(words::node(tag, left, right), Blake2b::node(tag, left, right));
                assert_eq!(words::leaf(tag, left), Blake2b::leaf(tag, left));
                let mut both = [tag; 64];
                both[..32].copy_from_slice(left.as_slice());
                assert_eq!(words::position(&both), Blake2b::position(&both));
            }
        }
    }

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
