//! Numbers modulo the field's prime, some at a time.
//!
//! The prime is 2²⁵⁶ − 4294968273, so what stands above 2²⁵⁶ comes back below, multiplied by a small number. A number has more
//! than one form until it is [made canonical](Lanes::canonical); which ones are allowed is the rule of those who do the
//! arithmetic, [`Ifma`] and [`Avx2`].

/// What is done limb by limb, whatever a limb is; the carries come last.
macro_rules! limb_by_limb {
    () => {
        #[inline(always)]
        fn combine<const PLUS: u64, const MINUS: u64>(self, a: &Field, b: &Field) -> Field {
            const { assert!(PLUS <= 8 && MINUS <= 8 && PLUS.is_power_of_two() && MINUS.is_power_of_two()) };
            let mut limbs = a.0;
            for at in 0..limbs.len() {
                // A multiple of the prime, each limb of which is above what is taken away.
                let offset = self.all(2 * MINUS * PRIME[at]);
                let plus = self.shifted::<PLUS>(a.0[at]);
                let minus = self.shifted::<MINUS>(b.0[at]);
                limbs[at] = self.less(self.add(plus, offset), minus);
            }
            self.settled(limbs)
        }

        #[inline(always)]
        fn sub_sub_twice(self, a: &Field, b: &Field, c: &Field) -> Field {
            let mut limbs = a.0;
            for at in 0..limbs.len() {
                let offset = self.all(8 * PRIME[at]);
                let minus = self.add(b.0[at], self.shifted::<2>(c.0[at]));
                limbs[at] = self.less(self.add(a.0[at], offset), minus);
            }
            self.settled(limbs)
        }

        #[inline(always)]
        fn twice(self, a: &Field) -> Field {
            let mut limbs = a.0;
            for limb in &mut limbs {
                *limb = self.shifted::<2>(*limb);
            }
            self.settled(limbs)
        }

        #[inline(always)]
        fn thrice(self, a: &Field) -> Field {
            let mut limbs = a.0;
            for limb in &mut limbs {
                *limb = self.add(*limb, self.shifted::<2>(*limb));
            }
            self.settled(limbs)
        }

        #[inline(always)]
        fn add_small(self, a: &Field, number: u64) -> Field {
            let mut limbs = a.0;
            limbs[0] = self.add(limbs[0], self.all(number));
            self.settled(limbs)
        }
    };
}

mod avx2;
mod ifma;
#[cfg(test)]
mod tests;

pub(crate) use avx2::Avx2;
pub(crate) use ifma::Ifma;

use pulp::NullaryFnOnce;

/// 2²⁵⁶ modulo the prime.
const FOLD_256: u64 = 0x1_0000_03d1;

/// Four words of each lane, the lowest first.
pub(crate) type Words<const N: usize> = [[u64; N]; 4];

/// That the machine can work on `N` numbers with each instruction, and how that is done.
///
/// The instructions are known to be there only inside of [`run`](Self::run), and what is called there must be inlined into it to use
/// them.
pub(crate) trait Lanes<const N: usize>: Copy {
    /// `N` numbers modulo the prime.
    type Field: Copy;
    /// Fewer signatures than this are cheaper one by one: lanes without work cost the same.
    const FEWEST: usize;

    /// Itself, if the machine can.
    fn detect() -> Option<Self>;

    /// Does something with the instructions.
    fn run<T: NullaryFnOnce>(self, act: T) -> T::Output;

    /// `a · b`
    fn mul(self, a: &Self::Field, b: &Self::Field) -> Self::Field;

    /// `a²`
    fn square(self, a: &Self::Field) -> Self::Field;

    /// `PLUS · a − MINUS · b`; the factors are at most 8.
    fn combine<const PLUS: u64, const MINUS: u64>(self, a: &Self::Field, b: &Self::Field) -> Self::Field;

    /// `a − b − 2c`
    fn sub_sub_twice(self, a: &Self::Field, b: &Self::Field, c: &Self::Field) -> Self::Field;

    /// `2a`
    fn twice(self, a: &Self::Field) -> Self::Field;

    /// `3a`
    fn thrice(self, a: &Self::Field) -> Self::Field;

    /// `a + number`, for a small number
    fn add_small(self, a: &Self::Field, number: u64) -> Self::Field;

    /// Changes the sign in some lanes.
    fn negate_in(self, lanes: u8, a: &Self::Field) -> Self::Field;

    /// `a`, and `b` in some lanes.
    fn select(self, lanes: u8, a: &Self::Field, b: &Self::Field) -> Self::Field;

    /// The only form in which every number is below the prime.
    fn canonical(self, a: &Self::Field) -> Self::Field;

    /// The lanes in which a canonical number is zero.
    fn zeros(self, canonical: &Self::Field) -> u8;

    /// The lanes in which a canonical number is odd.
    fn odds(self, canonical: &Self::Field) -> u8;

    /// From four words, the lowest first; together below the prime.
    fn of_words(self, words: Words<N>) -> Self::Field;

    /// Four words, the lowest first, of a canonical number.
    fn to_words(self, canonical: &Self::Field) -> Words<N>;

    /// `a`, squared so many times.
    #[inline(always)]
    fn squares(self, a: &Self::Field, times: usize) -> Self::Field {
        let mut squared = *a;
        for _ in 0..times {
            squared = self.square(&squared);
        }
        squared
    }

    /// `a − b`
    #[inline(always)]
    fn sub(self, a: &Self::Field, b: &Self::Field) -> Self::Field {
        self.combine::<1, 1>(a, b)
    }

    /// The lanes in which two numbers are the same.
    #[inline(always)]
    fn same(self, a: &Self::Field, b: &Self::Field) -> u8 {
        self.zeros(&self.canonical(&self.sub(a, b)))
    }

    /// The same number in all lanes, from four words, the lowest first.
    #[inline(always)]
    fn same_in_all(self, words: [u64; 4]) -> Self::Field {
        let [w0, w1, w2, w3] = words;
        self.of_words([[w0; N], [w1; N], [w2; N], [w3; N]])
    }

    /// `a`, squared so many times, times `b`: the bits of two powers, one behind the other.
    #[inline(always)]
    fn joined(self, a: &Self::Field, times: usize, b: &Self::Field) -> Self::Field {
        self.mul(&self.squares(a, times), b)
    }

    /// What both roots and inverses begin with: `a` to the power of 2² − 1, 2²² − 1 and 2²²³ − 1.
    #[inline(always)]
    fn powers(self, a: &Self::Field) -> [Self::Field; 3] {
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
    fn root(self, a: &Self::Field) -> Self::Field {
        let [x2, x22, x223] = self.powers(a);
        let root = self.joined(&x223, 23, &x22);
        self.squares(&self.joined(&root, 6, &x2), 2)
    }

    /// The inverse, zero of zero: `a` to the power of prime − 2.
    #[inline(always)]
    fn inverse(self, a: &Self::Field) -> Self::Field {
        let [x2, x22, x223] = self.powers(a);
        let inverse = self.joined(&x223, 23, &x22);
        let inverse = self.joined(&inverse, 5, a);
        let inverse = self.joined(&inverse, 3, &x2);
        self.joined(&inverse, 2, a)
    }
}
