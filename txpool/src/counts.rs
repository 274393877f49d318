//! How many there are of each kind, and what happened so far.

use crate::entry::{Entry, State};

/// The pool in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Executable, waiting for a block.
    pub pending: usize,
    /// Not executable yet.
    pub queued: usize,
    /// Those of the queued ones that will be executable once the base fee falls. go-ethereum counts them as pending.
    pub below_base_fee: usize,
    /// In the block that is being built, or in a sealed one that is not final.
    pub bundled: usize,
    /// Senders with at least one of them.
    pub senders: usize,
    /// The encoded bytes of the pending and queued ones that the budget counts.
    pub bytes: usize,
    /// What happened since the pool was made.
    pub totals: Totals,
}

/// How often what happened since the pool was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Accepted.
    pub added: u64,
    /// Refused.
    pub rejected: u64,
    /// Ended because their sender replaced them.
    pub replaced: u64,
    /// Ended to make room.
    pub evicted: u64,
    /// Ended because they were too old.
    pub expired: u64,
    /// Ended for another reason.
    pub dropped: u64,
    /// Sealed into a block.
    pub bundled: u64,
    /// Came back from a released block.
    pub returned: u64,
    /// Became final.
    pub finalized: u64,
}

/// One kind: how many, and how many of them the limits do not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) all: usize,
    exempt: usize,
}

impl Tally {
    /// How many the limits count.
    pub(crate) const fn counted(&self) -> usize {
        self.all - self.exempt
    }
}

/// How many there are of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) pending: Tally,
    pub(crate) queued: Tally,
    /// How many of the queued ones wait for the base fee to fall.
    pub(crate) below: usize,
    pub(crate) bundled: usize,
    /// The bytes of those pending or queued ones that the limits count.
    pub(crate) bytes: usize,
}

impl Counts {
    pub(crate) fn enter(&mut self, entry: &Entry) {
        if let Some(tally) = self.tally_mut(entry.state) {
            tally.all += 1;
            tally.exempt += usize::from(entry.returned);
            self.bytes += if entry.returned { 0 } else { entry.bytes() };
        } else {
            self.bundled += 1;
        }
    }

    pub(crate) fn leave(&mut self, entry: &Entry) {
        if let Some(tally) = self.tally_mut(entry.state) {
            tally.all -= 1;
            tally.exempt -= usize::from(entry.returned);
            self.bytes -= if entry.returned { 0 } else { entry.bytes() };
        } else {
            self.bundled -= 1;
        }
    }

    const fn tally_mut(&mut self, state: State) -> Option<&mut Tally> {
        match state {
            State::Pending => Some(&mut self.pending),
            State::Queued => Some(&mut self.queued),
            State::Open | State::Bundled(_) => None,
        }
    }
}
