//! The part of a tree that a witness opens: what validators execute on.

use crate::{
    Writes,
    hash::{Blake2b, Hash, Hasher, Value},
    key::{Key, goes_right},
    tree::{End, Link, Node, NotCovered, Tree},
    values::Values,
};
use alloc::{collections::BTreeMap, vec::Vec};

/// A tree that knows some of its keys: what they hold, or that they never were written. Asked about any other it says
/// so, with an error; it never takes what it does not know for zero.
///
/// Any number of blocks can be executed on it, one after the other: [`update`](PartialTree::update) writes what each of them
/// changed, and [`covers_exactly`](PartialTree::covers_exactly) is about the witness whatever was written since.
#[derive(Clone, Debug)]
pub struct PartialTree<H = Blake2b> {
    /// As the witness opened it.
    opened: Tree<H>,
    /// With what was written since.
    tree: Tree<H>,
    /// The keys that open stems of the witness cover.
    known: BTreeMap<Key, Option<Value>>,
    /// What was written since.
    written: BTreeMap<Key, Value>,
}

/// How a witness differs from the one that covers exactly some keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoverageError {
    /// A key was used that it does not cover.
    #[error(transparent)]
    Missing(#[from] NotCovered),
    /// It covers a key that was not used.
    #[error("the witness covers the key {0}, which nothing used")]
    Excess(Key),
    /// It opens a node on no key's path.
    #[error("the witness opens a node at depth {depth} that no used key needs")]
    Opened {
        /// The depth of the node.
        depth: usize,
    },
}

impl<H: Hasher> PartialTree<H> {
    pub(super) fn new(tree: Tree<H>, known: impl Iterator<Item = (Key, Option<Value>)>) -> Self {
        Self { opened: tree.clone(), tree, known: known.collect(), written: BTreeMap::new() }
    }

    /// The root.
    pub fn root(&self) -> Hash {
        self.tree.root()
    }

    /// What a key holds, or `None` if it never was written.
    pub fn get(&self, key: &Key) -> Result<Option<Value>, NotCovered> {
        match self.written.get(key) {
            Some(value) => Ok(Some(*value)),
            None => self.opened_value(key),
        }
    }

    /// What a key held before anything was written. A key that the witness does not cover stays uncovered: writes only go
    /// where it is known what was there.
    fn opened_value(&self, key: &Key) -> Result<Option<Value>, NotCovered> {
        if let Some(value) = self.known.get(key) {
            return Ok(*value);
        }
        match self.opened.find(key.stem()) {
            End::Absent => Ok(None),
            End::Stem(node) if node.complete => Ok(None),
            End::Stem(_) | End::Opaque => Err(NotCovered { key: *key }),
        }
    }

    /// Writes values and gives the new root, which is that of the whole tree with the same writes. If a key is not
    /// covered nothing is written.
    pub fn update(&mut self, writes: &Writes) -> Result<Hash, NotCovered> {
        writes.keys().try_for_each(|key| self.get(key).map(drop))?;
        self.tree = self.tree.try_extend(writes.iter().map(|(key, value)| (*key, *value)))?;
        self.written.extend(writes.iter().map(|(key, value)| (*key, *value)));
        Ok(self.root())
    }

    /// Checks that the witness is the one which covers exactly these keys: that it has all they need, and nothing that none of
    /// them needs. The keys may come in any order, and more than once.
    pub fn covers_exactly(&self, keys: impl IntoIterator<Item = Key>) -> Result<(), CoverageError> {
        let mut keys = keys.into_iter().collect::<Vec<_>>();
        keys.sort_unstable();
        keys.dedup();
        let mut used = keys.iter().peekable();
        for known in self.known.keys() {
            while used.next_if(|key| *key < known).is_some() {}
            if used.next_if_eq(&known).is_none() {
                return Err(CoverageError::Excess(*known));
            }
        }
        self.needed(&self.opened.top, &keys, 0)
    }

    fn needed(&self, link: &Link, keys: &[Key], depth: usize) -> Result<(), CoverageError> {
        match &link.node {
            Node::Empty => Ok(()),
            Node::Opaque => keys.first().map_or(Ok(()), |key| Err(NotCovered { key: *key }.into())),
            _ if keys.is_empty() => Err(CoverageError::Opened { depth }),
            Node::Stem(_) => keys.iter().try_for_each(|key| Ok(self.opened_value(key).map(drop)?)),
            Node::Inner(children) => {
                let (left, right) = keys.split_at(keys.partition_point(|key| !goes_right(key.stem(), depth)));
                self.needed(&children[0], left, depth + 1)?;
                self.needed(&children[1], right, depth + 1)
            }
        }
    }
}

impl<H: Hasher> Values for PartialTree<H> {
    type Error = NotCovered;

    fn value(&self, key: &Key) -> Result<Option<Value>, NotCovered> {
        self.get(key)
    }
}
