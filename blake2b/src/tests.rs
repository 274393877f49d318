//! Against `blake2b_simd`.

extern crate std;

use crate::{Hasher, expand, one_block};
use proptest::prelude::*;
use std::vec::Vec;

fn words(bytes: &[u8]) -> Vec<u64> {
    let padded = bytes.len().next_multiple_of(8);
    let mut bytes = bytes.to_vec();
    bytes.resize(padded, 0);
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

fn standard(bytes: &[u8], length: usize) -> Vec<u64> {
    words(blake2b_simd::Params::new().hash_length(length).hash(bytes).as_bytes())
}

fn one<const WORDS: usize, const BYTES: usize>(bytes: &[u8]) {
    let bytes = &bytes[..BYTES];
    let input = words(bytes).try_into().unwrap();
    assert_eq!(one_block::<WORDS, BYTES>(&input).to_vec(), standard(bytes, 32), "{BYTES} bytes");
}

fn check(bytes: &[u8; 128]) {
    one::<0, 0>(bytes);
    one::<1, 1>(bytes);
    one::<4, 32>(bytes);
    one::<8, 64>(bytes);
    one::<9, 65>(bytes);
    one::<9, 72>(bytes);
    one::<13, 97>(bytes);
    one::<16, 127>(bytes);
    one::<16, 128>(bytes);
    let five: [u64; 5] = words(&bytes[..40]).try_into().unwrap();
    assert_eq!(expand(&five).to_vec(), standard(&bytes[..40], 64));
    let all: [u64; 16] = words(bytes).try_into().unwrap();
    assert_eq!(expand(&all).to_vec(), standard(bytes, 64));
}

#[test]
fn one_block_is_blake2b() {
    check(&[0; 128]);
    check(&[0xff; 128]);
    check(&core::array::from_fn(|at| at as u8));
}

#[test]
fn a_transcript_of_any_length_is_blake2b() {
    let bytes = (0..1_200_u32).map(|at| (at * 7) as u8).collect::<Vec<_>>();
    for count in (0..70).chain([127, 128, 129, 150]) {
        let bytes = &bytes[..count * 8];
        let words = words(bytes);
        for cut in [0, count / 3, count] {
            let mut hasher = Hasher::default();
            hasher.update(&words[..cut]);
            hasher.update(&words[cut..]);
            assert_eq!(hasher.finish().to_vec(), standard(bytes, 32), "{count} words, cut at {cut}");
        }
    }
}

proptest! {
    #[test]
    fn any_block_is_blake2b(bytes in any::<[u8; 128]>()) {
        check(&bytes);
    }
}

#[test]
fn words_of_bytes_come_back() {
    let bytes: [u8; 32] = core::array::from_fn(|at| at as u8 + 1);
    assert_eq!(crate::words::load(&bytes)[1], 0x100f_0e0d_0c0b_0a09);
    assert_eq!(crate::words::load_big_endian(&bytes)[3], 0x0102_0304_0506_0708);
    assert_eq!(crate::words::store(crate::words::load(&bytes)), bytes);
    assert!(crate::words::is_zero(&[0; 32]));
    for at in 0..32 {
        let mut bytes = [0; 32];
        bytes[at] = 1;
        assert!(!crate::words::is_zero(&bytes));
    }
}
