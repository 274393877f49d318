//! The cores: which bundle each was given to, which a report keeps busy, and which have a connected guarantor.
//!
//! Invariant: every core is given to a bundle, or free, or busy; exactly one of the three.

use std::collections::{BTreeMap, BTreeSet};
use types::Time;

/// The bundle that a core was given to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Owner {
    block: u64,
    /// When it was sent there.
    sent_at: Time,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Cores {
    given: BTreeMap<u16, Owner>,
    /// Cores that no report keeps busy and no bundle was given to.
    free: BTreeSet<u16>,
    /// Cores that a report keeps busy, which may become free in the very next block, and no bundle was given to.
    busy: BTreeSet<u16>,
    /// Cores that a report keeps busy, given or not.
    occupied: BTreeSet<u16>,
    /// Cores without a connected guarantor: nothing can be sent to them.
    unreachable: BTreeSet<u16>,
}

impl Cores {
    /// All of them free.
    pub(crate) fn new(count: u16) -> Self {
        Self {
            given: BTreeMap::new(),
            free: (0..count).collect(),
            busy: BTreeSet::new(),
            occupied: BTreeSet::new(),
            unreachable: BTreeSet::new(),
        }
    }

    /// Gives a core to a bundle, unless it was given to another one later: only a journal can say that, because it
    /// does not say what was guaranteed in between.
    pub(crate) fn give(&mut self, core: u16, block: u64, sent_at: Time) {
        if self.given.get(&core).is_none_or(|owner| owner.sent_at <= sent_at) {
            self.given.insert(core, Owner { block, sent_at });
        }
        self.sort(core);
    }

    /// Takes a core back from a bundle, if it still has it.
    pub(crate) fn take_back(&mut self, core: u16, block: u64) {
        if self.owner(core) == Some(block) {
            self.given.remove(&core);
        }
        self.sort(core);
    }

    /// Notes whether a report keeps a core busy, and gives whether that is new.
    pub(crate) fn set_occupied(&mut self, core: u16, occupied: bool) -> bool {
        let changed = if occupied { self.occupied.insert(core) } else { self.occupied.remove(&core) };
        self.sort(core);
        changed
    }

    /// Cores none of whose guarantors is connected.
    pub(crate) fn set_unreachable(&mut self, cores: BTreeSet<u16>) {
        self.unreachable = cores;
    }

    /// Whether a report keeps a core busy.
    pub(crate) fn is_occupied(&self, core: u16) -> bool {
        self.occupied.contains(&core)
    }

    /// The bundle that a core was given to.
    pub(crate) fn owner(&self, core: u16) -> Option<u64> {
        self.given.get(&core).map(|owner| owner.block)
    }

    /// The bundles that have a core, by core.
    pub(crate) fn owners(&self) -> impl Iterator<Item = u64> {
        self.given.values().map(|owner| owner.block)
    }

    /// How many cores were given to bundles.
    pub(crate) fn given(&self) -> usize {
        self.given.len()
    }

    /// Whether a core was given to no bundle, reachable or not.
    pub(crate) fn has_ungiven(&self) -> bool {
        !(self.free.is_empty() && self.busy.is_empty())
    }

    /// Whether a core was given to no bundle and can be reached.
    pub(crate) fn has_available(&self) -> bool {
        self.available().next().is_some()
    }

    /// How many cores were given to no bundle and can be reached.
    pub(crate) fn available_len(&self) -> usize {
        self.available().count()
    }

    /// A core for a bundle: rather a free one, rather not the one it was on before.
    pub(crate) fn choose(&self, not: Option<u16>) -> Option<u16> {
        self.available().find(|core| Some(*core) != not).or_else(|| self.available().next())
    }

    /// Cores that no bundle was given to and that can be reached, free ones first.
    fn available(&self) -> impl Iterator<Item = u16> {
        let cores = self.free.iter().chain(&self.busy).copied();
        cores.filter(|core| !self.unreachable.contains(core))
    }

    /// Puts a core where it belongs: given to a bundle, free, or busy.
    fn sort(&mut self, core: u16) {
        self.free.remove(&core);
        self.busy.remove(&core);
        if !self.given.contains_key(&core) {
            let cores = if self.occupied.contains(&core) { &mut self.busy } else { &mut self.free };
            cores.insert(core);
        }
    }
}

#[cfg(any(test, feature = "model"))]
impl Cores {
    /// Panics unless each of so many cores is given, free or busy.
    pub(crate) fn check(&self, count: u16) {
        let left = (0..count).filter(|core| !self.given.contains_key(core));
        let (busy, free) = left.partition::<BTreeSet<_>, _>(|core| self.occupied.contains(core));
        assert_eq!((&self.busy, &self.free), (&busy, &free), "cores");
        assert!(self.given.keys().all(|core| *core < count));
    }

    /// The bundle that each core was given to.
    pub(crate) fn assignments(&self) -> BTreeMap<u16, u64> {
        self.given.iter().map(|(core, owner)| (*core, owner.block)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_core_is_given_free_or_busy() {
        let mut cores = Cores::new(2);
        cores.give(0, 7, at(1));
        cores.check(2);
        assert_eq!((cores.owner(0), cores.given(), cores.choose(None)), (Some(7), 1, Some(1)));
        assert!(cores.set_occupied(0, true) && !cores.set_occupied(0, true));
        cores.take_back(0, 7);
        cores.check(2);
        assert_eq!((cores.owner(0), cores.choose(None)), (None, Some(1)), "free ones come first");
        cores.give(1, 8, at(2));
        assert_eq!(cores.choose(None), Some(0), "a busy one may become free in the next block");
        assert!(cores.set_occupied(0, false));
        cores.check(2);
    }

    #[test]
    fn a_bundle_goes_rather_not_to_the_core_that_it_was_on() {
        let mut cores = Cores::new(2);
        assert_eq!([None, Some(0), Some(1)].map(|not| cores.choose(not)), [Some(0), Some(1), Some(0)]);
        cores.give(1, 7, at(1));
        assert_eq!(cores.choose(Some(0)), Some(0), "rather that one than none");
        cores.give(0, 8, at(1));
        assert_eq!(cores.choose(None), None);
        assert!(!cores.has_ungiven());
    }

    #[test]
    fn nothing_goes_where_no_guarantor_is_connected() {
        let mut cores = Cores::new(2);
        cores.set_unreachable([0].into());
        assert_eq!((cores.choose(None), cores.has_available()), (Some(1), true));
        cores.set_unreachable([0, 1].into());
        assert_eq!((cores.choose(None), cores.has_available(), cores.has_ungiven()), (None, false, true));
    }

    #[test]
    fn a_core_that_was_given_away_since_is_not_taken_back() {
        let mut cores = Cores::new(1);
        cores.give(0, 7, at(5));
        cores.give(0, 6, at(4));
        assert_eq!(cores.owner(0), Some(7), "a journal may name the earlier one last");
        cores.give(0, 8, at(5));
        cores.take_back(0, 7);
        assert_eq!(cores.owners().collect::<Vec<_>>(), [8]);
        cores.check(1);
    }
}
