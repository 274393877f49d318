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
struct Tally {
    all: usize,
    exempt: usize,
}

/// How many there are of each kind: each entry is counted once, where its state says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pending: Tally,
    queued: Tally,
    /// How many of the queued ones wait for the base fee to fall.
    below: usize,
    bundled: usize,
    /// The bytes of those pending or queued ones that the limits count.
    bytes: usize,
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

    /// Of a sender's queued ones another number waits for the base fee.
    pub(crate) const fn replace_below(&mut self, was: usize, below: usize) {
        self.below = self.below - was + below;
    }

    pub(crate) const fn pending(&self) -> usize {
        self.pending.all
    }

    pub(crate) const fn queued(&self) -> usize {
        self.queued.all
    }

    pub(crate) const fn below(&self) -> usize {
        self.below
    }

    pub(crate) const fn bundled(&self) -> usize {
        self.bundled
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many of a kind the limits count.
    pub(crate) const fn counted(&self, kind: State) -> usize {
        let tally = match kind {
            State::Pending => &self.pending,
            _ => &self.queued,
        };
        tally.all - tally.exempt
    }

    const fn tally_mut(&mut self, state: State) -> Option<&mut Tally> {
        match state {
            State::Pending => Some(&mut self.pending),
            State::Queued => Some(&mut self.queued),
            State::Open | State::Bundled(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::draft::tx;
    use types::Time;

    #[test]
    fn what_came_back_from_a_block_is_there_but_not_counted() {
        let mut counts = Counts::default();
        let mut entry = Entry::new(tx(0, 0, 1), 1, Time::ZERO);
        counts.enter(&entry);
        assert_eq!((counts.queued(), counts.counted(State::Queued), counts.bytes()), (1, 1, entry.bytes()));
        counts.leave(&entry);
        (entry.state, entry.returned) = (State::Pending, true);
        counts.enter(&entry);
        assert_eq!((counts.pending(), counts.counted(State::Pending), counts.bytes()), (1, 0, 0));
        counts.leave(&entry);
        entry.state = State::Bundled(0);
        counts.enter(&entry);
        assert_eq!((counts.pending(), counts.queued(), counts.bundled()), (0, 0, 1));
        counts.leave(&entry);
        counts.replace_below(0, 3);
        counts.replace_below(3, 0);
        assert_eq!(counts, Counts::default());
    }
}
