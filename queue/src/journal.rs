//! Whether a record can follow those before it. A journal comes from a disk: what no queue could have written is refused
//! as a whole, before it becomes a queue that contradicts itself.
//!
//! Records that [say nothing any more](crate::Record::still_needed) may be missing. So what is abandoned or released need
//! not be there, but whatever is said of one block needs the block.

use crate::{
    Queue, Record, Version,
    bundle::{Phase, State},
};
use types::BlockId;

/// Why records are not the journal of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("record {at} of the queue cannot follow those before it: {why}")]
pub struct JournalError {
    /// The record, counted from 0; one more than the last if something is missing at the end.
    pub at: usize,
    /// What is wrong with it.
    pub why: Impossible,
}

/// What a queue never writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Impossible {
    /// A block entered that does not stand on the newest one.
    #[error("block {block} entered on {newest}, on which it does not stand")]
    Parent {
        /// The block.
        block: BlockId,
        /// The newest one.
        newest: BlockId,
    },
    /// A block entered while another one was abandoned.
    #[error("block {0} entered while building paused")]
    Paused(BlockId),
    /// Something is said of a block or bundle that is not there.
    #[error("there is no unfinished block {0}, or no bundle that begins with it")]
    Unknown(u64),
    /// A bundle was formed of blocks that are not there or in another bundle, or dissolved into what it is not made of.
    #[error("blocks {first} to {last} cannot be a bundle")]
    Bundle {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// A version was sent that was not the next one, on a core that there is not, or with other bytes than before.
    #[error("version {version} of block {block} was not the one to be sent")]
    Version {
        /// The block.
        block: u64,
        /// The version.
        version: u32,
    },
    /// A bundle that was not out waits again.
    #[error("block {0} was not sent")]
    NotSent(u64),
    /// An abandoned block comes back, and there is none.
    #[error("nothing was abandoned")]
    NotAbandoned,
    /// A final block is released, or a block is final that is not there.
    #[error("block {0} cannot be released or final")]
    Finality(u64),
}

impl Queue {
    /// That the record could be written now.
    pub(crate) fn check(&self, record: &Record) -> Result<(), Impossible> {
        match record {
            Record::Enqueued { block, parent } => self.check_enqueued(block.id, *parent),
            Record::Formed { first, last } => self.check_formed(*first, *last),
            Record::Dissolved { first, second, last } => self.check_dissolved(*first, *second, *last),
            Record::Submitted { block, version } => self.check_submitted(*block, version),
            Record::Taken { block, version } => {
                let last = self.bundles.get(*block).ok_or(Impossible::Unknown(*block))?.versions.last();
                let wrong = Impossible::Version { block: *block, version: *version };
                last.filter(|last| last.number == *version).map(drop).ok_or(wrong)
            }
            Record::Requeued { block, .. } => {
                let bundle = self.bundles.get(*block).ok_or(Impossible::Unknown(*block))?;
                let was_sent = bundle.phase != (Phase::Waiting { again: false });
                was_sent.then_some(()).ok_or(Impossible::NotSent(*block))
            }
            Record::Abandoned { .. } => Ok(()),
            Record::Retried | Record::Revived => {
                self.abandonment.from().map(drop).ok_or(Impossible::NotAbandoned)
            }
            Record::Released { from } => {
                (*from > self.bundles.base().number).then_some(()).ok_or(Impossible::Finality(*from))
            }
            Record::Finalized { through } => {
                self.bundles.ending_with(*through).map(drop).ok_or(Impossible::Finality(through.number))
            }
        }
    }

    /// That the journal could end now: bundles leave no gap, and what is abandoned is there.
    pub(crate) fn check_end(&self) -> Result<(), Impossible> {
        let mut next = self.bundles.base().number.checked_add(1);
        for bundle in self.bundles.iter() {
            let (first, last) = (bundle.run.first.number, bundle.run.last.number);
            if next != Some(first) {
                return Err(Impossible::Bundle { first, last });
            }
            next = last.checked_add(1);
        }
        let is_there = |from: u64| self.bundles.get(from).is_some() || Some(from) >= next;
        let missing =
            self.abandonment.from().filter(|from| !is_there(*from) || self.bundles.block(*from).is_none());
        missing.map_or(Ok(()), |from| Err(Impossible::Unknown(from)))
    }

    fn check_formed(&self, first: u64, last: u64) -> Result<(), Impossible> {
        let wrong = Impossible::Bundle { first, last };
        self.bundles.run_of(first, last).ok_or(wrong)?;
        let is_alone = first == last || !self.bundles.blocks(first..=last).any(|block| block.is_alone);
        let may = is_alone && self.bundles.is_unbundled(first, last);
        may.then_some(()).ok_or(wrong)
    }

    /// The parts of a bundle that are final may be missing.
    fn check_dissolved(&self, first: u64, second: u64, last: u64) -> Result<(), Impossible> {
        let wrong = Impossible::Bundle { first, last };
        let is_split = first < second && second <= last;
        let may = match self.bundles.get(first) {
            Some(bundle) => bundle.run.last.number == last,
            None => self.bundles.block(first).is_none() && self.may_form_rest(second, last),
        };
        (is_split && may).then_some(()).ok_or(wrong)
    }

    fn may_form_rest(&self, second: u64, last: u64) -> bool {
        let is_gone = self.bundles.block(second).is_none() && self.bundles.block(last).is_none();
        is_gone || self.bundles.run_of(second, last).is_some() && self.bundles.is_unbundled(second, last)
    }

    fn check_enqueued(&self, block: BlockId, parent: BlockId) -> Result<(), Impossible> {
        let newest = self.newest();
        if parent != newest || Some(block.number) != newest.number.checked_add(1) {
            return Err(Impossible::Parent { block, newest });
        }
        self.abandonment.from().map_or(Ok(()), |_| Err(Impossible::Paused(block)))
    }

    /// A version follows the one before it, or is the same bytes once more.
    fn check_submitted(&self, block: u64, version: &Version) -> Result<(), Impossible> {
        let bundle = self.bundles.get(block).ok_or(Impossible::Unknown(block))?;
        let last = bundle.versions.last().filter(|last| last.number == version.number);
        let same_bytes = match last {
            Some(last) => {
                (last.package, &last.context, last.code_hash, last.anchor_height)
                    == (version.package, &version.context, version.code_hash, version.anchor_height)
            }
            None => self.bundles.bundle_of(&version.package).is_none(),
        };
        let sends = last.map_or(0, |last| last.sends);
        let is_next = bundle.state == State::Queued { version: version.number }
            && same_bytes
            && sends.checked_add(1) == Some(version.sends)
            && !version.taken
            && version.counted == last.is_some_and(|last| last.counted)
            && version.core < self.config.cores
            && version.anchor_height.checked_add(self.config.history.into()).is_some();
        is_next.then_some(()).ok_or(Impossible::Version { block, version: version.number })
    }
}
