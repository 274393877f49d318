//! Making a witness: open what the keys need, close the rest.

use super::{Opening, StemProof, Token, Witness};
use crate::{
    hash::{Hasher, Value},
    key::{Key, goes_right},
    table::{Position, uncovered},
    tree::{Link, Node, NotCovered, StemNode, Tree, warm},
    values::Values,
};
use alloc::{collections::BTreeSet, vec::Vec};

/// Keys whose paths are looked at before they are opened: few enough that all of it is still in the cache then.
const PORTION: usize = 64;

/// Why a witness cannot be made. The state is damaged, or not the one that was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MakeError<E> {
    /// The values could not be read.
    #[error(transparent)]
    Values(#[from] E),
    /// The tree has the key and the values do not.
    #[error("the tree has the key {key}, the values do not: they belong to different states")]
    Inconsistent {
        /// The key.
        key: Key,
    },
    /// The tree was itself made from a witness, one that does not cover the key.
    #[error("{0}")]
    NotCovered(NotCovered),
}

impl Witness {
    /// A witness of a complete tree and its values, which covers exactly these keys.
    pub fn make<V: Values, H: Hasher>(
        tree: &Tree<H>,
        values: &V,
        keys: &BTreeSet<Key>,
    ) -> Result<Self, MakeError<V::Error>> {
        Self::make_knowing(tree, values, keys, &[])
    }

    /// The same for whoever knows what some of the keys hold, in order: only the others are looked up.
    pub(crate) fn make_knowing<V: Values, H: Hasher>(
        tree: &Tree<H>,
        values: &V,
        keys: &BTreeSet<Key>,
        known: &[(Key, Option<Value>)],
    ) -> Result<Self, MakeError<V::Error>> {
        debug_assert!(known.is_sorted_by(|a, b| a.0 < b.0));
        let keys = keys.iter().copied().collect::<Vec<_>>();
        let witness = Self {
            root: tree.root(),
            tokens: Vec::with_capacity(8 * keys.len()),
            hashes: Vec::with_capacity(8 * keys.len()),
            stems: Vec::with_capacity(keys.len()),
        };
        let mut maker = Maker { witness, values, known };
        maker.node::<H>(&tree.top, &keys, 0, false)?;
        Ok(maker.witness)
    }
}

struct Maker<'a, V> {
    witness: Witness,
    values: &'a V,
    /// Those of the keys that were not come to yet.
    known: &'a [(Key, Option<Value>)],
}

impl<V: Values> Maker<'_, V> {
    fn node<H: Hasher>(
        &mut self,
        link: &Link,
        keys: &[Key],
        depth: usize,
        mut warmed: bool,
    ) -> Result<(), MakeError<V::Error>> {
        if !warmed && keys.len() <= PORTION {
            warm(link, keys.iter(), depth);
            warmed = true;
        }
        let token = match &link.node {
            Node::Empty => Token::Empty,
            _ if keys.is_empty() => Token::Hash,
            Node::Opaque => return Err(MakeError::NotCovered(NotCovered { key: keys[0] })),
            Node::Inner(_) => Token::Internal,
            Node::Stem(_) => Token::Stem,
        };
        self.witness.tokens.push(token);
        match (&link.node, token) {
            (_, Token::Hash) => self.witness.hashes.push(link.hash),
            (Node::Stem(node), _) => {
                let proof = self.stem::<H>(node, keys)?;
                self.witness.stems.push(proof);
            }
            (Node::Inner(children), _) => {
                let (left, right) = keys.split_at(keys.partition_point(|key| !goes_right(key.stem(), depth)));
                self.node::<H>(&children[0], left, depth + 1, warmed)?;
                self.node::<H>(&children[1], right, depth + 1, warmed)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn stem<H: Hasher>(&mut self, node: &StemNode, keys: &[Key]) -> Result<StemProof, MakeError<V::Error>> {
        let stem = node.stem;
        let mut subs = Vec::with_capacity(keys.len());
        subs.extend(keys.iter().filter(|key| *key.stem() == stem).map(Key::sub));
        if subs.is_empty() {
            return Ok(StemProof { stem, opening: Opening::Sealed(node.table.root()) });
        }
        let mut values = Vec::with_capacity(subs.len());
        for sub in subs.iter().copied().filter(|sub| node.table.has(*sub)) {
            let key = Key::of(&stem, sub);
            let value = self.value(&key)?.ok_or(MakeError::Inconsistent { key })?;
            values.push((sub, value));
        }
        let mut rest = Vec::new();
        uncovered(&subs, Position::ROOT, &mut |at| {
            let hash = node.table.hash_at::<H>(at);
            if !hash.is_zero() {
                rest.push((at.code(), hash));
            }
        });
        Ok(StemProof { stem, opening: Opening::Open { subs, values, rest } })
    }

    /// What a key holds. Keys come in order, so what is known of earlier ones is not needed any more.
    fn value(&mut self, key: &Key) -> Result<Option<Value>, V::Error> {
        while let Some(((next, value), later)) = self.known.split_first()
            && next <= key
        {
            self.known = later;
            if next == key {
                return Ok(*value);
            }
        }
        self.values.value(key)
    }
}
