//! Numbers modulo the field's prime, eight at a time.
//!
//! A [`Field`] is eight numbers, one in each lane, in five limbs of 52 bits: what the instructions multiply. The prime is
//! 2²⁵⁶ − 4294968273, so what stands above 2²⁵⁶ comes back below, multiplied by a small number.
//!
//! **The one rule:** every limb is below 2⁵², and the last at most 2⁴⁸ + 2¹¹. The instructions ignore higher bits without a word, so
//! each operation ends with its carries passed on, one limb after the other; nothing is left for later. A number has more
//! than one such form until it is [made canonical](Field::canonical).

use core::arch::x86_64::{__m512i, __mmask8};

pulp::simd_type! {
    /// That the machine has the instructions. Whoever holds one may use them.
    pub(crate) struct Lanes {
        wide: "avx512f",
        multiply: "avx512ifma",
    }
}

/// How many numbers are worked on at once.
pub(crate) const LANES: usize = 8;

/// 2²⁵⁶ modulo the prime, and 2²⁶⁰, where the limbs end.
const FOLD_256: u64 = 0x1_0000_03d1;
const FOLD_260: u64 = FOLD_256 << 4;
const LIMB: u64 = (1 << 52) - 1;
const TOP_LIMB: u64 = (1 << 48) - 1;
const PRIME: [u64; 5] = [0xf_fffe_ffff_fc2f, LIMB, LIMB, LIMB, TOP_LIMB];

/// Eight numbers modulo the prime.
#[derive(Clone, Copy)]
pub(crate) struct Field([__m512i; 5]);

/// Eight words, one for each lane.
pub(crate) type Words = [u64; LANES];

impl Lanes {
    #[inline(always)]
    fn all(self, word: u64) -> __m512i {
        self.wide._mm512_set1_epi64(word.cast_signed())
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        self.wide._mm512_add_epi64(a, b)
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        self.wide._mm512_and_si512(a, b)
    }

    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        self.wide._mm512_or_si512(a, b)
    }

    /// Passes on all carries. The limbs may have any values below 2⁶³.
    #[inline(always)]
    fn carried(self, limbs: [__m512i; 5]) -> Field {
        let [l0, l1, l2, l3, l4] = limbs;
        let (wide, limb) = (self.wide, self.all(LIMB));
        let above = wide._mm512_srli_epi64::<48>(l4);
        let l4 = self.and(l4, self.all(TOP_LIMB));
        // Below 2¹⁵ times 2³³: the low half of the product is all of it.
        let l0 = self.multiply._mm512_madd52lo_epu64(l0, above, self.all(FOLD_256));
        let l1 = self.add(l1, wide._mm512_srli_epi64::<52>(l0));
        let l2 = self.add(l2, wide._mm512_srli_epi64::<52>(l1));
        let l3 = self.add(l3, wide._mm512_srli_epi64::<52>(l2));
        let l4 = self.add(l4, wide._mm512_srli_epi64::<52>(l3));
        Field([self.and(l0, limb), self.and(l1, limb), self.and(l2, limb), self.and(l3, limb), l4])
    }

    /// What ten columns of a product come to. The columns may have any values below 2⁵⁸, and the product is below 2⁵¹⁶.
    #[inline(always)]
    fn reduced(self, mut columns: [__m512i; 10]) -> Field {
        let (wide, multiply) = (self.wide, self.multiply);
        let (limb, fold) = (self.all(LIMB), self.all(FOLD_260));
        for at in 5..9 {
            columns[at + 1] = self.add(columns[at + 1], wide._mm512_srli_epi64::<52>(columns[at]));
            columns[at] = self.and(columns[at], limb);
        }
        let zero = self.all(0);
        let mut limbs = [columns[0], columns[1], columns[2], columns[3], columns[4]];
        for at in 0..5 {
            limbs[at] = multiply._mm512_madd52lo_epu64(limbs[at], fold, columns[at + 5]);
        }
        for at in 1..5 {
            limbs[at] = multiply._mm512_madd52hi_epu64(limbs[at], fold, columns[at + 4]);
        }
        let above = multiply._mm512_madd52hi_epu64(zero, fold, columns[9]);
        limbs[0] = multiply._mm512_madd52lo_epu64(limbs[0], fold, above);
        limbs[1] = multiply._mm512_madd52hi_epu64(limbs[1], fold, above);
        self.carried(limbs)
    }

    /// `a · b`
    #[inline(always)]
    pub(crate) fn mul(self, a: &Field, b: &Field) -> Field {
        let zero = self.all(0);
        let (mut low, mut high) = ([zero; 9], [zero; 9]);
        for i in 0..5 {
            for j in 0..5 {
                low[i + j] = self.multiply._mm512_madd52lo_epu64(low[i + j], a.0[i], b.0[j]);
                high[i + j] = self.multiply._mm512_madd52hi_epu64(high[i + j], a.0[i], b.0[j]);
            }
        }
        self.reduced(self.columns(low, high))
    }

    /// `a²`
    #[inline(always)]
    pub(crate) fn square(self, a: &Field) -> Field {
        let zero = self.all(0);
        let (mut low, mut high) = ([zero; 9], [zero; 9]);
        for i in 0..5 {
            for j in i + 1..5 {
                low[i + j] = self.multiply._mm512_madd52lo_epu64(low[i + j], a.0[i], a.0[j]);
                high[i + j] = self.multiply._mm512_madd52hi_epu64(high[i + j], a.0[i], a.0[j]);
            }
        }
        // What stands twice in the square; the ends do not.
        for at in 1..8 {
            low[at] = self.add(low[at], low[at]);
            high[at] = self.add(high[at], high[at]);
        }
        for i in 0..5 {
            low[i + i] = self.multiply._mm512_madd52lo_epu64(low[i + i], a.0[i], a.0[i]);
            high[i + i] = self.multiply._mm512_madd52hi_epu64(high[i + i], a.0[i], a.0[i]);
        }
        self.reduced(self.columns(low, high))
    }

    /// The high half of a product belongs to the next column.
    #[inline(always)]
    fn columns(self, low: [__m512i; 9], high: [__m512i; 9]) -> [__m512i; 10] {
        let mut columns = [low[0]; 10];
        for at in 1..9 {
            columns[at] = self.add(low[at], high[at - 1]);
        }
        columns[9] = high[8];
        columns
    }

    /// `a`, squared so many times.
    #[inline(always)]
    pub(crate) fn squares(self, a: &Field, times: usize) -> Field {
        let mut squared = *a;
        for _ in 0..times {
            squared = self.square(&squared);
        }
        squared
    }

    /// `PLUS · a − MINUS · b`; the factors are at most 8.
    #[inline(always)]
    pub(crate) fn combine<const PLUS: u64, const MINUS: u64>(self, a: &Field, b: &Field) -> Field {
        const { assert!(PLUS <= 8 && MINUS <= 8 && PLUS.is_power_of_two() && MINUS.is_power_of_two()) };
        let mut limbs = [self.all(0); 5];
        for at in 0..5 {
            // A multiple of the prime, each limb of which is above what is taken away.
            let offset = self.all(2 * MINUS * PRIME[at]);
            let plus = self.times::<PLUS>(a.0[at]);
            let minus = self.times::<MINUS>(b.0[at]);
            limbs[at] = self.wide._mm512_sub_epi64(self.add(plus, offset), minus);
        }
        self.carried(limbs)
    }

    #[inline(always)]
    fn times<const FACTOR: u64>(self, limb: __m512i) -> __m512i {
        match FACTOR {
            2 => self.wide._mm512_slli_epi64::<1>(limb),
            4 => self.wide._mm512_slli_epi64::<2>(limb),
            8 => self.wide._mm512_slli_epi64::<3>(limb),
            _ => limb,
        }
    }

    /// `a − b`
    #[inline(always)]
    pub(crate) fn sub(self, a: &Field, b: &Field) -> Field {
        self.combine::<1, 1>(a, b)
    }

    /// `a − b − 2c`
    #[inline(always)]
    pub(crate) fn sub_sub_twice(self, a: &Field, b: &Field, c: &Field) -> Field {
        let mut limbs = [self.all(0); 5];
        for at in 0..5 {
            let offset = self.all(8 * PRIME[at]);
            let minus = self.add(b.0[at], self.times::<2>(c.0[at]));
            limbs[at] = self.wide._mm512_sub_epi64(self.add(a.0[at], offset), minus);
        }
        self.carried(limbs)
    }

    /// `2a`
    #[inline(always)]
    pub(crate) fn twice(self, a: &Field) -> Field {
        let mut limbs = a.0;
        for limb in &mut limbs {
            *limb = self.times::<2>(*limb);
        }
        self.carried(limbs)
    }

    /// `3a`
    #[inline(always)]
    pub(crate) fn thrice(self, a: &Field) -> Field {
        let mut limbs = a.0;
        for limb in &mut limbs {
            *limb = self.add(*limb, self.times::<2>(*limb));
        }
        self.carried(limbs)
    }

    /// `a + number`, for a small number
    #[inline(always)]
    pub(crate) fn add_small(self, a: &Field, number: u64) -> Field {
        let mut limbs = a.0;
        limbs[0] = self.add(limbs[0], self.all(number));
        self.carried(limbs)
    }

    /// Changes the sign in some lanes.
    #[inline(always)]
    pub(crate) fn negate_in(self, lanes: u8, a: &Field) -> Field {
        let mut limbs = a.0;
        for (limb, prime) in limbs.iter_mut().zip(PRIME) {
            *limb = self.wide._mm512_mask_sub_epi64(*limb, lanes, self.all(2 * prime), *limb);
        }
        self.carried(limbs)
    }

    /// `a`, and `b` in some lanes.
    #[inline(always)]
    pub(crate) fn select(self, lanes: u8, a: &Field, b: &Field) -> Field {
        let mut limbs = a.0;
        for (limb, other) in limbs.iter_mut().zip(b.0) {
            *limb = self.wide._mm512_mask_blend_epi64(lanes, *limb, other);
        }
        Field(limbs)
    }

    /// The only form in which every number is below the prime.
    #[inline(always)]
    pub(crate) fn canonical(self, a: &Field) -> Field {
        let (wide, limb) = (self.wide, self.all(LIMB));
        let Field(a) = self.carried(a.0);
        // Beyond 2²⁵⁶ after adding what is missing: it was not below the prime. It is below twice the prime anyway.
        let l0 = self.add(a[0], self.all(FOLD_256));
        let l1 = self.add(a[1], wide._mm512_srli_epi64::<52>(l0));
        let l2 = self.add(a[2], wide._mm512_srli_epi64::<52>(l1));
        let l3 = self.add(a[3], wide._mm512_srli_epi64::<52>(l2));
        let l4 = self.add(a[4], wide._mm512_srli_epi64::<52>(l3));
        let beyond = wide._mm512_test_epi64_mask(l4, self.all(!TOP_LIMB));
        let less = [
            self.and(l0, limb),
            self.and(l1, limb),
            self.and(l2, limb),
            self.and(l3, limb),
            self.and(l4, self.all(TOP_LIMB)),
        ];
        self.select(beyond, &Field(a), &Field(less))
    }

    /// The lanes in which a canonical number is zero.
    #[inline(always)]
    pub(crate) fn zeros(self, canonical: &Field) -> __mmask8 {
        let [l0, l1, l2, l3, l4] = canonical.0;
        let any = self.or(self.or(self.or(l0, l1), self.or(l2, l3)), l4);
        !self.wide._mm512_test_epi64_mask(any, any)
    }

    /// The lanes in which two numbers are the same.
    #[inline(always)]
    pub(crate) fn same(self, a: &Field, b: &Field) -> __mmask8 {
        self.zeros(&self.canonical(&self.sub(a, b)))
    }

    /// The lanes in which a canonical number is odd.
    #[inline(always)]
    pub(crate) fn odds(self, canonical: &Field) -> __mmask8 {
        self.wide._mm512_test_epi64_mask(canonical.0[0], self.all(1))
    }

    /// The same number in all lanes, from four words, the lowest first.
    #[inline(always)]
    pub(crate) fn same_in_all(self, words: [u64; 4]) -> Field {
        let [w0, w1, w2, w3] = words;
        self.of_words([[w0; LANES], [w1; LANES], [w2; LANES], [w3; LANES]])
    }

    /// From four words, the lowest first; together below the prime.
    #[inline(always)]
    pub(crate) fn of_words(self, [w0, w1, w2, w3]: [Words; 4]) -> Field {
        let (wide, limb) = (self.wide, self.all(LIMB));
        let (w0, w1): (__m512i, __m512i) = (pulp::cast(w0), pulp::cast(w1));
        let (w2, w3): (__m512i, __m512i) = (pulp::cast(w2), pulp::cast(w3));
        let l1 = self.or(wide._mm512_srli_epi64::<52>(w0), wide._mm512_slli_epi64::<12>(w1));
        let l2 = self.or(wide._mm512_srli_epi64::<40>(w1), wide._mm512_slli_epi64::<24>(w2));
        let l3 = self.or(wide._mm512_srli_epi64::<28>(w2), wide._mm512_slli_epi64::<36>(w3));
        let l4 = wide._mm512_srli_epi64::<16>(w3);
        Field([self.and(w0, limb), self.and(l1, limb), self.and(l2, limb), self.and(l3, limb), l4])
    }

    /// Four words, the lowest first, of a canonical number.
    #[inline(always)]
    pub(crate) fn to_words(self, canonical: &Field) -> [Words; 4] {
        let wide = self.wide;
        let [l0, l1, l2, l3, l4] = canonical.0;
        let w0 = self.or(l0, wide._mm512_slli_epi64::<52>(l1));
        let w1 = self.or(wide._mm512_srli_epi64::<12>(l1), wide._mm512_slli_epi64::<40>(l2));
        let w2 = self.or(wide._mm512_srli_epi64::<24>(l2), wide._mm512_slli_epi64::<28>(l3));
        let w3 = self.or(wide._mm512_srli_epi64::<36>(l3), wide._mm512_slli_epi64::<16>(l4));
        [pulp::cast(w0), pulp::cast(w1), pulp::cast(w2), pulp::cast(w3)]
    }

    /// `a`, squared so many times, times `b`: the bits of two powers, one behind the other.
    #[inline(always)]
    fn joined(self, a: &Field, times: usize, b: &Field) -> Field {
        self.mul(&self.squares(a, times), b)
    }

    /// What both roots and inverses begin with: `a` to the power of 2² − 1, 2²² − 1 and 2²²³ − 1.
    #[inline(always)]
    fn powers(self, a: &Field) -> [Field; 3] {
        let x2 = self.joined(a, 1, a);
        let x3 = self.joined(&x2, 1, a);
        let x6 = self.joined(&x3, 3, &x3);
        let x9 = self.joined(&x6, 3, &x3);
        let x11 = self.joined(&x9, 2, &x2);
        let x22 = self.joined(&x11, 11, &x11);
        let x44 = self.joined(&x22, 22, &x22);
        let x88 = self.joined(&x44, 44, &x44);
        let x176 = self.joined(&x88, 88, &x88);
        let x220 = self.joined(&x176, 44, &x44);
        let x223 = self.joined(&x220, 3, &x3);
        [x2, x22, x223]
    }

    /// A square root, in the lanes that have one: `a` to the power of (prime + 1) / 4.
    #[inline(always)]
    pub(crate) fn root(self, a: &Field) -> Field {
        let [x2, x22, x223] = self.powers(a);
        let root = self.joined(&x223, 23, &x22);
        self.squares(&self.joined(&root, 6, &x2), 2)
    }

    /// The inverse, zero of zero: `a` to the power of prime − 2.
    #[inline(always)]
    pub(crate) fn inverse(self, a: &Field) -> Field {
        let [x2, x22, x223] = self.powers(a);
        let inverse = self.joined(&x223, 23, &x22);
        let inverse = self.joined(&inverse, 5, a);
        let inverse = self.joined(&inverse, 3, &x2);
        self.joined(&inverse, 2, a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{U256, uint};
    use proptest::prelude::*;

    const P: U256 = uint!(0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f_U256);

    /// Eight numbers in any form that the rule allows.
    fn loose() -> impl Strategy<Value = [[u64; LANES]; 5]> {
        let edge =
            |top: u64| prop_oneof![0..=top, Just(0), Just(top), Just(top - 1), Just(top >> 1), Just(1)];
        let limbs = move |top| proptest::array::uniform8(edge(top));
        [limbs(LIMB), limbs(LIMB), limbs(LIMB), limbs(LIMB), limbs((1 << 48) + (1 << 11))]
    }

    fn field(limbs: [[u64; LANES]; 5]) -> Field {
        Field(limbs.map(pulp::cast))
    }

    fn values(limbs: [[u64; LANES]; 5]) -> [U256; LANES] {
        core::array::from_fn(|lane| {
            limbs.iter().rev().fold(U256::ZERO, |sum, limb| {
                sum.mul_mod(U256::from(1_u64 << 52), P).add_mod(U256::from(limb[lane]), P)
            })
        })
    }

    fn check(lanes: Lanes, found: Field, expected: [U256; LANES]) {
        let limbs = found.0.map(pulp::cast::<__m512i, [u64; LANES]>);
        assert!(limbs[..4].iter().flatten().all(|limb| *limb <= LIMB), "a carry is left");
        assert!(limbs[4].iter().all(|limb| *limb <= (1 << 48) + (1 << 11)), "the last limb is too large");
        assert_eq!(values(limbs), expected);
        let words = lanes.to_words(&lanes.canonical(&found));
        let canonical: [U256; LANES] =
            core::array::from_fn(|lane| U256::from_limbs(words.map(|word| word[lane])));
        assert_eq!(canonical, expected);
        let back = lanes.of_words(words).0.map(pulp::cast::<__m512i, [u64; LANES]>);
        assert_eq!(values(back), expected);
    }

    fn each(a: [U256; LANES], b: [U256; LANES], by: impl Fn(U256, U256) -> U256) -> [U256; LANES] {
        core::array::from_fn(|lane| by(a[lane], b[lane]))
    }

    fn minus(a: U256, b: U256) -> U256 {
        a.add_mod(P - b % P, P)
    }

    proptest! {
        #[test]
        fn arithmetic_is_that_of_large_numbers(a in loose(), b in loose(), c in loose(), some in any::<u8>()) {
            let Some(lanes) = Lanes::try_new() else { return Ok(()) };
            let (x, y, z) = (field(a), field(b), field(c));
            let (a, b, c) = (values(a), values(b), values(c));
            let times = |a: U256, factor: u64| a.mul_mod(U256::from(factor), P);
            check(lanes, lanes.mul(&x, &y), each(a, b, |a, b| a.mul_mod(b, P)));
            check(lanes, lanes.square(&x), each(a, a, |a, b| a.mul_mod(b, P)));
            check(lanes, lanes.sub(&x, &y), each(a, b, minus));
            check(lanes, lanes.combine::<1, 8>(&x, &y), each(a, b, |a, b| minus(a, times(b, 8))));
            check(lanes, lanes.combine::<4, 1>(&x, &y), each(a, b, |a, b| minus(times(a, 4), b)));
            let expected = each(each(a, b, minus), c, |a, c| minus(a, times(c, 2)));
            check(lanes, lanes.sub_sub_twice(&x, &y, &z), expected);
            check(lanes, lanes.twice(&x), a.map(|a| times(a, 2)));
            check(lanes, lanes.thrice(&x), a.map(|a| times(a, 3)));
            check(lanes, lanes.add_small(&x, 7), a.map(|a| a.add_mod(U256::from(7), P)));
            let chosen = |lane: usize| some >> lane & 1 == 1;
            let negated = core::array::from_fn(|lane| if chosen(lane) { minus(U256::ZERO, a[lane]) } else { a[lane] });
            check(lanes, lanes.negate_in(some, &x), negated);
            check(lanes, lanes.select(some, &x, &y), core::array::from_fn(|lane| if chosen(lane) { b[lane] } else { a[lane] }));
            let lanes_with = |wanted: &dyn Fn(usize) -> bool| {
                (0..LANES).fold(0_u8, |lanes, lane| lanes | u8::from(wanted(lane)) << lane)
            };
            prop_assert_eq!(lanes.same(&x, &y), lanes_with(&|lane| a[lane] == b[lane]));
            prop_assert_eq!(lanes.odds(&lanes.canonical(&x)), lanes_with(&|lane| a[lane].bit(0)));
            prop_assert_eq!(lanes.zeros(&lanes.canonical(&x)), lanes_with(&|lane| a[lane].is_zero()));
        }

        #[test]
        fn roots_and_inverses_are_what_they_are_called(a in loose()) {
            let Some(lanes) = Lanes::try_new() else { return Ok(()) };
            let x = field(a);
            let ones = values(a).map(|a| if a.is_zero() { U256::ZERO } else { U256::ONE });
            check(lanes, lanes.mul(&lanes.inverse(&x), &x), ones);
            let square = lanes.square(&x);
            prop_assert_eq!(lanes.same(&lanes.square(&lanes.root(&square)), &square), 0xff);
        }
    }

    #[test]
    fn numbers_at_the_prime_are_made_canonical() {
        let Some(lanes) = Lanes::try_new() else { return };
        for near in [P - U256::from(2), P - U256::ONE, P, P + U256::ONE, U256::MAX, U256::ZERO] {
            let words = near.into_limbs().map(|word| [word; LANES]);
            check(lanes, lanes.of_words(words), [near % P; LANES]);
        }
    }
}
