//! Inputs of precompiles: good ones, which take the whole way.

use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use harness::rng::Rng;
use revm::precompile::{PrecompileStatus, Precompiles};
use std::collections::BTreeMap;

/// Gas that is enough for any input here.
const GAS: u64 = 1 << 40;
/// Of RIP-7212: a hash, a signature of it, and the key.
const P256: [u8; 160] = hex!(
    "4cee90eb86eaa050036147a12d49004b6b9c72bd725d39d4785011fe190f0b4da73bd4903f0ce3b639bbbf6e8e80d16931ff4bcf5993d58468e8fb19086e8cac36dbcd03009df8c59286b162af3bd7fcc0450c9aa81be5d10d312af6c66b1d604aebd3099c618202fcfe16ae7770b0c49ab5eadf74b754204a3bb6060e44eff37618b065f9832de4ca6ca971a7a1adc826d0f7c00181a5fb2ddf79ae00b4e10e"
);
/// A versioned hash, a point, its value, the commitment and the proof.
const KZG: [u8; 192] = hex!(
    "01e798154708fe7789429634053cbf9f99b619f9f084048927333fce637f549b564c0a11a0f704f4fc3e8acfe0f8245f0ad1347b378fbf96e206da11a5d3630624d25032e67a7e6a4910df5834b8fe70e6bcfeeac0352434196bdf4b2485d5a18f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481bc22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7873033e038326e87ed3e1276fd140253fa08e9fc25fb2d9a98527fc22a2c9612fbeafdad446cbc7bcdbdcd780af2c16a"
);

/// A precompile with an input.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) number: u16,
    pub(super) bytes: Vec<u8>,
}

/// What a precompile says natively; `None` if it refuses.
fn run(number: u16, input: &[u8]) -> Option<Bytes> {
    let precompile = Precompiles::osaka().get(&address(number))?;
    let output = precompile.execute(input, GAS, 0).ok()?;
    matches!(output.status, PrecompileStatus::Success).then_some(output.bytes)
}

pub(super) fn address(number: u16) -> Address {
    Address::left_padding_from(&number.to_be_bytes())
}

fn word(rng: &mut Rng) -> [u8; 32] {
    keccak256(rng.bits().to_be_bytes()).0
}

fn bytes(rng: &mut Rng, count: usize) -> Vec<u8> {
    (0..count.div_ceil(32)).flat_map(|_| word(rng)).take(count).collect()
}

/// An element of the field of BLS12-381, with its padding.
fn element(rng: &mut Rng) -> Vec<u8> {
    let mut element = vec![0; 64];
    element[17..].copy_from_slice(&bytes(rng, 47));
    element
}

fn ecrecover(rng: &mut Rng) -> Vec<u8> {
    // Each x of a point is an r, with any s and hash, and half of all numbers are one.
    loop {
        let (mut r, s, hash) = (word(rng), word(rng), word(rng));
        r[0] &= 0x7f;
        let mut input = [&hash[..], B256::ZERO.as_slice(), &r, &s].concat();
        input[63] = 27 + (rng.bits() & 1) as u8;
        input[96] &= 0x7f;
        if run(1, &input).is_some_and(|output| !output.is_empty()) {
            return input;
        }
    }
}

fn bn_point(rng: &mut Rng) -> Bytes {
    let generator = [U256::from(1).to_be_bytes::<32>(), U256::from(2).to_be_bytes::<32>()].concat();
    run(7, &[&generator[..], &word(rng)].concat()).expect("a point times a number is a point")
}

/// Pairs of points of bn254: any, with the generator of the other group.
fn bn_pairs(rng: &mut Rng, count: usize) -> Vec<u8> {
    const GENERATOR: [u8; 128] = hex!(
        "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c21800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"
    );
    (0..count).flat_map(|_| [&bn_point(rng)[..], &GENERATOR].concat()).collect()
}

fn g1(rng: &mut Rng) -> Bytes {
    run(0x10, &element(rng)).expect("each element is mapped to a point")
}

fn g2(rng: &mut Rng) -> Bytes {
    run(0x11, &[element(rng), element(rng)].concat()).expect("each element is mapped to a point")
}

/// Operands of 0x05 with these lengths.
fn modexp(rng: &mut Rng, [base, exponent, modulus]: [usize; 3], is_odd: bool) -> Vec<u8> {
    let mut input = [base, exponent, modulus]
        .iter()
        .flat_map(|length| U256::from(*length).to_be_bytes::<32>())
        .collect::<Vec<_>>();
    input.extend(bytes(rng, base));
    input.extend(bytes(rng, exponent).iter().map(|byte| byte | 0x80));
    let mut last = bytes(rng, modulus);
    if let (Some(first), true) = (last.first_mut(), modulus > 0) {
        *first |= 0x80;
    }
    if let Some(last) = last.last_mut() {
        *last = *last & 0xfe | u8::from(is_odd);
    }
    input.extend(last);
    input
}

/// One call of each precompile, by its number and size.
pub(super) fn all(rng: &mut Rng) -> Vec<Input> {
    let mut all = vec![];
    let mut add = |number: u16, bytes: Vec<u8>| all.push(Input { number, bytes });
    add(1, ecrecover(rng));
    add(1, vec![1; 128]);
    for len in [0, 32, 500] {
        add(2, bytes(rng, len));
        add(3, bytes(rng, len));
        add(4, bytes(rng, 2 * len));
    }
    for lengths in
        [[32, 32, 32], [32, 3, 32], [64, 32, 64], [128, 3, 128], [256, 16, 256], [8, 8, 8], [32, 1, 256]]
    {
        add(5, modexp(rng, lengths, true));
        add(5, modexp(rng, lengths, false));
    }
    add(6, [bn_point(rng), bn_point(rng)].concat());
    add(7, [&bn_point(rng)[..], &[0xff; 32]].concat());
    for pairs in [0, 1, 2, 4] {
        add(8, bn_pairs(rng, pairs));
    }
    for rounds in [0_u32, 12, 1000] {
        let mut input = [&rounds.to_be_bytes()[..], &bytes(rng, 208)].concat();
        input.push(1);
        add(9, input);
    }
    add(0x0a, KZG.to_vec());
    add(0x0b, [g1(rng), g1(rng)].concat());
    add(0x0d, [g2(rng), g2(rng)].concat());
    for points in [1, 2, 6] {
        add(0x0c, (0..points).flat_map(|_| [&g1(rng)[..], &word(rng)].concat()).collect());
        add(0x0e, (0..points).flat_map(|_| [&g2(rng)[..], &word(rng)].concat()).collect());
        add(0x0f, (0..points).flat_map(|_| [g1(rng), g2(rng)].concat()).collect());
    }
    add(0x10, element(rng));
    add(0x11, [element(rng), element(rng)].concat());
    add(0x100, P256.to_vec());
    all
}

/// The names of precompiles that an input here does not satisfy: they would be measured on their short way.
pub(super) fn refused(inputs: &[Input]) -> BTreeMap<u16, usize> {
    let mut refused = BTreeMap::new();
    for Input { number, bytes } in inputs {
        let is_good = run(*number, bytes).is_some_and(|output| !output.is_empty() || *number == 4);
        if !(is_good || *number == 1 && bytes[0] == 1) {
            *refused.entry(*number).or_default() += 1;
        }
    }
    refused
}
