//! Eight numbers at a time, with AVX-512 IFMA.
//!
//! A [`Field`] is eight numbers, one in each lane, in five limbs of 52 bits: what the instructions multiply.
//!
//! **The one rule:** every limb is below 2⁵², and the last at most 2⁴⁸ + 2¹¹. The instructions ignore higher bits without a word, so
//! each operation ends with its carries passed on, one limb after the other; nothing is left for later.

use super::{FOLD_256, Lanes};
use core::arch::x86_64::__m512i;
use pulp::NullaryFnOnce;

pulp::simd_type! {
    /// That the machine has the instructions. Whoever holds one may use them.
    pub(crate) struct Ifma {
        wide: "avx512f",
        multiply: "avx512ifma",
    }
}

/// 2²⁶⁰ modulo the prime, where the limbs end.
const FOLD_260: u64 = FOLD_256 << 4;
const LIMB: u64 = (1 << 52) - 1;
const TOP_LIMB: u64 = (1 << 48) - 1;
const PRIME: [u64; 5] = [0xf_fffe_ffff_fc2f, LIMB, LIMB, LIMB, TOP_LIMB];

/// Eight numbers modulo the prime.
#[derive(Clone, Copy)]
pub(crate) struct Field(pub(super) [__m512i; 5]);

impl Ifma {
    #[inline(always)]
    fn all(self, word: u64) -> __m512i {
        self.wide._mm512_set1_epi64(word.cast_signed())
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        self.wide._mm512_add_epi64(a, b)
    }

    #[inline(always)]
    fn less(self, a: __m512i, b: __m512i) -> __m512i {
        self.wide._mm512_sub_epi64(a, b)
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
    fn settled(self, limbs: [__m512i; 5]) -> Field {
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
        self.settled(limbs)
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

    #[inline(always)]
    fn shifted<const FACTOR: u64>(self, limb: __m512i) -> __m512i {
        match FACTOR {
            2 => self.wide._mm512_slli_epi64::<1>(limb),
            4 => self.wide._mm512_slli_epi64::<2>(limb),
            8 => self.wide._mm512_slli_epi64::<3>(limb),
            _ => limb,
        }
    }
}

impl Lanes<8> for Ifma {
    type Field = Field;
    // Eight cost about as much as two one by one.
    const FEWEST: usize = 2;

    fn detect() -> Option<Self> {
        Self::try_new()
    }

    #[inline(always)]
    fn run<T: NullaryFnOnce>(self, act: T) -> T::Output {
        self.vectorize(act)
    }

    #[inline(always)]
    fn mul(self, a: &Field, b: &Field) -> Field {
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

    #[inline(always)]
    fn square(self, a: &Field) -> Field {
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

    limb_by_limb!();

    #[inline(always)]
    fn negate_in(self, lanes: u8, a: &Field) -> Field {
        let mut limbs = a.0;
        for (limb, prime) in limbs.iter_mut().zip(PRIME) {
            *limb = self.wide._mm512_mask_sub_epi64(*limb, lanes, self.all(2 * prime), *limb);
        }
        self.settled(limbs)
    }

    #[inline(always)]
    fn select(self, lanes: u8, a: &Field, b: &Field) -> Field {
        let mut limbs = a.0;
        for (limb, other) in limbs.iter_mut().zip(b.0) {
            *limb = self.wide._mm512_mask_blend_epi64(lanes, *limb, other);
        }
        Field(limbs)
    }

    #[inline(always)]
    fn canonical(self, a: &Field) -> Field {
        let (wide, limb) = (self.wide, self.all(LIMB));
        let Field(a) = self.settled(a.0);
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

    #[inline(always)]
    fn zeros(self, canonical: &Field) -> u8 {
        let [l0, l1, l2, l3, l4] = canonical.0;
        let any = self.or(self.or(self.or(l0, l1), self.or(l2, l3)), l4);
        !self.wide._mm512_test_epi64_mask(any, any)
    }

    #[inline(always)]
    fn odds(self, canonical: &Field) -> u8 {
        self.wide._mm512_test_epi64_mask(canonical.0[0], self.all(1))
    }

    #[inline(always)]
    fn of_words(self, [w0, w1, w2, w3]: [[u64; 8]; 4]) -> Field {
        let (wide, limb) = (self.wide, self.all(LIMB));
        let (w0, w1): (__m512i, __m512i) = (pulp::cast(w0), pulp::cast(w1));
        let (w2, w3): (__m512i, __m512i) = (pulp::cast(w2), pulp::cast(w3));
        let l1 = self.or(wide._mm512_srli_epi64::<52>(w0), wide._mm512_slli_epi64::<12>(w1));
        let l2 = self.or(wide._mm512_srli_epi64::<40>(w1), wide._mm512_slli_epi64::<24>(w2));
        let l3 = self.or(wide._mm512_srli_epi64::<28>(w2), wide._mm512_slli_epi64::<36>(w3));
        let l4 = wide._mm512_srli_epi64::<16>(w3);
        Field([self.and(w0, limb), self.and(l1, limb), self.and(l2, limb), self.and(l3, limb), l4])
    }

    #[inline(always)]
    fn to_words(self, canonical: &Field) -> [[u64; 8]; 4] {
        let wide = self.wide;
        let [l0, l1, l2, l3, l4] = canonical.0;
        let w0 = self.or(l0, wide._mm512_slli_epi64::<52>(l1));
        let w1 = self.or(wide._mm512_srli_epi64::<12>(l1), wide._mm512_slli_epi64::<40>(l2));
        let w2 = self.or(wide._mm512_srli_epi64::<24>(l2), wide._mm512_slli_epi64::<28>(l3));
        let w3 = self.or(wide._mm512_srli_epi64::<36>(l3), wide._mm512_slli_epi64::<16>(l4));
        [pulp::cast(w0), pulp::cast(w1), pulp::cast(w2), pulp::cast(w3)]
    }
}
