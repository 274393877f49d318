//! The tree itself: hashes of everything, values of nothing.
//!
//! Nodes are shared. An update copies the nodes from the root to what changed and shares all others with the tree it
//! started from, which stays as it was; so a fork costs what it changes, and a tree is freed by dropping it. Each link
//! carries the hash of what it points to: the siblings along a path are never visited.

mod opened;
mod update;

pub(crate) use opened::nodes_below;
pub use opened::{Opened, WRITTEN_TOGETHER};
pub(crate) use update::warm;

use crate::{
    Writes,
    hash::{Blake2b, Hash, Hasher},
    key::{Key, Stem, goes_right},
    table::Table,
};
use alloc::sync::Arc;
use core::{fmt, marker::PhantomData};

/// A Unified Binary Tree.
pub struct Tree<H = Blake2b> {
    pub(crate) top: Link,
    /// No node is deeper. Nothing is ever deleted, so it never shrinks.
    deepest: usize,
    hasher: PhantomData<fn() -> H>,
}

/// A node and its hash.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) hash: Hash,
    pub(crate) node: Node,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Empty,
    /// Known by its hash alone; only in trees that came from a witness.
    Opaque,
    Inner(Arc<[Link; 2]>),
    Stem(Arc<StemNode>),
}

#[derive(Debug)]
pub(crate) struct StemNode {
    pub(crate) stem: Stem,
    /// Whether the table has every leaf there is. False for a stem that came from a witness.
    pub(crate) complete: bool,
    pub(crate) table: Table,
}

impl Link {
    pub(crate) const EMPTY: Self = Self { hash: Hash::ZERO, node: Node::Empty };
}

static NOTHING: Link = Link::EMPTY;

/// Where the path of a stem ends.
pub(crate) enum End<'a> {
    /// At nothing, or at another stem: there is no such stem.
    Absent,
    /// At the stem.
    Stem(&'a StemNode),
    /// At a node that the witness does not open.
    Opaque,
}

/// The tree was made from a witness, and the witness does not cover the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the witness does not cover the key {key}")]
pub struct NotCovered {
    /// The key.
    pub key: Key,
}

impl<H> Clone for Tree<H> {
    fn clone(&self) -> Self {
        Self { top: self.top.clone(), deepest: self.deepest, hasher: PhantomData }
    }
}

impl<H> Default for Tree<H> {
    fn default() -> Self {
        Self { top: Link::EMPTY, deepest: 0, hasher: PhantomData }
    }
}

impl<H> fmt::Debug for Tree<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tree").field(&self.top.hash).finish()
    }
}

impl<H> Tree<H> {
    pub(crate) fn from_link(top: Link, deepest: usize) -> Self {
        Self { top, deepest, hasher: PhantomData }
    }

    /// The hash of the whole; zero if there is nothing.
    pub fn root(&self) -> Hash {
        self.top.hash
    }

    /// The depth of the deepest node: no path is longer, so a bound of what a witness needs for one stem.
    pub fn deepest(&self) -> usize {
        self.deepest
    }

    pub(crate) fn find(&self, stem: &Stem) -> End<'_> {
        let mut link = &self.top;
        let mut depth = 0;
        loop {
            match &link.node {
                Node::Empty => return End::Absent,
                Node::Opaque => return End::Opaque,
                Node::Stem(node) if node.stem == *stem => return End::Stem(node),
                Node::Stem(_) => return End::Absent,
                Node::Inner(children) => link = &children[usize::from(goes_right(stem, depth))],
            }
            depth += 1;
        }
    }
}

impl<H: Hasher> Tree<H> {
    /// The tree in which these values are written.
    #[must_use]
    pub fn update(&self, writes: &Writes) -> Self {
        self.extend(writes.iter().map(|(key, value)| (*key, *value)))
    }

    /// The tree in which these values are written; quickest if the keys come in order. Of a key that comes twice the
    /// later value counts.
    ///
    /// This is how a tree is made again from a table of all values: it takes them in portions, so their number does not
    /// matter.
    #[must_use]
    pub fn extend(&self, writes: impl IntoIterator<Item = (Key, crate::Value)>) -> Self {
        self.try_extend(writes)
            .expect("only a tree from a witness has opaque nodes, and PartialTree guards it")
    }

    /// Whether the key was ever written. Meaningful in complete trees only.
    pub fn contains(&self, key: &Key) -> bool {
        matches!(self.find(key.stem()), End::Stem(node) if node.table.has(key.sub()))
    }
}
