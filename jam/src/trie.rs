//! The state as a Merkle tree (the Gray Paper's appendix on state Merklization): one root for all entries.
//!
//! A node is 64 bytes. A branch holds the hashes of its two sides, the left one without its first bit, which says
//! "branch". A leaf holds the key and the value, or the value's hash if it is longer than 32 bytes. Keys are walked
//! from the highest bit of the first byte on.

use crate::{
    hash::{Hash, blake2b},
    spec::StateKey,
};
use alloy_primitives::{Bytes, FixedBytes};
use core::borrow::Borrow;
use std::collections::BTreeMap;

/// Bits of a key.
pub const KEY_BITS: usize = 248;

/// A node of the tree, as it is hashed.
pub type TrieNode = FixedBytes<64>;

/// The root over all entries (M_σ); zero without any.
pub fn root(entries: &BTreeMap<StateKey, Bytes>) -> Hash {
    let sorted = entries.iter().collect::<Vec<_>>();
    subtree(&sorted, 0)
}

/// The hash of the node over ascending entries that agree in the bits before `depth`; zero without any.
pub fn subtree<K: Borrow<StateKey>, V: AsRef<[u8]>>(entries: &[(K, V)], depth: usize) -> Hash {
    match entries {
        [] => Hash::ZERO,
        [(key, value)] => hash_of(&leaf(key.borrow(), value.as_ref())),
        _ => {
            let (left, right) = split(entries, depth);
            hash_of(&branch(subtree(left, depth + 1), subtree(right, depth + 1)))
        }
    }
}

/// The hashes of leaves by key.
pub type Leaves = BTreeMap<StateKey, Hash>;

/// The root over leaves whose hashes are known: what did not change need not be hashed again, however long it is.
pub fn root_of_leaves(leaves: &Leaves) -> Hash {
    let sorted = leaves.iter().collect::<Vec<_>>();
    subtree_of_leaves(&sorted, 0)
}

fn subtree_of_leaves(leaves: &[(&StateKey, &Hash)], depth: usize) -> Hash {
    match leaves {
        [] => Hash::ZERO,
        [(_, hash)] => **hash,
        _ => {
            let (left, right) = split(leaves, depth);
            hash_of(&branch(subtree_of_leaves(left, depth + 1), subtree_of_leaves(right, depth + 1)))
        }
    }
}

/// The two halves of a slice.
type Halves<'a, T> = (&'a [T], &'a [T]);

/// Divides ascending entries that agree in the bits before `depth` by the bit there.
pub fn split<K: Borrow<StateKey>, V>(entries: &[(K, V)], depth: usize) -> Halves<'_, (K, V)> {
    entries.split_at(entries.partition_point(|(key, _)| !bit(key.borrow(), depth)))
}

/// A bit of a key, counted from the highest one of the first byte; no bit is set behind the last.
pub fn bit(key: &StateKey, depth: usize) -> bool {
    key.get(depth / 8).is_some_and(|byte| byte >> (7 - depth % 8) & 1 == 1)
}

/// The node of one entry.
pub fn leaf(key: &StateKey, value: &[u8]) -> TrieNode {
    let mut node = TrieNode::ZERO;
    node[1..32].copy_from_slice(key.as_slice());
    if value.len() <= 32 {
        node[0] = 0x80 | value.len() as u8;
        node[32..32 + value.len()].copy_from_slice(value);
    } else {
        node[0] = 0xc0;
        node[32..].copy_from_slice(blake2b(&[value]).as_slice());
    }
    node
}

/// The node over two sides with these hashes.
pub fn branch(left: Hash, right: Hash) -> TrieNode {
    let mut node = TrieNode::ZERO;
    node[..32].copy_from_slice(without_first_bit(left).as_slice());
    node[32..].copy_from_slice(right.as_slice());
    node
}

/// A branch has no room for the first bit of its left child's hash.
pub fn without_first_bit(mut hash: Hash) -> Hash {
    hash[0] &= 0x7f;
    hash
}

/// What a node is known by.
pub fn hash_of(node: &TrieNode) -> Hash {
    blake2b(&[node.as_slice()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;

    fn key(bytes: &[u8]) -> StateKey {
        let mut key = StateKey::ZERO;
        key[..bytes.len()].copy_from_slice(bytes);
        key
    }

    #[test]
    fn one_entry_is_a_leaf_and_two_are_a_branch() {
        let (a, b) = (key(&[0x40]), key(&[0xc0]));
        let (short, long) = (Bytes::from_static(b"v"), Bytes::from(vec![7; 33]));
        assert_eq!(root(&BTreeMap::new()), Hash::ZERO);
        let mut leaf_a = [0; 64];
        (leaf_a[0], leaf_a[1], leaf_a[32]) = (0x81, 0x40, b'v');
        let mut leaf_b = [0; 64];
        (leaf_b[0], leaf_b[1]) = (0xc0, 0xc0);
        leaf_b[32..].copy_from_slice(blake2b(&[&long]).as_slice());
        let mut entries = BTreeMap::from([(a, short)]);
        assert_eq!(root(&entries), blake2b(&[&leaf_a]));
        entries.insert(b, long);
        let mut branch = [blake2b(&[&leaf_a]).0, blake2b(&[&leaf_b]).0].concat();
        branch[0] &= 0x7f;
        assert_eq!(root(&entries), blake2b(&[&branch]));
    }

    #[test]
    fn the_root_is_the_one_that_another_implementation_computes() {
        // By typeberry's trie for GP 0.7.2; values shorter and longer than 32 bytes.
        let entry = |i: u32| {
            let key = std::array::from_fn(|at| (i * 37 + at as u32 * 11 + ((i * i) >> 2)) as u8);
            (StateKey::new(key), Bytes::from(vec![i as u8; i as usize]))
        };
        let expected = b256!("2f426c70af647cedd58e637c9bc243e570b0942b8f112c262d102098c365c934");
        assert_eq!(root(&(0..40).map(entry).collect()), expected);
        let leaves = (0..40).map(entry).map(|(key, value)| (key, hash_of(&leaf(&key, &value)))).collect();
        assert_eq!(root_of_leaves(&leaves), expected);
        assert_eq!(root_of_leaves(&Leaves::new()), Hash::ZERO);
    }
}
