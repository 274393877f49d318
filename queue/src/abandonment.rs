//! Which blocks are given up, by whom, and what became of the blocks that were sealed after the last release.
//!
//! At most one block, the first of its bundle or in none, is the root of what is abandoned: it and all above it are, or all above it while the root itself is
//! allowed to try again.

use types::ReleasedBy;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Abandonment {
    /// The lowest abandoned block.
    from: Option<u64>,
    /// Who gave it up.
    by: ReleasedBy,
    /// Whether it is allowed to try again.
    retrying: bool,
    /// That block and who gave it up, if it is dead.
    release_due: Option<(u64, ReleasedBy)>,
    /// The blocks from this number on were sealed after the last release.
    released_from: u64,
    /// Whether one of those was applied: the network is not at fault.
    passed_since_release: bool,
}

impl Default for Abandonment {
    fn default() -> Self {
        Self {
            from: None,
            by: ReleasedBy::Chain,
            retrying: false,
            release_due: None,
            released_from: 0,
            passed_since_release: false,
        }
    }
}

impl Abandonment {
    /// The lowest abandoned block.
    pub(crate) const fn from(&self) -> Option<u64> {
        self.from
    }

    /// Who gave it up.
    pub(crate) const fn by(&self) -> ReleasedBy {
        self.by
    }

    /// Whether that block is allowed to try again.
    pub(crate) const fn is_retrying(&self) -> bool {
        self.retrying
    }

    /// Whether a block is abandoned.
    pub(crate) fn covers(&self, number: u64) -> bool {
        self.from.is_some_and(|from| number > from || number == from && !self.retrying)
    }

    /// Who a block is given up by, if that changes anything: not if it is abandoned already. A block that is tried again
    /// after it was given up keeps the first reason.
    pub(crate) fn reason_for(&self, number: u64, by: ReleasedBy) -> Option<ReleasedBy> {
        let is_new = self.retrying || self.from.is_none_or(|from| number < from);
        is_new.then(|| if self.from == Some(number) { self.by } else { by })
    }

    /// A block and all above it are given up. Gives the lowest block that this concerns.
    pub(crate) fn abandon(&mut self, from: u64, by: ReleasedBy) -> u64 {
        self.by = by;
        self.set(Some(from), false)
    }

    /// The lowest abandoned block may try again. Gives the lowest block that this concerns.
    pub(crate) fn retry(&mut self) -> u64 {
        self.set(self.from, true)
    }

    /// Nothing is abandoned any more. Gives the lowest block that this concerns.
    pub(crate) fn revive(&mut self) -> u64 {
        self.set(None, false)
    }

    /// A block and all above it were released. A block below may have been given up since the release was due; that one
    /// waits for its own.
    pub(crate) fn release(&mut self, from: u64) {
        self.from = self.from.filter(|below| *below < from);
        self.retrying &= self.from.is_some();
        (self.passed_since_release, self.released_from) = (false, from);
    }

    /// Whether the abandoned block is dead: then its release is due.
    pub(crate) fn set_due(&mut self, is_due: bool) {
        self.release_due = self.from.filter(|_| is_due).map(|from| (from, self.by));
    }

    /// The release that is due, once.
    pub(crate) const fn take_due(&mut self) -> Option<(u64, ReleasedBy)> {
        self.release_due.take()
    }

    /// A block was applied.
    pub(crate) const fn note_passed(&mut self, number: u64) {
        self.passed_since_release |= number >= self.released_from;
    }

    /// The blocks from this number on were sealed after the last release.
    pub(crate) const fn released_from(&self) -> u64 {
        self.released_from
    }

    /// Whether a block that was sealed after the last release was applied.
    pub(crate) const fn has_passed_since_release(&self) -> bool {
        self.passed_since_release
    }

    fn set(&mut self, from: Option<u64>, retrying: bool) -> u64 {
        let first = self.from.into_iter().chain(from).min().unwrap_or(0);
        (self.from, self.retrying) = (from, retrying);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abandoned(from: u64) -> Abandonment {
        let mut abandonment = Abandonment::default();
        assert_eq!(abandonment.abandon(from, ReleasedBy::Operator), from);
        abandonment
    }

    #[test]
    fn everything_from_the_root_on_is_abandoned_but_not_a_root_that_tries_again() {
        let mut abandonment = abandoned(5);
        assert_eq!([4, 5, 6].map(|number| abandonment.covers(number)), [false, true, true]);
        assert_eq!(abandonment.retry(), 5);
        assert_eq!([4, 5, 6].map(|number| abandonment.covers(number)), [false, false, true]);
        assert_eq!(abandonment.revive(), 5);
        assert!(!abandonment.covers(6));
    }

    #[test]
    fn the_first_reason_is_kept() {
        let mut abandonment = abandoned(5);
        assert_eq!(abandonment.reason_for(5, ReleasedBy::Chain), None, "it is given up already");
        assert_eq!(abandonment.reason_for(6, ReleasedBy::Chain), None);
        assert_eq!(abandonment.reason_for(4, ReleasedBy::Chain), Some(ReleasedBy::Chain));
        abandonment.retry();
        assert_eq!(abandonment.reason_for(5, ReleasedBy::Chain), Some(ReleasedBy::Operator));
        assert_eq!(abandonment.abandon(4, ReleasedBy::Chain), 4, "a lower root takes the higher one in");
        assert_eq!((abandonment.from(), abandonment.by()), (Some(4), ReleasedBy::Chain));
    }

    #[test]
    fn a_release_leaves_a_lower_root_alone() {
        let mut abandonment = abandoned(5);
        abandonment.set_due(true);
        abandonment.abandon(3, ReleasedBy::Chain);
        assert_eq!(abandonment.take_due(), Some((5, ReleasedBy::Operator)));
        assert_eq!(abandonment.take_due(), None);
        abandonment.release(5);
        assert_eq!(abandonment.from(), Some(3));
        abandonment.retry();
        abandonment.release(3);
        assert_eq!((abandonment.from(), abandonment.is_retrying()), (None, false));
        abandonment.set_due(true);
        assert_eq!(abandonment.take_due(), None, "nothing is abandoned");
    }

    #[test]
    fn only_blocks_sealed_after_the_release_say_that_the_network_works() {
        let mut abandonment = abandoned(5);
        abandonment.note_passed(1);
        assert!(abandonment.has_passed_since_release(), "nothing was released yet");
        abandonment.release(5);
        assert!(!abandonment.has_passed_since_release());
        abandonment.note_passed(4);
        assert!(!abandonment.has_passed_since_release());
        abandonment.note_passed(5);
        assert!(abandonment.has_passed_since_release());
    }
}
