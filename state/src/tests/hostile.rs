//! Sixteen megabytes of anything are refused, within limits that the operating system enforces.

use crate::{Blake2b, Hash, Hasher, Witness};
use alloc::{vec, vec::Vec};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::process::Command;

const BYTES: usize = 16 << 20;

/// All of the process, its code and the bytes themselves included: 24 times the input.
const MEMORY_BYTES_MAX: u64 = 24 * BYTES as u64;

/// Of all inputs together. They take a small part of it; without a bound they would not end.
const CPU_SECONDS_MAX: u64 = 120;

const EMPTY: u8 = 0;
const HASH: u8 = 1;
const INTERNAL: u8 = 2;
const STEM: u8 = 3;

#[test]
fn sixteen_megabytes_of_anything_are_refused_within_limits() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::hostile::within_limits", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let said = std::string::String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}\n{said}\n{output:?}", output.status);
    assert!(said.contains("1 passed"), "the child ran nothing: {said}");
}

#[test]
#[ignore = "runs in a process of its own, started by the test above, since the limits are for a whole process"]
fn within_limits() {
    let limit =
        |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).unwrap();
    limit(Resource::As, MEMORY_BYTES_MAX);
    limit(Resource::Cpu, CPU_SECONDS_MAX);
    // The limits are real: more than that cannot be had.
    assert!(Vec::<u8>::new().try_reserve_exact(MEMORY_BYTES_MAX as usize).is_err());

    for fill in [0, 1, 0xff, 0x55, 0xaa] {
        refuse(vec![fill; BYTES]);
        refuse(framed(&[vec![fill; BYTES - 33]]));
    }
    refuse(noise());
    refuse(framed(&[u32::MAX.to_le_bytes().to_vec(), noise()]));
    refuse(framed(&[
        4_u32.to_le_bytes().to_vec(),
        vec![0b0101_0110],
        u32::MAX.to_le_bytes().to_vec(),
        noise(),
    ]));
    refuse(only_tokens(INTERNAL));
    refuse(only_tokens(STEM));
    refuse(chains());
    refuse(sealed_stems());
    refuse(open_stems());
}

fn refuse(mut bytes: Vec<u8>) {
    bytes.resize(BYTES, 0);
    let Ok(witness) = Witness::decode(&bytes) else { return };
    // What can be decoded has the root that it claims only if someone inverts the hash function.
    assert!(witness.verify::<Blake2b>(witness.root()).is_err());
}

/// Like [`refuse`], of bytes that decode: these must get as far as to be hashed.
fn refuse_root(bytes: &[u8]) {
    let witness = Witness::decode(bytes).expect("well-formed, to reach the hashing");
    assert!(witness.verify::<Blake2b>(witness.root()).is_err());
}

fn framed(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![1; 33];
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

fn noise() -> Vec<u8> {
    (0..BYTES as u64 / 32).flat_map(|i| Blake2b::hash(&i.to_le_bytes()).0).collect()
}

fn only_tokens(token: u8) -> Vec<u8> {
    let n = 4 * (BYTES as u32 - 64);
    framed(&[n.to_le_bytes().to_vec(), vec![token * 0b0101_0101; n as usize / 4]])
}

fn witness(tokens: &[u8], hashes: &[u8], stems: &[u8]) -> Vec<u8> {
    let packed = tokens.chunks(4).map(|four| four.iter().rev().fold(0, |byte, token| byte << 2 | token));
    framed(&[
        (tokens.len() as u32).to_le_bytes().to_vec(),
        packed.collect(),
        (hashes.len() as u32 / 32).to_le_bytes().to_vec(),
        hashes.to_vec(),
        stems.to_vec(),
    ])
}

/// The most nodes per byte: below a full tree, chains of inner nodes that have something on one side only, as deep as it
/// goes. A node costs half a byte here, and would cost a hundred in a tree.
fn chains() -> Vec<u8> {
    const TOP: usize = 17;
    let chain = [vec![INTERNAL; 248 - TOP], vec![HASH], vec![EMPTY; 248 - TOP]].concat();
    let mut ends = Vec::new();
    full_tree(TOP, &mut |_| {}, &mut ends);
    let (mut tokens, mut chains) = (Vec::new(), 0);
    for token in ends {
        chains += usize::from(token == STEM);
        match token {
            // All of them would not fit into the bytes.
            STEM if chains % 4 > 0 => tokens.extend_from_slice(&chain),
            STEM => tokens.push(HASH),
            _ => tokens.push(token),
        }
    }
    let bytes = witness(&tokens, &vec![1; 32 * chains], &[]);
    assert!((BYTES * 9 / 10..=BYTES).contains(&bytes.len()), "{}", bytes.len());
    refuse_root(&bytes);
    bytes
}

/// The tokens of a full tree with a stem at each end, and each end's path.
fn full_tree(depth: usize, end: &mut impl FnMut(u32), tokens: &mut Vec<u8>) {
    fn node(depth: usize, path: u32, end: &mut impl FnMut(u32), tokens: &mut Vec<u8>) {
        if depth == 0 {
            tokens.push(STEM);
            return end(path);
        }
        tokens.push(INTERNAL);
        node(depth - 1, path << 1, end, tokens);
        node(depth - 1, path << 1 | 1, end, tokens);
    }
    node(depth, 0, end, tokens);
}

fn stems(depth: usize, body: &[u8]) -> Vec<u8> {
    let (mut tokens, mut stems) = (Vec::new(), Vec::new());
    let mut add = |path: u32| {
        let mut stem = [0; 31];
        stem[..4].copy_from_slice(&(path << (32 - depth)).to_be_bytes());
        stems.extend_from_slice(&stem);
        stems.extend_from_slice(body);
    };
    full_tree(depth, &mut add, &mut tokens);
    let bytes = witness(&tokens, &[], &stems);
    assert!(bytes.len() <= BYTES, "{}", bytes.len());
    refuse_root(&bytes);
    bytes
}

/// The most stems per byte.
fn sealed_stems() -> Vec<u8> {
    stems(17, &[&[0, 0], &Hash::repeat_byte(1)[..]].concat())
}

/// The most covered keys per byte: all 256, one of them with a value.
fn open_stems() -> Vec<u8> {
    let subs = (0..=255).collect::<Vec<u8>>();
    let mut present = [0; 32];
    present[0] = 1;
    stems(15, &[&[0, 1], &subs[..], &present, &[1; 32]].concat())
}
