//! From the driver's snapshots to those that RPC reads.
//!
//! A block in an RPC snapshot has an index of its transactions, which is made once and shared by all snapshots that show
//! the block.

use super::Blocks;
use bundler::Packaged;
use driver::{Broken, EvmCodes, EvmView, News, OpenView, Outgoing, Output, Responder, Results, ShownBlock};
use rpc::{
    Health, Insight, LayerState, OpenState, Parts, PendingBlock, RecentBlock, RecentBlocks, Snapshot,
    SnapshotError, State, Tags,
};
use std::sync::Arc;
use store::{Base, Batch, CodeTable};

/// What follows from a step of the driver, as the journal's thread takes it.
#[derive(Debug, Default)]
pub(crate) struct Step {
    /// What must become durable first.
    pub(crate) batch: Batch,
    /// What readers hear of then; its snapshot is the next one.
    pub(crate) news: News<Blocks>,
    /// What reads show from then on, if that changed.
    pub(crate) snapshot: Option<Snapshot>,
    /// Clients to answer then.
    pub(crate) answers: Vec<(Responder, Results)>,
    /// What to send then, if the window is still open.
    pub(crate) sends: Vec<Outgoing<Packaged>>,
}

/// The open block, as the driver shows it.
type Pending = OpenView<Base, CodeTable>;

/// What was shown last, and can be shown again.
#[derive(Default)]
pub(crate) struct Shown {
    blocks: RecentBlocks,
    /// The base that their states have.
    rebased: u64,
    /// The open block that was shown, and what it became.
    pending: Option<(Arc<Pending>, Arc<PendingBlock>)>,
}

impl Shown {
    /// Converts what the driver gave.
    pub(crate) fn step(&mut self, output: Output<Blocks>) -> Result<Step, Broken> {
        let Output { batch, mut news, answers, sends, .. } = output;
        let snapshot = news.snapshot.take().map(|snapshot| self.snapshot(&snapshot)).transpose()?;
        Ok(Step { batch, news, snapshot, answers, sends })
    }

    /// Converts a snapshot.
    pub(crate) fn snapshot(&mut self, snapshot: &driver::Snapshot<Blocks>) -> Result<Snapshot, Broken> {
        let driver::Snapshot { blocks, pending, safe, finalized, queue, outlook, pool, rules, .. } = snapshot;
        self.follow(blocks).map_err(|why| Broken::State(why.to_string()))?;
        let parts = Parts {
            tags: Tags { safe: *safe, finalized: *finalized },
            pending: pending.as_ref().map(|open| self.open(open)),
            queue: Arc::clone(queue),
            pool: *pool,
            rules: *rules,
            health: health(snapshot),
            insight: Insight {
                accepted: snapshot.accepted,
                outlook: Some(Arc::clone(outlook)),
                sizes: Arc::clone(&blocks.sizes),
                refine_gas: blocks.refine_gas.clone(),
                slots: Arc::clone(&snapshot.cores),
            },
        };
        Snapshot::of(self.blocks.clone(), parts).map_err(|why| Broken::State(why.to_string()))
    }

    /// Brings the shown blocks in line with the driver's. Costs what changed, unless the states have another base.
    fn follow(&mut self, view: &EvmView<Base, CodeTable>) -> Result<(), SnapshotError> {
        let Some(first) = view.blocks.first().map(|block| block.id().number) else { return Ok(()) };
        let shown = |number: u64| view.blocks.get(usize::try_from(number.checked_sub(first)?).ok()?);
        self.blocks.drop_below(first);
        while let Some(last) = self.blocks.blocks().last().map(|last| last.id()) {
            if shown(last.number).is_some_and(|block| block.id() == last) {
                break;
            }
            self.blocks.pop();
        }
        if std::mem::replace(&mut self.rebased, view.rebased) != view.rebased {
            self.blocks.set_states(|id| Some(state_of(shown(id.number)?, &view.codes)));
        }
        // After a deep release the driver may show a block from before those that were shown.
        let is_same_start = self.blocks.blocks().first().is_none_or(|block| block.id().number == first);
        if !is_same_start {
            self.blocks = RecentBlocks::default();
        }
        for index in self.blocks.blocks().len()..view.blocks.len() {
            let block = &view.blocks[index];
            self.blocks.push(RecentBlock::new(block.block.clone(), state_of(block, &view.codes)))?;
        }
        Ok(())
    }

    fn open(&mut self, open: &Arc<Pending>) -> Arc<PendingBlock> {
        if let Some((was, shown)) = &self.pending
            && Arc::ptr_eq(was, open)
        {
            return Arc::clone(shown);
        }
        let OpenView { header, transactions, receipts, layer, codes, changes } = &**open;
        let shown = Arc::new(PendingBlock {
            header: header.clone(),
            transactions: Arc::clone(transactions),
            receipts: Arc::clone(receipts),
            state: Arc::new(OpenState::new(layer.clone(), codes.clone(), Arc::clone(changes))),
        });
        self.pending = Some((Arc::clone(open), Arc::clone(&shown)));
        shown
    }
}

fn state_of(block: &ShownBlock<Base>, codes: &EvmCodes<CodeTable>) -> Arc<dyn State> {
    Arc::new(LayerState::new(block.layer.clone(), codes.clone()))
}

fn health(snapshot: &driver::Snapshot<Blocks>) -> Health {
    Health {
        paused: snapshot.is_paused,
        halted: snapshot.halted.map(|head| format!("the service's head {head} was not built here")),
        peers: snapshot.peers,
        best_slot: Some(snapshot.best_slot),
        final_slot: Some(snapshot.final_slot),
        syncing: snapshot.is_syncing,
    }
}
