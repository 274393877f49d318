//! Witnesses made by a prover who lies, byte by byte.

use super::witness::Whole;
use crate::{Blake2b, Hash, Hasher, Key, Value, Witness, Writes, witness::Malformed};
use alloc::{collections::BTreeSet, vec, vec::Vec};

const EMPTY: u8 = 0;
const HASH: u8 = 1;
const INTERNAL: u8 = 2;
const STEM: u8 = 3;

fn bytes(root: Hash, tokens: &[u8], hashes: &[Hash], stems: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![1];
    out.extend(root);
    out.extend((tokens.len() as u32).to_le_bytes());
    let packed = |four: &[u8]| four.iter().rev().fold(0, |byte, token| byte << 2 | token);
    out.extend(tokens.chunks(4).map(packed));
    out.extend((hashes.len() as u32).to_le_bytes());
    out.extend(hashes.iter().flatten());
    out.extend(stems.iter().flatten());
    out
}

fn sealed(stem: [u8; 31], root: Hash) -> Vec<u8> {
    [&stem[..], &[0, 0], root.as_slice()].concat()
}

/// An open stem with one sub-index, which holds `value`, and nothing else.
fn open(stem: [u8; 31], sub: u8, value: Value) -> Vec<u8> {
    [&stem[..], &[1, 0, sub, 1], value.as_slice(), &[0]].concat()
}

fn refused(bytes: &[u8]) -> Malformed {
    Witness::decode(bytes).unwrap_err()
}

fn hash(n: u8) -> Hash {
    Hash::repeat_byte(n)
}

#[test]
fn a_stem_shown_as_an_inner_node_is_refused() {
    // Without tags the hash of a stem, H(stem | 00 | root8), is also that of an inner node with these halves; a prover
    // could then show an account as an inner node whose halves lead elsewhere. The tags make the root differ.
    let key = Key::new([0; 32]);
    let whole = Whole::new(&Writes::from([(key, hash(5))]));
    let crate::tree::Node::Stem(node) = &whole.tree.top.node else { panic!("one key is one stem") };
    let left = Hash::from(*Key::of(&node.stem, 0).as_bytes());
    let left = if left.is_zero() { hash(1) } else { left };
    let forged = bytes(whole.tree.root(), &[INTERNAL, HASH, HASH], &[left, node.table.root()], &[]);
    assert!(Witness::decode(&forged).unwrap().verify::<Blake2b>(whole.tree.root()).is_err());

    // The same with a stem that is not zero, where the halves are exactly the hashed ones.
    let key = Key::new([9; 32]);
    let whole = Whole::new(&Writes::from([(key, hash(5))]));
    let crate::tree::Node::Stem(node) = &whole.tree.top.node else { panic!("one key is one stem") };
    let left = Hash::from(*Key::of(&node.stem, 0).as_bytes());
    let forged = bytes(whole.tree.root(), &[INTERNAL, HASH, HASH], &[left, node.table.root()], &[]);
    let untagged = Blake2b::hash(&[left, node.table.root()].concat());
    assert_ne!(untagged, whole.tree.root());
    assert!(Witness::decode(&forged).unwrap().verify::<Blake2b>(whole.tree.root()).is_err());
}

#[test]
fn an_inner_node_shown_as_a_stem_is_refused() {
    // The halves of an inner node, read as a stem and the root of its leaves: a stem that nobody asks for sits there,
    // so everything below would be absent.
    let whole = Whole::new(&Writes::from([(Key::new([0; 32]), hash(5)), (Key::new([128; 32]), hash(6))]));
    let crate::tree::Node::Inner(children) = &whole.tree.top.node else {
        panic!("two stems are an inner node")
    };
    let stem = *Key::new(children[0].hash.0).stem();
    let forged = bytes(whole.tree.root(), &[STEM], &[], &[sealed(stem, children[1].hash)]);
    assert!(Witness::decode(&forged).unwrap().verify::<Blake2b>(whole.tree.root()).is_err());
}

#[test]
fn the_sealed_stem_of_a_key_does_not_make_it_absent() {
    let (key, other) = (Key::new([9; 32]), Key::new([200; 32]));
    let whole = Whole::new(&Writes::from([(key, hash(5)), (other, hash(6))]));
    let crate::tree::Node::Inner(children) = &whole.tree.top.node else {
        panic!("two stems are an inner node")
    };
    let crate::tree::Node::Stem(node) = &children[0].node else { panic!("each side is a stem") };
    let stem = sealed(node.stem, node.table.root());
    let forged = bytes(whole.tree.root(), &[INTERNAL, STEM, HASH], &[children[1].hash], &[stem]);
    let mut partial = Witness::decode(&forged).unwrap().verify::<Blake2b>(whole.tree.root()).unwrap();
    assert!(partial.get(&key).is_err());
    assert!(partial.update(&Writes::from([(key, hash(1))])).is_err());
    assert!(partial.covers_exactly(BTreeSet::from([key])).is_err());
    // A neighbour below the same bits is absent indeed.
    assert_eq!(partial.get(&Key::new([8; 32])), Ok(None));
}

#[test]
fn an_open_stem_says_nothing_about_what_it_does_not_list() {
    let key = Key::new([9; 32]);
    let whole = Whole::new(&Writes::from([(key, hash(5))]));
    let witness = whole.witness(&BTreeSet::from([Key::of(key.stem(), 8)]));
    let partial = witness.verify::<Blake2b>(whole.tree.root()).unwrap();
    assert_eq!(partial.get(&Key::of(key.stem(), 8)), Ok(None));
    assert!(partial.get(&key).is_err());
    // Even where the witness happens to show that a subtree is empty.
    assert!(partial.get(&Key::of(key.stem(), 200)).is_err());
}

#[test]
fn every_malformation_has_its_name() {
    let root = hash(9);
    let (left, right) = ([0; 31], [255; 31]);
    let good = bytes(root, &[INTERNAL, STEM, HASH], &[hash(1)], &[open(left, 3, hash(2))]);
    assert!(Witness::decode(&good).is_ok());
    for end in 0..good.len() {
        assert_eq!(refused(&good[..end]), Malformed::Short, "at {end}");
    }
    let named = [
        (Malformed::Trailing, [&good[..], &[0]].concat()),
        (Malformed::Trailing, bytes(root, &[HASH, EMPTY], &[hash(1)], &[])),
        (Malformed::Trailing, bytes(root, &[HASH], &[hash(1), hash(2)], &[])),
        (Malformed::Short, bytes(root, &[], &[], &[])),
        (Malformed::Short, bytes(root, &[INTERNAL, HASH, HASH], &[hash(1)], &[])),
        (Malformed::Short, bytes(root, &[INTERNAL, HASH], &[hash(1)], &[])),
        (Malformed::Version(2), [&[2], &good[1..]].concat()),
        (Malformed::ZeroHash, bytes(root, &[HASH], &[Hash::ZERO], &[])),
        (Malformed::ZeroHash, bytes(root, &[STEM], &[], &[sealed(left, Hash::ZERO)])),
        (Malformed::ZeroHash, bytes(root, &[STEM], &[], &[[&left[..], &[1, 0, 3, 0, 1], &[0; 32]].concat()])),
        (Malformed::OffPath, bytes(root, &[INTERNAL, STEM, HASH], &[hash(1)], &[sealed(right, hash(1))])),
        (Malformed::OffPath, bytes(root, &[INTERNAL, HASH, STEM], &[hash(1)], &[sealed(left, hash(1))])),
        (Malformed::EmptyPair, bytes(root, &[INTERNAL, EMPTY, EMPTY], &[], &[])),
        (Malformed::LoneStem, bytes(root, &[INTERNAL, STEM, EMPTY], &[], &[open(left, 3, hash(2))])),
        (Malformed::LoneStem, bytes(root, &[INTERNAL, EMPTY, STEM], &[], &[sealed(right, hash(1))])),
        (Malformed::NoValue, bytes(root, &[STEM], &[], &[[&left[..], &[1, 0, 3, 0, 0]].concat()])),
        (Malformed::Unordered, bytes(root, &[STEM], &[], &[[&left[..], &[2, 0, 3, 3]].concat()])),
        (Malformed::Unordered, bytes(root, &[STEM], &[], &[[&left[..], &[2, 0, 4, 3]].concat()])),
        (Malformed::Unordered, bytes(root, &[STEM], &[], &[[&left[..], &[1, 1, 4, 3]].concat()])),
        (Malformed::Padding, bytes(root, &[STEM], &[], &[[&left[..], &[1, 0, 3, 2]].concat()])),
        (Malformed::Padding, bytes(root, &[STEM], &[], &[[&left[..], &[2, 0, 2, 3, 0, 128]].concat()])),
    ];
    for (why, bytes) in named {
        assert_eq!(refused(&bytes), why, "{bytes:?}");
    }
    let mut padded = good;
    padded[37] |= 0b1100_0000;
    assert_eq!(refused(&padded), Malformed::Padding);
}

#[test]
fn depth_248_is_the_last() {
    // A chain of inner nodes with nothing on the right, down to two stems that differ in their last bit.
    let chain = |depth: usize| {
        let mut tokens = vec![INTERNAL; depth];
        tokens.extend([HASH, HASH]);
        tokens.extend(vec![EMPTY; depth - 1]);
        bytes(hash(9), &tokens, &[hash(1), hash(2)], &[])
    };
    assert!(Witness::decode(&chain(248)).is_ok());
    assert_eq!(refused(&chain(249)), Malformed::Depth);
}
