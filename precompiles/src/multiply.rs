//! Sums of multiples of points.
//!
//! Where a curve has an endomorphism that multiplies by a known number, a factor falls into parts of fewer bits, for
//! the point and for its images. All parts of some dozen points share their doublings.

use crate::window::{DIGITS, digits};
use alloc::vec::Vec;
use ark_ec::{
    AffineRepr, CurveGroup,
    short_weierstrass::{Affine, Projective, SWCurveConfig},
};
use ark_ff::{AdditiveGroup, Zero};

/// Bits of a digit, and how many odd multiples of a point that needs.
const WIDTH: u32 = 5;
const MULTIPLES: usize = 1 << (WIDTH - 2);
/// Points that share their doublings; more need more memory.
const TOGETHER: usize = 32;

/// A curve with an endomorphism of its points of the right order.
pub(crate) trait Endomorphism: SWCurveConfig {
    /// The parts of a factor: `factor = Σ parts[i] · λⁱ`.
    const PARTS: usize;
    /// Bits of each.
    const PART_BITS: usize;

    /// λ times a point.
    fn turned(point: &Affine<Self>) -> Affine<Self>;

    /// The parts of a factor; those from `PARTS` on are zero.
    fn parts(factor: [u64; 4]) -> [u128; 4];
}

/// The odd multiples of points, none of which is infinity: 1, 3, 5, … times each.
fn multiples<C: SWCurveConfig>(points: &[Affine<C>]) -> Vec<Affine<C>> {
    let mut all = Vec::with_capacity(points.len() * MULTIPLES);
    for point in points {
        let twice = point.into_group().double();
        let mut next = point.into_group();
        for _ in 0..MULTIPLES {
            all.push(next);
            next += twice;
        }
    }
    Projective::normalize_batch(&all)
}

/// Σ factor · point, for points of the right order.
pub(crate) fn sum<C: Endomorphism>(terms: &[(Affine<C>, [u64; 4])]) -> Projective<C> {
    let mut total = Projective::<C>::default();
    let terms = terms.iter().filter(|(point, _)| !point.is_zero()).copied().collect::<Vec<_>>();
    for terms in terms.chunks(TOGETHER) {
        let points = terms.iter().map(|(point, _)| *point).collect::<Vec<_>>();
        let mut tables = Vec::with_capacity(terms.len() * C::PARTS);
        for ((_, factor), multiples) in terms.iter().zip(multiples(&points).chunks(MULTIPLES)) {
            let turn = |last: &Vec<Affine<C>>| Some(last.iter().map(C::turned).collect());
            let turned = core::iter::successors(Some(multiples.to_vec()), turn);
            for (turned, part) in turned.zip(C::parts(*factor)).take(C::PARTS) {
                tables.push((turned, digits([part as u64, (part >> 64) as u64, 0, 0], WIDTH)));
            }
        }
        total += walk(&tables, C::PART_BITS);
    }
    total
}

/// A point times a number, without an endomorphism.
pub(crate) fn multiply<C: SWCurveConfig>(point: &Affine<C>, factor: [u64; 4]) -> Projective<C> {
    if point.is_zero() {
        return Projective::default();
    }
    walk(&[(multiples(&[*point]), digits(factor, WIDTH))], DIGITS - 1)
}

fn walk<C: SWCurveConfig>(tables: &[(Vec<Affine<C>>, [i8; DIGITS])], bits: usize) -> Projective<C> {
    let mut sum = Projective::<C>::default();
    for at in (0..=bits).rev() {
        if !sum.is_zero() {
            sum.double_in_place();
        }
        for (multiples, digits) in tables {
            let digit = digits[at];
            if digit != 0 {
                let multiple = &multiples[usize::from(digit.unsigned_abs()) / 2];
                if digit < 0 { sum -= multiple } else { sum += multiple }
            }
        }
    }
    sum
}
