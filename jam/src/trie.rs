//! The state as a Merkle tree (the Gray Paper's appendix on state Merklization): one root for all entries, and proofs
//! that a range of entries is all there is.
//!
//! A node is 64 bytes. A branch holds the hashes of its two sides, the left one without its first bit, which says
//! "branch". A leaf holds the key and the value, or the value's hash if it is longer than 32 bytes. Keys are walked
//! from the highest bit of the first byte on.

use crate::{
    hash::{Hash, blake2b},
    spec::StateKey,
};
use alloy_primitives::{Bytes, FixedBytes};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A node of the tree, as it is hashed and as proofs carry it.
pub type Node = FixedBytes<64>;

/// Bits of a key.
const KEY_BITS: usize = 31 * 8;

/// Entries sorted by key.
type Slice<'a> = &'a [(&'a StateKey, &'a Bytes)];

/// The root over all entries (M_σ); zero without any.
pub fn root(entries: &BTreeMap<StateKey, Bytes>) -> Hash {
    let sorted = entries.iter().collect::<Vec<_>>();
    subtree(&sorted, 0)
}

/// The nodes on the ways from the root to `start` and to `last`, parents first, none twice.
pub fn boundary(entries: &BTreeMap<StateKey, Bytes>, start: &StateKey, last: &StateKey) -> Vec<Node> {
    let sorted = entries.iter().collect::<Vec<_>>();
    let mut nodes = Vec::new();
    let mut seen = BTreeSet::new();
    for key in [start, last] {
        let (mut here, mut depth) = (&sorted[..], 0);
        while !here.is_empty() {
            let node = top(here, depth);
            if seen.insert(node) {
                nodes.push(node);
            }
            if here.len() == 1 {
                break;
            }
            let (left, right) = split(here, depth);
            here = if bit(key, depth) { right } else { left };
            depth += 1;
        }
    }
    nodes
}

/// Whether `entries` are all that a state with this root has from `start` to the last of them. Without entries it is
/// only shown that there is nothing at `start`.
pub fn proves(root: Hash, start: &StateKey, entries: &[(StateKey, Bytes)], boundary: &[Node]) -> bool {
    let last = entries.last().map_or(start, |(key, _)| key);
    let ascending = entries.is_sorted_by(|a, b| a.0 < b.0);
    if !ascending || entries.first().is_some_and(|(key, _)| key < start) {
        return false;
    }
    let sorted = entries.iter().map(|(key, value)| (key, value)).collect::<Vec<_>>();
    let nodes = boundary.iter().map(|node| (without_first_bit(blake2b(&[node.as_slice()])), node)).collect();
    let walk = Walk { start, last, nodes };
    walk.holds(Claimed { hash: root, whole: true }, &sorted, StateKey::ZERO, 0)
}

/// A hash as a parent tells it: the left side's lacks its first bit.
struct Claimed {
    hash: Hash,
    whole: bool,
}

impl Claimed {
    fn is(&self, found: Hash) -> bool {
        if self.whole { self.hash == found } else { self.hash == without_first_bit(found) }
    }
}

struct Walk<'a> {
    start: &'a StateKey,
    last: &'a StateKey,
    nodes: HashMap<Hash, &'a Node>,
}

impl Walk<'_> {
    /// Whether the subtree below `prefix` is as claimed: `entries` are those of the range in it.
    fn holds(&self, claimed: Claimed, entries: Slice<'_>, prefix: StateKey, depth: usize) -> bool {
        let (lowest, highest) = (prefix, filled_up(prefix, depth));
        if highest < *self.start || lowest > *self.last {
            return entries.is_empty();
        }
        if lowest >= *self.start && highest <= *self.last {
            return claimed.is(subtree(entries, depth));
        }
        if claimed.hash == Hash::ZERO {
            return entries.is_empty();
        }
        match self.nodes.get(&without_first_bit(claimed.hash)) {
            Some(node) if claimed.is(blake2b(&[node.as_slice()])) => {
                self.node_holds(node, entries, prefix, depth)
            }
            _ => false,
        }
    }

    fn node_holds(&self, node: &Node, entries: Slice<'_>, prefix: StateKey, depth: usize) -> bool {
        if node[0] & 0x80 != 0 {
            let key = StateKey::from_slice(&node[1..32]);
            return match entries {
                [] => key < *self.start || key > *self.last,
                [(found, value)] => leaf(found, value) == *node,
                _ => false,
            };
        }
        if depth == KEY_BITS {
            return false;
        }
        let (left, right) = split(entries, depth);
        let mut right_prefix = prefix;
        right_prefix[depth / 8] |= 0x80 >> (depth % 8);
        let side = |at: usize, whole| Claimed { hash: Hash::from_slice(&node[at..at + 32]), whole };
        self.holds(side(0, false), left, prefix, depth + 1)
            && self.holds(side(32, true), right, right_prefix, depth + 1)
    }
}

/// The highest key that begins like `prefix` does.
fn filled_up(prefix: StateKey, depth: usize) -> StateKey {
    let mut key = prefix;
    let (byte, bits) = (depth / 8, depth % 8);
    if byte < key.len() {
        key[byte] |= 0xff >> bits;
        key[byte + 1..].fill(0xff);
    }
    key
}

fn without_first_bit(mut hash: Hash) -> Hash {
    hash[0] &= 0x7f;
    hash
}

fn bit(key: &StateKey, depth: usize) -> bool {
    key.get(depth / 8).is_some_and(|byte| byte >> (7 - depth % 8) & 1 == 1)
}

fn split(entries: Slice<'_>, depth: usize) -> (Slice<'_>, Slice<'_>) {
    entries.split_at(entries.partition_point(|(key, _)| !bit(key, depth)))
}

fn subtree(entries: Slice<'_>, depth: usize) -> Hash {
    if entries.is_empty() { Hash::ZERO } else { blake2b(&[top(entries, depth).as_slice()]) }
}

/// The topmost node over entries of which there is at least one.
fn top(entries: Slice<'_>, depth: usize) -> Node {
    match entries {
        [(key, value)] => leaf(key, value),
        _ => {
            let (left, right) = split(entries, depth);
            let mut node = Node::ZERO;
            node[..32].copy_from_slice(without_first_bit(subtree(left, depth + 1)).as_slice());
            node[32..].copy_from_slice(subtree(right, depth + 1).as_slice());
            node
        }
    }
}

fn leaf(key: &StateKey, value: &Bytes) -> Node {
    let mut node = Node::ZERO;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn a_range_is_proved_and_nothing_can_be_left_out(
            keys in proptest::collection::btree_map(
                proptest::collection::vec(any::<u8>(), 2),
                proptest::collection::vec(any::<u8>(), 0..40),
                0..40,
            ),
            start in proptest::collection::vec(any::<u8>(), 2),
            count in 0_usize..12,
            pick: usize,
        ) {
            let entries: BTreeMap<StateKey, Bytes> =
                keys.into_iter().map(|(k, v)| (key(&k), v.into())).collect();
            let root = root(&entries);
            let start = key(&start);
            let range = entries.range(start..).take(count).map(|(k, v)| (*k, v.clone())).collect::<Vec<_>>();
            let last = range.last().map_or(start, |(key, _)| *key);
            let nodes = boundary(&entries, &start, &last);
            prop_assert_eq!(proves(root, &start, &range, &nodes), !range.is_empty() || !entries.contains_key(&start));
            if range.len() > 1 {
                let mut less = range.clone();
                less.remove(pick % (range.len() - 1));
                prop_assert!(!proves(root, &start, &less, &nodes));
                let mut other = range.clone();
                other[pick % range.len()].1 = Bytes::from_static(b"something else entirely, and longer than before");
                prop_assert!(!proves(root, &start, &other, &nodes));
            }
            prop_assert!(!proves(Hash::repeat_byte(1), &start, &range, &nodes) || (range.is_empty() && entries.is_empty()));
        }
    }
}
