//! Parts of a state with their proofs (CE 129): making them from a whole state, and finding which state root they prove.
//!
//! A state is a binary trie over the bits of its keys. An answer brings the nodes on the way to the first key asked for
//! and to the last entry given; all that lies between must be there, or the hashes do not fit.

use crate::{
    error::StreamError,
    message::{StateRange, StateRequest},
};
use jam::{
    Hash,
    codec::Bytes,
    spec::StateKey,
    trie::{KEY_BITS, TrieNode, bit, branch, hash_of, leaf, split, subtree, without_first_bit},
};
use std::collections::{BTreeMap, HashMap};

/// A whole state, ready to prove parts of itself.
#[derive(Clone, Debug)]
pub struct StateTrie {
    entries: Vec<(StateKey, Bytes)>,
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    Empty,
    Leaf(TrieNode),
    Branch(Box<(TrieNode, Node, Node)>),
}

impl Node {
    fn new(entries: &[(StateKey, Bytes)], depth: usize) -> Self {
        match entries {
            [] => Self::Empty,
            [(key, value)] => Self::Leaf(leaf(key, value)),
            _ => {
                let (left, right) = split(entries, depth);
                let (left, right) = (Self::new(left, depth + 1), Self::new(right, depth + 1));
                Self::Branch(Box::new((branch(left.hash(), right.hash()), left, right)))
            }
        }
    }

    fn hash(&self) -> Hash {
        match self {
            Self::Empty => Hash::ZERO,
            Self::Leaf(node) => hash_of(node),
            Self::Branch(branch) => hash_of(&branch.0),
        }
    }

    /// The nodes on the way to a key, from the root on.
    fn path(&self, key: &StateKey) -> Vec<TrieNode> {
        let (mut here, mut path) = (self, vec![]);
        loop {
            match here {
                Self::Empty => return path,
                Self::Leaf(node) => {
                    path.push(*node);
                    return path;
                }
                Self::Branch(branch) => {
                    let (node, left, right) = &**branch;
                    here = if bit(key, path.len()) { right } else { left };
                    path.push(*node);
                }
            }
        }
    }
}

impl StateTrie {
    /// Hashes a state.
    pub fn new(state: &BTreeMap<StateKey, Bytes>) -> Self {
        let entries = state.iter().map(|(key, value)| (*key, value.clone())).collect::<Vec<_>>();
        let root = Node::new(&entries, 0);
        Self { entries, root }
    }

    /// The state root.
    pub fn root(&self) -> Hash {
        self.root.hash()
    }

    /// The part of the state that a request asks for, as far as its size allows, with its proof.
    pub fn range(&self, request: &StateRequest) -> StateRange {
        let first = self.entries.partition_point(|(key, _)| *key < request.start);
        let mut boundary = self.root.path(&request.start);
        let mut entries: Vec<(StateKey, Bytes)> = vec![];
        let mut left = (request.bytes_max as usize).saturating_sub(128 * KEY_BITS);
        for (key, value) in &self.entries[first..] {
            let size = key.len() + value.len() + 5;
            if *key > request.end || (size > left && !entries.is_empty()) {
                break;
            }
            left = left.saturating_sub(size);
            entries.push((*key, value.clone()));
        }
        if let Some((last, _)) = entries.last() {
            let known = boundary.len();
            let path = self.root.path(last);
            let shared = path.iter().zip(&boundary).take_while(|(a, b)| a == b).count().min(known);
            boundary.extend_from_slice(&path[shared..]);
        }
        StateRange { boundary, entries }
    }
}

impl StateRange {
    /// The state root that this part, from `start` to `end`, belongs to. Between `start` and the last entry nothing is
    /// missing; whether there is more after it only a further request tells. Without entries, `start` is proved absent.
    pub fn root(&self, start: StateKey, end: StateKey) -> Result<Hash, StreamError> {
        let keys = || self.entries.iter().map(|(key, _)| *key);
        if !self.entries.is_sorted_by(|a, b| a.0 < b.0) || keys().any(|key| key < start || key > end) {
            return Err(StreamError::Wrong("entries of a state that were not asked for, or not in order"));
        }
        let Some(top) = self.boundary.first() else {
            return match self.entries.is_empty() {
                true => Ok(Hash::ZERO),
                false => Err(UNPROVED),
            };
        };
        let nodes = self.boundary.iter().map(|node| (without_first_bit(hash_of(node)), node)).collect();
        let proof = Proof { nodes, start, last: keys().next_back().unwrap_or(start) };
        let root = hash_of(top);
        proof.check(root, 0, StateKey::ZERO, &self.entries)?;
        Ok(root)
    }
}

const UNPROVED: StreamError = StreamError::Wrong("entries of a state that their nodes do not prove");

struct Proof<'a> {
    /// By hash, without its first bit.
    nodes: HashMap<Hash, &'a TrieNode>,
    start: StateKey,
    last: StateKey,
}

impl Proof<'_> {
    /// That the entries with a prefix of `depth` bits are all those of the node with this hash, as far as they are
    /// between the first key and the last.
    fn check(
        &self,
        hash: Hash,
        depth: usize,
        prefix: StateKey,
        entries: &[(StateKey, Bytes)],
    ) -> Result<(), StreamError> {
        let hash = without_first_bit(hash);
        let (low, high) = (prefix, with_ones(prefix, depth));
        if high < self.start || low > self.last {
            return if entries.is_empty() { Ok(()) } else { Err(UNPROVED) };
        }
        let holds = if hash.is_zero() {
            entries.is_empty()
        } else if let Some(node) = self.nodes.get(&hash) {
            if node[0] & 0x80 == 0 {
                return self.check_branch(node, depth, prefix, entries);
            }
            self.leaf_holds(node, entries)
        } else {
            // Nothing on the paths: it must be known as a whole.
            low >= self.start && high <= self.last && without_first_bit(subtree(entries, depth)) == hash
        };
        if holds { Ok(()) } else { Err(UNPROVED) }
    }

    fn check_branch(
        &self,
        node: &TrieNode,
        depth: usize,
        prefix: StateKey,
        entries: &[(StateKey, Bytes)],
    ) -> Result<(), StreamError> {
        if depth >= KEY_BITS {
            return Err(UNPROVED);
        }
        let (left, right) = split(entries, depth);
        let mut right_prefix = prefix;
        right_prefix[depth / 8] |= 0x80 >> (depth % 8);
        self.check(Hash::from_slice(&node[..32]), depth + 1, prefix, left)?;
        self.check(Hash::from_slice(&node[32..]), depth + 1, right_prefix, right)
    }

    fn leaf_holds(&self, node: &TrieNode, entries: &[(StateKey, Bytes)]) -> bool {
        let key = StateKey::from_slice(&node[1..32]);
        match entries {
            [] => key < self.start || key > self.last,
            [(found, value)] => *found == key && leaf(found, value) == *node,
            _ => false,
        }
    }
}

/// The last key with a prefix of `depth` bits.
fn with_ones(mut prefix: StateKey, depth: usize) -> StateKey {
    for at in depth..KEY_BITS {
        prefix[at / 8] |= 0x80 >> (at % 8);
    }
    prefix
}
