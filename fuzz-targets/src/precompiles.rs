//! Precompiles in Rust, as the service's program has them: the same results as by the libraries in C that the builder has.

use alloy_primitives::U256;
use revm::precompile::{Crypto, DefaultCrypto, PrecompileHalt};
use service::execution::Portable;
use std::fmt::Debug;

/// Bytes of a number of BLS12-381, and of a factor.
const NUMBER: usize = 48;
const FACTOR: usize = 32;
/// Points that are added up at once, at most.
const POINTS_MAX: usize = 3;

/// Bytes to take from; zeros when there are no more.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        self.0 = rest;
        let mut bytes = [0; N];
        bytes[..taken.len()].copy_from_slice(taken);
        bytes
    }

    fn byte(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    /// A number that is mostly below the prime.
    fn number(&mut self) -> [u8; NUMBER] {
        let mut number = self.take::<NUMBER>();
        number[0] &= 0x1f;
        number
    }

    /// A point of G1: one that a number stands for, or any two numbers.
    fn first(&mut self) -> ([u8; NUMBER], [u8; NUMBER]) {
        let any = self.byte();
        let x = self.number();
        match (any, DefaultCrypto.bls12_381_fp_to_g1(&x)) {
            (0..=0xf0, Ok(point)) => (part(&point, 0), part(&point, 1)),
            _ => (x, self.number()),
        }
    }

    fn second(&mut self) -> ([u8; NUMBER], [u8; NUMBER], [u8; NUMBER], [u8; NUMBER]) {
        let any = self.byte();
        let (real, imaginary) = (self.number(), self.number());
        match (any, DefaultCrypto.bls12_381_fp2_to_g2((real, imaginary))) {
            (0..=0xf0, Ok(point)) => (part(&point, 0), part(&point, 1), part(&point, 2), part(&point, 3)),
            _ => (real, imaginary, self.number(), self.number()),
        }
    }

    /// A point of BN254: a multiple of the generator, or any two numbers.
    fn bn254(&mut self) -> [u8; 64] {
        let generator = [U256::ONE, U256::from(2)].map(|number| number.to_be_bytes::<32>()).concat();
        let (any, factor) = (self.byte(), self.take::<FACTOR>());
        match DefaultCrypto.bn254_g1_mul(&generator, &factor) {
            Ok(point) if any <= 0xf0 => point,
            _ => self.take(),
        }
    }
}

fn part(point: &[u8], at: usize) -> [u8; NUMBER] {
    let mut part = [0; NUMBER];
    part.copy_from_slice(&point[at * NUMBER..(at + 1) * NUMBER]);
    part
}

/// The reasons why there is no result may differ.
fn same<T: PartialEq + Debug>(own: Result<T, PrecompileHalt>, library: Result<T, PrecompileHalt>) {
    assert_eq!(own.ok(), library.ok());
}

pub(super) fn run(bytes: &[u8]) {
    let input = &mut Input(bytes);
    let library = &DefaultCrypto;
    match input.byte() % 8 {
        0 => {
            let (signature, parity, hash) = (input.take(), input.byte() & 1, input.take());
            let own = Portable.secp256k1_ecrecover(&signature, parity, &hash);
            same(own, library.secp256k1_ecrecover(&signature, parity, &hash));
        }
        1 => {
            let (hash, signature, key) = (input.take(), input.take(), input.take());
            let own = Portable.secp256r1_verify_signature(&hash, &signature, &key);
            assert_eq!(own, library.secp256r1_verify_signature(&hash, &signature, &key));
        }
        2 => {
            let (a, b, factor) = (input.bn254(), input.bn254(), input.take::<FACTOR>());
            same(Portable.bn254_g1_add(&a, &b), library.bn254_g1_add(&a, &b));
            same(Portable.bn254_g1_mul(&a, &factor), library.bn254_g1_mul(&a, &factor));
        }
        3 => {
            let (z, y, commitment, proof) = (input.take(), input.take(), input.take(), input.take());
            let own = Portable.verify_kzg_proof(&z, &y, &commitment, &proof);
            same(own, library.verify_kzg_proof(&z, &y, &commitment, &proof));
        }
        4 => {
            let numbers = (input.number(), input.number());
            same(Portable.bls12_381_fp_to_g1(&numbers.0), library.bls12_381_fp_to_g1(&numbers.0));
            same(Portable.bls12_381_fp2_to_g2(numbers), library.bls12_381_fp2_to_g2(numbers));
        }
        5 => {
            let (a, b) = (input.first(), input.first());
            same(Portable.bls12_381_g1_add(a, b), library.bls12_381_g1_add(a, b));
            let terms = points(input, |input| (input.first(), input.take::<FACTOR>()));
            let own = Portable.bls12_381_g1_msm(&mut terms.iter().map(|term| Ok(*term)));
            same(own, library.bls12_381_g1_msm(&mut terms.iter().map(|term| Ok(*term))));
        }
        6 => {
            let (a, b) = (input.second(), input.second());
            same(Portable.bls12_381_g2_add(a, b), library.bls12_381_g2_add(a, b));
            let terms = points(input, |input| (input.second(), input.take::<FACTOR>()));
            let own = Portable.bls12_381_g2_msm(&mut terms.iter().map(|term| Ok(*term)));
            same(own, library.bls12_381_g2_msm(&mut terms.iter().map(|term| Ok(*term))));
        }
        _ => {
            let pairs = points(input, |input| (input.first(), input.second()));
            same(Portable.bls12_381_pairing_check(&pairs), library.bls12_381_pairing_check(&pairs));
        }
    }
}

/// At least one.
fn points<T>(input: &mut Input<'_>, mut next: impl FnMut(&mut Input<'_>) -> T) -> Vec<T> {
    let count = usize::from(input.byte()) % POINTS_MAX + 1;
    (0..count).map(|_| next(input)).collect()
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let kinds = ["ecrecover", "p256", "bn254", "kzg", "map", "first", "second", "pairing"];
    let seed = |(kind, name): (usize, &&str)| {
        let bytes = (0..600_u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8 & 0x7f);
        (name.to_string(), std::iter::once(kind as u8).chain(bytes).collect())
    };
    kinds.iter().enumerate().map(seed).collect()
}
