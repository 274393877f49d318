//! Signatures of the curve P-256 (EIP-7951).
//!
//! `u₁ · G + u₂ · Q` with u₁ = hash / s and u₂ = r / s, both at once: the two share their doublings.

use crate::{
    field::{self, Modulus},
    window::{DIGITS, digits},
};

/// The field of coordinates.
#[derive(Clone, Copy)]
struct P;

impl Modulus<4> for P {
    const PRIME: [u64; 4] = [u64::MAX, 0xffff_ffff, 0, 0xffff_ffff_0000_0001];
}

/// Numbers modulo the group's order.
#[derive(Clone, Copy)]
struct N;

impl Modulus<4> for N {
    const PRIME: [u64; 4] = [0xf3b9_cac2_fc63_2551, 0xbce6_faad_a717_9e84, u64::MAX, 0xffff_ffff_0000_0000];
}

/// b of y² = x³ − 3x + b, and the generator.
const B: [u64; 4] =
    [0x3bce_3c3e_27d2_604b, 0x651d_06b0_cc53_b0f6, 0xb3eb_bd55_7698_86bc, 0x5ac6_35d8_aa3a_93e7];
const GENERATOR: [[u64; 4]; 2] = [
    [0xf4a1_3945_d898_c296, 0x7703_7d81_2deb_33a0, 0xf8bc_e6e5_63a4_40f2, 0x6b17_d1f2_e12c_4247],
    [0xcbb6_4068_37bf_51f5, 0x2bce_3357_6b31_5ece, 0x8ee7_eb4a_7c0f_9e16, 0x4fe3_42e2_fe1a_7f9b],
];

/// Bits of a digit, and how many odd multiples of a point that needs.
const WIDTH: u32 = 5;
const MULTIPLES: usize = 1 << (WIDTH - 2);

#[derive(Clone, Copy, PartialEq)]
struct Element([u64; 4]);

impl Element {
    const ZERO: Self = Self([0; 4]);
    const ONE: Self = Self(P::ONE);

    fn parse(limbs: &[u64; 4]) -> Option<Self> {
        field::parse::<P, 4>(limbs).map(Self)
    }

    #[inline(always)]
    fn mul(&self, other: &Self) -> Self {
        Self(field::mul_inline::<P, 4>(&self.0, &other.0))
    }

    #[inline(always)]
    fn square(&self) -> Self {
        Self(field::mul_inline::<P, 4>(&self.0, &self.0))
    }

    #[inline(always)]
    fn add(&self, other: &Self) -> Self {
        Self(field::add::<P, 4>(&self.0, &other.0))
    }

    #[inline(always)]
    fn sub(&self, other: &Self) -> Self {
        Self(field::sub::<P, 4>(&self.0, &other.0))
    }

    #[inline(always)]
    fn double(&self) -> Self {
        self.add(self)
    }

    #[inline(always)]
    fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }
}

#[derive(Clone, Copy)]
struct Affine {
    x: Element,
    y: Element,
}

/// (x / z², y / z³); infinity if z = 0.
#[derive(Clone, Copy)]
struct Jacobian {
    x: Element,
    y: Element,
    z: Element,
}

impl Affine {
    fn parse([x, y]: &[[u64; 4]; 2]) -> Option<Self> {
        let (x, y) = (Element::parse(x)?, Element::parse(y)?);
        let thrice = x.double().add(&x);
        let right = x.square().mul(&x).sub(&thrice).add(&Element::parse(&B)?);
        (y.square() == right).then_some(Self { x, y })
    }
}

impl Jacobian {
    const INFINITY: Self = Self { x: Element::ONE, y: Element::ONE, z: Element::ZERO };

    #[inline(never)]
    fn double(&self) -> Self {
        // No point has y = 0: the order is an odd prime. So z becomes zero only if it was.
        let z2 = self.z.square();
        let y2 = self.y.square();
        let xy2 = self.x.mul(&y2);
        let slope = self.x.sub(&z2).mul(&self.x.add(&z2));
        let slope = slope.double().add(&slope);
        let xy2_4 = xy2.double().double();
        let x = slope.square().sub(&xy2_4.double());
        let y4_8 = y2.square().double().double().double();
        let y = slope.mul(&xy2_4.sub(&x)).sub(&y4_8);
        Self { x, y, z: self.y.mul(&self.z).double() }
    }

    /// The sum with a point that is not infinity.
    #[inline(never)]
    fn add_affine(&self, other: &Affine, minus: bool) -> Self {
        let y = if minus { Element::ZERO.sub(&other.y) } else { other.y };
        if self.z.is_zero() {
            return Self { x: other.x, y, z: Element::ONE };
        }
        let z2 = self.z.square();
        let run = other.x.mul(&z2).sub(&self.x);
        let rise = y.mul(&self.z.mul(&z2)).sub(&self.y);
        if run.is_zero() {
            return if rise.is_zero() { self.double() } else { Self::INFINITY };
        }
        let run2 = run.square();
        let run3 = run.mul(&run2);
        let xrun2 = self.x.mul(&run2);
        let x = rise.square().sub(&run3).sub(&xrun2.double());
        let y = rise.mul(&xrun2.sub(&x)).sub(&self.y.mul(&run3));
        Self { x, y, z: self.z.mul(&run) }
    }
}

/// The points times 1, 3, 5, …
fn multiples(points: [&Affine; 2]) -> [[Affine; MULTIPLES]; 2] {
    // On the curve whose coordinates are scaled by z of twice the point, that one is affine, so that each next multiple is one
    // addition with it; the formulas do not know b, so they are the same there. To come back is to multiply by this z.
    let mut all = [Jacobian::INFINITY; 2 * MULTIPLES];
    for (row, point) in all.as_chunks_mut::<MULTIPLES>().0.iter_mut().zip(points) {
        let twice = Jacobian { x: point.x, y: point.y, z: Element::ONE }.double();
        let (z, z2) = (twice.z, twice.z.square());
        let twice = Affine { x: twice.x, y: twice.y };
        let mut next = Jacobian { x: point.x.mul(&z2), y: point.y.mul(&z2.mul(&z)), z: Element::ONE };
        for place in row {
            *place = Jacobian { z: next.z.mul(&z), ..next };
            next = next.add_affine(&twice, false);
        }
    }
    // One division for all. None is infinity: the order is prime.
    let (mut product, mut before) = (Element::ONE, [Element::ONE; 2 * MULTIPLES]);
    for (multiple, before) in all.iter().zip(&mut before) {
        *before = product;
        product = product.mul(&multiple.z);
    }
    let mut inverse = Element(field::invert::<P, 4>(&product.0));
    let mut multiples = [[*points[0]; MULTIPLES]; 2];
    for at in (0..2 * MULTIPLES).rev() {
        let own = inverse.mul(&before[at]);
        inverse = inverse.mul(&all[at].z);
        let square = own.square();
        let y = all[at].y.mul(&square).mul(&own);
        multiples[at / MULTIPLES][at % MULTIPLES] = Affine { x: all[at].x.mul(&square), y };
    }
    multiples
}

/// Whether a key (x and y, big-endian) made a signature (r and s) of this hash.
pub fn verify(hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> bool {
    checked(hash, signature, key).unwrap_or(false)
}

/// None if something is out of range or no point.
fn checked(hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> Option<bool> {
    let key = Affine::parse(&[field::limbs(&key[..32]), field::limbs(&key[32..])])?;
    let generator = Affine::parse(&GENERATOR)?;
    let r = field::limbs(&signature[..32]);
    let (own_r, s) = (field::parse::<N, 4>(&r)?, field::parse::<N, 4>(&field::limbs(&signature[32..]))?);
    if own_r == [0; 4] || s == [0; 4] {
        return None;
    }
    let hash = field::mul::<N, 4>(&field::limbs(hash), &N::SQUARE);
    let inverse = field::invert::<N, 4>(&s);
    let factors = [hash, own_r].map(|number| field::plain::<N, 4>(&field::mul::<N, 4>(&number, &inverse)));
    let digits = factors.map(|factor| digits(factor, WIDTH));
    let multiples = multiples([&generator, &key]);
    let mut sum = Jacobian::INFINITY;
    for at in (0..DIGITS).rev() {
        if !sum.z.is_zero() {
            sum = sum.double();
        }
        for (digits, multiples) in digits.iter().zip(&multiples) {
            let digit = digits[at];
            if digit != 0 {
                sum = sum.add_affine(&multiples[usize::from(digit.unsigned_abs()) / 2], digit < 0);
            }
        }
    }
    Some(has_x(&sum, &r))
}

/// Whether the point's x is r, or r + n where that is below p.
fn has_x(point: &Jacobian, r: &[u64; 4]) -> bool {
    if point.z.is_zero() {
        return false;
    }
    let z2 = point.z.square();
    let is = |x: &[u64; 4]| Element::parse(x).is_some_and(|x| x.mul(&z2) == point.x);
    let (sum, over) = field::sum(r, &N::PRIME);
    is(r) || !over && is(&sum)
}
