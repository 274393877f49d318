//! What readers see of the blocks and of the open one. Everything large is shared.

use super::{EvmBlocks, EvmCodes, Folded};
use crate::{Blocks, Broken};
use alloy_consensus::{Header, ReceiptEnvelope};
use core::fmt::Debug;
use state::{Codes, Layer, evm::BlockChanges};
use std::{collections::BTreeMap, sync::Arc};
use types::{BlockId, Chunked, ReceiptedBlock, RefineGases, Sizes, Transaction};

/// A block in memory, with the state after it.
#[derive(Clone, Debug)]
pub struct ShownBlock<V> {
    /// The block and its receipts.
    pub block: ReceiptedBlock,
    /// The state after it.
    pub layer: Layer<V>,
}

impl<V> ShownBlock<V> {
    /// Number and hash.
    pub const fn id(&self) -> BlockId {
        self.block.block.id()
    }
}

/// The blocks in memory.
#[derive(Clone, Debug)]
pub struct EvmView<V, C> {
    /// Oldest first, without a gap; the last is the newest. Shared with other views, so that one costs what it changes.
    pub blocks: Chunked<Arc<ShownBlock<V>>>,
    /// Every code that their states have.
    pub codes: EvmCodes<C>,
    /// How large the newest blocks came out, by number. Not known of blocks from before a restart.
    pub sizes: Arc<BTreeMap<u64, Sizes>>,
    /// What runs that were packed lately take of the gas of a package.
    pub refine_gas: RefineGases,
    /// Counts how often the states got another base: while it is the same, the state of a block is the same.
    pub rebased: u64,
}

/// The open block.
#[derive(Clone, Debug)]
pub struct OpenView<V, C> {
    /// Its header so far.
    pub header: Header,
    /// What was executed into it.
    pub transactions: Arc<[Transaction]>,
    /// One per transaction.
    pub receipts: Arc<[ReceiptEnvelope]>,
    /// The state that it stands on,
    pub layer: Layer<V>,
    /// the codes there,
    pub codes: EvmCodes<C>,
    /// and what it changed.
    pub changes: Arc<BlockChanges>,
}

impl<V, C> EvmBlocks<V, C>
where
    V: Folded + Clone + Debug,
    C: Codes + Clone + Debug,
{
    /// Shows a block, if its state is in memory.
    pub(super) fn show(&mut self, number: u64) {
        let built = self.unfinished.get(&number).map(super::Built::receipted);
        let block = built.or_else(|| self.finals.get(&number).cloned());
        if let (Some(block), Some(layer)) = (block, self.states.get(&number)) {
            self.shown.push(Arc::new(ShownBlock { block, layer: layer.clone() }));
        }
    }

    /// Shows all blocks whose states are in memory: after their states got another base.
    pub(super) fn show_all(&mut self) {
        self.shown = Chunked::default();
        let numbers = self.states.keys().copied().collect::<Vec<_>>();
        numbers.into_iter().for_each(|number| self.show(number));
    }

    /// Hides blocks whose states are not in memory any more.
    pub(super) fn hide(&mut self) {
        let oldest = self.states.first_key_value().map_or(0, |(number, _)| *number);
        let hidden = self.shown.iter().take_while(|block| block.id().number < oldest).count();
        self.shown.drop_front(hidden);
        let newest = self.newest_id().number;
        while self.shown.last().is_some_and(|block| block.id().number > newest) {
            self.shown.pop();
        }
    }

    pub(super) fn view_now(&self) -> EvmView<V, C> {
        EvmView {
            blocks: self.shown.clone(),
            codes: self.codes.clone(),
            sizes: Arc::clone(&self.sizes),
            refine_gas: self.refine_gas.clone(),
            rebased: self.rebased,
        }
    }

    pub(super) fn shown_open(&self, open: &<Self as Blocks>::Open) -> Result<OpenView<V, C>, Broken> {
        let changes = open.state().changes().map_err(|why| Broken::State(why.to_string()))?;
        Ok(OpenView {
            header: open.header().clone(),
            transactions: open.transactions().into(),
            receipts: open.receipts().into(),
            layer: self.newest_state()?.clone(),
            codes: self.codes.clone(),
            changes: Arc::new(changes),
        })
    }
}
