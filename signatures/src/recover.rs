//! Recovery of one signature: the slow way, where there are no hints.
//!
//! R is found by a square root, and the key is `u₂ · R − u₁ · G` with u₁ = hash / r and u₂ = s / r. The endomorphism
//! makes four numbers of half the length out of the two, which share their doublings.

use crate::{
    Signature,
    field::{Element, bytes, limbs},
    point::{Affine, Jacobian, right_side},
    scalar::{Half, Scalar},
    table,
};
use alloc::vec::Vec;

/// Bits of a digit of a signature's point, its sign among them: digits are odd, from −15 to 15, or zero.
const WIDTH: u32 = 5;
/// 1, 3, …, 15.
const MULTIPLES: usize = 1 << (WIDTH - 2);
/// The same for the generator, whose multiples are known: from −31 to 31.
const GENERATOR_WIDTH: u32 = 6;
const GENERATOR_MULTIPLES: usize = 1 << (GENERATOR_WIDTH - 2);
/// Digits of a number below 2¹²⁸; what is carried at the end needs one more.
const DIGITS: usize = 129;

/// The point whose x is r, with y of this parity.
pub(crate) fn lift(r: &[u64; 4], odd: bool) -> Option<Affine> {
    let x = Element::parse(*r)?;
    let y = Element(right_side(&x).root()?.canonical());
    let y = if (y.0[0] & 1 == 1) == odd { y } else { Element(y.negate().canonical()) };
    Some(Affine { x, y })
}

/// The public key (x and y, big-endian) that made a signature, as every implementation of recovery says; none if there is none. A high
/// s is not refused.
pub fn recover(signature: &Signature) -> Option<[u8; 64]> {
    let (r, s) = (Scalar::parse(signature.r)?, Scalar::parse(signature.s)?);
    let point = lift(&signature.r, signature.odd_y)?;
    let inverse = r.invert();
    let u1 = Scalar::from_limbs(limbs(&signature.hash)).mul(&inverse).negate();
    let key = affine(&combine(&point, &s.mul(&inverse), &u1))?;
    let mut encoded = [0; 64];
    encoded[..32].copy_from_slice(&bytes(&key.x.canonical()));
    encoded[32..].copy_from_slice(&bytes(&key.y.canonical()));
    Some(encoded)
}

fn affine(point: &Jacobian) -> Option<Affine> {
    if point.is_infinity() {
        return None;
    }
    let inverse = point.z.invert();
    let square = inverse.square();
    Some(Affine { x: point.x.mul(&square), y: point.y.mul(&square).mul(&inverse) })
}

/// The digits of a number's halves, and the odd multiples of its point and of λ times its point.
struct Track<const N: usize> {
    digits: [[i8; DIGITS]; 2],
    multiples: [[Affine; N]; 2],
}

impl<const N: usize> Track<N> {
    fn new(number: &Scalar, width: u32, multiples: [Affine; N]) -> Self {
        let turned = core::array::from_fn(|at| multiples[at].endomorphism());
        Self { digits: number.split().map(|half| digits(half, width)), multiples: [multiples, turned] }
    }

    /// Adds what the digits at this place stand for.
    fn add_to(&self, mut sum: Jacobian, at: usize) -> Jacobian {
        for (digits, multiples) in self.digits.iter().zip(&self.multiples) {
            let digit = digits[at];
            if digit != 0 {
                let multiple = &multiples[usize::from(digit.unsigned_abs()) / 2];
                sum = if digit < 0 { sum.add_affine(&multiple.negate()) } else { sum.add_affine(multiple) };
            }
        }
        sum
    }
}

/// `a · p + b · G`.
fn combine(p: &Affine, a: &Scalar, b: &Scalar) -> Jacobian {
    let own = Track::<MULTIPLES>::new(a, WIDTH, multiples(p));
    let generator = Track::<GENERATOR_MULTIPLES>::new(b, GENERATOR_WIDTH, table::multiples());
    (0..DIGITS).rev().fold(Jacobian::INFINITY, |sum, at| {
        let sum = own.add_to(sum.double(), at);
        generator.add_to(sum, at)
    })
}

/// Digits of so many bits, lowest first. Of as many neighbours, at most one is not zero.
fn digits(number: Half, width: u32) -> [i8; DIGITS] {
    let mut digits = [0; DIGITS];
    let (mut rest, mut at) = (number.size, 0);
    while rest != 0 {
        let zeros = rest.trailing_zeros();
        (rest, at) = (rest >> zeros, at + zeros as usize);
        let low = (rest & ((1 << width) - 1)) as i8;
        let digit = if low < 1 << (width - 1) { low } else { low - (1 << width) };
        digits[at] = if number.minus { -digit } else { digit };
        // The rest is even now and below 2¹²⁸ for the numbers that occur, which are below 0.64 · 2¹²⁸.
        rest = rest.wrapping_sub(digit as i128 as u128);
    }
    digits
}

/// A point times 1, 3, 5, …
pub(crate) fn multiples<const N: usize>(point: &Affine) -> [Affine; N] {
    let single = Jacobian { x: point.x, y: point.y, z: Element::ONE };
    let twice = single.double();
    let mut all = [single; N];
    for at in 1..N {
        all[at] = all[at - 1].add(&twice);
    }
    // One division for all of them. None is infinity: the order is prime.
    let mut product = Element::ONE;
    let mut before = Vec::with_capacity(N);
    for multiple in &all {
        before.push(product);
        product = product.mul(&multiple.z);
    }
    let mut inverse = product.invert();
    let mut multiples = [*point; N];
    for at in (0..N).rev() {
        let own = inverse.mul(&before[at]);
        inverse = inverse.mul(&all[at].z);
        let square = own.square();
        multiples[at] = Affine { x: all[at].x.mul(&square), y: all[at].y.mul(&square).mul(&own) };
    }
    multiples
}
