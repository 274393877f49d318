//! Inverses modulo an odd prime, by halving and subtracting (the binary algorithm of Euclid).
//!
//! For n that is a third of the price of a power with the exponent n − 2, which takes some 330 multiplications.

use crate::field::{Limbs, add_carry, sub_borrow};

const ONE: Limbs = [1, 0, 0, 0];

/// The inverse of a number below the modulus; zero of zero.
#[inline(never)]
pub(crate) fn invert(number: &Limbs, modulus: &Limbs) -> Limbs {
    if *number == [0; 4] {
        return *number;
    }
    // At all times `a · number = u` and `b · number = v` modulo m. The greatest common divisor of u and v is one, so when neither is one
    // they differ, and what is subtracted leaves an even number other than zero.
    let (mut u, mut v) = (*number, *modulus);
    let (mut a, mut b) = (ONE, [0; 4]);
    loop {
        make_odd(&mut u, &mut a, modulus);
        if u == ONE {
            return a;
        }
        make_odd(&mut v, &mut b, modulus);
        if v == ONE {
            return b;
        }
        let (rest, negative) = difference(&u, &v);
        if negative {
            v = difference(&v, &u).0;
            b = subtract(&b, &a, modulus);
        } else {
            u = rest;
            a = subtract(&a, &b, modulus);
        }
    }
}

/// Halves a number until it is odd, and its factor, modulo m, as often.
#[inline(always)]
fn make_odd(number: &mut Limbs, factor: &mut Limbs, modulus: &Limbs) {
    while number[0] & 1 == 0 {
        *number = halve(number, false);
        let (sum, carry) = if factor[0] & 1 == 1 { sum(factor, modulus) } else { (*factor, false) };
        *factor = halve(&sum, carry);
    }
}

#[inline(always)]
fn halve(number: &Limbs, top: bool) -> Limbs {
    let [a, b, c, d] = *number;
    [a >> 1 | b << 63, b >> 1 | c << 63, c >> 1 | d << 63, d >> 1 | u64::from(top) << 63]
}

#[inline(always)]
fn sum(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let (r0, carry) = a[0].overflowing_add(b[0]);
    let (r1, carry) = add_carry(a[1], b[1], carry);
    let (r2, carry) = add_carry(a[2], b[2], carry);
    let (r3, carry) = add_carry(a[3], b[3], carry);
    ([r0, r1, r2, r3], carry)
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

/// The difference of two numbers below m, modulo m.
#[inline(always)]
fn subtract(a: &Limbs, b: &Limbs, modulus: &Limbs) -> Limbs {
    let (rest, negative) = difference(a, b);
    if negative { sum(&rest, modulus).0 } else { rest }
}
