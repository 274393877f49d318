//! Points of the curve y² = x³ + 7, and sums of multiples of two of them.

use super::field::Field;
use alloc::vec::Vec;

/// A cube root of one: `LAMBDA · (x, y)` is `(BETA · x, y)`.
const BETA: Field =
    Field([0xc139_6c28_7195_01ee, 0x9cf0_4975_12f5_8995, 0x6e64_479e_ac34_34e9, 0x7ae9_6a2b_657c_0710]);

/// A point that is not the zero of the group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    pub(super) x: Field,
    pub(super) y: Field,
}

/// (x / z², y / z³); the zero of the group if z is zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jacobian {
    x: Field,
    y: Field,
    z: Field,
}

impl Affine {
    /// The generator.
    pub(super) const GENERATOR: Self = Self {
        x: Field([
            0x59f2_815b_16f8_1798,
            0x029b_fcdb_2dce_28d9,
            0x55a0_6295_ce87_0b07,
            0x79be_667e_f9dc_bbac,
        ]),
        y: Field([
            0x9c47_d08f_fb10_d4b8,
            0xfd17_b448_a685_5419,
            0x5da4_fbfc_0e11_08a8,
            0x483a_da77_26a3_c465,
        ]),
    };

    /// The point with this x and a y of this parity, if there is one.
    pub(super) fn at(x: Field, is_odd: bool) -> Option<Self> {
        let y = x.square().mul(&x).add(&Field([7, 0, 0, 0])).root()?;
        let y = if y.is_odd() == is_odd { y } else { y.negated() };
        Some(Self { x, y })
    }

    fn negated_if(&self, minus: bool) -> Self {
        if minus { Self { x: self.x, y: self.y.negated() } } else { *self }
    }

    /// `LAMBDA` times the point.
    pub(super) fn turned(&self) -> Self {
        Self { x: self.x.mul(&BETA), y: self.y }
    }
}

impl Jacobian {
    pub(super) const ZERO: Self = Self { x: Field::ONE, y: Field::ONE, z: Field::ZERO };

    fn of(point: &Affine) -> Self {
        Self { x: point.x, y: point.y, z: Field::ONE }
    }

    fn doubled(&self) -> Self {
        let y2 = self.y.square();
        let s = self.x.mul(&y2).twice().twice();
        let x2 = self.x.square();
        let slope = x2.twice().add(&x2);
        let x = slope.square().sub(&s.twice());
        let y4 = y2.square().twice().twice().twice();
        let y = slope.mul(&s.sub(&x)).sub(&y4);
        Self { x, y, z: self.y.mul(&self.z).twice() }
    }

    /// Adds a point, whichever it is: also the same one, its opposite, or one to zero.
    fn plus(&self, other: &Affine) -> Self {
        if self.z.is_zero() {
            return Self::of(other);
        }
        let z2 = self.z.square();
        let h = other.x.mul(&z2).sub(&self.x);
        let r = other.y.mul(&z2.mul(&self.z)).sub(&self.y);
        if h.is_zero() {
            return if r.is_zero() { self.doubled() } else { Self::ZERO };
        }
        let h2 = h.square();
        let h3 = h2.mul(&h);
        let v = self.x.mul(&h2);
        let x = r.square().sub(&h3).sub(&v.twice());
        let y = r.mul(&v.sub(&x)).sub(&self.y.mul(&h3));
        Self { x, y, z: self.z.mul(&h) }
    }

    /// The point, unless it is the zero of the group.
    pub(super) fn affine(&self) -> Option<Affine> {
        if self.z.is_zero() {
            return None;
        }
        Some(self.affine_by(&self.z.inverse()))
    }

    fn affine_by(&self, inverse: &Field) -> Affine {
        let squared = inverse.square();
        Affine { x: self.x.mul(&squared), y: self.y.mul(&squared.mul(inverse)) }
    }
}

/// 1, 3, 5, … times a point.
pub(super) fn odd_multiples(point: &Affine, count: usize) -> Vec<Affine> {
    // On the curve whose coordinates are scaled by z of twice the point, that one is affine, so that each next multiple is one
    // addition; the formulas are the same on all such curves. To come back is to multiply by this z.
    let twice = Jacobian::of(point).doubled();
    let (z, z2) = (twice.z, twice.z.square());
    let mut next = Jacobian { x: point.x.mul(&z2), y: point.y.mul(&z2.mul(&z)), z: Field::ONE };
    let twice = Affine { x: twice.x, y: twice.y };
    let mut multiples = Vec::with_capacity(count);
    for _ in 0..count {
        multiples.push(Jacobian { z: next.z.mul(&z), ..next });
        next = next.plus(&twice);
    }
    all_affine(&multiples)
}

/// Many points with one inversion. None of them is zero: the group's order is a prime, and they are small multiples.
fn all_affine(points: &[Jacobian]) -> Vec<Affine> {
    let mut product = Field::ONE;
    let before = points.iter().map(|point| {
        let before = product;
        product = product.mul(&point.z);
        before
    });
    let before = before.collect::<Vec<_>>();
    let mut inverse = product.inverse();
    let out = points.iter().zip(before).rev().map(|(point, before)| {
        let of_point = inverse.mul(&before);
        inverse = inverse.mul(&point.z);
        point.affine_by(&of_point)
    });
    let mut out = out.collect::<Vec<_>>();
    out.reverse();
    out
}

/// A factor as its signed digits, the lowest first: each is zero or odd, and few are not zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits {
    pub(super) digits: [i8; Self::COUNT],
    pub(super) minus: bool,
}

impl Digits {
    /// Half of the order's bits, and room for what the splitting and the recoding add.
    pub(super) const COUNT: usize = 132;
}

/// Odd multiples of a point and of `LAMBDA` times it, with the two halves of what it is multiplied by.
pub(super) struct Term<'a> {
    /// Of the point itself,
    pub(super) multiples: &'a [Affine],
    /// and of `LAMBDA` times it.
    pub(super) turned: &'a [Affine],
    pub(super) halves: [Digits; 2],
}

/// The sum of the terms.
pub(super) fn sum(terms: &[Term<'_>]) -> Jacobian {
    let mut out = Jacobian::ZERO;
    for at in (0..Digits::COUNT).rev() {
        if !out.z.is_zero() {
            out = out.doubled();
        }
        for term in terms {
            for (half, multiples) in term.halves.iter().zip([term.multiples, term.turned]) {
                let digit = half.digits[at];
                if let Some(point) =
                    multiples.get(usize::from(digit.unsigned_abs() / 2)).filter(|_| digit != 0)
                {
                    out = out.plus(&point.negated_if((digit < 0) != half.minus));
                }
            }
        }
    }
    out
}
