//! What readers see of the blocks and of the open one. Everything large is shared.

use super::{EvmBlocks, EvmCodes};
use crate::{Blocks, Broken};
use alloy_consensus::{Header, ReceiptEnvelope};
use core::fmt::Debug;
use state::{Codes, Layer, Values, evm::BlockChanges};
use std::{collections::BTreeMap, sync::Arc};
use types::{BlockId, ReceiptedBlock, Sizes, Transaction};

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
    /// Oldest first, without a gap; the last is the newest.
    pub blocks: Vec<ShownBlock<V>>,
    /// Every code that their states have.
    pub codes: EvmCodes<C>,
    /// How large the newest blocks came out, by number. Not known of blocks from before a restart.
    pub sizes: Arc<BTreeMap<u64, Sizes>>,
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
    V: Values + Clone + Debug,
    C: Codes + Clone + Debug,
{
    pub(super) fn shown(&self) -> EvmView<V, C> {
        let finals = self.finals.values().cloned();
        let blocks = finals.chain(self.unfinished.values().map(super::Built::receipted));
        let blocks = blocks.filter_map(|block| {
            let layer = self.states.get(&block.block.id().number)?.clone();
            Some(ShownBlock { block, layer })
        });
        EvmView {
            blocks: blocks.collect(),
            codes: self.codes.clone(),
            sizes: Arc::clone(&self.sizes),
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
