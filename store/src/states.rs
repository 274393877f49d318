//! The states that can be asked for after a restart: the tree is made again from the table of values, and the layers on
//! it from what the blocks since then wrote.

use crate::{
    Result,
    base::{Base, CodeTable},
    reader::Reader,
    store::Store,
    tables::{WRITES, numbered},
    values,
};
use alloy_primitives::map::{Entry, HashMap};
use driver::{EvmBlocks, EvmBuilder, EvmHistory, Folded};
use state::{Key, Layer, Tree, Value, Values};

/// So many values become part of the tree at once.
const PORTION: usize = 1 << 16;

/// The states that a restart makes again.
pub(crate) struct Restored {
    /// Trees after unfinished blocks below the folded one, as they are needed to build on them or to package them.
    past: Vec<(u64, Tree)>,
    /// The states after the folded block and all above it, the newest last.
    layers: Vec<Layer<Base>>,
}

impl Store {
    /// The states after the folded block and all above it: in order, the newest last.
    ///
    /// Reads every value of the table, so `progress` is told how many there were so far, and then how many blocks. The root
    /// of each state is compared with its block's header.
    pub fn states(&self, mut progress: impl FnMut(u64)) -> Result<Vec<Layer<Base>>> {
        let from = self.base().height();
        Ok(self.0.engine.guarded(|| self.restored(from, &mut progress))?.layers)
    }

    /// The state after a block, with its tree. Reads every value of the table and all blocks since then.
    pub fn state_with_tree(&self, number: u64, mut progress: impl FnMut(u64)) -> Result<Option<Layer<Base>>> {
        let base = self.base();
        if number > base.height() {
            let layers = self.states(progress)?;
            return Ok(layers.into_iter().find(|layer| layer.height() == number));
        }
        let Some(values) = base.at(number)? else { return Ok(None) };
        let tree = self.0.engine.guarded(|| self.tree_at(&base, number, &mut progress))?;
        Ok(Some(Layer::new(values, tree, number)))
    }

    /// The blocks as a driver goes on with them: the last ones with their states. Reads the whole state; `progress` is
    /// called with the number of values so far, and then of blocks.
    pub fn blocks(
        &self,
        builder: EvmBuilder,
        mut progress: impl FnMut(u64),
    ) -> Result<EvmBlocks<Base, CodeTable>> {
        let reader = self.reader()?;
        let finalized = reader.finalized();
        let from = self.base().height().min(finalized.number);
        let Restored { past, layers } = self.0.engine.guarded(|| self.restored(from, &mut progress))?;
        let header = reader.header(finalized.number)?;
        let missing = || self.0.engine.damaged(format!("the header of block {finalized} is missing"));
        let final_header = header.ok_or_else(missing)?;
        let oldest = layers.first().map_or(finalized.number, Layer::height).min(finalized.number);
        let finals = (oldest..=finalized.number).map(|number| reader.receipted(number));
        let finals = finals.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let history = EvmHistory { final_header, finals, states: layers };
        Ok(EvmBlocks::new(builder, history, self.codes()).with_past(past))
    }

    /// Makes the tree after a block that is not above the folded one, and from it what follows; each is compared with the
    /// header of its block.
    pub(crate) fn restored(&self, from: u64, progress: &mut impl FnMut(u64)) -> Result<Restored> {
        let reader = self.reader()?;
        let base = self.base();
        let mut tree = self.tree_at(&base, from, progress)?;
        let mut past = Vec::<(u64, Tree)>::new();
        for number in from..base.height() {
            self.check_root(&reader, number, &tree)?;
            // The nearer to the folded block, the denser: a few dozen, however many blocks there are.
            let distance = base.height() - number;
            if past.last().is_none_or(|(last, _)| distance <= (base.height() - last) * 3 / 4) {
                past.push((number, tree.clone()));
            }
            let writes = base.writes_of(number + 1)?;
            tree = tree.update(&writes.unwrap_or_default());
            progress(number - from + 1);
        }
        let mut layer = Layer::new(base.clone(), tree, base.height());
        let mut layers = Vec::new();
        let engine = &self.0.engine;
        let writes = reader.table(WRITES)?;
        loop {
            let number = layer.height();
            self.check_root(&reader, number, layer.tree())?;
            layers.push(layer);
            if number == reader.newest().number {
                return Ok(Restored { past, layers });
            }
            let bytes = numbered(engine, &writes, "writes", number + 1)?;
            let decoded = values::decode_writes(&bytes)
                .map_err(|error| engine.damaged(format!("what block {} wrote: {error}", number + 1)))?;
            layer = layers[layers.len() - 1].child(&decoded);
        }
    }

    fn check_root(&self, reader: &Reader, number: u64, tree: &Tree) -> Result<()> {
        match reader.header(number)? {
            Some(header) if header.state_root == tree.root() => Ok(()),
            _ => {
                let why = format!("the state after block {number} is not that of its header");
                Err(self.0.engine.damaged(why))
            }
        }
    }

    /// What keys that were written since a block held after it.
    fn written_since(&self, base: &Base, number: u64) -> Result<HashMap<Key, Option<Value>>> {
        let then = base.at(number)?;
        let mut written = HashMap::default();
        for block in number + 1..=base.height() {
            for key in base.changed(block)? {
                if let (Entry::Vacant(entry), Some(then)) = (written.entry(key), &then) {
                    entry.insert(then.value(&key)?);
                }
            }
        }
        Ok(written)
    }

    /// The tree after a block that is not above the folded one.
    fn tree_at(&self, base: &Base, number: u64, progress: &mut impl FnMut(u64)) -> Result<Tree> {
        let written = self.written_since(base, number)?;
        let mut tree = Tree::default();
        let mut count = 0;
        let mut portion = Vec::<(Key, Value)>::with_capacity(PORTION);
        let read = base.slot().each(|key, value| {
            if let Some(value) = written.get(&key).copied().unwrap_or(Some(value)) {
                portion.push((key, value));
            }
            if portion.len() == PORTION {
                count += PORTION as u64;
                tree = tree.extend(portion.drain(..));
                progress(count);
            }
        });
        read.map_err(|error| self.0.engine.error(error.into()))?;
        count += portion.len() as u64;
        let tree = tree.extend(portion);
        progress(count);
        Ok(tree)
    }
}
