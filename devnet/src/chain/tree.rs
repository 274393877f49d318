//! The tree of blocks from the finalized one on, each with the state after it.
//!
//! The best block is the highest one; of several the one with the smallest hash, as followers choose too. Finalized
//! blocks are kept for whoever asks, the last ones with their states.

use super::{BlockRefusal, Entries, Rules, State};
use alloy_primitives::Bytes;
use jam::{
    Block, Ed25519Key, Hash, HeaderHash,
    spec::StateKey,
    state::StateError,
    trie::{self, Leaves},
};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

/// How much is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeLimits {
    /// Blocks above the finalized one.
    pub unfinalized_max: usize,
    /// Finalized blocks, for whoever asks.
    pub finalized_max: usize,
    /// Finalized blocks whose states are kept too.
    pub past_states_max: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { unfinalized_max: 4096, finalized_max: 50_000, past_states_max: 32 }
    }
}

/// A block with the state after it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its hash.
    pub hash: HeaderHash,
    /// The block.
    pub block: Arc<Block>,
    /// How many blocks are below it.
    pub height: u64,
    /// The state after it.
    pub state: Arc<State>,
    /// The same as keys and values.
    pub entries: Arc<Entries>,
    /// The root of that state.
    pub root: Hash,
    /// The hashes that the root is over.
    leaves: Arc<Leaves>,
    children: Vec<HeaderHash>,
}

impl Node {
    /// The slot of the block.
    pub fn slot(&self) -> u32 {
        self.block.header.slot
    }

    /// The block before.
    pub fn parent(&self) -> HeaderHash {
        self.block.header.parent
    }

    /// A block whose state is given by its entries, and not by applying it.
    pub fn given(rules: &Rules, block: Block, height: u64, entries: Entries) -> Result<Self, StateError> {
        let state = State::from_entries(&rules.params, &entries)?;
        let hash = block.header.hash();
        if let Some(found) = state.head().filter(|found| *found != hash) {
            return Err(StateError::OtherBlock { expected: hash, found });
        }
        let leaves = leaves(&entries, None);
        Ok(Self {
            hash,
            block: Arc::new(block),
            height,
            state: Arc::new(state),
            root: trie::root_of_leaves(&leaves),
            leaves: Arc::new(leaves),
            entries: Arc::new(entries),
            children: vec![],
        })
    }
}

/// What an import did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Imported {
    /// The block was known.
    Known,
    /// The block is new, and the best one now.
    Best,
    /// The block is new; another one is best.
    Side,
}

/// The tree.
#[derive(Debug)]
pub struct Tree {
    pub(super) rules: Rules,
    limits: TreeLimits,
    pub(super) nodes: HashMap<HeaderHash, Node>,
    pub(super) best: HeaderHash,
    pub(super) finalized: HeaderHash,
    /// Finalized blocks below the finalized one, oldest first.
    below: VecDeque<(u64, HeaderHash)>,
    archive: HashMap<HeaderHash, Arc<Block>>,
    past: VecDeque<Node>,
    pub(super) words: BTreeMap<Ed25519Key, HeaderHash>,
}

impl Tree {
    /// A tree that begins at a finalized block.
    pub fn new(rules: Rules, limits: TreeLimits, start: Node) -> Self {
        let hash = start.hash;
        Self {
            rules,
            limits,
            nodes: [(hash, start)].into(),
            best: hash,
            finalized: hash,
            below: VecDeque::new(),
            archive: HashMap::new(),
            past: VecDeque::new(),
            words: BTreeMap::new(),
        }
    }

    /// Adds a finalized block from before the start, oldest first.
    pub fn remember(&mut self, height: u64, block: Arc<Block>) {
        let hash = block.header.hash();
        self.below.push_back((height, hash));
        self.archive.insert(hash, block);
        while self.below.len() > self.limits.finalized_max {
            if let Some((_, oldest)) = self.below.pop_front() {
                self.archive.remove(&oldest);
            }
        }
    }

    /// What all agree on.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The best block.
    pub fn best(&self) -> &Node {
        &self.nodes[&self.best]
    }

    /// The finalized block.
    pub fn finalized(&self) -> &Node {
        &self.nodes[&self.finalized]
    }

    /// A block at or above the finalized one.
    pub fn get(&self, hash: HeaderHash) -> Option<&Node> {
        self.nodes.get(&hash)
    }

    /// All blocks at or above the finalized one, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Blocks that nothing builds on.
    pub fn leaves(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().filter(|node| node.children.is_empty())
    }

    /// Whether a block is known, be it in the tree or below it.
    pub fn contains(&self, hash: HeaderHash) -> bool {
        self.nodes.contains_key(&hash) || self.archive.contains_key(&hash)
    }

    /// A block, be it in the tree or below it.
    pub fn block(&self, hash: HeaderHash) -> Option<&Arc<Block>> {
        self.nodes.get(&hash).map(|node| &node.block).or_else(|| self.archive.get(&hash))
    }

    /// The entries of the state after a block, as far back as they are kept.
    pub fn entries(&self, hash: HeaderHash) -> Option<&Arc<Entries>> {
        let past = || self.past.iter().find(|node| node.hash == hash);
        self.nodes.get(&hash).or_else(past).map(|node| &node.entries)
    }

    /// The block that stands on another one: on the finalized chain the only one, above it the one below the best.
    pub fn next(&self, hash: HeaderHash) -> Option<&Arc<Block>> {
        if let Some(node) = self.nodes.get(&hash) {
            let on_best = |child: &&HeaderHash| self.is_ancestor_of(**child, self.best);
            let child = node.children.iter().find(on_best).or(node.children.first())?;
            return self.block(*child);
        }
        let place = self.below.iter().rposition(|(_, known)| *known == hash)?;
        let next = self.below.get(place + 1).map_or(self.finalized, |(_, next)| *next);
        self.block(next)
    }

    /// Whether a block of the tree is below another one, or that one itself.
    pub fn is_ancestor_of(&self, ancestor: HeaderHash, descendant: HeaderHash) -> bool {
        let Some(target) = self.nodes.get(&ancestor) else { return false };
        let above = self.up(descendant).take_while(|node| node.height >= target.height);
        above.last().is_some_and(|node| node.hash == ancestor)
    }

    /// A block and those below it, down to the finalized one.
    pub fn up(&self, from: HeaderHash) -> impl Iterator<Item = &Node> {
        let below = |node: &&Node| self.nodes.get(&node.parent()).filter(|_| node.hash != self.finalized);
        std::iter::successors(self.nodes.get(&from), below)
    }

    /// Whether a block of a slot is below `head` or `head` itself, finalized blocks included.
    pub fn is_ancestor(&self, head: HeaderHash, slot: u32, hash: HeaderHash) -> bool {
        match self.nodes.get(&hash) {
            Some(node) => node.slot() == slot && self.is_ancestor_of(hash, head),
            None => self.archive.get(&hash).is_some_and(|block| block.header.slot == slot),
        }
    }

    /// Checks a block and takes it over. On a refusal nothing changes.
    pub fn import(&mut self, block: Arc<Block>) -> Result<Imported, BlockRefusal> {
        let hash = block.header.hash();
        if self.contains(hash) {
            return Ok(Imported::Known);
        }
        let parent_hash = block.header.parent;
        let Some(parent) = self.nodes.get(&parent_hash) else {
            let stale = self.archive.contains_key(&parent_hash);
            return Err(if stale { BlockRefusal::Stale } else { BlockRefusal::Parent });
        };
        if self.nodes.len() > self.limits.unfinalized_max {
            return Err(BlockRefusal::Full);
        }
        let is_ancestor = |slot, hash| self.is_ancestor(parent_hash, slot, hash);
        let state = parent.state.apply(&self.rules, parent.root, hash, &block, &is_ancestor)?;
        let mut entries = state.entries();
        share(&mut entries, &parent.entries);
        let leaves = leaves(&entries, Some(parent));
        let node = Node {
            hash,
            block,
            height: parent.height + 1,
            root: trie::root_of_leaves(&leaves),
            leaves: Arc::new(leaves),
            entries: Arc::new(entries),
            state: Arc::new(state),
            children: vec![],
        };
        Ok(self.insert(node))
    }

    fn insert(&mut self, node: Node) -> Imported {
        let (hash, place) = (node.hash, (node.height, std::cmp::Reverse(node.hash)));
        if let Some(parent) = self.nodes.get_mut(&node.parent()) {
            parent.children.push(hash);
        }
        self.nodes.insert(hash, node);
        let best = self.best();
        if place <= (best.height, std::cmp::Reverse(best.hash)) {
            return Imported::Side;
        }
        self.best = hash;
        Imported::Best
    }

    /// Makes a block of the tree final: what does not stand on it goes. Gives the blocks that became final, in order.
    pub(super) fn make_final(&mut self, hash: HeaderHash) -> Vec<Node> {
        let mut path = self.up(hash).map(|node| node.hash).collect::<Vec<_>>();
        path.reverse();
        let keep = self.nodes.values().filter(|node| self.is_ancestor_of(hash, node.hash));
        let keep = keep.map(|node| node.hash).collect::<std::collections::HashSet<_>>();
        let became = path.iter().skip(1).filter_map(|hash| self.nodes.get(hash)).cloned().collect();
        for old in path.iter().filter(|old| **old != hash) {
            if let Some(node) = self.nodes.remove(old) {
                self.remember(node.height, Arc::clone(&node.block));
                self.past.push_back(node);
            }
        }
        while self.past.len() > self.limits.past_states_max {
            self.past.pop_front();
        }
        self.nodes.retain(|hash, _| keep.contains(hash));
        self.finalized = hash;
        if !self.nodes.contains_key(&self.best) {
            let place = |node: &&Node| (node.height, std::cmp::Reverse(node.hash));
            self.best = self.nodes.values().max_by_key(place).map_or(hash, |node| node.hash);
        }
        became
    }
}

/// Values that did not change take no memory of their own.
fn share(entries: &mut Entries, before: &Entries) {
    for (key, value) in entries {
        // A service's code has megabytes; most often it is shared already.
        if let Some(old) = before.get(key).filter(|old| !is_shared(old, value) && *old == value) {
            *value = old.clone();
        }
    }
}

fn is_shared(one: &Bytes, other: &Bytes) -> bool {
    std::ptr::eq(one.as_ptr(), other.as_ptr()) && one.len() == other.len()
}

/// The hash of each entry; of those that are shared with the block before, its hash.
fn leaves(entries: &Entries, before: Option<&Node>) -> Leaves {
    let known = |key: &StateKey, value: &Bytes| {
        let before = before?;
        let old = before.entries.get(key).filter(|old| is_shared(old, value))?;
        before.leaves.get(key).copied().filter(|_| !old.is_empty())
    };
    let hash = |key: &StateKey, value: &Bytes| {
        known(key, value).unwrap_or_else(|| trie::hash_of(&trie::leaf(key, value)))
    };
    entries.iter().map(|(key, value)| (*key, hash(key, value))).collect()
}
