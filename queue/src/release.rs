//! The end of a bundle that does not get through: abandoned, and, once it is certainly dead, dissolved into smaller ones, or
//! released if it is a single block or the operator gave it up.

use crate::{Blame, Queue, Record, Released, bundle::State, chain_head::ChainInput};
use jam::follow::Fate;
use std::ops::RangeInclusive;
use types::{Event, ReleasedBy};

impl Queue {
    /// Gives a bundle up, with all that stand on it.
    pub(crate) fn abandon(&mut self, number: u64, by: ReleasedBy) {
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::DropLosesTxs) {
            self.decide(Record::Released { from: number });
            return;
        }
        if let Some(by) = self.abandonment.reason_for(number, by) {
            self.decide(Record::Abandoned { from: number, by });
        }
    }

    /// The blocks that giving one up would undo: its whole bundle and all that stand on it. `None` if the block is not here, or
    /// stands on the chain already, or was given up before.
    pub fn would_give_up(&self, number: u64) -> Option<RangeInclusive<u64>> {
        let first = match self.bundles.containing(number) {
            Some(bundle) => {
                let may = matches!(bundle.state, State::Queued { .. } | State::Submitted { .. });
                may.then_some(bundle.number())?
            }
            None => self.bundles.block(number).filter(|_| !self.abandonment.covers(number))?.id.number,
        };
        Some(first..=self.newest().number)
    }

    /// Gives a block up because the operator wants it, with its bundle and all that stand on it: nothing more of it is sent, and
    /// once it is certainly dead its transactions come back. The blocks that this undoes, if it may be.
    pub fn give_up(&mut self, number: u64) -> Option<RangeInclusive<u64>> {
        let blocks = self.would_give_up(number)?;
        self.abandon(*blocks.start(), ReleasedBy::Operator);
        Some(blocks)
    }

    /// Looks at the abandoned bundle: does the chain have it after all, is it dead, may it try again?
    pub(crate) fn handle_abandoned(&mut self, input: &ChainInput<'_>) {
        self.abandonment.set_due(false);
        let Some(from) = self.abandonment.from() else { return };
        match self.bundles.get(from).map(|bundle| bundle.state) {
            Some(State::Abandoned) if self.is_dead(from, input) => self.abandonment.set_due(true),
            Some(State::Abandoned) => self.retry_if_finality_lags(from),
            // It is on its way again.
            Some(State::Queued { .. } | State::Submitted { .. }) => {}
            // Blocks that are in no bundle were never sent.
            None if self.bundles.block(from).is_some() => self.abandonment.set_due(true),
            _ => self.decide(Record::Revived),
        }
    }

    /// Whether no version of a bundle can ever be applied: each one's anchor is too old for any block on top of the
    /// finalized one, and none waits there, in a core or in the service.
    fn is_dead(&self, number: u64, input: &ChainInput<'_>) -> bool {
        let Some(bundle) = self.bundles.get(number) else { return false };
        let finalized = input.view.finalized().height;
        #[cfg(feature = "bugs")]
        let finalized =
            if self.has(crate::Mistake::DeadByBestBlock) { input.view.head().height } else { finalized };
        let history = u64::from(self.config.history);
        let is_past = |anchor_height: u64| finalized >= anchor_height + history;
        let waits = |fate: Fate| matches!(fate, Fate::Reported { .. } | Fate::Available { .. });
        let versions_are_dead = bundle.versions.iter().all(|version| {
            is_past(version.anchor_height) && !waits(input.view.finalized_fate(version.package))
        });
        versions_are_dead && !input.service.finalized.is_waiting(number, &bundle.run.last.hash)
    }

    /// While finality stands still nothing can be declared dead, but another version may get through.
    fn retry_if_finality_lags(&mut self, number: u64) {
        let (Some(bundle), Some(head)) = (self.bundles.get(number), &self.head) else { return };
        let alive = |version: &crate::Version| head.anchor_life(version.context.anchor) > 0;
        if head.finality_lag() >= self.config.finality_lag_blocks && !bundle.versions.iter().any(alive) {
            self.decide(Record::Retried);
        }
    }

    /// Ends what is dead. A bundle of several blocks that the chain did not take is dissolved: one of them may be why, and the
    /// others were shown to users, so they are sent again as they are.
    pub(crate) fn end_dead(&mut self, from: u64, by: ReleasedBy) {
        let bundle = self.bundles.get(from);
        let run = bundle.map(|bundle| bundle.run).filter(|run| by == ReleasedBy::Chain && run.blocks() > 1);
        let Some(run) = run else { return self.release(from, by) };
        let second = from + run.blocks() / 2;
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::ReleaseHalfRun) {
            self.decide(Record::Dissolved { first: from, second, last: run.last.number });
            self.decide(Record::Abandoned { from: second, by });
            return self.release(second, by);
        }
        let Some(middle) = self.bundles.block(second).map(|block| block.id) else { return };
        self.outbox.tell(Event::Dissolved { run, second: middle });
        self.stats.dissolved += 1;
        self.decide(Record::Dissolved { first: from, second, last: run.last.number });
    }

    /// Gives the transactions of a dead block and of all that stand on it back, in one step: the record is written when
    /// the action is taken, so that the driver commits it together with the pool's part.
    pub(crate) fn release(&mut self, from: u64, by: ReleasedBy) {
        let alone = |count: u32| count == 1 && self.abandonment.has_passed_since_release();
        let blocks = self.bundles.blocks(from..).map(|block| {
            let is_root = block.id.number == from;
            let blame = match by {
                ReleasedBy::Chain if is_root && alone(block.transactions) => Blame::Alone,
                ReleasedBy::Chain if is_root => Blame::Suspect,
                ReleasedBy::Chain | ReleasedBy::Operator => Blame::None,
            };
            Released { block: block.id, sealed_at: block.sealed_at, by, blame }
        });
        let blocks = blocks.collect::<Vec<_>>();
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::NoDescendants) {
            let (root, rest) = blocks.split_at(1);
            self.push_release(root.to_vec());
            for released in rest {
                self.outbox.tell(Event::Released { block: released.block, by });
            }
            self.decide(Record::Released { from });
            return;
        }
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::SplitRelease) && blocks.len() > 1 {
            self.decide(Record::Released { from });
            for released in blocks {
                self.push_release(vec![released]);
            }
            return;
        }
        self.push_release(blocks);
        self.decide(Record::Released { from });
    }

    /// How many transactions a block of suspects may hold, after so many blocks were abandoned with them: an eighth
    /// each time, so that a poisonous one ends alone.
    pub fn suspect_txs_max(block_txs_max: usize, attempts: u32) -> usize {
        block_txs_max.checked_shr(attempts.saturating_mul(3)).unwrap_or(0).max(1)
    }

    /// Whether an empty block should be sealed before the next one of suspects: if it passes, the network is not at
    /// fault for what happens to the suspects. Any block that was sealed since the last release does as well.
    pub fn wants_probe(&self) -> bool {
        let released_from = self.abandonment.released_from();
        !self.abandonment.has_passed_since_release() && self.newest().number < released_from
    }
}
