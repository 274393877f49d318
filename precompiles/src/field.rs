//! Numbers modulo a prime of four or six limbs, in Montgomery's form: `a` stands as `a · 2⁶⁴ᴺ` modulo the prime.
//!
//! All curves here share this arithmetic. It is written for the PVM, where each instruction costs the same: a product is added
//! up and reduced row by row, so that its lower half needs no place. Numbers are always below the prime.

use signatures::multiply_add;

/// An odd prime and what follows from it.
pub(crate) trait Modulus<const N: usize>: 'static {
    /// The prime; lowest limb first.
    const PRIME: [u64; N];
    /// −1 / prime modulo 2⁶⁴.
    const FACTOR: u64 = minus_inverse(Self::PRIME[0]);
    /// Whether a sum of two numbers fits into the limbs.
    const SPARE: bool = Self::PRIME[N - 1] >> 63 == 0;
    /// One.
    const ONE: [u64; N] = power_of_two(&Self::PRIME, 64 * N);
    /// 2⁶⁴ᴺ; to multiply by it makes Montgomery's form.
    const SQUARE: [u64; N] = power_of_two(&Self::PRIME, 128 * N);
    /// The square of that, in Montgomery's form: what the inverse of a number in this form lacks.
    const CUBE: [u64; N] = power_of_two(&Self::PRIME, 192 * N);
}

const fn minus_inverse(odd: u64) -> u64 {
    let (mut inverse, mut round) = (odd, 0);
    while round < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse.wrapping_neg()
}

/// 2 to this power, modulo the prime; when the program is compiled.
const fn power_of_two<const N: usize>(prime: &[u64; N], power: usize) -> [u64; N] {
    let mut number = [0; N];
    number[0] = 1;
    let mut round = 0;
    while round < power {
        let (mut twice, mut carry, mut at) = ([0_u64; N], 0, 0);
        while at < N {
            twice[at] = number[at] << 1 | carry;
            carry = number[at] >> 63;
            at += 1;
        }
        let (mut rest, mut borrow) = ([0; N], false);
        at = 0;
        while at < N {
            let (limb, first) = twice[at].overflowing_sub(prime[at]);
            let (limb, second) = limb.overflowing_sub(borrow as u64);
            (rest[at], borrow) = (limb, first | second);
            at += 1;
        }
        number = if carry == 1 || !borrow { rest } else { twice };
        round += 1;
    }
    number
}

/// Whether the number is not below the prime. Nearly always the highest limb decides.
#[inline(always)]
fn reaches<M: Modulus<N>, const N: usize>(a: &[u64; N]) -> bool {
    for at in (0..N).rev() {
        if a[at] != M::PRIME[at] {
            return a[at] > M::PRIME[at];
        }
    }
    true
}

#[inline(always)]
pub(crate) fn sum<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], bool) {
    let (mut sum, mut carry) = ([0; N], false);
    for at in 0..N {
        let (limb, first) = a[at].overflowing_add(b[at]);
        let (limb, second) = limb.overflowing_add(u64::from(carry));
        (sum[at], carry) = (limb, first | second);
    }
    (sum, carry)
}

#[inline(always)]
pub(crate) fn difference<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], bool) {
    let (mut rest, mut borrow) = ([0; N], false);
    for at in 0..N {
        let (limb, first) = a[at].overflowing_sub(b[at]);
        let (limb, second) = limb.overflowing_sub(u64::from(borrow));
        (rest[at], borrow) = (limb, first | second);
    }
    (rest, borrow)
}

/// A number below twice the prime, modulo the prime; `over` says that it has 2⁶⁴ᴺ more.
#[inline(always)]
fn reduced<M: Modulus<N>, const N: usize>(a: [u64; N], over: bool) -> [u64; N] {
    if (!M::SPARE && over) || reaches::<M, N>(&a) { difference(&a, &M::PRIME).0 } else { a }
}

#[inline(always)]
pub(crate) fn add<M: Modulus<N>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let (sum, over) = sum(a, b);
    reduced::<M, N>(sum, over)
}

#[inline(always)]
pub(crate) fn sub<M: Modulus<N>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let (rest, negative) = difference(a, b);
    if negative { sum(&rest, &M::PRIME).0 } else { rest }
}

#[inline(always)]
pub(crate) fn negate<M: Modulus<N>, const N: usize>(a: &[u64; N]) -> [u64; N] {
    if *a == [0; N] { *a } else { difference(&M::PRIME, a).0 }
}

/// Adds `m · prime` so that the lowest limb becomes zero, and drops that limb; `carry` and `top` are what stands above the limbs.
/// Gives what stands above the limbs then.
#[inline(always)]
fn reduce_row<M: Modulus<N>, const N: usize>(t: &mut [u64; N], carry: u64, top: bool) -> bool {
    let m = t[0].wrapping_mul(M::FACTOR);
    // The lowest limb of the sum is zero, so it carries if the limb was not zero.
    let high = ((u128::from(m) * u128::from(M::PRIME[0])) >> 64) as u64;
    let mut over = high.wrapping_add(u64::from(t[0] != 0));
    for at in 1..N {
        (t[at - 1], over) = multiply_add(t[at], m, M::PRIME[at], over);
    }
    if M::SPARE {
        t[N - 1] = carry.wrapping_add(over);
        return false;
    }
    let (limb, first) = carry.overflowing_add(over);
    let (limb, second) = limb.overflowing_add(u64::from(top));
    t[N - 1] = limb;
    first | second
}

/// The product in Montgomery's form.
#[inline(always)]
pub(crate) fn mul_inline<M: Modulus<N>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let (mut t, mut top) = ([0; N], false);
    for a in a {
        let mut carry = 0;
        for at in 0..N {
            (t[at], carry) = multiply_add(t[at], *a, b[at], carry);
        }
        top = reduce_row::<M, N>(&mut t, carry, top);
    }
    reduced::<M, N>(t, top)
}

#[inline(never)]
pub(crate) fn mul<M: Modulus<N>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    mul_inline::<M, N>(a, b)
}

/// The square. The products of different limbs count twice, so they are made once.
#[inline(never)]
pub(crate) fn square<M: Modulus<N>, const N: usize>(a: &[u64; N]) -> [u64; N] {
    mul_inline::<M, N>(a, a)
}

/// The sum of products `a · b` in Montgomery's form, reduced together; at most as many as the prime leaves room for above it.
#[inline(always)]
pub(crate) fn sum_of_products<M: Modulus<N>, const N: usize, const T: usize>(
    a: [&[u64; N]; T],
    b: [&[u64; N]; T],
) -> [u64; N] {
    let mut t = [0; N];
    for row in 0..N {
        let mut above = 0;
        for (a, b) in a.into_iter().zip(b) {
            let mut carry = 0;
            for at in 0..N {
                (t[at], carry) = multiply_add(t[at], a[row], b[at], carry);
            }
            above += carry;
        }
        reduce_row::<M, N>(&mut t, above, false);
    }
    reduced::<M, N>(t, false)
}

/// The inverse; zero of zero.
#[inline(never)]
pub(crate) fn invert<M: Modulus<N>, const N: usize>(a: &[u64; N]) -> [u64; N] {
    let mut inverse = *a;
    // Places of 62 bits.
    if N == 4 {
        signatures::invert_in_place::<5>(&mut inverse, &M::PRIME);
    } else {
        signatures::invert_in_place::<7>(&mut inverse, &M::PRIME);
    }
    mul::<M, N>(&inverse, &M::CUBE)
}

/// Montgomery's form of a number below the prime; none for others.
#[inline(always)]
pub(crate) fn parse<M: Modulus<N>, const N: usize>(limbs: &[u64; N]) -> Option<[u64; N]> {
    (!reaches::<M, N>(limbs)).then(|| mul::<M, N>(limbs, &M::SQUARE))
}

/// The number out of Montgomery's form.
#[inline(always)]
pub(crate) fn plain<M: Modulus<N>, const N: usize>(a: &[u64; N]) -> [u64; N] {
    let mut t = *a;
    let mut top = false;
    for _ in 0..N {
        top = reduce_row::<M, N>(&mut t, 0, top);
    }
    reduced::<M, N>(t, top)
}

/// Limbs out of big-endian bytes, as many as there are limbs.
#[inline(always)]
pub(crate) fn limbs<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let (words, _) = bytes.as_chunks::<8>();
    core::array::from_fn(|at| u64::from_be_bytes(words[N - 1 - at]))
}

/// Writes big-endian bytes of limbs.
#[inline(always)]
pub(crate) fn write<const N: usize>(limbs: &[u64; N], bytes: &mut [u8]) {
    let (places, _) = bytes.as_chunks_mut::<8>();
    for (place, limb) in places.iter_mut().zip(limbs.iter().rev()) {
        *place = limb.to_be_bytes();
    }
}
