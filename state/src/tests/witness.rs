//! Witnesses prove what they should, and only that.

use super::{
    random::{key, keys, writes},
    reference,
};
use crate::{
    Blake2b, Hash, Key, MemoryValues, NotCovered, PartialTree, Tree, Value, Values, Witness, Writes,
    witness::{CoverageError, MakeError},
};
use alloc::{collections::BTreeSet, vec::Vec};
use proptest::{prelude::*, sample::Index};

pub(super) struct Whole {
    pub(super) tree: Tree,
    pub(super) values: MemoryValues,
}

impl Whole {
    pub(super) fn new(state: &Writes) -> Self {
        let pairs = || state.iter().map(|(key, value)| (*key, *value));
        Self { tree: Tree::default().extend(pairs()), values: pairs().collect() }
    }

    pub(super) fn witness(&self, keys: &BTreeSet<Key>) -> Witness {
        Witness::make(&self.tree, &self.values, keys).unwrap()
    }

    fn get(&self, key: &Key) -> Option<Value> {
        self.values.value(key).unwrap()
    }
}

fn partial(witness: &Witness) -> PartialTree {
    Witness::decode(&witness.encode()).unwrap().verify(witness.root()).unwrap()
}

proptest! {
    #[test]
    fn the_root_after_is_that_of_the_whole_tree(
        state in writes(0..60),
        near in prop::collection::vec(key(), 0..12),
        pick in prop::collection::vec(any::<Index>(), 0..12),
        steps in prop::collection::vec(writes(0..10), 1..4),
    ) {
        let whole = Whole::new(&state);
        let mut touched = keys(&state, &near, &pick);
        touched.extend(steps.iter().flat_map(Writes::keys));
        let witness = whole.witness(&touched);
        prop_assert_eq!(Witness::decode(&witness.encode()), Ok(witness.clone()));
        let mut partial = partial(&witness);
        prop_assert_eq!(partial.covers_exactly(touched.iter().copied()), Ok(()));
        for key in &touched {
            prop_assert_eq!(partial.get(key), Ok(whole.get(key)));
        }
        // Several rounds of writes: a stem that is new in the first is an old one in the second.
        let mut after = state;
        for step in &steps {
            after.extend(step);
            prop_assert_eq!(partial.update(step), Ok(reference::root(&after)));
            for key in &touched {
                prop_assert_eq!(partial.get(key), Ok(after.get(key).copied()));
            }
        }
    }

    #[test]
    fn what_is_not_covered_is_an_error_and_never_zero(
        state in writes(1..60),
        touched in prop::collection::btree_set(key(), 0..6),
        asked in prop::collection::vec(key(), 1..40),
    ) {
        let whole = Whole::new(&state);
        let mut partial = partial(&whole.witness(&touched));
        let root = partial.root();
        for key in asked.iter().chain(state.keys()) {
            match partial.get(key) {
                Ok(value) => prop_assert_eq!(value, whole.get(key)),
                Err(NotCovered { key: missing }) => {
                    prop_assert_eq!(missing, *key);
                    prop_assert!(!touched.contains(key));
                    prop_assert!(partial.update(&Writes::from([(*key, Value::ZERO)])).is_err());
                    prop_assert_eq!(partial.root(), root);
                }
            }
        }
    }

    #[test]
    fn any_bit_flipped_fails_or_changes_no_answer(
        state in writes(0..30),
        near in prop::collection::vec(key(), 0..6),
        pick in prop::collection::vec(any::<Index>(), 0..6),
        after in writes(0..4),
        bits in prop::collection::vec(any::<Index>(), 16),
    ) {
        let flips = Flips::new(&state, &keys(&state, &near, &pick), &after);
        for bit in bits {
            flips.flip(bit.index(flips.bytes.len() * 8));
        }
    }

    #[test]
    fn a_witness_for_one_root_never_verifies_for_another(
        state in writes(0..40), change in writes(1..5), touched in prop::collection::btree_set(key(), 0..6),
    ) {
        let (one, mut other) = (Whole::new(&state), state.clone());
        other.extend(&change);
        let other = Whole::new(&other);
        let witness = one.witness(&touched);
        let verified = witness.verify::<Blake2b>(other.tree.root());
        prop_assert_eq!(verified.is_ok(), one.tree.root() == other.tree.root());
        // Nor if it claims the other root.
        let mut bytes = witness.encode();
        bytes[1..33].copy_from_slice(other.tree.root().as_slice());
        let verified = Witness::decode(&bytes).unwrap().verify::<Blake2b>(other.tree.root());
        prop_assert_eq!(verified.is_ok(), one.tree.root() == other.tree.root());
    }

    #[test]
    fn coverage_is_exact(
        state in writes(1..60),
        touched in prop::collection::btree_set(key(), 1..8),
        other in prop::collection::btree_set(key(), 1..8),
    ) {
        let whole = Whole::new(&state);
        let same = whole.witness(&touched) == whole.witness(&other);
        let verdict = partial(&whole.witness(&touched)).covers_exactly(other.iter().copied());
        prop_assert_eq!(verdict.is_ok(), same, "{:?}", verdict);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        // Random bytes fail at once; behind a good beginning they get further.
        let mut framed = [1; 33].to_vec();
        framed.extend_from_slice(&((bytes.len() % 40) as u32).to_le_bytes());
        framed.extend_from_slice(&bytes);
        for bytes in [bytes, framed] {
            if let Ok(witness) = Witness::decode(&bytes) {
                prop_assert_eq!(witness.encode(), bytes);
            }
        }
    }
}

/// A witness, bits of which are flipped.
struct Flips {
    whole: Whole,
    bytes: Vec<u8>,
    asked: BTreeSet<Key>,
    touched: BTreeSet<Key>,
    after: Writes,
    post_root: Hash,
}

impl Flips {
    fn new(state: &Writes, touched: &BTreeSet<Key>, after: &Writes) -> Self {
        let whole = Whole::new(state);
        let touched = touched.iter().chain(after.keys()).copied().collect::<BTreeSet<_>>();
        let witness = whole.witness(&touched);
        let post_root = partial(&witness).update(after).unwrap();
        let asked = touched.iter().chain(state.keys()).copied().collect();
        Self { whole, bytes: witness.encode(), asked, touched, after: after.clone(), post_root }
    }

    fn flip(&self, bit: usize) {
        let mut bytes = self.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok(forged) = Witness::decode(&bytes) else { return };
        assert_eq!(forged.encode(), bytes, "one witness, one encoding");
        let Ok(mut forged) = forged.verify::<Blake2b>(self.whole.tree.root()) else { return };
        for key in &self.asked {
            assert!(forged.get(key).is_err() || forged.get(key) == Ok(self.whole.get(key)));
        }
        assert!(forged.covers_exactly(self.touched.iter().copied()).is_err(), "bit {bit} has no effect");
        let updated = forged.update(&self.after);
        assert!(updated.is_err() || updated == Ok(self.post_root));
    }
}

#[test]
fn every_bit_of_some_witnesses_matters() {
    let key = |first, sub| Key::of(&[first; 31], sub);
    let state = [key(0, 0), key(0, 1), key(0, 64), key(1, 7), key(128, 0), key(192, 9), key(200, 9)];
    let state = state.into_iter().map(|key| (key, Value::repeat_byte(key.sub()))).collect::<Writes>();
    // Present, absent in an open stem, absent beside a sealed one, absent at nothing.
    let touched = BTreeSet::from([key(0, 0), key(0, 5), key(129, 0), key(160, 0), key(200, 9)]);
    let after = Writes::from([(key(0, 5), Value::ZERO), (key(129, 0), Value::ZERO)]);
    let flips = Flips::new(&state, &touched, &after);
    (0..flips.bytes.len() * 8).for_each(|bit| flips.flip(bit));
    let flips = Flips::new(&Writes::new(), &touched, &after);
    (0..flips.bytes.len() * 8).for_each(|bit| flips.flip(bit));
}

#[test]
fn an_empty_tree_has_a_witness() {
    let whole = Whole::new(&Writes::new());
    let key = Key::new([7; 32]);
    let witness = whole.witness(&BTreeSet::from([key]));
    let mut partial = partial(&witness);
    assert_eq!((partial.root(), partial.get(&key)), (Hash::ZERO, Ok(None)));
    let writes = Writes::from([(key, Value::ZERO)]);
    assert_eq!(partial.update(&writes), Ok(reference::root(&writes)));
    assert_eq!(partial.get(&Key::of(key.stem(), 9)), Ok(None), "a stem that is new has nothing else");
}

#[test]
fn coverage_names_what_is_wrong() {
    let keys = (0..8_u8).map(|i| Key::new([i << 5; 32])).collect::<Vec<_>>();
    let whole = Whole::new(&keys.iter().map(|key| (*key, Value::ZERO)).collect());
    let both = BTreeSet::from([keys[0], keys[7]]);
    let partial = partial(&whole.witness(&both));
    assert_eq!(partial.covers_exactly(BTreeSet::from([keys[0]])), Err(CoverageError::Excess(keys[7])));
    let missing = Err(CoverageError::Missing(NotCovered { key: keys[3] }));
    assert_eq!(partial.covers_exactly(BTreeSet::from([keys[0], keys[3], keys[7]])), missing);
    // A key that is absent opens its way as well.
    let absent = Key::new([255; 32]);
    let partial = self::partial(&whole.witness(&BTreeSet::from([keys[0], absent])));
    let opened = partial.covers_exactly(BTreeSet::from([keys[0]]));
    assert!(matches!(opened, Err(CoverageError::Opened { .. })), "{opened:?}");
}

#[test]
fn values_that_are_not_of_the_tree_give_no_witness() {
    let key = Key::new([1; 32]);
    let tree = Tree::<Blake2b>::default().extend([(key, Value::ZERO)]);
    let made = Witness::make(&tree, &MemoryValues::default(), &BTreeSet::from([key]));
    assert_eq!(made, Err(MakeError::Inconsistent { key }));
}

#[test]
fn values_that_are_known_are_not_looked_up_and_others_are() {
    let keys = [1, 2, 3, 4].map(|byte| Key::new([byte; 32]));
    let values = keys.map(|key| (key, Value::from(*key.as_bytes())));
    let tree = Tree::<Blake2b>::default().extend(values);
    let whole = Witness::make(&tree, &MemoryValues::from_iter(values), &keys.into());
    let others = MemoryValues::from_iter([values[0], values[2]]);
    let known = [values[1], values[3]].map(|(key, value)| (key, Some(value)));
    assert_eq!(Witness::make_knowing(&tree, &others, &keys.into(), &known), whole);
    let missing = Witness::make_knowing(&tree, &others, &keys.into(), &known[1..]);
    assert_eq!(missing, Err(MakeError::Inconsistent { key: keys[1] }));
}
