//! The states that can be asked for after a restart: the tree is made again from the table of values, and the layers on
//! it from what the blocks since then wrote.

use crate::{
    Result,
    base::{Base, CodeTable},
    store::Store,
    tables::{WRITES, numbered},
    values,
};
use driver::{EvmBlocks, EvmBuilder, EvmHistory};
use state::{Key, Layer, Tree, Value};

/// So many values become part of the tree at once.
const PORTION: usize = 1 << 16;

impl Store {
    /// The states after the folded block, all final ones above it, and the unfinished ones: in order, the newest last.
    ///
    /// Reads every value of the table, so `progress` is told how many there were so far. The root of each state is
    /// compared with its block's header.
    pub fn states(&self, mut progress: impl FnMut(u64)) -> Result<Vec<Layer<Base>>> {
        self.0.engine.guarded(|| self.layers(&mut progress))
    }

    /// The blocks as a driver goes on with them: the last final ones with their states. Reads the whole state; `progress` is
    /// called with the number of values so far.
    pub fn blocks(
        &self,
        builder: EvmBuilder,
        progress: impl FnMut(u64),
    ) -> Result<EvmBlocks<Base, CodeTable>> {
        let states = self.states(progress)?;
        let reader = self.reader()?;
        let finalized = reader.finalized();
        let header = reader.header(finalized.number)?;
        let missing = || self.0.engine.damaged(format!("the header of block {finalized} is missing"));
        let final_header = header.ok_or_else(missing)?;
        let numbers = states.iter().map(Layer::height).filter(|number| *number <= finalized.number);
        let finals = numbers.map(|number| reader.receipted(number)).collect::<Result<Vec<_>>>()?;
        let history = EvmHistory { final_header, finals: finals.into_iter().flatten().collect(), states };
        Ok(EvmBlocks::new(builder, history, self.codes()))
    }

    fn layers(&self, progress: &mut impl FnMut(u64)) -> Result<Vec<Layer<Base>>> {
        let reader = self.reader()?;
        let base = self.base();
        let mut layer = Layer::new(base.clone(), self.tree(&base, progress)?, base.height());
        let mut layers = Vec::new();
        let engine = &self.0.engine;
        let writes = reader.table(WRITES)?;
        loop {
            let number = layer.height();
            let header = reader.header(number)?;
            if header.is_none_or(|header| header.state_root != layer.root()) {
                return Err(
                    engine.damaged(format!("the state after block {number} is not that of its header"))
                );
            }
            layers.push(layer);
            if number == reader.newest().number {
                return Ok(layers);
            }
            let bytes = numbered(engine, &writes, "writes", number + 1)?;
            let decoded = values::decode_writes(&bytes)
                .map_err(|error| engine.damaged(format!("what block {} wrote: {error}", number + 1)))?;
            layer = layers[layers.len() - 1].child(&decoded);
        }
    }

    fn tree(&self, base: &Base, progress: &mut impl FnMut(u64)) -> Result<Tree> {
        let mut tree = Tree::default();
        let mut count = 0;
        let mut portion = Vec::<(Key, Value)>::with_capacity(PORTION);
        let read = base.slot().each(|key, value| {
            portion.push((key, value));
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
