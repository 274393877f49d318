//! The curve BLS12-381 (EIP-2537), and proofs of blobs over it.
//!
//! Coordinates are big-endian. What is no number below the prime, no point of the curve or, where that is asked for, no point of the group has no
//! result.

mod curves;
mod fields;
pub mod kzg;
mod root;

use crate::{field, multiply};
use alloc::vec::Vec;
use ark_ec::{
    AffineRepr,
    hashing::{curve_maps::wb::WBMap, map_to_curve_hasher::MapToCurve},
    pairing::{MillerLoopOutput, Pairing as _},
    short_weierstrass::{Affine, Projective, SWCurveConfig},
};
use ark_ff::{BigInt, One, PrimeField};
use curves::{G1, G2, Pairing};
use fields::{Fq, Fq2};

/// A coordinate of G1, or half of one of G2.
pub type Coordinate = [u8; 48];
/// x and y; zeros for infinity.
pub type G1Point = (Coordinate, Coordinate);
/// The halves of x and y, real ones first; zeros for infinity.
pub type G2Point = (Coordinate, Coordinate, Coordinate, Coordinate);

fn read_field(bytes: &Coordinate) -> Option<Fq> {
    Fq::from_bigint(BigInt(field::limbs(bytes)))
}

fn write_field(number: &Fq, bytes: &mut [u8]) {
    field::write(&number.into_bigint().0, bytes);
}

/// A point of the curve.
fn on_curve<C: SWCurveConfig<ZeroFlag = ()>>(x: C::BaseField, y: C::BaseField) -> Option<Affine<C>> {
    let point = Affine::new_unchecked(x, y);
    (point.is_zero() || point.is_on_curve()).then_some(point)
}

fn in_group<C: SWCurveConfig>(point: Affine<C>) -> Option<Affine<C>> {
    (point.is_zero() || point.is_in_correct_subgroup_assuming_on_curve()).then_some(point)
}

fn read1((x, y): &G1Point) -> Option<Affine<G1>> {
    on_curve(read_field(x)?, read_field(y)?)
}

fn read2((x0, x1, y0, y1): &G2Point) -> Option<Affine<G2>> {
    let (x, y) = (Fq2::new(read_field(x0)?, read_field(x1)?), Fq2::new(read_field(y0)?, read_field(y1)?));
    on_curve(x, y)
}

fn write1(point: &Projective<G1>) -> [u8; 96] {
    let mut bytes = [0; 96];
    let point = Affine::from(*point);
    write_field(&point.x, &mut bytes[..48]);
    write_field(&point.y, &mut bytes[48..]);
    bytes
}

fn write2(point: &Projective<G2>) -> [u8; 192] {
    let mut bytes = [0; 192];
    let point = Affine::from(*point);
    let halves = [&point.x.c0, &point.x.c1, &point.y.c0, &point.y.c1];
    for (half, bytes) in halves.into_iter().zip(bytes.as_chunks_mut::<48>().0) {
        write_field(half, bytes);
    }
    bytes
}

/// The sum of two points of the curve.
pub fn g1_add(a: &G1Point, b: &G1Point) -> Option<[u8; 96]> {
    Some(write1(&(read1(a)?.into_group() + read1(b)?)))
}

/// The sum of two points of the curve.
pub fn g2_add(a: &G2Point, b: &G2Point) -> Option<[u8; 192]> {
    Some(write2(&(read2(a)?.into_group() + read2(b)?)))
}

/// The sum of multiples of points of the group. The factors are any numbers.
pub fn g1_sum(terms: &[(G1Point, [u8; 32])]) -> Option<[u8; 96]> {
    let terms = terms.iter().map(|(point, factor)| Some((in_group(read1(point)?)?, field::limbs(factor))));
    Some(write1(&multiply::sum(&terms.collect::<Option<Vec<_>>>()?)))
}

/// The sum of multiples of points of the group. The factors are any numbers.
pub fn g2_sum(terms: &[(G2Point, [u8; 32])]) -> Option<[u8; 192]> {
    let terms = terms.iter().map(|(point, factor)| Some((in_group(read2(point)?)?, field::limbs(factor))));
    Some(write2(&multiply::sum(&terms.collect::<Option<Vec<_>>>()?)))
}

/// Whether the product of the pairings of points of the groups is one.
pub fn pairing(pairs: &[(G1Point, G2Point)]) -> Option<bool> {
    let pairs = pairs.iter().map(|(a, b)| Some((in_group(read1(a)?)?, in_group(read2(b)?)?)));
    let pairs = pairs.collect::<Option<Vec<_>>>()?;
    // A pairing with infinity is one.
    let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().filter(|(a, b)| !a.is_zero() && !b.is_zero()).unzip();
    Some(a.is_empty() || is_one(&Pairing::multi_miller_loop(a, b)))
}

fn is_one(product: &MillerLoopOutput<Pairing>) -> bool {
    Pairing::final_exponentiation(*product).is_some_and(|product| product.0.is_one())
}

/// The point of the group that a number below the prime stands for (the simplified map of Shallue, van de Woestijne and Ulas).
pub fn map_to_g1(number: &Coordinate) -> Option<[u8; 96]> {
    let point = root::map(&read_field(number)?);
    Some(write1(&G1::clear_cofactor(&point).into_group()))
}

/// The same for two numbers and the other group.
pub fn map_to_g2(real: &Coordinate, imaginary: &Coordinate) -> Option<[u8; 192]> {
    let number = Fq2::new(read_field(real)?, read_field(imaginary)?);
    let point = WBMap::<G2>::map_to_curve(number).ok()?;
    Some(write2(&G2::clear_cofactor(&point).into_group()))
}
