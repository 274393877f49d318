//! The unfinished bundles: one chain on the last final block, with the indexes over it, and the last ones that finished.
//!
//! Invariants: each bundle stands on the one below it, the lowest on the base; the indexes say what the bundles' states
//! say. So a bundle is changed only outside: it is [taken out](BundleSet::take_out) of the indexes and
//! [put back](BundleSet::put_back).

use crate::bundle::{Bundle, State};
use jam::PackageHash;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    ops::RangeBounds,
};
use types::BlockId;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct BundleSet {
    /// The last final block.
    base: BlockId,
    by_number: BTreeMap<u64, Bundle>,
    /// Which block a package is a version of, for all versions of unfinished bundles.
    by_package: HashMap<PackageHash, u64>,
    queued: BTreeSet<u64>,
    /// How many are guaranteed and not yet accumulated.
    guaranteed: usize,
    /// Final and released ones, the oldest first.
    finished: VecDeque<Bundle>,
    /// How many of those are kept.
    retained: usize,
}

impl BundleSet {
    pub(crate) fn new(base: BlockId, retained: usize) -> Self {
        Self {
            base,
            by_number: BTreeMap::new(),
            by_package: HashMap::new(),
            queued: BTreeSet::new(),
            guaranteed: 0,
            finished: VecDeque::new(),
            retained,
        }
    }

    pub(crate) const fn base(&self) -> BlockId {
        self.base
    }

    /// The block that the next one must stand on.
    pub(crate) fn newest(&self) -> BlockId {
        self.by_number.last_key_value().map_or(self.base, |(_, bundle)| bundle.block)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Bundle> {
        self.by_number.get(&number)
    }

    /// The bundle of exactly this block, not of another one with its number.
    pub(crate) fn get_block(&self, block: BlockId) -> Option<&Bundle> {
        self.get(block.number).filter(|bundle| bundle.block == block)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// In order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Bundle> + ExactSizeIterator {
        self.by_number.values()
    }

    pub(crate) fn range(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = &Bundle> {
        self.by_number.range(numbers).map(|(_, bundle)| bundle)
    }

    pub(crate) fn numbers(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = u64> {
        self.by_number.range(numbers).map(|(number, _)| *number)
    }

    pub(crate) fn finished(&self) -> impl DoubleEndedIterator<Item = &Bundle> {
        self.finished.iter()
    }

    /// The bundle that a package is a version of.
    pub(crate) fn block_of(&self, package: &PackageHash) -> Option<u64> {
        self.by_package.get(package).copied()
    }

    /// The lowest one that waits to be sent.
    pub(crate) fn first_queued(&self) -> Option<u64> {
        self.queued.first().copied()
    }

    pub(crate) fn is_queued(&self, number: u64) -> bool {
        self.queued.contains(&number)
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued.len()
    }

    /// How many wait to be sent before a block.
    pub(crate) fn queued_before(&self, number: u64) -> usize {
        self.queued.range(..number).count()
    }

    pub(crate) const fn guaranteed(&self) -> usize {
        self.guaranteed
    }

    /// Remembers which block a package is a version of.
    pub(crate) fn add_package(&mut self, package: PackageHash, number: u64) {
        self.by_package.insert(package, number);
    }

    #[cfg(feature = "bugs")]
    pub(crate) fn forget_packages(&mut self, number: u64) {
        self.by_package.retain(|_, known| *known != number);
    }

    /// Remembers that so many versions were guaranteed beside the first one, and gives how many more these are.
    pub(crate) fn raise_duplicates(&mut self, number: u64, duplicates: usize) -> usize {
        let Some(bundle) = self.by_number.get_mut(&number) else { return 0 };
        let more = duplicates.saturating_sub(bundle.duplicates);
        bundle.duplicates += more;
        more
    }

    /// Takes a bundle out of the set and of the indexes by state, to be changed and put back.
    pub(crate) fn take_out(&mut self, number: u64) -> Option<Bundle> {
        let bundle = self.by_number.remove(&number)?;
        self.unindex(&bundle);
        Some(bundle)
    }

    /// Puts a bundle into the set.
    pub(crate) fn put_back(&mut self, bundle: Bundle) {
        let number = bundle.block.number;
        match bundle.state {
            State::Queued { .. } => drop(self.queued.insert(number)),
            State::Guaranteed { .. } => self.guaranteed += 1,
            _ => {}
        }
        self.by_number.insert(number, bundle);
    }

    /// Takes everything from a block on out, versions included.
    pub(crate) fn take_from(&mut self, from: u64) -> BTreeMap<u64, Bundle> {
        let gone = self.by_number.split_off(&from);
        gone.values().for_each(|bundle| self.forget(bundle));
        gone
    }

    /// Takes everything up to a block out, versions included. That block is the base from now on.
    pub(crate) fn take_through(&mut self, last: BlockId) -> BTreeMap<u64, Bundle> {
        let rest = last.number.checked_add(1).map(|next| self.by_number.split_off(&next));
        let gone = core::mem::replace(&mut self.by_number, rest.unwrap_or_default());
        gone.values().for_each(|bundle| self.forget(bundle));
        self.base = last;
        gone
    }

    /// Keeps a bundle that was taken out for good among the finished ones.
    pub(crate) fn retire(&mut self, mut bundle: Bundle, state: State) {
        bundle.state = state;
        self.finished.push_back(bundle);
        while self.finished.len() > self.retained {
            self.finished.pop_front();
        }
    }

    fn unindex(&mut self, bundle: &Bundle) {
        match bundle.state {
            State::Queued { .. } => drop(self.queued.remove(&bundle.block.number)),
            State::Guaranteed { .. } => self.guaranteed -= 1,
            _ => {}
        }
    }

    fn forget(&mut self, bundle: &Bundle) {
        self.unindex(bundle);
        for version in &bundle.versions {
            self.by_package.remove(&version.package);
        }
    }
}

#[cfg(any(test, feature = "model"))]
impl BundleSet {
    /// Panics unless the indexes say what the bundles say, and the bundles are one chain.
    pub(crate) fn check(&self) {
        let numbers = |is: fn(&State) -> bool| {
            let those = self.iter().filter(|bundle| is(&bundle.state));
            those.map(|bundle| bundle.block.number).collect::<BTreeSet<_>>()
        };
        assert_eq!(self.queued, numbers(|state| matches!(state, State::Queued { .. })), "queued");
        let guaranteed = numbers(|state| matches!(state, State::Guaranteed { .. })).len();
        assert_eq!(self.guaranteed, guaranteed, "guaranteed");
        let packages = self.by_number.iter().flat_map(|(number, bundle)| {
            bundle.versions.iter().map(move |version| (version.package, *number))
        });
        assert_eq!(self.by_package, packages.collect::<HashMap<_, _>>(), "by package");
        let mut below = self.base;
        for (number, bundle) in &self.by_number {
            assert_eq!((*number, bundle.parent), (bundle.block.number, below), "the bundles are one chain");
            below = bundle.block;
        }
        assert!(self.finished.len() <= self.retained);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Version, bundle::Phase};
    use jam::{Hash, HeaderHash, RefineContext};
    use types::Time;

    fn block(number: u64) -> BlockId {
        BlockId::new(number, [number as u8; 32].into())
    }

    fn package(number: u64) -> PackageHash {
        PackageHash(Hash::repeat_byte(number as u8))
    }

    fn version(number: u64) -> Version {
        let context = RefineContext {
            anchor: HeaderHash::ZERO,
            state_root: Hash::ZERO,
            beefy_root: Hash::ZERO,
            lookup_anchor: HeaderHash::ZERO,
            lookup_anchor_slot: 0,
            prerequisites: [].into(),
        };
        Version {
            number: 1,
            package: package(number),
            context,
            anchor_height: 0,
            core: 0,
            sent_at: Time::ZERO,
            sends: 1,
            taken: false,
            counted: false,
        }
    }

    /// Blocks 1, 2, .. on block 0, each with one version.
    fn set(blocks: u64) -> BundleSet {
        let mut set = BundleSet::new(block(0), 2);
        for number in 1..=blocks {
            let mut bundle = Bundle::new(block(number), block(number - 1), [].into(), Time::ZERO);
            bundle.versions.push(version(number));
            set.add_package(package(number), number);
            set.put_back(bundle);
        }
        set.check();
        set
    }

    #[test]
    fn a_change_moves_a_bundle_between_the_indexes() {
        let mut set = set(3);
        assert_eq!((set.first_queued(), set.queued(), set.queued_before(3)), (Some(1), 3, 2));
        let mut first = set.take_out(1).unwrap();
        (first.state, first.phase) = (State::Guaranteed { version: 1, core: None }, Phase::Out);
        set.put_back(first);
        set.check();
        assert_eq!((set.first_queued(), set.queued(), set.guaranteed()), (Some(2), 2, 1));
        let mut first = set.take_out(1).unwrap();
        assert_eq!(set.guaranteed(), 0);
        first.state = State::Accumulated;
        set.put_back(first);
        set.check();
        assert_eq!((set.guaranteed(), set.is_queued(1), set.len()), (0, false, 3));
        assert!(set.take_out(4).is_none());
    }

    #[test]
    fn what_is_released_leaves_every_index_and_is_kept_for_a_while() {
        let mut set = set(4);
        let gone = set.take_from(2);
        assert_eq!(gone.keys().copied().collect::<Vec<_>>(), [2, 3, 4]);
        gone.into_values().for_each(|bundle| set.retire(bundle, State::Released));
        set.check();
        assert_eq!((set.newest(), set.base()), (block(1), block(0)));
        assert_eq!([1, 2].map(|number| set.block_of(&package(number))), [Some(1), None]);
        let kept = set.finished().map(|bundle| (bundle.block.number, bundle.state)).collect::<Vec<_>>();
        assert_eq!(kept, [(3, State::Released), (4, State::Released)]);
    }

    #[test]
    fn what_is_final_becomes_the_base() {
        let mut set = set(3);
        assert_eq!(set.take_through(block(2)).len(), 2);
        set.check();
        assert_eq!((set.base(), set.newest(), set.first_queued()), (block(2), block(3), Some(3)));
        assert_eq!(set.block_of(&package(2)), None);
        assert_eq!(set.take_through(block(3)).len(), 1);
        assert!(set.is_empty());
        assert_eq!((set.newest(), set.queued()), (block(3), 0));
    }

    #[test]
    fn a_block_is_more_than_its_number() {
        let set = set(1);
        assert!(set.get_block(block(1)).is_some());
        assert!(set.get_block(BlockId::new(1, [9; 32].into())).is_none());
    }

    #[test]
    fn duplicates_only_grow() {
        let mut set = set(1);
        assert_eq!([1, 1, 0, 3].map(|count| set.raise_duplicates(1, count)), [1, 0, 0, 2]);
        assert_eq!(set.raise_duplicates(2, 1), 0);
    }
}
