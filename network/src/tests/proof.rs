//! Parts of a state prove its root, and lies do not.

use crate::{StateRange, StateRequest, StateTrie};
use jam::{Hash, HeaderHash, codec::Bytes, spec::StateKey};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn key(number: u16) -> StateKey {
    // Keys that share long prefixes and keys that share none.
    let mut key = StateKey::ZERO;
    key[0] = (number % 7) as u8 * 37;
    key[30] = (number >> 8) as u8;
    key[29] = number as u8;
    key
}

fn state(numbers: &[u16]) -> BTreeMap<StateKey, Bytes> {
    numbers.iter().map(|n| (key(*n), Bytes::from(vec![*n as u8; usize::from(*n % 50)]))).collect()
}

fn request(start: StateKey, end: StateKey, bytes_max: u32) -> StateRequest {
    StateRequest { header: HeaderHash::ZERO, start, end, bytes_max }
}

proptest! {
    #[test]
    fn ranges_prove_the_root(
        numbers in proptest::collection::vec(any::<u16>(), 0..40),
        a: u16, b: u16, bytes_max in 31_000_u32..34_000,
    ) {
        let state = state(&numbers);
        let trie = StateTrie::new(&state);
        let (start, end) = (key(a).min(key(b)), key(a).max(key(b)));
        let range = trie.range(&request(start, end, bytes_max));
        prop_assert_eq!(range.root(start, end), Ok(trie.root()));
        let last = range.entries.last().map_or(start, |(key, _)| *key);
        let expected = state.range(start..=last).map(|(key, value)| (*key, value.clone())).collect::<Vec<_>>();
        prop_assert_eq!(range.entries, expected);
    }

    #[test]
    fn a_lie_does_not_prove_the_root(
        numbers in proptest::collection::vec(any::<u16>(), 1..40),
        pick: usize, which in 0_u8..3,
    ) {
        let state = state(&numbers);
        let trie = StateTrie::new(&state);
        let (start, end) = (StateKey::ZERO, StateKey::repeat_byte(255));
        let mut range = trie.range(&request(start, end, u32::MAX));
        let at = pick % range.entries.len();
        // An answer may end early; it must not leave anything out before its end.
        prop_assume!(which > 0 || at + 1 < range.entries.len());
        match which {
            0 => { range.entries.remove(at); }
            1 => range.entries[at].1 = Bytes::from_static(b"something else that nobody had written"),
            _ => {
                let invented = StateKey::repeat_byte(0x55);
                range.entries.push((invented, Bytes::new()));
                range.entries.sort();
            }
        }
        prop_assert_ne!(range.root(start, end), Ok(trie.root()));
    }
}

#[test]
fn a_missing_key_is_proved_absent() {
    let state = state(&[1, 2, 3, 300]);
    let trie = StateTrie::new(&state);
    let absent = key(77);
    let range = trie.range(&request(absent, absent, u32::MAX));
    assert!(range.entries.is_empty());
    assert_eq!(range.root(absent, absent), Ok(trie.root()));
    // What exists cannot be shown as absent.
    let there = key(2);
    let mut range = trie.range(&request(there, there, u32::MAX));
    range.entries.clear();
    assert_ne!(range.root(there, there), Ok(trie.root()));
    assert_eq!(StateRange::default().root(there, there), Ok(Hash::ZERO));
}
