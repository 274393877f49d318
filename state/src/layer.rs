//! One state on top of another: each unfinished block is a layer on its parent.
//!
//! ```text
//!   base (a table of values)  <-  block 1  <-  block 2  <-  block 3
//!                                          <-  block 2'           any number of siblings
//! ```
//!
//! A layer owns its tree, whose nodes it shares with its parent, and shares the values that were written since the base.
//! Those are kept in runs: a new layer adds a run of its own, and runs of equal length become one, so a read asks few
//! maps, of the order of the logarithm of the number of layers. No layer points to its parent: dropping one frees what is its alone.

use crate::{
    Writes,
    hash::{Blake2b, Hash, Hasher, Value},
    key::Key,
    tree::Tree,
    values::Values,
    witness::{MakeError, Witness},
};
use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};
use alloy_primitives::map::HashMap;

/// Runs of this many layers can always become one. Longer ones only if they are not more than a quarter of all layers: if
/// the oldest run grew with every new one, it would never be forgotten.
const RUN_LAYERS: u64 = 16;

/// The values that some consecutive layers wrote.
#[derive(Debug)]
struct Run {
    /// The height of the last layer in it.
    height: u64,
    layers: u64,
    values: HashMap<Key, Value>,
}

/// A state: the tree with its root, and the values.
pub struct Layer<V, H = Blake2b> {
    base: V,
    height: u64,
    tree: Tree<H>,
    /// Oldest first.
    runs: Vec<Arc<Run>>,
}

impl<V: Clone, H> Clone for Layer<V, H> {
    fn clone(&self) -> Self {
        Self {
            base: self.base.clone(),
            height: self.height,
            tree: self.tree.clone(),
            runs: self.runs.clone(),
        }
    }
}

impl<V, H> core::fmt::Debug for Layer<V, H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Layer").field("height", &self.height).field("tree", &self.tree).finish()
    }
}

impl<V: Values + Clone, H: Hasher> Layer<V, H> {
    /// The state of the base alone. `height` is the number of the block that it belongs to, `tree` the tree over
    /// exactly its values.
    pub fn new(base: V, tree: Tree<H>, height: u64) -> Self {
        Self { base, height, tree, runs: Vec::new() }
    }

    /// The state after these writes, one higher.
    #[must_use]
    pub fn child(&self, writes: &Writes) -> Self {
        let tree = self.tree.update(writes);
        let height = self.height + 1;
        let mut runs = self.runs.clone();
        let values = writes.iter().map(|(key, value)| (*key, *value)).collect();
        runs.push(Arc::new(Run { height, layers: 1, values }));
        merge(&mut runs);
        Self { base: self.base.clone(), height, tree, runs }
    }

    /// The same state once the base holds everything up to and including the layer at `height`.
    #[must_use]
    pub fn folded(&self, height: u64) -> Self {
        let mut layer = self.clone();
        layer.runs.retain(|run| run.height > height);
        layer
    }

    /// The same state over another base, which must hold what the old one held, or all of it up to where this layer is
    /// [folded](Layer::folded).
    #[must_use]
    pub fn on<W>(self, base: W) -> Layer<W, H> {
        Layer { base, height: self.height, tree: self.tree, runs: self.runs }
    }

    /// Proves what these keys hold, and that the others among them never were written.
    pub fn witness(&self, keys: &BTreeSet<Key>) -> Result<Witness, MakeError<V::Error>> {
        Witness::make(&self.tree, self, keys)
    }

    /// The same for whoever has read some of them from this state: `known` is what they hold, in the order of the keys.
    /// In a large state to look a value up again costs more than the rest of its proof.
    pub fn witness_knowing(
        &self,
        keys: &BTreeSet<Key>,
        known: &[(Key, Option<Value>)],
    ) -> Result<Witness, MakeError<V::Error>> {
        Witness::make_knowing(&self.tree, self, keys, known)
    }
}

impl<V, H> Layer<V, H> {
    /// The root of the tree.
    pub fn root(&self) -> Hash {
        self.tree.root()
    }

    /// The number of the block whose state this is.
    pub fn height(&self) -> u64 {
        self.height
    }

    /// What it stands on.
    pub fn base(&self) -> &V {
        &self.base
    }

    /// The tree.
    pub fn tree(&self) -> &Tree<H> {
        &self.tree
    }
}

impl<V: Values, H> Values for Layer<V, H> {
    type Error = V::Error;

    fn value(&self, key: &Key) -> Result<Option<Value>, V::Error> {
        match self.runs.iter().rev().find_map(|run| run.values.get(key)) {
            Some(value) => Ok(Some(*value)),
            None => self.base.value(key),
        }
    }
}

fn merge(runs: &mut Vec<Arc<Run>>) {
    let layers_max = (runs.iter().map(|run| run.layers).sum::<u64>() / 4).max(RUN_LAYERS);
    while let [.., older, newer] = runs.as_slice() {
        if older.layers != newer.layers || newer.layers * 2 > layers_max {
            return;
        }
        let mut values = older.values.clone();
        values.extend(newer.values.iter().map(|(key, value)| (*key, *value)));
        let merged = Run { height: newer.height, layers: older.layers + newer.layers, values };
        runs.truncate(runs.len() - 2);
        runs.push(Arc::new(merged));
    }
}
