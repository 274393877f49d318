//! The arithmetic against numbers of any size, in every form that a rule allows.

use super::{Avx2, Ifma, Lanes, Words, avx2, ifma};
use alloy_primitives::{U256, uint};
use proptest::prelude::*;

const P: U256 = uint!(0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f_U256);

/// How numbers are written in lanes.
trait Form<const N: usize>: Lanes<N> {
    /// The bits of a limb, and the largest limbs that the rule allows.
    const BITS: usize;
    const LARGEST: &'static [u64];

    fn field(limbs: &[[u64; N]]) -> Self::Field;
    fn limbs(field: &Self::Field) -> Vec<[u64; N]>;
}

impl Form<8> for Ifma {
    const BITS: usize = 52;
    const LARGEST: &'static [u64] = &{
        let limb = (1 << 52) - 1;
        [limb, limb, limb, limb, (1 << 48) + (1 << 11)]
    };

    fn field(limbs: &[[u64; 8]]) -> ifma::Field {
        ifma::Field(core::array::from_fn(|at| pulp::cast(limbs[at])))
    }

    fn limbs(field: &ifma::Field) -> Vec<[u64; 8]> {
        field.0.iter().map(|limb| pulp::cast(*limb)).collect()
    }
}

impl Form<4> for Avx2 {
    const BITS: usize = 29;
    const LARGEST: &'static [u64] = &{
        let limb = (1 << 29) + (1 << 24);
        [limb, limb, limb, limb, limb, limb, limb, limb, (1 << 24) + (1 << 8)]
    };

    fn field(limbs: &[[u64; 4]]) -> avx2::Field {
        avx2::Field(core::array::from_fn(|at| pulp::cast(limbs[at])))
    }

    fn limbs(field: &avx2::Field) -> Vec<[u64; 4]> {
        field.0.iter().map(|limb| pulp::cast(*limb)).collect()
    }
}

/// Numbers in any form that the rule allows.
fn loose<L: Form<N>, const N: usize>() -> impl Strategy<Value = Vec<[u64; N]>> {
    let edge = |top: u64| prop_oneof![0..=top, Just(0), Just(top), Just(top - 1), Just(top >> 1), Just(1)];
    let limb = move |top: &u64| proptest::collection::vec(edge(*top), N);
    let limbs = L::LARGEST.iter().map(limb).collect::<Vec<_>>();
    limbs.prop_map(|limbs| limbs.into_iter().map(|limb| limb.try_into().unwrap()).collect())
}

fn values<L: Form<N>, const N: usize>(limbs: &[[u64; N]]) -> [U256; N] {
    core::array::from_fn(|lane| {
        limbs.iter().rev().fold(U256::ZERO, |sum, limb| {
            sum.mul_mod(U256::from(1_u64 << L::BITS), P).add_mod(U256::from(limb[lane]), P)
        })
    })
}

fn lane<const N: usize>(words: &Words<N>, lane: usize) -> U256 {
    U256::from_limbs(words.map(|word| word[lane]))
}

fn check<L: Form<N>, const N: usize>(lanes: L, found: &L::Field, expected: [U256; N]) {
    let limbs = L::limbs(found);
    for (limb, largest) in limbs.iter().zip(L::LARGEST) {
        assert!(limb.iter().all(|limb| limb <= largest), "a carry is left");
    }
    assert_eq!(values::<L, N>(&limbs), expected);
    let words = lanes.to_words(&lanes.canonical(found));
    assert_eq!(core::array::from_fn::<_, N, _>(|at| lane(&words, at)), expected);
    let back = L::limbs(&lanes.of_words(words));
    assert_eq!(values::<L, N>(&back), expected);
}

fn each<const N: usize>(a: [U256; N], b: [U256; N], by: impl Fn(U256, U256) -> U256) -> [U256; N] {
    core::array::from_fn(|lane| by(a[lane], b[lane]))
}

fn minus(a: U256, b: U256) -> U256 {
    a.add_mod(P - b % P, P)
}

fn check_arithmetic<L: Form<N>, const N: usize>(lanes: L, [a, b, c]: &[Vec<[u64; N]>; 3], some: u8) {
    let (x, y, z) = (L::field(a), L::field(b), L::field(c));
    let [a, b, c] = [a, b, c].map(|limbs| values::<L, N>(limbs));
    let times = |a: U256, factor: u64| a.mul_mod(U256::from(factor), P);
    check(lanes, &lanes.mul(&x, &y), each(a, b, |a, b| a.mul_mod(b, P)));
    check(lanes, &lanes.square(&x), each(a, a, |a, b| a.mul_mod(b, P)));
    check(lanes, &lanes.sub(&x, &y), each(a, b, minus));
    check(lanes, &lanes.combine::<1, 8>(&x, &y), each(a, b, |a, b| minus(a, times(b, 8))));
    check(lanes, &lanes.combine::<4, 1>(&x, &y), each(a, b, |a, b| minus(times(a, 4), b)));
    check(lanes, &lanes.combine::<8, 8>(&x, &y), each(a, b, |a, b| minus(times(a, 8), times(b, 8))));
    let expected = each(each(a, b, minus), c, |a, c| minus(a, times(c, 2)));
    check(lanes, &lanes.sub_sub_twice(&x, &y, &z), expected);
    check(lanes, &lanes.twice(&x), a.map(|a| times(a, 2)));
    check(lanes, &lanes.thrice(&x), a.map(|a| times(a, 3)));
    check(lanes, &lanes.add_small(&x, 7), a.map(|a| a.add_mod(U256::from(7), P)));
    let chosen = |lane: usize| some >> lane & 1 == 1;
    let either = |yes: [U256; N], no: [U256; N]| {
        core::array::from_fn::<_, N, _>(|lane| if chosen(lane) { yes[lane] } else { no[lane] })
    };
    check(lanes, &lanes.negate_in(some, &x), either(a.map(|a| minus(U256::ZERO, a)), a));
    check(lanes, &lanes.select(some, &x, &y), either(b, a));
    let lanes_with = |wanted: &dyn Fn(usize) -> bool| {
        (0..N).fold(0_u8, |lanes, lane| lanes | u8::from(wanted(lane)) << lane)
    };
    let canonical = lanes.canonical(&x);
    assert_eq!(lanes.same(&x, &y), lanes_with(&|lane| a[lane] == b[lane]));
    assert_eq!(lanes.odds(&canonical), lanes_with(&|lane| a[lane].bit(0)));
    assert_eq!(lanes.zeros(&canonical), lanes_with(&|lane| a[lane].is_zero()));
}

fn check_powers<L: Form<N>, const N: usize>(lanes: L, limbs: &[[u64; N]]) {
    let x = L::field(limbs);
    let ones = values::<L, N>(limbs).map(|a| if a.is_zero() { U256::ZERO } else { U256::ONE });
    check(lanes, &lanes.mul(&lanes.inverse(&x), &x), ones);
    let square = lanes.square(&x);
    let all = lanes.same(&x, &x);
    assert_eq!(all.count_ones(), N as u32);
    assert_eq!(lanes.same(&lanes.square(&lanes.root(&square)), &square), all);
}

fn check_canonical<L: Form<N>, const N: usize>(lanes: L) {
    let near = [P - U256::from(2), P - U256::ONE, P, P + U256::ONE, U256::MAX, U256::ZERO];
    for near in near {
        check(lanes, &lanes.of_words(near.into_limbs().map(|word| [word; N])), [near % P; N]);
    }
    // All limbs as large as they may be.
    let largest = L::LARGEST.iter().map(|limb| [*limb; N]).collect::<Vec<_>>();
    check(lanes, &L::field(&largest), values::<L, N>(&largest));
    check_arithmetic(lanes, &[largest.clone(), largest.clone(), largest], 0x55);
}

macro_rules! of {
    ($name:ident, $lanes:ty, $count:literal) => {
        mod $name {
            use super::*;

            proptest! {
                #[test]
                fn arithmetic_is_that_of_large_numbers(
                    a in loose::<$lanes, $count>(),
                    b in loose::<$lanes, $count>(),
                    c in loose::<$lanes, $count>(),
                    some in any::<u8>(),
                ) {
                    let Some(lanes) = <$lanes>::detect() else { return Ok(()) };
                    check_arithmetic(lanes, &[a, b, c], some);
                }

                #[test]
                fn roots_and_inverses_are_what_they_are_called(a in loose::<$lanes, $count>()) {
                    let Some(lanes) = <$lanes>::detect() else { return Ok(()) };
                    check_powers(lanes, &a);
                }
            }

            #[test]
            fn the_largest_numbers_and_those_at_the_prime_are_made_canonical() {
                match <$lanes>::detect() {
                    Some(lanes) => check_canonical(lanes),
                    None => println!("skipped: no instructions for {}", stringify!($lanes)),
                }
            }
        }
    };
}

of!(eight, Ifma, 8);
of!(four, Avx2, 4);
