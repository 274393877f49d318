//! The tree as the EIP says it, with no thought for speed: the reference that ours is compared with.

use super::random::writes;
use crate::{Blake2b, Hash, Hasher, Key, Tree, Value, Writes};
use alloc::vec::Vec;
use proptest::prelude::*;

fn hash(parts: &[&[u8]]) -> Hash {
    Blake2b::hash(&parts.concat())
}

fn inner(left: Hash, right: Hash) -> Hash {
    if left.is_zero() && right.is_zero() { Hash::ZERO } else { hash(&[&[1], left.as_ref(), right.as_ref()]) }
}

/// The root of the values below a stem, by halving the 256 places eight times.
fn below_stem(places: &[Option<Value>]) -> Hash {
    match places {
        [place] => place.map_or(Hash::ZERO, |value| hash(&[&[0], value.as_ref()])),
        _ => {
            let (left, right) = places.split_at(places.len() / 2);
            inner(below_stem(left), below_stem(right))
        }
    }
}

fn node(entries: &[(Key, Value)], depth: usize) -> Hash {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Hash::ZERO };
    if first.0.stem() == last.0.stem() {
        let mut places = alloc::vec![None; 256];
        entries.iter().for_each(|(key, value)| places[usize::from(key.sub())] = Some(*value));
        return hash(&[&[2], first.0.stem(), &[0], below_stem(&places).as_ref()]);
    }
    let bit = |key: &Key| key.as_bytes()[depth / 8] & (128 >> (depth % 8)) != 0;
    let left = entries.iter().copied().filter(|(key, _)| !bit(key)).collect::<Vec<_>>();
    let right = entries.iter().copied().filter(|(key, _)| bit(key)).collect::<Vec<_>>();
    inner(node(&left, depth + 1), node(&right, depth + 1))
}

/// The root of a whole state.
pub(super) fn root(state: &Writes) -> Hash {
    node(&state.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>(), 0)
}

proptest! {
    #[test]
    fn updates_in_any_portions_give_the_root_of_the_reference(steps in prop::collection::vec(writes(0..40), 1..6)) {
        let mut state = Writes::new();
        let mut tree = Tree::<Blake2b>::default();
        for step in &steps {
            let before = tree.clone();
            let root_before = before.root();
            tree = tree.update(step);
            state.extend(step);
            prop_assert_eq!(tree.root(), root(&state));
            // What the tree was is still there.
            prop_assert_eq!(before.update(&Writes::new()).root(), root_before);
        }
        for key in state.keys() {
            prop_assert!(tree.contains(key));
        }
        // Portions, order and repetition do not matter.
        let again = steps.iter().flatten().map(|(key, value)| (*key, *value)).collect::<Vec<_>>();
        prop_assert_eq!(Tree::<Blake2b>::default().extend(again.iter().copied()).root(), tree.root());
    }
}
