//! Square roots, and the map of numbers to the curve that G1's points come from.
//!
//! The prime is 3 modulo 4, so roots are powers, the costliest part of both. A map needs one, by which it also knows whether there is a root.

use super::{
    curves::{G1, Iso1},
    fields::Fq,
};
use ark_ec::{
    hashing::curve_maps::{swu::SWUConfig, wb::WBConfig},
    short_weierstrass::{Affine, SWCurveConfig},
};
use ark_ff::{AdditiveGroup, Field, MontFp, PrimeField, Zero};

/// (p − 3) / 4.
const EXPONENT: [u64; 6] = [
    0xee7f_bfff_ffff_eaaa,
    0x07aa_ffff_ac54_ffff,
    0xd9cc_34a8_3dac_3d89,
    0xd91d_d2e1_3ce1_44af,
    0x92c6_e9ed_90d2_eb35,
    0x0680_447a_8e5f_f9a6,
];
/// Bits of a digit of the exponent.
const WIDTH: usize = 4;

/// A root of −ζ, of which the map's ζ is 11.
const ROOT: Fq = crate::backend::own(MontFp!(
    "674008237974212438248723729577393239183484355108025529917084410198223800758598092373770506194640977045288353413059"
));

/// The power with (p − 3) / 4.
fn power(number: &Fq) -> Fq {
    let mut powers = [Fq::ONE; 1 << WIDTH];
    for at in 1..powers.len() {
        powers[at] = powers[at - 1] * number;
    }
    let digit = |at: usize| (EXPONENT[at / 16] >> (at % 16 * WIDTH)) as usize & (powers.len() - 1);
    (0..96).rev().skip_while(|at| digit(*at) == 0).fold(Fq::ONE, |mut power, at| {
        for _ in 0..WIDTH {
            power.square_in_place();
        }
        if digit(at) == 0 { power } else { power * powers[digit(at)] }
    })
}

/// The square root, if there is one.
pub(super) fn root(number: &Fq) -> Option<Fq> {
    let root = power(number) * number;
    (root.square() == *number).then_some(root)
}

/// The root of `a / b`, or else that of `ζ · a / b`, of which there is one then; and whether it is the former.
fn root_of_ratio(a: &Fq, b: &Fq) -> (Fq, bool) {
    let ab = *a * b;
    let candidate = power(&(ab * b.square())) * ab;
    if candidate.square() * b == *a { (candidate, true) } else { (candidate * ROOT, false) }
}

/// The simplified map of Shallue, van de Woestijne and Ulas, as RFC 9380 has it, and the isogeny from there to G1's curve.
pub(super) fn map(number: &Fq) -> Affine<G1> {
    let Affine { x, y, .. } = map_to_isogenous(number);
    let map = <G1 as WBConfig>::ISOGENY_MAP;
    let at_x = |polynomial: &[Fq]| polynomial.iter().rev().fold(Fq::ZERO, |sum, part| sum * x + part);
    let (x_below, y_below) = (at_x(map.x_map_denominator), at_x(map.y_map_denominator));
    // Zero of zero: those points are mapped to infinity.
    let inverse = (x_below * y_below).inverse().unwrap_or(Fq::ZERO);
    let x = at_x(map.x_map_numerator) * inverse * y_below;
    Affine::new_unchecked(x, at_x(map.y_map_numerator) * inverse * x_below * y)
}

fn map_to_isogenous(number: &Fq) -> Affine<Iso1> {
    let (a, b) = (Iso1::COEFF_A, Iso1::COEFF_B);
    let turned = Iso1::ZETA * number.square();
    let sum = turned.square() + turned;
    // x is above / below, and its right side is `right / below³`.
    let above = b * (sum + Fq::ONE);
    let below = a * if sum.is_zero() { Iso1::ZETA } else { -sum };
    let below2 = below.square();
    let below3 = below2 * below;
    let right = (above.square() + a * below2) * above + b * below3;
    let (y, is_square) = root_of_ratio(&right, &below3);
    let (above, y) = if is_square { (above, y) } else { (above * turned, turned * number * y) };
    let y = if is_odd(&y) == is_odd(number) { y } else { -y };
    Affine::new_unchecked(above * below.inverse().unwrap_or(Fq::ZERO), y)
}

fn is_odd(number: &Fq) -> bool {
    number.into_bigint().0[0] & 1 == 1
}
