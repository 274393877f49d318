//! How large the witness is going to be, without making it.
//!
//! A witness of some keys is the tree with everything closed that no key needs: per level of a path one hash of what is
//! beside it, except where another key's path goes. So a new stem costs what is below the point where it leaves the
//! nearest path that is open already, and that nearest one is its neighbour in the order of stems. The same holds for
//! the eight levels below a stem.
//!
//! The sum is a bound: paths count as deep as the deepest of the tree, and siblings that are empty as hashes, because to
//! know better is to walk through the tree, which costs more than to execute a transfer. Where the bound
//! does not suffice the caller makes the witness and tells the meter its length ([`Meter::rebase`]), after which only
//! what comes later is estimated.

use state::{Blake2b, Key};
use std::collections::BTreeMap;

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

/// Which of the 256 sub-indices of a stem are covered.
type Subs = [u64; 4];

/// A bound of the size of a witness while keys are added.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// No path in the tree is longer.
    deepest: usize,
    /// A stem is named by the first of its keys, which compare quickest.
    stems: BTreeMap<Key, Subs>,
    bytes: usize,
}

/// What adding keys changed, so that it can be taken back.
#[derive(Debug)]
pub(crate) struct Added {
    bytes_before: usize,
    /// What each stem had before; a new one had nothing.
    subs_before: Vec<(Key, Option<Subs>)>,
}

impl Meter {
    pub(crate) fn new(deepest: usize) -> Self {
        Self { deepest, stems: BTreeMap::new(), bytes: FRAME_BYTES }
    }

    /// No witness of the keys so far is longer.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds keys; those that are there already cost nothing.
    pub(crate) fn add(&mut self, keys: impl IntoIterator<Item = Key>) -> Added {
        let mut added = Added { bytes_before: self.bytes, subs_before: Vec::new() };
        for key in keys {
            self.add_one(&key, &mut added);
        }
        added
    }

    /// Takes the last addition back.
    pub(crate) fn undo(&mut self, added: Added) {
        self.bytes = added.bytes_before;
        for (stem, before) in added.subs_before.into_iter().rev() {
            match before {
                Some(subs) => drop(self.stems.insert(stem, subs)),
                None => drop(self.stems.remove(&stem)),
            }
        }
    }

    /// The witness of the keys so far has this length.
    pub(crate) fn rebase(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    fn add_one(&mut self, key: &Key, added: &mut Added) {
        let stem = Key::of(key.stem(), 0);
        let before = match self.stems.get_mut(&stem) {
            Some(subs) if has(subs, key.sub()) => return,
            Some(subs) => {
                let before = *subs;
                cover(subs, key.sub());
                Some(before)
            }
            None => {
                let closed = self.deepest.saturating_sub(self.open_levels(&stem));
                self.bytes += STEM_BYTES + SIBLING_BYTES * closed;
                let mut subs = Subs::default();
                cover(&mut subs, key.sub());
                self.stems.insert(stem, subs);
                None
            }
        };
        self.bytes += VALUE_BYTES + SIBLING_BYTES * new_siblings(&before.unwrap_or_default(), key.sub());
        added.subs_before.push((stem, before));
    }

    /// How many levels of a stem's path have nothing closed beside them that is not counted yet: as far as another path
    /// goes the same way, and where the two part.
    fn open_levels(&self, stem: &Key) -> usize {
        let below = self.stems.range(..*stem).next_back();
        let above = self.stems.range(*stem..).next();
        below.into_iter().chain(above).map(|(other, _)| shared_bits(stem, other) + 1).max().unwrap_or(0)
    }
}

fn shared_bits(a: &Key, b: &Key) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    same * 8 + a.get(same).map_or(0, |byte| (byte ^ b[same]).leading_zeros() as usize)
}

fn cover(subs: &mut Subs, sub: u8) {
    subs[usize::from(sub / 64)] |= 1 << (sub % 64);
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

/// The keys of a contract's code.
pub(crate) fn code_keys(address: alloy_primitives::Address, code_len: usize) -> Vec<Key> {
    let chunks = u32::try_from(code_len.div_ceil(state::CHUNK_BYTES)).unwrap_or(u32::MAX);
    state::AccountKeys::<Blake2b>::new(address).chunks(chunks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, B256, U256};
    use proptest::prelude::*;
    use state::{AccountKeys, Layer, MemoryValues, Tree, Writes, account_writes};
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
                let before = (meter.bytes(), meter.stems.clone());
                let added = meter.add(group.iter().copied());
                meter.undo(added);
                prop_assert_eq!(&before, &(meter.bytes(), meter.stems.clone()));
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
