//! Four numbers at a time, with AVX2.
//!
//! A [`Field`] is four numbers, one in each lane, in nine limbs of 29 bits: the instruction multiplies 32 bits by 32 bits,
//! and nine products of 29 bits by 29 bits fit 64.
//!
//! **The one rule:** every limb is at most 2²⁹ + 2²⁴, and the last at most 2²⁴ + 2⁸. The instruction ignores higher bits
//! without a word, and a column of a product has room for limbs of up to 2³⁰, so each operation ends with its carries passed
//! on. Where values are small this is done once and for all limbs at the same time, which leaves a little above 2²⁹; the
//! rule has room for that.

use super::{FOLD_256, Lanes};
use core::arch::x86_64::__m256i;
use pulp::NullaryFnOnce;

pulp::simd_type! {
    /// That the machine has the instructions. Whoever holds one may use them.
    pub(crate) struct Avx2 {
        half: "avx",
        whole: "avx2",
    }
}

const LIMBS: usize = 9;
const LAST: usize = LIMBS - 1;
const BITS: i32 = 29;
const LAST_BITS: i32 = 24;
const LIMB: u64 = (1 << BITS) - 1;
const LAST_LIMB: u64 = (1 << LAST_BITS) - 1;
const PRIME: [u64; LIMBS] = [LIMB - 976, LIMB - 8, LIMB, LIMB, LIMB, LIMB, LIMB, LIMB, LAST_LIMB];

/// 2²⁵⁶ modulo the prime in two limbs: so much, and a shift of the next one.
const FOLD_LOW: u64 = FOLD_256 & LIMB;
const FOLD_SHIFT: i32 = 3;
/// The same of 2²⁶¹, where the limbs end.
const FOLD_LOW_261: u64 = FOLD_LOW << 5;
const FOLD_SHIFT_261: i32 = FOLD_SHIFT + 5;

const _: () = assert!(FOLD_256 == FOLD_LOW + (1 << (BITS + FOLD_SHIFT)));

/// Four numbers modulo the prime.
#[derive(Clone, Copy)]
pub(crate) struct Field(pub(super) [__m256i; LIMBS]);

/// All columns of a product. They are written out, since a loop of seventeen would be left as one.
macro_rules! columns {
    ($lanes:ident.$column:ident($($number:expr),*)) => {
        columns!(@ $lanes $column [$($number),*] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $lanes:ident $column:ident $numbers:tt $($at:literal)*) => {
        [$(columns!(@ $lanes $column $numbers, $at)),*]
    };
    (@ $lanes:ident $column:ident [$($number:expr),*], $at:literal) => {
        $lanes.$column($($number,)* $at)
    };
}

/// What is not inlined, since it stands in hundreds of places.
struct Product<'a>(Avx2, &'a Field, &'a Field);
struct Square<'a>(Avx2, &'a Field);

impl NullaryFnOnce for Product<'_> {
    type Output = Field;

    #[inline(always)]
    fn call(self) -> Field {
        self.0.product(self.1, self.2)
    }
}

impl NullaryFnOnce for Square<'_> {
    type Output = Field;

    #[inline(always)]
    fn call(self) -> Field {
        self.0.squared(self.1)
    }
}

impl Avx2 {
    #[inline(always)]
    fn all(self, word: u64) -> __m256i {
        self.half._mm256_set1_epi64x(word.cast_signed())
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        self.whole._mm256_add_epi64(a, b)
    }

    #[inline(always)]
    fn less(self, a: __m256i, b: __m256i) -> __m256i {
        self.whole._mm256_sub_epi64(a, b)
    }

    #[inline(always)]
    fn and(self, a: __m256i, b: __m256i) -> __m256i {
        self.whole._mm256_and_si256(a, b)
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        self.whole._mm256_or_si256(a, b)
    }

    /// The product of the lower 32 bits.
    #[inline(always)]
    fn times(self, a: __m256i, b: __m256i) -> __m256i {
        self.whole._mm256_mul_epu32(a, b)
    }

    #[inline(always)]
    fn left<const BITS: i32>(self, a: __m256i) -> __m256i {
        self.whole._mm256_slli_epi64::<BITS>(a)
    }

    #[inline(always)]
    fn right<const BITS: i32>(self, a: __m256i) -> __m256i {
        self.whole._mm256_srli_epi64::<BITS>(a)
    }

    #[inline(always)]
    fn shifted<const FACTOR: u64>(self, limb: __m256i) -> __m256i {
        match FACTOR {
            2 => self.left::<1>(limb),
            4 => self.left::<2>(limb),
            8 => self.left::<3>(limb),
            _ => limb,
        }
    }

    /// The lanes as a vector: all bits where the lane is one of them.
    #[inline(always)]
    fn mask(self, lanes: u8) -> __m256i {
        let bits = pulp::cast([1_u64, 2, 4, 8]);
        self.whole._mm256_cmpeq_epi64(self.and(self.all(u64::from(lanes)), bits), bits)
    }

    /// The lanes whose highest bit is set.
    #[inline(always)]
    fn highest(self, a: __m256i) -> u8 {
        self.half._mm256_movemask_pd(self.half._mm256_castsi256_pd(a)) as u8
    }

    #[inline(always)]
    fn zero_lanes(self, a: __m256i) -> u8 {
        self.highest(self.whole._mm256_cmpeq_epi64(a, self.all(0)))
    }

    /// Brings back what stands above 2²⁵⁶.
    #[inline(always)]
    fn fold(self, limbs: &mut [__m256i; LIMBS]) {
        let above = self.right::<LAST_BITS>(limbs[LAST]);
        limbs[LAST] = self.and(limbs[LAST], self.all(LAST_LIMB));
        limbs[0] = self.add(limbs[0], self.times(above, self.all(FOLD_LOW)));
        limbs[1] = self.add(limbs[1], self.left::<FOLD_SHIFT>(above));
    }

    /// Passes on all carries, one limb after the other, from one limb to another.
    #[inline(always)]
    fn carry<const N: usize>(self, limbs: &mut [__m256i; N], from: usize, to: usize) {
        for at in from..to {
            limbs[at + 1] = self.add(limbs[at + 1], self.right::<BITS>(limbs[at]));
            limbs[at] = self.and(limbs[at], self.all(LIMB));
        }
    }

    /// Passes on all carries, in three parts at the same time, so that none waits for eight others. What a part passes on to
    /// the next can be more than 2³², and goes on by one limb; what is left is less than 2⁵ above 2²⁹.
    #[inline(always)]
    fn carry_in_parts<const N: usize>(self, limbs: &mut [__m256i; N]) {
        let (second, third) = (limbs[3], limbs[6]);
        limbs[3] = self.all(0);
        limbs[6] = self.all(0);
        self.carry(limbs, 0, 3);
        let first = std::mem::replace(&mut limbs[3], second);
        self.carry(limbs, 3, 6);
        let second = std::mem::replace(&mut limbs[6], third);
        self.carry(limbs, 6, N - 1);
        limbs[3] = self.add(limbs[3], first);
        limbs[6] = self.add(limbs[6], second);
        self.carry(limbs, 3, 4);
        self.carry(limbs, 6, 7);
    }

    /// Passes on the carries of limbs below 2³⁵ to the next ones, all at once.
    #[inline(always)]
    fn settled(self, mut limbs: [__m256i; LIMBS]) -> Field {
        let before = limbs;
        for at in 0..LAST {
            limbs[at] = self.and(before[at], self.all(LIMB));
        }
        for at in 0..LAST {
            limbs[at + 1] = self.add(limbs[at + 1], self.right::<BITS>(before[at]));
        }
        self.fold(&mut limbs);
        Field(limbs)
    }

    /// What seventeen columns of a product come to.
    #[inline(always)]
    fn reduced(self, columns: [__m256i; 2 * LIMBS - 1]) -> Field {
        let mut high = [self.all(0); LIMBS + 1];
        high[0] = columns[LAST];
        high[1..LIMBS].copy_from_slice(&columns[LIMBS..]);
        self.carry_in_parts(&mut high);
        let mut limbs = [self.all(0); LIMBS];
        limbs[..LAST].copy_from_slice(&columns[..LAST]);
        limbs[LAST] = high[0];
        let low = self.all(FOLD_LOW_261);
        for at in 0..LIMBS {
            limbs[at] = self.add(limbs[at], self.times(high[at + 1], low));
        }
        for at in 0..LAST {
            limbs[at + 1] = self.add(limbs[at + 1], self.left::<FOLD_SHIFT_261>(high[at + 1]));
        }
        // The last one has come out above 2²⁶¹ again.
        let above = self.left::<FOLD_SHIFT_261>(high[LIMBS]);
        limbs[0] = self.add(limbs[0], self.times(above, low));
        limbs[1] = self.add(limbs[1], self.left::<FOLD_SHIFT_261>(above));
        self.carry_in_parts(&mut limbs);
        self.fold(&mut limbs);
        Field(limbs)
    }

    #[inline(always)]
    fn column(self, a: &Field, b: &Field, at: usize) -> __m256i {
        let first = at.saturating_sub(LAST);
        let mut sum = self.times(a.0[first], b.0[at - first]);
        for i in first + 1..=at - first {
            sum = self.add(sum, self.times(a.0[i], b.0[at - i]));
        }
        sum
    }

    #[inline(always)]
    fn square_column(self, a: &Field, twice: &Field, at: usize) -> __m256i {
        let first = at.saturating_sub(LAST);
        let mut sum = match at % 2 {
            0 => self.times(a.0[at / 2], a.0[at / 2]),
            _ => self.times(twice.0[at / 2], a.0[at / 2 + 1]),
        };
        for i in first..at / 2 {
            sum = self.add(sum, self.times(twice.0[i], a.0[at - i]));
        }
        sum
    }

    #[inline(always)]
    fn product(self, a: &Field, b: &Field) -> Field {
        self.reduced(columns!(self.column(a, b)))
    }

    #[inline(always)]
    fn squared(self, a: &Field) -> Field {
        let mut twice = *a;
        for limb in &mut twice.0 {
            *limb = self.left::<1>(*limb);
        }
        self.reduced(columns!(self.square_column(a, &twice)))
    }
}

impl Lanes<4> for Avx2 {
    type Field = Field;
    // Four cost about as much as two one by one.
    const FEWEST: usize = 3;

    fn detect() -> Option<Self> {
        Self::try_new()
    }

    #[inline(always)]
    fn run<T: NullaryFnOnce>(self, act: T) -> T::Output {
        self.vectorize(act)
    }

    #[inline(always)]
    fn mul(self, a: &Field, b: &Field) -> Field {
        self.vectorize(Product(self, a, b))
    }

    #[inline(always)]
    fn square(self, a: &Field) -> Field {
        self.vectorize(Square(self, a))
    }

    limb_by_limb!();

    #[inline(always)]
    fn negate_in(self, lanes: u8, a: &Field) -> Field {
        let mask = self.mask(lanes);
        let mut limbs = a.0;
        for (limb, prime) in limbs.iter_mut().zip(PRIME) {
            let negative = self.less(self.all(2 * prime), *limb);
            *limb = self.whole._mm256_blendv_epi8(*limb, negative, mask);
        }
        self.settled(limbs)
    }

    #[inline(always)]
    fn select(self, lanes: u8, a: &Field, b: &Field) -> Field {
        let mask = self.mask(lanes);
        let mut limbs = a.0;
        for (limb, other) in limbs.iter_mut().zip(b.0) {
            *limb = self.whole._mm256_blendv_epi8(*limb, other, mask);
        }
        Field(limbs)
    }

    #[inline(always)]
    fn canonical(self, a: &Field) -> Field {
        let mut limbs = a.0;
        self.carry(&mut limbs, 0, LAST);
        self.fold(&mut limbs);
        self.carry(&mut limbs, 0, LAST);
        // Beyond 2²⁵⁶ after adding what is missing: it was not below the prime. It is below twice the prime anyway.
        let mut less = limbs;
        less[0] = self.add(less[0], self.all(FOLD_LOW));
        less[1] = self.add(less[1], self.all(1 << FOLD_SHIFT));
        self.carry(&mut less, 0, LAST);
        let below = self.zero_lanes(self.right::<LAST_BITS>(less[LAST]));
        less[LAST] = self.and(less[LAST], self.all(LAST_LIMB));
        self.select(!below, &Field(limbs), &Field(less))
    }

    #[inline(always)]
    fn zeros(self, canonical: &Field) -> u8 {
        let [first, rest @ ..] = canonical.0;
        self.zero_lanes(rest.into_iter().fold(first, |any, limb| self.or(any, limb)))
    }

    #[inline(always)]
    fn odds(self, canonical: &Field) -> u8 {
        self.highest(self.left::<63>(canonical.0[0]))
    }

    #[inline(always)]
    fn of_words(self, words: [[u64; 4]; 4]) -> Field {
        let [w0, w1, w2, w3]: [__m256i; 4] = words.map(pulp::cast);
        let limb = self.all(LIMB);
        let limbs = [
            w0,
            self.right::<29>(w0),
            self.or(self.right::<58>(w0), self.left::<6>(w1)),
            self.right::<23>(w1),
            self.or(self.right::<52>(w1), self.left::<12>(w2)),
            self.right::<17>(w2),
            self.or(self.right::<46>(w2), self.left::<18>(w3)),
            self.right::<11>(w3),
        ];
        let [l0, l1, l2, l3, l4, l5, l6, l7] = limbs.map(|bits| self.and(bits, limb));
        Field([l0, l1, l2, l3, l4, l5, l6, l7, self.right::<40>(w3)])
    }

    #[inline(always)]
    fn to_words(self, canonical: &Field) -> [[u64; 4]; 4] {
        let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = canonical.0;
        let three = |a, b, c| self.or(self.or(a, b), c);
        let words = [
            three(l0, self.left::<29>(l1), self.left::<58>(l2)),
            three(self.right::<6>(l2), self.left::<23>(l3), self.left::<52>(l4)),
            three(self.right::<12>(l4), self.left::<17>(l5), self.left::<46>(l6)),
            three(self.right::<18>(l6), self.left::<11>(l7), self.left::<40>(l8)),
        ];
        words.map(pulp::cast)
    }
}
