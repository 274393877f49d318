//! Numbers modulo the group's order: what the points are multiplied by, and their digits.
//!
//! All lanes do the same at the same time, so digits must not decide what is done. Hence they are odd: an odd number has one
//! form with odd digits between −2ʷ and 2ʷ, in which none is zero, and every step adds a point.

use alloy_primitives::{B256, Signature, U256, U512, uint};
use k256::{
    Scalar,
    elliptic_curve::{PrimeField, ops::Reduce, scalar::IsHigh},
};

const ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);

/// A root of unity modulo the order: `LAMBDA · (x, y)` is `(BETA · x, y)`. So half of the doublings are saved: a number is
/// split into two of half the length, one of them times `LAMBDA`.
const LAMBDA: U256 = uint!(0x5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72_U256);

/// Two short vectors (a, b) with a + b · `LAMBDA` = 0; `B1` is negative. The method is that of Gallant, Lambert and Vanstone
/// (CRYPTO 2001); a test has what the numbers must satisfy.
const A1: U256 = uint!(0x3086d221a7d46bcde86c90e49284eb15_U256);
const MINUS_B1: U256 = uint!(0xe4437ed6010e88286f547fa90abfe4c3_U256);
const A2: U256 = uint!(0x114ca50f7a8e2f3f657c1108d9d44cfd8_U256);
const B2: U256 = A1;

/// 2³⁸⁴ · `B2` / order and 2³⁸⁴ · `MINUS_B1` / order, rounded.
const G1: U256 = uint!(0x3086d221a7d46bcde86c90e49284eb153daa8a1471e8ca7fe893209a45dbb031_U256);
const G2: U256 = uint!(0xe4437ed6010e88286f547fa90abfe4c4221208ac9df506c61571b4ae8ac47f71_U256);

/// Digits of a half number, and the bits of each.
pub(crate) const HALF_DIGITS: usize = 33;
pub(crate) const HALF_WIDTH: usize = 4;
/// Digits of a whole number, and the bits of each.
pub(crate) const WHOLE_DIGITS: usize = 32;
pub(crate) const WHOLE_WIDTH: usize = 8;

/// Where a digit's point stands in the table of odd multiples, and whether it is to be taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Digit {
    pub(crate) index: u8,
    pub(crate) minus: bool,
}

/// What the signer's point is made of: `base · G + (first + second · LAMBDA) · R`, the digits lowest first.
#[derive(Clone, Debug)]
pub(crate) struct Factors {
    pub(crate) base: [Digit; WHOLE_DIGITS],
    pub(crate) first: [Digit; HALF_DIGITS],
    pub(crate) second: [Digit; HALF_DIGITS],
}

/// For each signature what its signer's point is made of; nothing for those that are to be looked at by others.
pub(crate) fn factors(signed: &[(Signature, B256)]) -> Vec<Option<Factors>> {
    let numbers = signed.iter().map(|(signature, _)| Some((scalar(signature.r())?, scalar(signature.s())?)));
    let numbers = numbers.collect::<Vec<_>>();
    let inverses = inverses(numbers.iter().map(|numbers| numbers.map_or(Scalar::ONE, |(r, _)| r)));
    let all = numbers.iter().zip(inverses).zip(signed);
    all.map(|((numbers, inverse), (_, hash))| {
        let (_, s) = (*numbers)?;
        let message = <Scalar as Reduce<k256::U256>>::reduce_bytes(&hash.0.into());
        let (base_minus, base) = odd_whole(-(message * inverse))?;
        let [first, second] = odd_halves(s * inverse)?;
        Some(Factors {
            base: digits(base, base_minus, WHOLE_WIDTH),
            first: digits(first.1, first.0, HALF_WIDTH),
            second: digits(second.1, second.0, HALF_WIDTH),
        })
    })
    .collect()
}

/// A number from 1 to the order.
fn scalar(number: U256) -> Option<Scalar> {
    (!number.is_zero() && number < ORDER).then(|| known(number))
}

/// A number below the order.
fn known(number: U256) -> Scalar {
    Option::from(Scalar::from_repr(number.to_be_bytes::<32>().into())).unwrap_or(Scalar::ZERO)
}

fn number(scalar: &Scalar) -> U256 {
    U256::from_be_bytes::<32>(scalar.to_bytes().into())
}

/// The inverses of numbers that are not zero, at the price of one.
fn inverses(numbers: impl ExactSizeIterator<Item = Scalar> + Clone) -> Vec<Scalar> {
    let mut product = Scalar::ONE;
    let mut before = Vec::with_capacity(numbers.len());
    for number in numbers.clone() {
        before.push(product);
        product *= number;
    }
    let inverse = number(&product).inv_mod(ORDER).unwrap_or_default();
    let mut inverse = known(inverse);
    let mut inverses = before;
    for (place, number) in inverses.iter_mut().zip(numbers.collect::<Vec<_>>()).rev() {
        *place *= inverse;
        inverse *= number;
    }
    inverses
}

/// An odd number that is this one or its negative, and which; nothing for zero.
fn odd_whole(scalar: Scalar) -> Option<(bool, U256)> {
    let whole = number(&scalar);
    match (whole.is_zero(), whole.bit(0)) {
        (true, _) => None,
        (_, true) => Some((false, whole)),
        // The order is odd.
        (_, false) => Some((true, ORDER - whole)),
    }
}

/// Two numbers a and b with a + b · `LAMBDA` = this one, both odd and of half the length, with their signs.
fn odd_halves(scalar: Scalar) -> Option<[(bool, U256); 2]> {
    let whole = number(&scalar);
    let rounded = |factor: U256| -> Scalar {
        let product: U512 = whole.widening_mul(factor);
        let [.., below, low, high] = *product.as_limbs();
        known(U256::from_limbs([low, high, 0, 0]) + U256::from(below >> 63))
    };
    let (c1, c2) = (rounded(G1), rounded(G2));
    let b = c1 * known(MINUS_B1) - c2 * known(B2);
    let a = scalar - b * known(LAMBDA);
    // A vector more changes nothing but, as one likes, whether either is odd.
    let (a, b) = match (signed(a).1.bit(0), signed(b).1.bit(0)) {
        (true, true) => (a, b),
        (false, false) => (a + known(A1), b - known(MINUS_B1)),
        (true, false) => (a + known(A2), b + known(B2)),
        (false, true) => (a + known(A1) + known(A2), b - known(MINUS_B1) + known(B2)),
    };
    let halves = [signed(a), signed(b)];
    let fits = |(_, half): &(bool, U256)| half.bit(0) && half.bit_len() <= HALF_DIGITS * HALF_WIDTH;
    halves.iter().all(fits).then_some(halves)
}

/// The sign, and the number without it.
fn signed(scalar: Scalar) -> (bool, U256) {
    let minus = bool::from(scalar.is_high());
    (minus, number(&if minus { -scalar } else { scalar }))
}

/// The digits of an odd number of at most `N · width` bits.
///
/// Each digit is the number's next bits, made odd, and one bit more, less 2ʷ: that takes away what making the rest odd
/// adds. The last one has nothing above it.
fn digits<const N: usize>(odd: U256, minus: bool, width: usize) -> [Digit; N] {
    let span = 1_u64 << width;
    core::array::from_fn(|at| {
        let bits = (odd >> (at * width)).as_limbs()[0] | 1;
        let last = at == N - 1;
        let bits = if last { bits + span } else { bits & (2 * span - 1) };
        let distance = bits.abs_diff(span);
        Digit { index: (distance >> 1) as u8, minus: minus != (bits < span) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(digits: &[Digit], width: usize) -> Scalar {
        let base = Scalar::from(1_u64 << width);
        digits.iter().rev().fold(Scalar::ZERO, |sum, digit| {
            let distance = Scalar::from(2 * u64::from(digit.index) + 1);
            sum * base + if digit.minus { -distance } else { distance }
        })
    }

    fn check(scalar: Scalar) {
        if let Some((minus, odd)) = odd_whole(scalar) {
            let digits: [Digit; WHOLE_DIGITS] = digits(odd, minus, WHOLE_WIDTH);
            assert_eq!(value(&digits, WHOLE_WIDTH), scalar);
        } else {
            assert_eq!(scalar, Scalar::ZERO);
        }
        let [first, second] = odd_halves(scalar).expect("halves are short").map(|(minus, half)| {
            let digits: [Digit; HALF_DIGITS] = digits(half, minus, HALF_WIDTH);
            assert!(digits.iter().all(|digit| digit.index < 8));
            value(&digits, HALF_WIDTH)
        });
        assert_eq!(first + second * known(LAMBDA), scalar);
    }

    #[test]
    fn the_constants_are_what_they_are_called() {
        let lambda = known(LAMBDA);
        assert_eq!(lambda * lambda * lambda, Scalar::ONE);
        assert_eq!(known(A1), known(MINUS_B1) * lambda);
        assert_eq!(known(A2) + known(B2) * lambda, Scalar::ZERO);
        for (rounded, factor) in [(G1, B2), (G2, MINUS_B1)] {
            let exact = U512::from(factor) << 384;
            let order = U512::from(ORDER);
            assert_eq!(U512::from(rounded), (exact + (order >> 1)) / order);
        }
    }

    #[test]
    fn numbers_at_the_edges_have_digits() {
        let small = (0_u64..40).map(Scalar::from).collect::<Vec<_>>();
        let powers = (0..256).map(|bit| known((U256::ONE << bit) % ORDER));
        let lambdas = small.iter().map(|number| *number * known(LAMBDA)).collect::<Vec<_>>();
        let all = small.iter().copied().chain(powers).chain(lambdas);
        for scalar in all.collect::<Vec<_>>() {
            for near in [scalar, scalar + Scalar::ONE, scalar - Scalar::ONE] {
                check(near);
                check(-near);
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_has_digits(bytes in any::<[u8; 32]>()) {
            check(<Scalar as Reduce<k256::U256>>::reduce_bytes(&bytes.into()));
        }

        #[test]
        fn inverses_are_inverses(numbers in proptest::collection::vec(any::<[u64; 4]>(), 0..20)) {
            let numbers = numbers.into_iter().map(|limbs| known(U256::from_limbs(limbs) % ORDER));
            let numbers = numbers.filter(|number| *number != Scalar::ZERO).collect::<Vec<_>>();
            for (number, inverse) in numbers.iter().zip(inverses(numbers.iter().copied())) {
                prop_assert_eq!(*number * inverse, Scalar::ONE);
            }
        }
    }
}
