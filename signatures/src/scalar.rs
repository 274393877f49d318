//! Numbers modulo n, the order of the group: what points are multiplied by.

use crate::{
    field::{Limbs, add_carry, multiply_add},
    inverse::{self, difference},
};

/// n, the order.
pub(crate) const N: Limbs =
    [0xbfd2_5e8c_d036_4141, 0xbaae_dce6_af48_a03b, 0xffff_ffff_ffff_fffe, 0xffff_ffff_ffff_ffff];

/// n / 2, rounded down: the largest s that is not high.
const HALF: Limbs =
    [0xdfe9_2f46_681b_20a0, 0x5d57_6e73_57a4_501d, 0xffff_ffff_ffff_ffff, 0x7fff_ffff_ffff_ffff];

/// 2²⁵⁶ − n. So what is above 2²⁵⁶ counts this many times below.
const EXCESS: [u64; 3] = [0x402d_a173_2fc9_bebf, 0x4551_2319_50b7_5fc4, 1];

/// A number below n; lowest limb first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar(pub(crate) Limbs);

/// A number below 2¹²⁸ and its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half {
    pub(crate) minus: bool,
    pub(crate) size: u128,
}

#[inline(always)]
fn below(a: &Limbs, b: &Limbs) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

/// The product of `ROWS` limbs and four.
#[inline(always)]
fn wide<const ROWS: usize>(a: &[u64; ROWS], b: &Limbs) -> [u64; 8] {
    let mut t = [0; 8];
    for (row, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (column, b) in b.iter().enumerate() {
            (t[row + column], carry) = multiply_add(t[row + column], *a, *b, carry);
        }
        t[row + 4] = carry;
    }
    t
}

/// The lower four limbs, and `HIGH` of those above multiplied by [`EXCESS`]: the same number modulo n, shorter.
#[inline(always)]
fn fold<const HIGH: usize>(t: &[u64; 8]) -> [u64; 8] {
    let mut r = [t[0], t[1], t[2], t[3], 0, 0, 0, 0];
    for (row, high) in t[4..4 + HIGH].iter().enumerate() {
        let (r0, carry) = multiply_add(r[row], *high, EXCESS[0], 0);
        let (r1, carry) = multiply_add(r[row + 1], *high, EXCESS[1], carry);
        (r[row], r[row + 1]) = (r0, r1);
        let sum = u128::from(r[row + 2]) + u128::from(*high) + u128::from(carry);
        r[row + 2] = sum as u64;
        let mut over = (sum >> 64) as u64;
        for place in &mut r[row + 3..5 + HIGH.min(2)] {
            let (sum, carry) = place.overflowing_add(over);
            (*place, over) = (sum, u64::from(carry));
        }
    }
    r
}

/// What eight limbs are modulo n.
#[inline(always)]
fn reduce(t: &[u64; 8]) -> Scalar {
    // 512 bits become 386, then 260, then a little more than 256: less than twice n.
    let t = fold::<4>(t);
    let t = fold::<3>(&t);
    let t = fold::<1>(&t);
    let low = [t[0], t[1], t[2], t[3]];
    let (rest, negative) = difference(&low, &N);
    Scalar(if t[4] == 0 && negative { low } else { rest })
}

impl Scalar {
    pub(crate) const ZERO: Self = Self([0; 4]);
    pub(crate) const ONE: Self = Self([1, 0, 0, 0]);

    /// A number from 1 to n − 1.
    #[inline(always)]
    pub(crate) fn parse(limbs: Limbs) -> Option<Self> {
        (limbs != [0; 4] && below(&limbs, &N)).then_some(Self(limbs))
    }

    /// Any number, modulo n.
    #[inline(always)]
    pub(crate) fn from_limbs(limbs: Limbs) -> Self {
        // 2²⁵⁶ is less than twice n.
        let (rest, negative) = difference(&limbs, &N);
        Self(if negative { limbs } else { rest })
    }

    #[inline(always)]
    pub(crate) fn is_high(&self) -> bool {
        below(&HALF, &self.0)
    }

    #[inline(never)]
    pub(crate) fn mul(&self, other: &Self) -> Self {
        reduce(&wide(&self.0, &other.0))
    }

    /// The product with a number of half the length.
    #[inline(never)]
    pub(crate) fn mul_half(&self, half: &Half) -> Self {
        let size = [half.size as u64, (half.size >> 64) as u64];
        let product = reduce(&wide(&size, &self.0));
        if half.minus { product.negate() } else { product }
    }

    #[inline(always)]
    pub(crate) fn add(&self, other: &Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        let (r0, carry) = a[0].overflowing_add(b[0]);
        let (r1, carry) = add_carry(a[1], b[1], carry);
        let (r2, carry) = add_carry(a[2], b[2], carry);
        let (r3, carry) = add_carry(a[3], b[3], carry);
        let sum = [r0, r1, r2, r3];
        let (rest, negative) = difference(&sum, &N);
        Self(if !carry && negative { sum } else { rest })
    }

    #[inline(always)]
    pub(crate) fn negate(&self) -> Self {
        if *self == Self::ZERO { *self } else { Self(difference(&N, &self.0).0) }
    }

    /// The inverse; zero of zero.
    pub(crate) fn invert(&self) -> Self {
        Self(inverse::invert(&self.0, &N))
    }

    /// Two numbers of half the length with `first + second · λ` = this one, where λ · (x, y) is (β · x, y).
    ///
    /// The method is that of Gallant, Lambert and Vanstone (CRYPTO 2001): this number, taken as the vector (k, 0), less
    /// the closest combination of two short vectors that stand for zero. What is left is at most half of their sum, hence
    /// below 0.64 · 2¹²⁸.
    #[inline(never)]
    pub(crate) fn split(&self) -> [Half; 2] {
        let (c1, c2) = (rounded(&wide(&self.0, &G1)), rounded(&wide(&self.0, &G2)));
        let second = difference(&low(&c1, &MINUS_B1), &low(&c2, &A1)).0;
        let first = difference(&difference(&self.0, &low(&c1, &A1)).0, &low(&c2, &A2)).0;
        [half(&first), half(&second)]
    }
}

/// The short vectors are (`A1`, −`MINUS_B1`) and (`A2`, `A1`).
const A1: [u64; 3] = [0xe86c_90e4_9284_eb15, 0x3086_d221_a7d4_6bcd, 0];
const MINUS_B1: [u64; 3] = [0x6f54_7fa9_0abf_e4c3, 0xe443_7ed6_010e_8828, 0];
const A2: [u64; 3] = [0x57c1_108d_9d44_cfd8, 0x14ca_50f7_a8e2_f3f6, 1];
/// 2³⁸⁴ · `A1` / n and 2³⁸⁴ · `MINUS_B1` / n, rounded.
const G1: Limbs =
    [0xe893_209a_45db_b031, 0x3daa_8a14_71e8_ca7f, 0xe86c_90e4_9284_eb15, 0x3086_d221_a7d4_6bcd];
const G2: Limbs =
    [0x1571_b4ae_8ac4_7f71, 0x2212_08ac_9df5_06c6, 0x6f54_7fa9_0abf_e4c4, 0xe443_7ed6_010e_8828];

/// The number divided by 2³⁸⁴, rounded.
#[inline(always)]
fn rounded(t: &[u64; 8]) -> [u64; 2] {
    let (low, over) = t[6].overflowing_add(t[5] >> 63);
    [low, t[7] + u64::from(over)]
}

/// The lower 256 bits of a product.
#[inline(always)]
fn low(a: &[u64; 2], b: &[u64; 3]) -> Limbs {
    let (t0, carry) = multiply_add(0, a[0], b[0], 0);
    let (t1, carry) = multiply_add(0, a[0], b[1], carry);
    let (t2, t3) = multiply_add(0, a[0], b[2], carry);
    let (t1, carry) = multiply_add(t1, a[1], b[0], 0);
    let (t2, carry) = multiply_add(t2, a[1], b[1], carry);
    let (t3, _) = multiply_add(t3, a[1], b[2], carry);
    [t0, t1, t2, t3]
}

/// A short number in two's complement.
#[inline(always)]
fn half(limbs: &Limbs) -> Half {
    let minus = limbs[3] >> 63 == 1;
    let size = u128::from(limbs[1]) << 64 | u128::from(limbs[0]);
    Half { minus, size: if minus { size.wrapping_neg() } else { size } }
}
