//! The unfinished blocks: one chain on the last final block, and the bundles over it.
//!
//! ```text
//!   base   1  2  3 | 4 | 5  6  7  8     9  10  11 ..
//!          B-1       B-4 B-5            in no bundle yet
//! ```
//!
//! Invariants: each block stands on the one below it, the lowest on the base. Bundles are runs of blocks; they cover the chain
//! from below without a gap, and no block is in two. The indexes say what the bundles' states say. So a bundle is changed only
//! outside: it is [taken out](BundleSet::take_out) of the indexes and [put back](BundleSet::put_back).

use crate::{
    bundle::{Bundle, State},
    sealed::{QueuedBlock, Size},
};
use jam::PackageHash;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    ops::RangeBounds,
    sync::Arc,
};
use types::{BlockId, Run};

/// A block, and what it and all before it take.
#[derive(Clone, Copy, Debug)]
struct Entry {
    block: QueuedBlock,
    /// What all blocks up to this one take, and how many transactions they hold, since the set was made.
    sum: Size,
    transactions: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct BundleSet {
    /// The last final block, and the sum up to it.
    base: BlockId,
    base_sum: Size,
    base_transactions: u64,
    blocks: BTreeMap<u64, Entry>,
    /// By the number of the first block.
    by_first: BTreeMap<u64, Bundle>,
    /// Which bundle a package is a version of, for all versions of unfinished bundles.
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
            base_sum: Size::default(),
            base_transactions: 0,
            blocks: BTreeMap::new(),
            by_first: BTreeMap::new(),
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
        self.blocks.last_key_value().map_or(self.base, |(_, entry)| entry.block.id)
    }

    /// How many blocks are not final.
    pub(crate) fn blocks_len(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn block(&self, number: u64) -> Option<&QueuedBlock> {
        self.blocks.get(&number).map(|entry| &entry.block)
    }

    /// Blocks in order.
    pub(crate) fn blocks(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = &QueuedBlock> {
        self.blocks.range(numbers).map(|(_, entry)| &entry.block)
    }

    /// The first block that is in no bundle.
    pub(crate) fn first_unbundled(&self) -> Option<&QueuedBlock> {
        self.block(self.bundled_through().checked_add(1)?)
    }

    /// How many blocks are in no bundle.
    pub(crate) fn unbundled_len(&self) -> usize {
        let blocks = self.newest().number.saturating_sub(self.bundled_through());
        usize::try_from(blocks).unwrap_or(usize::MAX)
    }

    /// What the blocks that are in no bundle take together.
    pub(crate) fn unbundled_size(&self) -> Size {
        self.sum(self.newest().number) - self.sum(self.bundled_through())
    }

    /// How many transactions the blocks hold that are in no bundle.
    pub(crate) fn unbundled_transactions(&self) -> u64 {
        self.transactions(self.newest().number) - self.transactions(self.bundled_through())
    }

    /// What all unfinished blocks take together.
    pub(crate) fn size(&self) -> Size {
        self.sum(self.newest().number) - self.base_sum
    }

    /// The number of the last block that is in a bundle, or of the base.
    pub(crate) fn bundled_through(&self) -> u64 {
        self.by_first.last_key_value().map_or(self.base.number, |(_, bundle)| bundle.run.last.number)
    }

    fn sum(&self, number: u64) -> Size {
        self.blocks.get(&number).map_or(self.base_sum, |entry| entry.sum)
    }

    fn transactions(&self, number: u64) -> u64 {
        self.blocks.get(&number).map_or(self.base_transactions, |entry| entry.transactions)
    }

    /// The bundle that begins with a block.
    pub(crate) fn get(&self, first: u64) -> Option<&Bundle> {
        self.by_first.get(&first)
    }

    /// The bundle that a block is in.
    pub(crate) fn containing(&self, number: u64) -> Option<&Bundle> {
        let (_, bundle) = self.by_first.range(..=number).next_back()?;
        Some(bundle).filter(|bundle| bundle.run.contains(number))
    }

    /// The bundle that ends with exactly this block, not with another one of its number.
    pub(crate) fn ending_with(&self, block: BlockId) -> Option<&Bundle> {
        self.containing(block.number).filter(|bundle| bundle.run.last == block)
    }

    /// Whether no block is unfinished.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// In order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Bundle> + ExactSizeIterator {
        self.by_first.values()
    }

    /// The first numbers of bundles.
    pub(crate) fn numbers(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = u64> {
        self.by_first.range(numbers).map(|(number, _)| *number)
    }

    pub(crate) fn finished(&self) -> impl DoubleEndedIterator<Item = &Bundle> {
        self.finished.iter()
    }

    /// The bundle that a package is a version of.
    pub(crate) fn bundle_of(&self, package: &PackageHash) -> Option<u64> {
        self.by_package.get(package).copied()
    }

    /// The lowest bundle that waits to be sent.
    pub(crate) fn first_queued(&self) -> Option<u64> {
        self.queued.first().copied()
    }

    /// The bundles that wait to be sent, lowest first.
    pub(crate) fn queued_numbers(&self) -> impl Iterator<Item = u64> {
        self.queued.iter().copied()
    }

    pub(crate) fn is_queued(&self, first: u64) -> bool {
        self.queued.contains(&first)
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued.len()
    }

    /// How many wait to be sent before a bundle.
    pub(crate) fn queued_before(&self, first: u64) -> usize {
        self.queued.range(..first).count()
    }

    pub(crate) const fn guaranteed(&self) -> usize {
        self.guaranteed
    }

    /// Adds a block on the newest one.
    pub(crate) fn push(&mut self, block: QueuedBlock) {
        let sum = self.sum(self.newest().number) + block.size;
        let transactions = self.transactions(self.newest().number) + u64::from(block.transactions);
        self.blocks.insert(block.id.number, Entry { block, sum, transactions });
    }

    /// Makes a bundle of blocks that are in none. Whether they are all there.
    pub(crate) fn form(&mut self, first: u64, last: u64) -> bool {
        let Some(run) = self.run_of(first, last).filter(|_| self.is_unbundled(first, last)) else {
            return false;
        };
        let blocks = self.blocks(first..=last).copied().collect::<Arc<[_]>>();
        match Bundle::new(self.below(run.first), blocks) {
            Some(bundle) => self.put_back(bundle),
            None => return false,
        }
        true
    }

    /// The run from one block to another, if both are there.
    pub(crate) fn run_of(&self, first: u64, last: u64) -> Option<Run> {
        let is_run = first <= last;
        Some(Run { first: self.block(first)?.id, last: self.block(last)?.id }).filter(|_| is_run)
    }

    /// Whether none of these blocks is in a bundle.
    pub(crate) fn is_unbundled(&self, first: u64, last: u64) -> bool {
        self.containing(first).is_none() && self.by_first.range(first..=last).next().is_none()
    }

    /// What a block stands on.
    fn below(&self, block: BlockId) -> BlockId {
        let below = block.number.checked_sub(1).and_then(|number| self.block(number));
        below.map_or(self.base, |block| block.id)
    }

    /// Remembers which bundle a package is a version of.
    pub(crate) fn add_package(&mut self, package: PackageHash, first: u64) {
        self.by_package.insert(package, first);
    }

    #[cfg(feature = "bugs")]
    pub(crate) fn forget_packages(&mut self, first: u64) {
        self.by_package.retain(|_, known| *known != first);
    }

    /// Remembers that so many versions were guaranteed beside the first one, and gives how many more these are.
    pub(crate) fn raise_duplicates(&mut self, first: u64, duplicates: usize) -> usize {
        let Some(bundle) = self.by_first.get_mut(&first) else { return 0 };
        let more = duplicates.saturating_sub(bundle.duplicates);
        bundle.duplicates += more;
        more
    }

    /// Takes a bundle out of the set and of the indexes by state, to be changed and put back.
    pub(crate) fn take_out(&mut self, first: u64) -> Option<Bundle> {
        let bundle = self.by_first.remove(&first)?;
        self.unindex(&bundle);
        Some(bundle)
    }

    /// Puts a bundle into the set.
    pub(crate) fn put_back(&mut self, bundle: Bundle) {
        let first = bundle.number();
        match bundle.state {
            State::Queued { .. } => drop(self.queued.insert(first)),
            State::Guaranteed { .. } => self.guaranteed += 1,
            _ => {}
        }
        self.by_first.insert(first, bundle);
    }

    /// Dissolves a bundle: takes it out, versions included, and leaves its blocks in none.
    pub(crate) fn dissolve(&mut self, first: u64) -> Option<Bundle> {
        let bundle = self.by_first.remove(&first)?;
        self.forget(&bundle);
        Some(bundle)
    }

    /// Takes everything from a block on out, versions included. Blocks that were in no bundle come as one, the last.
    pub(crate) fn take_from(&mut self, from: u64) -> Vec<Bundle> {
        let unbundled = self.bundled_through().saturating_add(1).max(from);
        let left = self.blocks(unbundled..).copied().collect::<Arc<[_]>>();
        let parent = left.first().map_or(self.base, |block| self.below(block.id));
        let mut gone = self.by_first.split_off(&from).into_values().collect::<Vec<_>>();
        gone.iter().for_each(|bundle| self.forget(bundle));
        gone.extend(Bundle::new(parent, left));
        self.blocks.split_off(&from);
        gone
    }

    /// Takes everything up to a block out, versions included. That block is the base from now on.
    pub(crate) fn take_through(&mut self, last: BlockId) -> Vec<Bundle> {
        self.base_sum = self.sum(last.number);
        self.base_transactions = self.transactions(last.number);
        let next = last.number.checked_add(1);
        let rest = next.map(|next| self.by_first.split_off(&next)).unwrap_or_default();
        let gone = core::mem::replace(&mut self.by_first, rest).into_values().collect::<Vec<_>>();
        gone.iter().for_each(|bundle| self.forget(bundle));
        self.blocks = next.map(|next| self.blocks.split_off(&next)).unwrap_or_default();
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
            State::Queued { .. } => drop(self.queued.remove(&bundle.number())),
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
    /// Panics unless the indexes say what the bundles say, and the blocks are one chain that bundles cover from below.
    pub(crate) fn check(&self) {
        let numbers = |is: fn(&State) -> bool| {
            let those = self.iter().filter(|bundle| is(&bundle.state));
            those.map(Bundle::number).collect::<BTreeSet<_>>()
        };
        assert_eq!(self.queued, numbers(|state| matches!(state, State::Queued { .. })), "queued");
        let guaranteed = numbers(|state| matches!(state, State::Guaranteed { .. })).len();
        assert_eq!(self.guaranteed, guaranteed, "guaranteed");
        let packages = self.by_first.iter().flat_map(|(number, bundle)| {
            bundle.versions.iter().map(move |version| (version.package, *number))
        });
        assert_eq!(self.by_package, packages.collect::<HashMap<_, _>>(), "by package");
        let (mut below, mut sum, mut transactions) = (self.base, self.base_sum, self.base_transactions);
        for (number, entry) in &self.blocks {
            assert_eq!(
                (*number, below.number + 1),
                (entry.block.id.number, *number),
                "the blocks are one chain"
            );
            sum = sum + entry.block.size;
            transactions += u64::from(entry.block.transactions);
            assert_eq!((sum, transactions), (entry.sum, entry.transactions), "the sums up to block {number}");
            below = entry.block.id;
        }
        let mut below = self.base;
        for (first, bundle) in &self.by_first {
            assert_eq!((*first, bundle.parent), (bundle.run.first.number, below), "bundles leave no gap");
            let blocks = self.blocks(*first..=bundle.run.last.number);
            assert!(blocks.eq(bundle.blocks.iter()), "a bundle has its blocks");
            below = bundle.run.last;
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

    const BYTES: u64 = 10;

    fn sealed(number: u64) -> QueuedBlock {
        let size = Size { bytes: BYTES, ..Size::default() };
        QueuedBlock { id: block(number), transactions: 1, is_alone: false, size, sealed_at: Time::ZERO }
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
            code_hash: Hash::ZERO,
            anchor_height: 0,
            core: 0,
            sent_at: Time::ZERO,
            sends: 1,
            taken: false,
            counted: false,
        }
    }

    /// Blocks 1, 2, .. on block 0, and bundles that end with these blocks, each with one version.
    fn set(blocks: u64, lasts: &[u64]) -> BundleSet {
        let mut set = BundleSet::new(block(0), 2);
        (1..=blocks).for_each(|number| set.push(sealed(number)));
        let mut first = 1;
        for last in lasts {
            assert!(set.form(first, *last));
            let mut bundle = set.take_out(first).unwrap();
            bundle.versions.push(version(first));
            set.add_package(package(first), first);
            set.put_back(bundle);
            first = last + 1;
        }
        set.check();
        set
    }

    #[test]
    fn a_change_moves_a_bundle_between_the_indexes() {
        let mut set = set(6, &[2, 4, 6]);
        assert_eq!((set.first_queued(), set.queued(), set.queued_before(5)), (Some(1), 3, 2));
        let mut first = set.take_out(1).unwrap();
        (first.state, first.phase) = (State::Guaranteed { version: 1, core: None }, Phase::Out);
        set.put_back(first);
        set.check();
        assert_eq!((set.first_queued(), set.queued(), set.guaranteed()), (Some(3), 2, 1));
        let mut first = set.take_out(1).unwrap();
        assert_eq!(set.guaranteed(), 0);
        first.state = State::Accumulated;
        set.put_back(first);
        set.check();
        assert_eq!((set.guaranteed(), set.is_queued(1), set.iter().len()), (0, false, 3));
        assert!(set.take_out(2).is_none(), "it is in a bundle, but not the first");
    }

    #[test]
    fn blocks_are_bundled_from_below_and_once() {
        let mut set = set(7, &[3]);
        assert_eq!(
            (set.bundled_through(), set.unbundled_len(), set.unbundled_size().bytes),
            (3, 4, 4 * BYTES)
        );
        assert!(!set.form(3, 5) && !set.form(2, 2) && !set.form(4, 8) && !set.form(5, 4));
        assert_eq!(
            [1, 3, 4].map(|number| set.containing(number).map(Bundle::number)),
            [Some(1), Some(1), None]
        );
        assert!(set.form(4, 4));
        set.check();
        assert_eq!(set.get(4).map(|bundle| (bundle.parent, bundle.run)), Some((block(3), Run::of(block(4)))));
        assert_eq!(set.first_unbundled().map(|block| block.id), Some(block(5)));
    }

    #[test]
    fn what_is_released_leaves_every_index_and_is_kept_for_a_while() {
        let mut set = set(8, &[2, 4, 5]);
        let gone = set.take_from(3);
        assert_eq!(
            gone.iter().map(|bundle| bundle.run.numbers().collect()).collect::<Vec<Vec<_>>>(),
            [vec![3, 4], vec![5], vec![6, 7, 8]]
        );
        gone.into_iter().for_each(|bundle| set.retire(bundle, State::Released));
        set.check();
        assert_eq!((set.newest(), set.base(), set.size().bytes), (block(2), block(0), 2 * BYTES));
        assert_eq!([1, 3].map(|number| set.bundle_of(&package(number))), [Some(1), None]);
        let kept = set.finished().map(|bundle| (bundle.number(), bundle.state)).collect::<Vec<_>>();
        assert_eq!(kept, [(5, State::Released), (6, State::Released)]);
        set.push(sealed(3));
        set.check();
        assert_eq!(set.unbundled_size().bytes, BYTES);
    }

    #[test]
    fn what_is_final_becomes_the_base() {
        let mut set = set(6, &[2, 4]);
        assert_eq!(set.take_through(block(2)).len(), 1);
        set.check();
        assert_eq!((set.base(), set.newest(), set.first_queued()), (block(2), block(6), Some(3)));
        assert_eq!((set.bundle_of(&package(1)), set.size().bytes, set.blocks_len()), (None, 4 * BYTES, 4));
        assert_eq!(set.take_through(block(4)).len(), 1);
        set.check();
        assert_eq!((set.iter().len(), set.is_empty(), set.queued(), set.unbundled_len()), (0, false, 0, 2));
    }

    #[test]
    fn a_dissolved_bundle_leaves_its_blocks() {
        let mut set = set(4, &[4]);
        let whole = set.dissolve(1).unwrap();
        assert_eq!((whole.blocks.len(), set.bundle_of(&package(1)), set.unbundled_len()), (4, None, 4));
        assert!(set.form(1, 2) && set.form(3, 4));
        set.check();
    }

    #[test]
    fn a_block_is_more_than_its_number() {
        let set = set(2, &[2]);
        assert!(set.ending_with(block(2)).is_some() && set.ending_with(block(1)).is_none());
        assert!(set.ending_with(BlockId::new(2, [9; 32].into())).is_none());
    }

    #[test]
    fn duplicates_only_grow() {
        let mut set = set(1, &[1]);
        assert_eq!([1, 1, 0, 3].map(|count| set.raise_duplicates(1, count)), [1, 0, 0, 2]);
        assert_eq!(set.raise_duplicates(2, 1), 0);
    }
}
