//! One signature at a time, in Rust alone: what the service's program recovers with.
//!
//! ```text
//!   r, s, hash ─▶ u₁ = −hash/r, u₂ = s/r, each split into two halves ─▶ u₁·G + u₂·R in one pass of doublings ─▶ keccak ─▶ address
//! ```
//!
//! Additions have no exceptions here: the same point, its opposite and zero are looked at. The tests compare it with libsecp256k1.

mod field;
mod point;

use alloc::{boxed::Box, vec::Vec};
use alloy_primitives::{Address, B256, Signature, U256, U512, keccak256, uint};
use field::Field;
use k256::{
    Scalar,
    elliptic_curve::{PrimeField, ops::Reduce},
};
use once_cell::race::OnceBox;
use point::{Affine, Digits, Term, odd_multiples, sum};

const ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);
/// A root of unity modulo the order: see [`point`].
const LAMBDA: U256 = uint!(0x5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72_U256);
/// The short vectors of Gallant, Lambert and Vanstone (CRYPTO 2001), the second coordinates, and 2³⁸⁴ times these by the order.
const MINUS_B1: U256 = uint!(0xe4437ed6010e88286f547fa90abfe4c3_U256);
const B2: U256 = uint!(0x3086d221a7d46bcde86c90e49284eb15_U256);
const G1: U256 = uint!(0x3086d221a7d46bcde86c90e49284eb153daa8a1471e8ca7fe893209a45dbb031_U256);
const G2: U256 = uint!(0xe4437ed6010e88286f547fa90abfe4c4221208ac9df506c61571b4ae8ac47f71_U256);

/// Bits of a digit of the point's factor: with five there are eight multiples to make, and every sixth digit is not zero.
const WIDTH: u32 = 5;
/// Bits of a digit of the generator's factor, whose multiples are made once.
const GENERATOR_WIDTH: u32 = 8;

/// Odd multiples of a point, and of `LAMBDA` times it.
struct Multiples {
    plain: Vec<Affine>,
    turned: Vec<Affine>,
}

impl Multiples {
    fn of(point: &Affine, width: u32) -> Self {
        let plain = odd_multiples(point, 1 << (width - 2));
        let turned = plain.iter().map(Affine::turned).collect();
        Self { plain, turned }
    }

    fn times(&self, factor: U256, width: u32) -> Option<Term<'_>> {
        let [first, second] = halves(factor).map(|half| digits(half, width));
        Some(Term { multiples: &self.plain, turned: &self.turned, halves: [first?, second?] })
    }
}

static GENERATOR: OnceBox<Multiples> = OnceBox::new();

/// Who signed this hash; `None` if it is no signature. A high `s` is not refused.
pub(crate) fn signer(signature: &Signature, hash: B256) -> Option<Address> {
    let (r, s) = (signature.r(), signature.s());
    if r.is_zero() || s.is_zero() || r >= ORDER || s >= ORDER {
        return None;
    }
    // The x of a point could also be r plus the order, where that is below the prime; signatures of Ethereum cannot say so.
    let point = Affine::at(Field(r.into_limbs()), signature.v())?;
    let inverse = scalar(r.inv_mod(ORDER)?);
    let base = number(&-(scalar(U256::from_be_bytes(hash.0)) * inverse));
    let factor = number(&(scalar(s) * inverse));
    let generator = GENERATOR.get_or_init(|| Box::new(Multiples::of(&Affine::GENERATOR, GENERATOR_WIDTH)));
    let multiples = Multiples::of(&point, WIDTH);
    let key = sum(&[generator.times(base, GENERATOR_WIDTH)?, multiples.times(factor, WIDTH)?]);
    key.affine().map(|key| address(&key))
}

fn scalar(number: U256) -> Scalar {
    <Scalar as Reduce<k256::U256>>::reduce_bytes(&number.to_be_bytes::<32>().into())
}

fn number(scalar: &Scalar) -> U256 {
    U256::from_be_bytes::<32>(scalar.to_repr().into())
}

fn address(key: &Affine) -> Address {
    let words = [key.x.canonical(), key.y.canonical()];
    let bytes = words.iter().flat_map(|number| U256::from_limbs(number.0).to_be_bytes::<32>());
    Address::from_slice(&keccak256(bytes.collect::<Vec<_>>())[12..])
}

/// Two factors of half the length: `factor` is the first plus `LAMBDA` times the second.
fn halves(factor: U256) -> [U256; 2] {
    let c1 = rounded(factor, G1);
    let c2 = rounded(factor, G2);
    // second = c1 · (−b1) − c2 · b2, first = factor − second · LAMBDA, all modulo the order.
    let second = modulo(c1, MINUS_B1).add_mod(ORDER - modulo(c2, B2), ORDER);
    let first = factor.add_mod(ORDER - modulo(second, LAMBDA), ORDER);
    [first, second]
}

fn modulo(a: U256, b: U256) -> U256 {
    number(&(scalar(a) * scalar(b)))
}

/// The product by 2³⁸⁴, rounded.
fn rounded(a: U256, b: U256) -> U256 {
    let product: U512 = a.widening_mul(b);
    let limbs = product.into_limbs();
    let half = limbs[5] >> 63;
    U256::from_limbs([limbs[6], limbs[7], 0, 0]) + U256::from(half)
}

/// The digits of a number that is within 128 bits of zero modulo the order, from above or from below, as halves are.
fn digits(number: U256, width: u32) -> Option<Digits> {
    let minus = number > ORDER >> 1;
    let mut rest = u128::try_from(if minus { ORDER - number } else { number }).ok()?;
    // The top digit may carry one place further.
    let (mut digits, mut carry) = ([0; Digits::COUNT], 0_u128);
    let mut at = 0;
    while (rest != 0 || carry != 0) && at < Digits::COUNT {
        if rest & 1 == carry {
            rest >>= 1;
            at += 1;
            continue;
        }
        let window = (rest & ((1 << width) - 1)) + carry;
        carry = window >> (width - 1) & 1;
        digits[at] = (window as i16 - ((carry as i16) << width)) as i8;
        rest >>= width;
        at += width as usize;
    }
    Some(Digits { digits, minus })
}
