//! What happens by the clock: making a block when a slot begins, assuring what we hold before the next one does.

use super::Inner;
use crate::{
    chain::{Ingredients, Node, Tree},
    event::Deed,
    faults::Fork,
};
use jam::{HeaderHash, SlotClock};
use std::sync::Arc;
use types::{Duration, Time};

/// When assurances of a slot leave: a third of a slot before the next one, which is two seconds of six.
pub(super) fn assurance_time(clock: &SlotClock, slot: u32) -> Time {
    clock.start_of(slot.saturating_add(1)) - clock.slot_duration() / 3
}

/// Runs until it is aborted.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut authored = inner.slot_now();
    let mut assured = authored;
    loop {
        let (now, slot) = (inner.now(), inner.slot_now());
        if slot > authored {
            authored = slot;
            inner.author(slot);
        }
        if slot > assured && now >= assurance_time(&inner.clock, slot) {
            assured = slot;
            inner.assure_if_due();
        }
        let next = match assured < slot {
            true => assurance_time(&inner.clock, slot),
            false => inner.clock.start_of(slot.saturating_add(1)),
        };
        tokio::time::sleep(next.since(inner.now()).max(Duration::from_millis(1))).await;
    }
}

impl Inner {
    /// Makes a block if this slot is ours and no fault keeps us from it.
    fn author(self: &Arc<Self>, slot: u32) {
        if self.faults.is_skipped(slot) {
            return;
        }
        let core = self.core.lock();
        let (parent, with_reports) = self.parent(&core.tree);
        if !core.tree.may_author(&self.keys, parent, slot) {
            return;
        }
        let mut ingredients = core.pool.ingredients(parent);
        if !with_reports {
            ingredients = Ingredients { guarantees: vec![], ..ingredients };
        }
        let block = core.tree.author(&self.keys, parent, slot, &ingredients);
        drop(core);
        let Some(block) = block else { return };
        let hash = block.header.hash();
        let reported = block.extrinsic.guarantees.iter().map(|guarantee| guarantee.report.package());
        let reported = reported.collect::<Vec<_>>();
        if !reported.is_empty() {
            self.faults.begin_fork(parent, hash);
        }
        let assurances = block.extrinsic.assurances.len();
        if self.import(&Arc::new(block), true).is_ok() {
            self.tell(Deed::Authored { slot, block: hash, reported, assurances });
        }
    }

    /// What to build on, and whether to report anything: the best block, unless a fork was asked for.
    fn parent(&self, tree: &Tree) -> (HeaderHash, bool) {
        let best = tree.best();
        let Some(Fork::Running { depth, base, lost }) = self.faults.running_fork() else {
            return (best.hash, true);
        };
        let losing = tree.is_ancestor_of(lost, best.hash);
        let Some(base) = tree.get(base) else {
            // Finality has gone past it, unless it is not known here yet.
            if tree.contains(base) {
                self.faults.end_fork(lost);
            }
            return (best.hash, true);
        };
        if !losing && tree.get(lost).is_some() {
            self.faults.end_fork(lost);
        }
        if !losing || best.height < base.height + depth {
            return (best.hash, true);
        }
        let others = tree.nodes().filter(|node| {
            tree.is_ancestor_of(base.hash, node.hash) && !tree.is_ancestor_of(lost, node.hash)
        });
        let tip = others.max_by_key(|node: &&Node| (node.height, std::cmp::Reverse(node.hash)));
        (tip.map_or(base.hash, |node| node.hash), false)
    }
}
