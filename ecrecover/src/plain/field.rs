//! Numbers modulo the field's prime, 2²⁵⁶ − 4294968273, one at a time: four words of 64 bits, the lowest first.
//!
//! A number is below 2²⁵⁶ and not always below the prime; [`Field::canonical`] makes it so. What stands above 2²⁵⁶ comes back
//! below, multiplied by [`FOLD`].

use alloy_primitives::U256;

/// 2²⁵⁶ modulo the prime.
const FOLD: u64 = 0x1_0000_03d1;
const PRIME: [u64; 4] = [u64::MAX - FOLD + 1, u64::MAX, u64::MAX, u64::MAX];

#[derive(Clone, Copy, Debug)]
pub(super) struct Field(pub(super) [u64; 4]);

#[inline(always)]
const fn wide(number: u64) -> u128 {
    number as u128
}

impl Field {
    pub(super) const ZERO: Self = Self([0; 4]);
    pub(super) const ONE: Self = Self([1, 0, 0, 0]);

    #[inline]
    pub(super) fn add(&self, other: &Self) -> Self {
        let (mut out, mut carry) = ([0; 4], 0);
        for (at, word) in out.iter_mut().enumerate() {
            let sum = wide(self.0[at]) + wide(other.0[at]) + carry;
            *word = sum as u64;
            carry = sum >> 64;
        }
        Self::folded(out, carry as u64)
    }

    #[inline]
    pub(super) fn sub(&self, other: &Self) -> Self {
        let (mut out, mut borrow) = ([0; 4], false);
        for (at, word) in out.iter_mut().enumerate() {
            let (difference, first) = self.0[at].overflowing_sub(other.0[at]);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            (*word, borrow) = (difference, first | second);
        }
        // What was borrowed is 2²⁵⁶, which is as much as `FOLD`; that can happen twice.
        while borrow {
            let (low, under) = out[0].overflowing_sub(FOLD);
            out[0] = low;
            borrow = under;
            for word in &mut out[1..] {
                let (next, under) = word.overflowing_sub(u64::from(borrow));
                (*word, borrow) = (next, under);
            }
        }
        Self(out)
    }

    #[inline]
    pub(super) fn negated(&self) -> Self {
        Self::ZERO.sub(self)
    }

    #[inline]
    pub(super) fn twice(&self) -> Self {
        self.add(self)
    }

    /// The product of eight words, made four.
    #[inline(always)]
    fn reduced(product: [u64; 8]) -> Self {
        let (mut out, mut carry) = ([0; 4], 0);
        for (at, word) in out.iter_mut().enumerate() {
            let sum = wide(product[at]) + wide(product[at + 4]) * wide(FOLD) + carry;
            *word = sum as u64;
            carry = sum >> 64;
        }
        // The carry has at most 34 bits, so its product with `FOLD` has at most 67.
        let sum = wide(out[0]) + carry * wide(FOLD);
        out[0] = sum as u64;
        let mut carry = sum >> 64;
        for word in &mut out[1..] {
            let sum = wide(*word) + carry;
            *word = sum as u64;
            carry = sum >> 64;
        }
        Self::folded(out, carry as u64)
    }

    /// Adds what stands above 2²⁵⁶, zero or one.
    #[inline(always)]
    fn folded(mut words: [u64; 4], above: u64) -> Self {
        let mut above = above;
        while above > 0 {
            let mut carry = wide(above) * wide(FOLD);
            for word in &mut words {
                let sum = wide(*word) + carry;
                *word = sum as u64;
                carry = sum >> 64;
            }
            above = carry as u64;
        }
        Self(words)
    }

    #[inline]
    pub(super) fn mul(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        let mut product = [0; 8];
        for i in 0..4 {
            let mut carry = 0;
            for j in 0..4 {
                let sum = wide(a[i]) * wide(b[j]) + wide(product[i + j]) + carry;
                product[i + j] = sum as u64;
                carry = sum >> 64;
            }
            product[i + 4] = carry as u64;
        }
        Self::reduced(product)
    }

    #[inline]
    pub(super) fn square(&self) -> Self {
        self.mul(self)
    }

    fn squared(&self, times: usize) -> Self {
        (0..times).fold(*self, |number, _| number.square())
    }

    /// The number below the prime.
    pub(super) fn canonical(&self) -> Self {
        if self.0[1..] == PRIME[1..] && self.0[0] >= PRIME[0] {
            return Self([self.0[0] - PRIME[0], 0, 0, 0]);
        }
        *self
    }

    pub(super) fn is_zero(&self) -> bool {
        self.canonical().0 == [0; 4]
    }

    pub(super) fn is_odd(&self) -> bool {
        self.canonical().0[0] & 1 == 1
    }

    pub(super) fn equals(&self, other: &Self) -> bool {
        self.canonical().0 == other.canonical().0
    }

    /// One divided by it; zero for zero.
    pub(super) fn inverse(&self) -> Self {
        let prime = U256::from_limbs(PRIME);
        Self(U256::from_limbs(self.canonical().0).inv_mod(prime).unwrap_or_default().into_limbs())
    }

    /// A number whose square it is, if there is one: the power with (p + 1) / 4, by chains of ones in the exponent.
    pub(super) fn root(&self) -> Option<Self> {
        let x2 = self.square().mul(self);
        let x3 = x2.square().mul(self);
        let x6 = x3.squared(3).mul(&x3);
        let x9 = x6.squared(3).mul(&x3);
        let x11 = x9.squared(2).mul(&x2);
        let x22 = x11.squared(11).mul(&x11);
        let x44 = x22.squared(22).mul(&x22);
        let x88 = x44.squared(44).mul(&x44);
        let x176 = x88.squared(88).mul(&x88);
        let x220 = x176.squared(44).mul(&x44);
        let x223 = x220.squared(3).mul(&x3);
        let root = x223.squared(23).mul(&x22).squared(6).mul(&x2).squared(2);
        root.square().equals(self).then_some(root)
    }
}
