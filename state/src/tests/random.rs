//! Random states with everything that is special: shared and split stems, zeros, keys that differ in the last bit.

use crate::{Key, Value, Writes};
use alloc::{collections::BTreeSet, vec::Vec};
use proptest::prelude::*;

/// Keys close to each other, so that stems are shared, split and missed. Few bytes matter, at both ends of the stem.
pub(super) fn key() -> impl Strategy<Value = Key> {
    let byte = || prop_oneof![Just(0), Just(1), Just(128), Just(255), any::<u8>()];
    (byte(), prop_oneof![Just(0), Just(1), Just(2), Just(255)], byte()).prop_map(|(first, last, sub)| {
        let mut bytes = [0; 32];
        (bytes[0], bytes[30], bytes[31]) = (first, last, sub);
        Key::new(bytes)
    })
}

pub(super) fn value() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::ZERO), any::<[u8; 32]>().prop_map(Value::from)]
}

pub(super) fn writes(sizes: core::ops::Range<usize>) -> impl Strategy<Value = Writes> {
    prop::collection::btree_map(key(), value(), sizes)
}

/// Keys that are read: some of the state, some near it.
pub(super) fn keys(state: &Writes, near: &[Key], pick: &[prop::sample::Index]) -> BTreeSet<Key> {
    let present = state.keys().copied().collect::<Vec<_>>();
    let picked = pick.iter().filter(|_| !present.is_empty()).map(|index| *index.get(&present));
    picked.chain(near.iter().copied()).collect()
}
