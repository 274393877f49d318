//! The groups of BLS12-381, their endomorphisms, and the maps onto them: arkworks' constants over our arithmetic.
//!
//! Both groups have an endomorphism that multiplies by a power of x, the small number that the curve is made of: on G1 φ by −x², on G2
//! ψ by x. (x is negative.) A point is in its group if and only if that is so (Scott, ePrint 2021/1130). And a factor written to the base
//! |x| has four digits of 64 bits, for which one pass of 64 doublings suffices on G2, and one of 128 on G1.

use super::fields::{Cubic, Dodecic, Fq, Fq2, Quadratic, own2, own2_all};
use crate::{
    backend::{own, own_all},
    multiply::Endomorphism,
};
use ark_bls12_381::{self as library, Fr};
use ark_ec::{
    AffineRepr, CurveConfig,
    bls12::{Bls12, Bls12Config, TwistType},
    hashing::curve_maps::{
        swu::SWUConfig,
        wb::{IsogenyMap, WBConfig},
    },
    short_weierstrass::{Affine, Projective, SWCurveConfig},
};
use ark_ff::{AdditiveGroup, PrimeField};

/// |x|.
pub(super) const X: u64 = 0xd201_0000_0001_0000;
const R: [u64; 4] = Fr::MODULUS.0;

/// Points with coordinates in the field.
pub(super) struct G1;
/// Points with coordinates in its quadratic extension.
pub(super) struct G2;
/// The curve from which field elements are mapped to G1's by an isogeny,
pub(super) struct Iso1;
/// and to G2's.
pub(super) struct Iso2;
/// The pairing.
pub(super) struct Curve;

type Library<C> = <C as WBConfig>::IsogenousCurve;
type LibraryIso1 = Library<library::g1::Config>;
type LibraryIso2 = Library<library::g2::Config>;

const fn own_point(point: Affine<library::g1::Config>) -> Affine<G1> {
    Affine::new_unchecked(own(point.x), own(point.y))
}

/// |x| times a point.
fn times_x<C: SWCurveConfig>(point: &Projective<C>) -> Projective<C> {
    (0..X.ilog2()).rev().fold(*point, |sum, bit| {
        let twice = sum.double();
        if X >> bit & 1 == 1 { twice + point } else { twice }
    })
}

impl CurveConfig for G1 {
    type BaseField = Fq;
    type ScalarField = Fr;
    const COFACTOR: &'static [u64] = library::g1::Config::COFACTOR;
    const COFACTOR_INV: Fr = library::g1::Config::COFACTOR_INV;
}

impl SWCurveConfig for G1 {
    const COEFF_A: Fq = Fq::ZERO;
    const COEFF_B: Fq = own(<library::g1::Config as SWCurveConfig>::COEFF_B);
    const GENERATOR: Affine<Self> = own_point(library::g1::Config::GENERATOR);
    type ZeroFlag = ();

    #[inline(always)]
    fn mul_by_a(_: Fq) -> Fq {
        Fq::ZERO
    }

    fn is_in_correct_subgroup_assuming_on_curve(point: &Affine<Self>) -> bool {
        let squared = times_x(&times_x(&point.into_group()));
        // −x² times the point is φ of it.
        squared == Self::turned(point)
    }

    fn clear_cofactor(point: &Affine<Self>) -> Affine<Self> {
        // 1 − x times the point.
        let point = point.into_group();
        (times_x(&point) + point).into()
    }
}

/// A cube root of one, for which (β · X, Y) is −x² times (X, Y).
const BETA: Fq = own(<library::g1::Config as ark_ec::scalar_mul::glv::GLVConfig>::ENDO_COEFFS[0]);

impl Endomorphism for G1 {
    const PARTS: usize = 2;
    const PART_BITS: usize = 128;

    /// x² times a point of the group.
    fn turned(point: &Affine<Self>) -> Affine<Self> {
        Affine::new_unchecked(point.x * BETA, -point.y)
    }

    fn parts(factor: [u64; 4]) -> [u128; 4] {
        let [a, b, c, d] = to_base_x(factor);
        let x = u128::from(X);
        [u128::from(a) + u128::from(b) * x, u128::from(c) + u128::from(d) * x, 0, 0]
    }
}

impl CurveConfig for G2 {
    type BaseField = Fq2;
    type ScalarField = Fr;
    const COFACTOR: &'static [u64] = library::g2::Config::COFACTOR;
    const COFACTOR_INV: Fr = library::g2::Config::COFACTOR_INV;
}

impl SWCurveConfig for G2 {
    const COEFF_A: Fq2 = Fq2::ZERO;
    const COEFF_B: Fq2 = own2(<library::g2::Config as SWCurveConfig>::COEFF_B);
    const GENERATOR: Affine<Self> =
        Affine::new_unchecked(own2(library::g2::G2_GENERATOR_X), own2(library::g2::G2_GENERATOR_Y));
    type ZeroFlag = ();

    #[inline(always)]
    fn mul_by_a(_: Fq2) -> Fq2 {
        Fq2::ZERO
    }

    fn is_in_correct_subgroup_assuming_on_curve(point: &Affine<Self>) -> bool {
        // |x| times the point is −ψ of it.
        times_x(&point.into_group()) == Self::turned(point)
    }

    fn clear_cofactor(point: &Affine<Self>) -> Affine<Self> {
        // x² − x − 1 times the point, x − 1 times ψ of it, and twice ψ² of it (Budroni and Pintore, ePrint 2017/419).
        let minus_psi = Self::turned(point);
        let single = point.into_group();
        // −(x·P + ψ(P))
        let minus_sum = times_x(&single) + minus_psi;
        let psi2 = Self::turned(&minus_psi).into_group();
        let last = times_x(&minus_sum) + minus_psi - single;
        (psi2.double() + last + times_x(&single)).into()
    }
}

/// 1 / (u + 1)^((p − 1) / 3), whose real part is zero, and 1 / (u + 1)^((p − 1) / 2).
const PSI_X: Fq = own(ark_ff::MontFp!(
    "4002409555221667392624310435006688643935503118305586438271171395842971157480381377015405980053539358417135540939437"
));
const PSI_Y: Fq2 = own2(library::Fq2::new(
    ark_ff::MontFp!(
        "2973677408986561043442465346520108879172042883009249989176415018091420807192182638567116318576472649347015917690530"
    ),
    ark_ff::MontFp!(
        "1028732146235106349975324479215795277384839936929757896155643118032610843298655225875571310552543014690878354869257"
    ),
));

impl Endomorphism for G2 {
    const PARTS: usize = 4;
    const PART_BITS: usize = 64;

    /// −ψ of a point: |x| times a point of the group.
    fn turned(point: &Affine<Self>) -> Affine<Self> {
        let x = Fq2::new(PSI_X * point.x.c1, PSI_X * point.x.c0);
        // The conjugate, negated.
        let y = Fq2::new(-point.y.c0, point.y.c1);
        Affine::new_unchecked(x, y * PSI_Y)
    }

    fn parts(factor: [u64; 4]) -> [u128; 4] {
        to_base_x(factor).map(u128::from)
    }
}

/// The digits to the base |x|, modulo the order r = x⁴ − x² + 1.
fn to_base_x(factor: [u64; 4]) -> [u64; 4] {
    let mut rest = factor;
    // 2²⁵⁶ is less than three times r.
    for _ in 0..2 {
        let (less, negative) = crate::field::difference(&rest, &R);
        rest = if negative { rest } else { less };
    }
    core::array::from_fn(|_| {
        let mut remainder = 0;
        for limb in rest.iter_mut().rev() {
            let number = u128::from(remainder) << 64 | u128::from(*limb);
            (*limb, remainder) = ((number / u128::from(X)) as u64, (number % u128::from(X)) as u64);
        }
        remainder
    })
}

impl CurveConfig for Iso1 {
    type BaseField = Fq;
    type ScalarField = Fr;
    const COFACTOR: &'static [u64] = <LibraryIso1 as CurveConfig>::COFACTOR;
    const COFACTOR_INV: Fr = <LibraryIso1 as CurveConfig>::COFACTOR_INV;
}

impl SWCurveConfig for Iso1 {
    const COEFF_A: Fq = own(<LibraryIso1 as SWCurveConfig>::COEFF_A);
    const COEFF_B: Fq = own(<LibraryIso1 as SWCurveConfig>::COEFF_B);
    const GENERATOR: Affine<Self> = Affine::new_unchecked(
        own(<LibraryIso1 as SWCurveConfig>::GENERATOR.x),
        own(<LibraryIso1 as SWCurveConfig>::GENERATOR.y),
    );
    type ZeroFlag = ();
}

impl SWUConfig for Iso1 {
    const ZETA: Fq = own(<LibraryIso1 as SWUConfig>::ZETA);
}

impl WBConfig for G1 {
    type IsogenousCurve = Iso1;
    const ISOGENY_MAP: IsogenyMap<'static, Iso1, Self> = {
        const MAP: IsogenyMap<'static, LibraryIso1, library::g1::Config> =
            <library::g1::Config as WBConfig>::ISOGENY_MAP;
        IsogenyMap {
            x_map_numerator: &own_all::<_, 6, { MAP.x_map_numerator.len() }>(MAP.x_map_numerator),
            x_map_denominator: &own_all::<_, 6, { MAP.x_map_denominator.len() }>(MAP.x_map_denominator),
            y_map_numerator: &own_all::<_, 6, { MAP.y_map_numerator.len() }>(MAP.y_map_numerator),
            y_map_denominator: &own_all::<_, 6, { MAP.y_map_denominator.len() }>(MAP.y_map_denominator),
        }
    };
}

impl CurveConfig for Iso2 {
    type BaseField = Fq2;
    type ScalarField = Fr;
    const COFACTOR: &'static [u64] = <LibraryIso2 as CurveConfig>::COFACTOR;
    const COFACTOR_INV: Fr = <LibraryIso2 as CurveConfig>::COFACTOR_INV;
}

impl SWCurveConfig for Iso2 {
    const COEFF_A: Fq2 = own2(<LibraryIso2 as SWCurveConfig>::COEFF_A);
    const COEFF_B: Fq2 = own2(<LibraryIso2 as SWCurveConfig>::COEFF_B);
    const GENERATOR: Affine<Self> = Affine::new_unchecked(
        own2(<LibraryIso2 as SWCurveConfig>::GENERATOR.x),
        own2(<LibraryIso2 as SWCurveConfig>::GENERATOR.y),
    );
    type ZeroFlag = ();
}

impl SWUConfig for Iso2 {
    const ZETA: Fq2 = own2(<LibraryIso2 as SWUConfig>::ZETA);
}

impl WBConfig for G2 {
    type IsogenousCurve = Iso2;
    const ISOGENY_MAP: IsogenyMap<'static, Iso2, Self> = {
        const MAP: IsogenyMap<'static, LibraryIso2, library::g2::Config> =
            <library::g2::Config as WBConfig>::ISOGENY_MAP;
        IsogenyMap {
            x_map_numerator: &own2_all::<{ MAP.x_map_numerator.len() }>(MAP.x_map_numerator),
            x_map_denominator: &own2_all::<{ MAP.x_map_denominator.len() }>(MAP.x_map_denominator),
            y_map_numerator: &own2_all::<{ MAP.y_map_numerator.len() }>(MAP.y_map_numerator),
            y_map_denominator: &own2_all::<{ MAP.y_map_denominator.len() }>(MAP.y_map_denominator),
        }
    };
}

impl Bls12Config for Curve {
    const X: &'static [u64] = &[X];
    const X_IS_NEGATIVE: bool = true;
    const TWIST_TYPE: TwistType = TwistType::M;
    type Fp = Fq;
    type Fp2Config = Quadratic;
    type Fp6Config = Cubic;
    type Fp12Config = Dodecic;
    type G1Config = G1;
    type G2Config = G2;
}

/// The pairing.
pub(super) type Pairing = Bls12<Curve>;
