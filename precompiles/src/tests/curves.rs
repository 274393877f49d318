//! The curves against revm's own: blst for BLS12-381, arkworks for BN254.

use super::std::{vec, vec::Vec};
use crate::{
    bls12_381::{self, G1Point, G2Point, kzg},
    bn254, field,
};
use proptest::prelude::*;
use revm::precompile::{Crypto, DefaultCrypto, PrecompileHalt};

/// The order of the groups of BLS12-381, and its prime.
const R: [u64; 4] =
    [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];
const P: [u64; 6] = [
    0xb9fe_ffff_ffff_aaab,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];

fn bytes<const N: usize, const BYTES: usize>(limbs: &[u64; N]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    field::write(limbs, &mut bytes);
    bytes
}

#[track_caller]
fn same<T: PartialEq + core::fmt::Debug>(own: Option<T>, library: Result<T, PrecompileHalt>) -> Option<T> {
    assert_eq!(own, library.ok());
    own
}

fn split1(bytes: &[u8; 96]) -> G1Point {
    (bytes[..48].try_into().unwrap(), bytes[48..].try_into().unwrap())
}

fn split2(bytes: &[u8; 192]) -> G2Point {
    let part = |at: usize| bytes[48 * at..48 * (at + 1)].try_into().unwrap();
    (part(0), part(1), part(2), part(3))
}

/// A number below the prime, for a seed.
fn element(seed: u64) -> [u8; 48] {
    let mut bytes = [0; 48];
    for (at, byte) in bytes.iter_mut().enumerate().skip(1) {
        *byte = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32 * 7) >> 13) as u8;
    }
    bytes
}

fn map1(number: &[u8; 48]) -> Option<G1Point> {
    let point = same(bls12_381::map_to_g1(number), DefaultCrypto.bls12_381_fp_to_g1(number))?;
    Some(split1(&point))
}

fn map2(real: &[u8; 48], imaginary: &[u8; 48]) -> Option<G2Point> {
    let library = DefaultCrypto.bls12_381_fp2_to_g2((*real, *imaginary));
    Some(split2(&same(bls12_381::map_to_g2(real, imaginary), library)?))
}

fn add1(a: &G1Point, b: &G1Point) -> Option<G1Point> {
    same(bls12_381::g1_add(a, b), DefaultCrypto.bls12_381_g1_add(*a, *b)).map(|sum| split1(&sum))
}

fn add2(a: &G2Point, b: &G2Point) -> Option<G2Point> {
    same(bls12_381::g2_add(a, b), DefaultCrypto.bls12_381_g2_add(*a, *b)).map(|sum| split2(&sum))
}

fn sum1(terms: &[(G1Point, [u8; 32])]) -> Option<G1Point> {
    let library = DefaultCrypto.bls12_381_g1_msm(&mut terms.iter().map(|term| Ok(*term)));
    same(bls12_381::g1_sum(terms), library).map(|sum| split1(&sum))
}

fn sum2(terms: &[(G2Point, [u8; 32])]) -> Option<G2Point> {
    let library = DefaultCrypto.bls12_381_g2_msm(&mut terms.iter().map(|term| Ok(*term)));
    same(bls12_381::g2_sum(terms), library).map(|sum| split2(&sum))
}

fn paired(pairs: &[(G1Point, G2Point)]) -> Option<bool> {
    same(bls12_381::pairing(pairs), DefaultCrypto.bls12_381_pairing_check(pairs))
}

const INFINITE1: G1Point = ([0; 48], [0; 48]);
const INFINITE2: G2Point = ([0; 48], [0; 48], [0; 48], [0; 48]);

fn minus(number: &[u8; 48]) -> [u8; 48] {
    if *number == [0; 48] { *number } else { bytes(&field::difference(&P, &field::limbs(number)).0) }
}

fn minus1((x, y): &G1Point) -> G1Point {
    (*x, minus(y))
}

fn minus2((x0, x1, y0, y1): &G2Point) -> G2Point {
    (*x0, *x1, minus(y0), minus(y1))
}

/// Numbers at the edges of the order and of the digits.
fn factors() -> Vec<[u8; 32]> {
    let near = |limbs: &[u64; 4], add: u64| bytes::<4, 32>(&field::sum(limbs, &[add, 0, 0, 0]).0);
    let below = field::difference(&R, &[1, 0, 0, 0]).0;
    let twice = field::sum(&R, &R).0;
    let x = [0xd201_0000_0001_0000, 0, 0, 0];
    let x2 = [0x0000_0001_0000_0000, 0xac45_a401_0001_a402, 0, 0];
    let mut all = vec![
        [0; 32],
        [255; 32],
        bytes(&below),
        near(&R, 0),
        near(&R, 1),
        near(&twice, 0),
        near(&x, 0),
        near(&x2, 0),
    ];
    all.extend([
        near(&twice, 7),
        near(&x, u64::MAX),
        near(&x2, 1),
        bytes(&[0, 0, 0, 1 << 63]),
        bytes(&[0, 0, 1, 0]),
    ]);
    all.extend((1..40).map(|small| bytes(&[small, 0, 0, 0])));
    all
}

#[test]
fn numbers_are_mapped_as_by_another_library() {
    let prime = bytes(&P);
    let edges = [0, 1, 2, 11].map(|small| bytes(&[small, 0, 0, 0, 0, 0]));
    for edge in edges.iter().chain([&prime, &[255; 48], &minus(&edges[1]), &minus(&edges[3])]) {
        assert_eq!(map1(edge).is_some(), *edge < prime);
        for other in &edges {
            assert_eq!(map2(edge, other).is_some(), *edge < prime);
            map2(other, edge);
        }
    }
    for seed in 0..20 {
        map1(&element(seed)).unwrap();
        map2(&element(seed), &element(seed + 100)).unwrap();
    }
}

#[test]
fn points_are_added_as_by_another_library() {
    let ones = (0..4).map(|seed| map1(&element(seed)).unwrap()).collect::<Vec<_>>();
    let twos = (0..4).map(|seed| map2(&element(seed), &element(seed + 9)).unwrap()).collect::<Vec<_>>();
    let ones = ones.iter().flat_map(|point| [*point, minus1(point)]).chain([INFINITE1]).collect::<Vec<_>>();
    let twos = twos.iter().flat_map(|point| [*point, minus2(point)]).chain([INFINITE2]).collect::<Vec<_>>();
    for a in &ones {
        assert!(ones.iter().all(|b| add1(a, b).is_some()));
        assert_eq!(add1(&(a.0, a.0), a).is_some(), *a == INFINITE1);
        assert_eq!(add1(a, &(bytes(&P), a.1)), None);
    }
    for a in &twos {
        assert!(twos.iter().all(|b| add2(a, b).is_some()));
        add2(&(a.1, a.0, a.2, a.3), a);
        assert_eq!(add2(a, &(a.0, a.1, bytes(&P), a.3)), None);
    }
}

#[test]
fn multiples_are_those_of_another_library() {
    let (one, two) = (map1(&element(1)).unwrap(), map2(&element(1), &element(2)).unwrap());
    let (other1, other2) = (map1(&element(3)).unwrap(), map2(&element(3), &element(4)).unwrap());
    for factor in factors() {
        sum1(&[(one, factor)]).unwrap();
        sum2(&[(two, factor)]).unwrap();
        // Equal, opposite and infinite points.
        sum1(&[(one, factor), (minus1(&one), factor), (INFINITE1, factor), (other1, factor)]).unwrap();
        sum2(&[(two, factor), (two, factor), (INFINITE2, factor), (other2, factor)]).unwrap();
    }
    sum1(&[(INFINITE1, [7; 32])]).unwrap();
    sum2(&[(INFINITE2, [7; 32])]).unwrap();
    let many = (0..70).map(|seed: u8| (map1(&element(seed.into())).unwrap(), [seed ^ 0x5a; 32]));
    sum1(&many.collect::<Vec<_>>()).unwrap();
    let many = (0..40).map(|seed: u8| (map2(&element(seed.into()), &[1; 48]).unwrap(), [seed ^ 0xa5; 32]));
    sum2(&many.collect::<Vec<_>>()).unwrap();
}

/// Points of the curves that are in neither group: x small, y whichever there is.
fn outside1() -> Vec<G1Point> {
    use ark_ec::short_weierstrass::Affine;
    use ark_ff::PrimeField;
    let points = (0..40_u64).filter_map(|x| {
        let point = Affine::<ark_bls12_381::g1::Config>::get_point_from_x_unchecked(x.into(), x % 2 == 0)?;
        Some((bytes(&point.x.into_bigint().0), bytes(&point.y.into_bigint().0)))
    });
    points.collect()
}

fn outside2() -> Vec<G2Point> {
    use ark_ec::short_weierstrass::Affine;
    use ark_ff::PrimeField;
    let points = (0..40_u64).filter_map(|x| {
        let x = ark_bls12_381::Fq2::new(x.into(), (x / 3).into());
        let point = Affine::<ark_bls12_381::g2::Config>::get_point_from_x_unchecked(x, true)?;
        let part = |number: ark_bls12_381::Fq| bytes(&number.into_bigint().0);
        Some((part(point.x.c0), part(point.x.c1), part(point.y.c0), part(point.y.c1)))
    });
    points.collect()
}

#[test]
fn points_outside_the_groups_are_refused() {
    let (one, two) = (map1(&element(1)).unwrap(), map2(&element(1), &element(2)).unwrap());
    let (ones, twos) = (outside1(), outside2());
    assert!(ones.len() > 10 && twos.len() > 10);
    for point in ones {
        assert_eq!(sum1(&[(one, [1; 32]), (point, [0; 32])]), None);
        assert_eq!(paired(&[(point, two)]), None);
        assert_eq!(paired(&[(point, INFINITE2)]), None);
        assert!(add1(&point, &one).is_some() && add1(&point, &minus1(&point)).is_some());
        add1(&point, &point).unwrap();
    }
    for point in twos {
        assert_eq!(sum2(&[(two, [1; 32]), (point, [0; 32])]), None);
        assert_eq!(paired(&[(one, point)]), None);
        assert_eq!(paired(&[(INFINITE1, point)]), None);
        assert!(add2(&point, &two).is_some() && add2(&point, &point).is_some());
    }
}

#[test]
fn pairings_are_those_of_another_library() {
    let (one, two) = (map1(&element(1)).unwrap(), map2(&element(1), &element(2)).unwrap());
    assert_eq!(paired(&[]), Some(true));
    assert_eq!(paired(&[(INFINITE1, two), (one, INFINITE2)]), Some(true));
    assert_eq!(paired(&[(one, two)]), Some(false));
    assert_eq!(paired(&[(one, two), (minus1(&one), two)]), Some(true));
    assert_eq!(paired(&[(one, two), (one, minus2(&two)), (INFINITE1, two)]), Some(true));
    let factor = |number: u64| bytes::<4, 32>(&[number, 0, 0, 0]);
    let six = sum1(&[(one, factor(6))]).unwrap();
    let (thrice, twice) = (sum2(&[(two, factor(3))]).unwrap(), sum1(&[(one, factor(2))]).unwrap());
    assert_eq!(paired(&[(minus1(&six), two), (twice, thrice)]), Some(true));
    assert_eq!(paired(&[(six, two), (twice, thrice)]), Some(false));
}

fn evaluated(commitment: &[u8; 48], z: &[u8; 32], y: &[u8; 32], proof: &[u8; 48]) -> bool {
    let own = kzg::verify(commitment, z, y, proof);
    assert_eq!(own, DefaultCrypto.verify_kzg_proof(z, y, commitment, proof).is_ok());
    own
}

#[test]
fn openings_of_commitments_are_judged_as_by_another_library() {
    let hex = alloy_primitives::hex::decode_to_array::<_, 48>;
    let commitment = hex(
        "8f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481bc22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7",
    );
    let proof = hex(
        "a62ad71d14c5719385c0686f1871430475bf3a00f0aa3f7b8dd99a9abc2160744faf0070725e00b60ad9a026a15b1a8c",
    );
    let (commitment, proof) = (commitment.unwrap(), proof.unwrap());
    let hex = alloy_primitives::hex::decode_to_array::<_, 32>;
    let z = hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000").unwrap();
    let y = hex("1522a4a7f34e1ea350ae07c29c96c7e79655aa926122e95fe69fcbd932ca49e9").unwrap();
    assert!(evaluated(&commitment, &z, &y, &proof));
    let mut infinite = [0; 48];
    infinite[0] = 0xc0;
    // A constant polynomial, which has the same value everywhere.
    assert!(
        evaluated(&infinite, &z, &[0; 32], &infinite) && evaluated(&infinite, &[0; 32], &[0; 32], &infinite)
    );
    assert!(!evaluated(&infinite, &z, &[1; 32], &infinite) && !evaluated(&commitment, &z, &y, &infinite));
    for number in [[0; 32], [255; 32], bytes(&R), y, z] {
        evaluated(&commitment, &number, &y, &proof);
        evaluated(&commitment, &z, &number, &proof);
        evaluated(&infinite, &number, &[0; 32], &infinite);
    }
    for first in 0..=255 {
        for rest in [0, 1] {
            let mut odd = [0; 48];
            (odd[0], odd[47]) = (first, rest);
            evaluated(&odd, &z, &[0; 32], &infinite);
            let changed = |bytes: &[u8; 48]| [&[first], &bytes[1..]].concat().try_into().unwrap();
            evaluated(&changed(&commitment), &z, &y, &proof);
        }
    }
    for bit in (0..384).step_by(11) {
        let mut changed = proof;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(!evaluated(&commitment, &z, &y, &changed));
    }
}

fn bn_add(a: &[u8; 64], b: &[u8; 64]) -> Option<[u8; 64]> {
    same(bn254::add(a, b), DefaultCrypto.bn254_g1_add(a, b))
}

fn bn_multiply(point: &[u8; 64], factor: &[u8; 32]) -> Option<[u8; 64]> {
    same(bn254::multiply(point, factor), DefaultCrypto.bn254_g1_mul(point, factor))
}

#[test]
fn bn254_is_that_of_another_library() {
    const R: [u64; 4] =
        [0x43e1_f593_f000_0001, 0x2833_e848_79b9_7091, 0xb850_45b6_8181_585d, 0x3064_4e72_e131_a029];
    let prime: [u8; 32] = bytes(&[0x3c20_8c16_d87c_fd47, 0x9781_6a91_6871_ca8d, R[2], R[3]]);
    let point = |x: &[u8; 32], y: &[u8; 32]| -> [u8; 64] { [&x[..], y].concat().try_into().unwrap() };
    let small = |number: u64| bytes::<4, 32>(&[number, 0, 0, 0]);
    let generator = point(&small(1), &small(2));
    let minus = bn_multiply(&generator, &bytes(&field::difference(&R, &[1, 0, 0, 0]).0)).unwrap();
    let more = (0..12).map(|at| bn_multiply(&generator, &[at * 21; 32]).unwrap());
    let points = [generator, minus, [0; 64]].into_iter().chain(more).collect::<Vec<_>>();
    for a in &points {
        assert!(points.iter().all(|b| bn_add(a, b).is_some()));
        for factor in
            [[0; 32], [255; 32], bytes(&R), small(1), small(2), small(15), small(16), small(17), [0x80; 32]]
        {
            bn_multiply(a, &factor).unwrap();
        }
    }
    for (x, y) in [
        (prime, small(2)),
        (small(1), small(3)),
        (small(0), small(1)),
        ([255; 32], [255; 32]),
        (small(0), prime),
    ] {
        assert_eq!(bn_add(&point(&x, &y), &generator), None);
        assert_eq!(bn_multiply(&point(&x, &y), &small(0)), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn random_inputs_are_taken_as_by_another_library(seeds: [u64; 4], factors: [[u8; 32]; 4], bit in 0_usize..768) {
        let ones = seeds.map(|seed| map1(&element(seed)).unwrap());
        let twos = seeds.map(|seed| map2(&element(seed), &element(!seed)).unwrap());
        let of = |at: usize| factors[at % 4];
        sum1(&[(ones[0], of(0)), (ones[1], of(1)), (ones[2], of(2)), (ones[0], of(3))]).unwrap();
        sum2(&[(twos[0], of(0)), (twos[1], of(1)), (twos[2], of(2)), (twos[0], of(3))]).unwrap();
        add1(&ones[0], &ones[1]).unwrap();
        add2(&twos[0], &twos[1]).unwrap();
        paired(&[(ones[0], twos[0]), (ones[1], twos[1])]).unwrap();
        let mut damaged = ones[3];
        let half = if bit < 384 { &mut damaged.0 } else { &mut damaged.1 };
        half[bit % 384 / 8] ^= 1 << (bit % 8);
        add1(&damaged, &ones[0]);
        sum1(&[(damaged, of(0))]);
        let bn = [[0; 31].as_slice(), &[1], &[0; 31], &[2]].concat().try_into().unwrap();
        let (a, b) = (bn_multiply(&bn, &of(0)).unwrap(), bn_multiply(&bn, &of(1)).unwrap());
        bn_add(&a, &b).unwrap();
        bn_multiply(&a, &of(2)).unwrap();
    }
}
