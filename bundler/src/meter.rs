//! How large the witness is going to be, without making it.
//!
//! A witness of some keys is the tree with everything closed that no key needs: per level of a path one hash of what is
//! beside it, except where another key's path goes. So a new stem costs what is below the point where it leaves the
//! paths that are open already. The same holds for the eight levels below a stem.
//!
//! The sum is a bound: paths count as deep as the deepest of the tree, as their own from [`PATH_BITS`] on at the latest,
//! and siblings that are empty as hashes, because to know better is to walk through the tree, which costs more than to
//! execute a transfer. Where the bound of the bytes
//! does not suffice the caller makes the witness and tells the meter its length ([`Meter::rebase`]), after which only
//! what comes later is estimated.
//!
//! The same walk counts nodes, since each is work for a validator: to prove the state before the block, and, with the keys that are
//! written, to work out the state after it. Where that bound does not suffice, stems are looked up in the tree, each once
//! ([`Meter::walk`]).

use crate::work::Witnessed;
use alloy_primitives::map::{Entry, HashMap};
use state::{Key, Opened, Stem};

/// A sibling: a hash, and its tokens and bits.
const SIBLING_BYTES: usize = 33;
/// A stem: itself, the number of its values, padding of two bit fields, and the root of another one in its place.
const STEM_BYTES: usize = 31 + 2 + 2 + 32;
/// A value: the sub-index, the value, and its presence bit.
const VALUE_BYTES: usize = 1 + 32 + 1;
/// Version, root, the two numbers, and the hash of the whole if nothing is open.
const FRAME_BYTES: usize = 1 + 32 + 4 + 4 + 1 + 32;
/// Levels below a stem.
const SUB_BITS: u32 = 8;
/// Levels of the tree in which it is known what is open. A block has some thousands of stems, which rarely go the same
/// way for longer.
const PATH_BITS: usize = 16;

/// Which of the 256 sub-indices of a stem are covered.
type Subs = [u64; 4];

/// A bound of the size of a witness while keys are added.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// No path in the tree is longer.
    deepest: usize,
    /// By the first key of the stem.
    stems: HashMap<Key, Path>,
    paths: Paths,
    bytes: usize,
    opened: Opened,
    siblings_below: usize,
    /// Stems whose depth was not looked up, and some that are not there any more.
    unwalked: Vec<Key>,
}

/// A stem and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    subs: Subs,
    /// So many levels of it were open before.
    open_levels: usize,
    /// So many nodes are counted for the others.
    inner: usize,
}

/// What adding keys changed, so that it can be taken back.
#[derive(Debug)]
pub(crate) struct Added {
    bytes_before: usize,
    keys: usize,
    below: usize,
    siblings_below: usize,
    /// What each stem was before, by its first key.
    stems_before: Vec<(Key, Before)>,
}

#[derive(Debug)]
enum Before {
    /// It had these.
    Covered(Subs),
    /// It was not there.
    New,
}

/// The nodes of the first levels that are on an open path: a bit for each, level by level.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Paths(Vec<u64>);

impl Paths {
    fn new() -> Self {
        Self(vec![0; (2 << PATH_BITS) / 64])
    }

    /// Opens the path of a stem. Gives how many of its levels have nothing closed beside them that is not counted yet:
    /// as far as another path goes the same way, and where the two part.
    fn open(&mut self, stem: &Key) -> usize {
        let open = Self::nodes(stem).take_while(|node| self.0[node / 64] >> (node % 64) & 1 == 1).count();
        self.flip(stem, open);
        open
    }

    /// Takes the last [`Paths::open`] back, which gave `open`.
    fn close(&mut self, stem: &Key, open: usize) {
        self.flip(stem, open);
    }

    fn flip(&mut self, stem: &Key, open: usize) {
        Self::nodes(stem).skip(open).for_each(|node| self.0[node / 64] ^= 1 << (node % 64));
    }

    /// The nodes on the way to a stem, from the root on.
    fn nodes(stem: &Key) -> impl Iterator<Item = usize> {
        let [first, second, ..] = *stem.as_bytes();
        let prefix = usize::from(u16::from_be_bytes([first, second]));
        (0..=PATH_BITS).map(move |depth| 1 << depth | prefix >> (PATH_BITS - depth))
    }
}

impl Meter {
    pub(crate) fn new(deepest: usize) -> Self {
        Self {
            deepest,
            stems: HashMap::default(),
            paths: Paths::new(),
            bytes: FRAME_BYTES,
            opened: Opened::default(),
            siblings_below: 0,
            unwalked: Vec::new(),
        }
    }

    /// No witness of the keys so far is longer.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// No witness of the keys so far has more nodes and hashes.
    pub(crate) fn witnessed(&self) -> Witnessed {
        Witnessed { opened: self.opened, hashes: self.opened.inner + self.siblings_below }
    }

    /// To write the keys so far makes no more nodes.
    pub(crate) fn written(&self) -> Opened {
        // What portions of keys have in common is the way to where their paths part: about as deep as there are portions.
        let portions = self.opened.keys / state::WRITTEN_TOGETHER;
        let twice = portions * (portions.checked_ilog2().unwrap_or(0) as usize + 2);
        Opened { inner: self.opened.inner + twice, ..self.opened }
    }

    /// Adds keys; those that are there already cost nothing.
    pub(crate) fn add(&mut self, keys: impl IntoIterator<Item = Key>) -> Added {
        let mut added = Added {
            bytes_before: self.bytes,
            keys: 0,
            below: 0,
            siblings_below: 0,
            stems_before: Vec::new(),
        };
        for key in keys {
            self.add_one(&key, &mut added);
        }
        self.opened.keys += added.keys;
        self.opened.below += added.below;
        self.siblings_below += added.siblings_below;
        added
    }

    /// Takes the last addition back.
    pub(crate) fn undo(&mut self, added: Added) {
        self.bytes = added.bytes_before;
        self.opened.keys -= added.keys;
        self.opened.below -= added.below;
        self.siblings_below -= added.siblings_below;
        for (stem, before) in added.stems_before.into_iter().rev() {
            match before {
                Before::Covered(subs) => {
                    if let Some(path) = self.stems.get_mut(&stem) {
                        path.subs = subs;
                    }
                }
                Before::New => {
                    if let Some(path) = self.stems.remove(&stem) {
                        self.paths.close(&stem, path.open_levels);
                        self.opened.stems -= 1;
                        self.opened.inner -= path.inner;
                    }
                }
            }
        }
    }

    /// The witness of the keys so far has this length.
    pub(crate) fn rebase(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// Counts the nodes on the way to stems as they are, each stem once: `depth` says how many there are.
    pub(crate) fn walk(&mut self, depth: impl Fn(&Stem) -> usize) {
        for stem in self.unwalked.drain(..) {
            let Some(path) = self.stems.get_mut(&stem) else { continue };
            let inner = depth(stem.stem()).saturating_sub(path.open_levels).min(path.inner);
            self.opened.inner -= path.inner - inner;
            path.inner = inner;
        }
    }

    fn add_one(&mut self, key: &Key, added: &mut Added) {
        let stem = Key::of(key.stem(), 0);
        let (path, before) = match self.stems.entry(stem) {
            Entry::Occupied(covered) => {
                let path = covered.into_mut();
                let before = path.subs;
                (path, Before::Covered(before))
            }
            Entry::Vacant(vacant) => {
                let open_levels = self.paths.open(&stem);
                let inner = self.deepest.saturating_sub(open_levels);
                self.bytes += STEM_BYTES + SIBLING_BYTES * inner;
                self.opened.stems += 1;
                self.opened.inner += inner;
                self.unwalked.push(stem);
                (vacant.insert(Path { subs: Subs::default(), open_levels, inner }), Before::New)
            }
        };
        let subs = &mut path.subs;
        if has(subs, key.sub()) {
            return;
        }
        let is_first = *subs == Subs::default();
        let siblings = new_siblings(subs, key.sub());
        self.bytes += VALUE_BYTES + SIBLING_BYTES * siblings;
        added.keys += 1;
        added.siblings_below += siblings;
        // Beside each node of its own is a sibling; the first of another one's siblings becomes a node of this one's.
        added.below += siblings + usize::from(!is_first);
        subs[usize::from(key.sub() / 64)] |= 1 << (key.sub() % 64);
        added.stems_before.push((stem, before));
    }
}

fn has(subs: &Subs, sub: u8) -> bool {
    subs[usize::from(sub / 64)] >> (sub % 64) & 1 == 1
}

/// How many subtrees beside the path of a sub-index are closed until it is covered too.
fn new_siblings(subs: &Subs, sub: u8) -> usize {
    if *subs == Subs::default() {
        return SUB_BITS as usize;
    }
    let covered_within = |level: u32| {
        let first = u32::from(sub) >> level << level;
        (first..first + (1 << level)).any(|sub| has(subs, sub as u8))
    };
    (0..SUB_BITS).find(|level| covered_within(*level)).map_or(SUB_BITS as usize, |level| {
        // One of the siblings counted before is the subtree in which this path begins to be its own.
        level.saturating_sub(1) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, B256, U256};
    use proptest::prelude::*;
    use state::{AccountKeys, Blake2b, Layer, MemoryValues, Tree, Writes, account_writes};
    use std::{collections::BTreeSet, sync::Arc};

    fn layer(accounts: u64) -> Layer<Arc<MemoryValues>> {
        let mut writes = Writes::new();
        for i in 0..accounts {
            let address = Address::left_padding_from(&i.to_be_bytes());
            let slots = (0..i % 5).map(|slot| (U256::from(slot * 50), U256::from(7)));
            writes.extend(account_writes::<Blake2b>(address, 1, U256::from(i), &[1; 70], slots).unwrap());
        }
        let values = writes.iter().map(|(key, value)| (*key, *value)).collect();
        Layer::new(Arc::new(values), Tree::default().update(&writes), 0)
    }

    fn key() -> impl Strategy<Value = Key> {
        let keys =
            |account: u64| AccountKeys::<Blake2b>::new(Address::left_padding_from(&account.to_be_bytes()));
        prop_oneof![
            (0..900_u64, 0..300_u64).prop_map(move |(a, slot)| keys(a).slot(U256::from(slot))),
            (0..900_u64).prop_map(move |a| keys(a).basic_data()),
            (0..900_u64).prop_map(move |a| keys(a).code_hash()),
            (0..900_u64, 0..200_u32).prop_map(move |(a, chunk)| keys(a).chunk(chunk)),
            any::<[u8; 32]>().prop_map(Key::new),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_witness_is_longer_than_the_meter_says(
            accounts in 0..600_u64, groups in proptest::collection::vec(proptest::collection::vec(key(), 0..40), 0..8),
        ) {
            let layer = layer(accounts);
            let mut meter = Meter::new(layer.tree().deepest());
            let mut keys = BTreeSet::new();
            for group in groups {
                let state = |meter: &Meter| {
                (meter.bytes(), meter.stems.clone(), meter.paths.clone(), meter.opened, meter.siblings_below)
            };
            let before = state(&meter);
                let added = meter.add(group.iter().copied());
                meter.undo(added);
                prop_assert_eq!(&before, &state(&meter));
                meter.add(group.iter().copied());
                keys.extend(group);
                let exact = layer.witness(&keys).unwrap().encode().len();
                prop_assert!(exact <= meter.bytes(), "{} > {}", exact, meter.bytes());
            }
        }
    }

    #[test]
    fn for_transfers_the_bound_is_not_far_off() {
        let layer = layer(20_000);
        let keys = (0..2_000_u64).map(|i| B256::left_padding_from(&(i * 7 % 20_000).to_be_bytes()));
        let keys = keys.map(|word| AccountKeys::<Blake2b>::new(Address::from_word(word)));
        let keys = keys.flat_map(|keys| [keys.basic_data(), keys.code_hash()]).collect::<BTreeSet<_>>();
        let mut meter = Meter::new(layer.tree().deepest());
        meter.add(keys.iter().copied());
        let exact = layer.witness(&keys).unwrap().encode().len();
        assert!((exact..exact * 4).contains(&meter.bytes()), "{} for {exact}", meter.bytes());
    }
}
