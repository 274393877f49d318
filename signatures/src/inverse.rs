//! Inverses modulo an odd number, by the division steps of Bernstein and Yang (CHES 2019).
//!
//! A step looks at the lowest bits of two numbers alone: it halves one of them, or first takes the other away from it. So
//! 62 steps are done on words of 64 bits, and what they came to, a matrix of four small numbers, is then applied to the long
//! numbers at once. Numbers are in places of 62 bits, the lowest first, so that sums of two products fit 128 bits.
//!
//! That is a fifth of the price of a power, which takes some 270 multiplications.

use crate::field::{Limbs, sub_borrow};

/// Bits of a place, and steps that are done at once.
const BITS: u32 = 62;
const MASK: u64 = u64::MAX >> 2;

/// A number in `L` places; the highest has the sign.
type Places<const L: usize> = [i64; L];

/// What [`BITS`] steps do to (f, g): (u·f + v·g, q·f + r·g) / 2⁶².
struct Steps {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

/// The inverse of a number below the modulus, of four limbs; zero of zero.
#[inline(never)]
pub(crate) fn invert(number: &Limbs, modulus: &Limbs) -> Limbs {
    let mut inverse = *number;
    invert_in_place::<5>(&mut inverse, modulus);
    inverse
}

/// Replaces a number below the modulus by its inverse; zero stays. `L` places of 62 bits must hold twice the modulus and a sign, and
/// the modulus must be odd and have no factor in common with the number.
#[inline(always)]
pub fn invert_in_place<const L: usize>(number: &mut [u64], modulus: &[u64]) {
    let modulus = places::<L>(modulus);
    // A word that has `inverse · modulus = 1` modulo 2⁶²: each round doubles the bits that are right, of which there are three.
    let odd = modulus[0] as u64;
    let inverse =
        (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))));
    let (mut f, mut g) = (modulus, places::<L>(number));
    let (mut d, mut e) = ([0; L], [0; L]);
    e[0] = 1;
    // At all times f = d · number and g = e · number modulo the modulus, but for a power of two that is divided by as well.
    let mut delta = 1;
    while g != [0; L] {
        let steps = steps(&mut delta, f[0] as u64, g[0] as u64);
        apply_exactly(&steps, &mut f, &mut g);
        apply(&steps, &mut d, &mut e, &modulus, inverse);
    }
    // f is the greatest common divisor, one or minus one (or the modulus, where the number is zero and d too).
    write(&reduced(d, f[L - 1] < 0, &modulus), number);
}

fn places<const L: usize>(limbs: &[u64]) -> Places<L> {
    core::array::from_fn(|at| {
        let (limb, shift) = (at * BITS as usize / 64, at as u32 * BITS % 64);
        let low = limbs.get(limb).map_or(0, |limb| limb >> shift);
        let high = if shift < 3 { 0 } else { limbs.get(limb + 1).map_or(0, |limb| limb << (64 - shift)) };
        ((low | high) & MASK) as i64
    })
}

/// Writes a number that is not negative and whose places are below 2⁶².
fn write<const L: usize>(number: &Places<L>, limbs: &mut [u64]) {
    for (at, limb) in limbs.iter_mut().enumerate() {
        let (place, shift) = (at * 64 / BITS as usize, at as u32 * 64 % BITS);
        let low = number[place] as u64 >> shift;
        let high = number.get(place + 1).map_or(0, |next| (*next as u64) << (BITS - shift));
        *limb = low | high;
    }
}

/// Does 62 steps, as many at a time as there are zeros to shift out.
#[inline(always)]
fn steps(delta: &mut i64, mut f: u64, mut g: u64) -> Steps {
    let (mut u, mut v, mut q, mut r) = (1_u64, 0_u64, 0_u64, 1_u64);
    let mut left = BITS;
    loop {
        let zeros = (g | 1 << left).trailing_zeros();
        g >>= zeros;
        (u, v) = (u << zeros, v << zeros);
        *delta += i64::from(zeros);
        left -= zeros;
        if left == 0 {
            return Steps { u: u as i64, v: v as i64, q: q as i64, r: r as i64 };
        }
        if *delta > 0 {
            *delta = -*delta;
            (f, g) = (g, f.wrapping_neg());
            (u, q) = (q, u.wrapping_neg());
            (v, r) = (r, v.wrapping_neg());
        }
        // Adds f to g as often as makes three bits of it zero, if there are so many steps left: a multiple of f does what single
        // steps would, as long as delta stays at or below zero.
        let bits = (1 - *delta).min(i64::from(left)).min(3) as u32;
        // f · f is one modulo eight, so f is its own inverse there.
        let times = g.wrapping_mul(f).wrapping_neg() & ((1 << bits) - 1);
        g = g.wrapping_add(f.wrapping_mul(times));
        q = q.wrapping_add(u.wrapping_mul(times));
        r = r.wrapping_add(v.wrapping_mul(times));
    }
}

#[inline(always)]
fn product(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

/// Applies steps to f and g, which they make divisible.
#[inline(always)]
fn apply_exactly<const L: usize>(steps: &Steps, f: &mut Places<L>, g: &mut Places<L>) {
    let Steps { u, v, q, r } = *steps;
    let mut first = (product(u, f[0]) + product(v, g[0])) >> BITS;
    let mut second = (product(q, f[0]) + product(r, g[0])) >> BITS;
    for at in 1..L {
        first += product(u, f[at]) + product(v, g[at]);
        second += product(q, f[at]) + product(r, g[at]);
        f[at - 1] = (first as u64 & MASK) as i64;
        g[at - 1] = (second as u64 & MASK) as i64;
        (first, second) = (first >> BITS, second >> BITS);
    }
    (f[L - 1], g[L - 1]) = (first as i64, second as i64);
}

/// Applies steps to d and e modulo the modulus: as much of it is added as makes them divisible. They stay between −2 times the
/// modulus and the modulus.
#[inline(always)]
fn apply<const L: usize>(
    steps: &Steps,
    d: &mut Places<L>,
    e: &mut Places<L>,
    modulus: &Places<L>,
    inverse: u64,
) {
    let Steps { u, v, q, r } = *steps;
    // Negative ones are first made positive by the modulus.
    let (d_sign, e_sign) = (d[L - 1] >> 63, e[L - 1] >> 63);
    let (times_d, times_e) = ((u & d_sign) + (v & e_sign), (q & d_sign) + (r & e_sign));
    let mut first = product(u, d[0]) + product(v, e[0]);
    let mut second = product(q, d[0]) + product(r, e[0]);
    let missing = |sum: i128, times: i64| {
        times - ((inverse.wrapping_mul(sum as u64).wrapping_add(times as u64)) & MASK) as i64
    };
    let (times_d, times_e) = (missing(first, times_d), missing(second, times_e));
    first = (first + product(times_d, modulus[0])) >> BITS;
    second = (second + product(times_e, modulus[0])) >> BITS;
    for at in 1..L {
        first += product(u, d[at]) + product(v, e[at]) + product(times_d, modulus[at]);
        second += product(q, d[at]) + product(r, e[at]) + product(times_e, modulus[at]);
        d[at - 1] = (first as u64 & MASK) as i64;
        e[at - 1] = (second as u64 & MASK) as i64;
        (first, second) = (first >> BITS, second >> BITS);
    }
    (d[L - 1], e[L - 1]) = (first as i64, second as i64);
}

/// The number, negated if so said, brought from between −2 times the modulus and the modulus to below the modulus.
fn reduced<const L: usize>(number: Places<L>, negate: bool, modulus: &Places<L>) -> Places<L> {
    let add = |number: Places<L>| carried(core::array::from_fn(|at| number[at] + modulus[at]));
    let positive = if number[L - 1] < 0 { add(number) } else { number };
    let signed = if negate { carried(positive.map(i64::wrapping_neg)) } else { positive };
    if signed[L - 1] < 0 { add(signed) } else { signed }
}

/// The same number with all places but the highest below 2⁶².
fn carried<const L: usize>(mut number: Places<L>) -> Places<L> {
    for at in 1..L {
        number[at] += number[at - 1] >> BITS;
        number[at - 1] &= MASK as i64;
    }
    number
}

/// The difference, and whether it is negative.
#[inline(always)]
pub(crate) fn difference(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let (r0, borrow) = a[0].overflowing_sub(b[0]);
    let (r1, borrow) = sub_borrow(a[1], b[1], borrow);
    let (r2, borrow) = sub_borrow(a[2], b[2], borrow);
    let (r3, borrow) = sub_borrow(a[3], b[3], borrow);
    ([r0, r1, r2, r3], borrow)
}
