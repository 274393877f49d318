//! The fields of BLS12-381: arkworks' constants over our arithmetic.

use crate::backend::{Own, own, own_all};
use ark_bls12_381 as library;
use ark_ff::{AdditiveGroup, Field, Fp, Fp2, Fp2Config, Fp6, Fp6Config, Fp12Config};

/// Coordinates of G1.
pub(super) type Fq = Fp<Own<library::FqConfig>, 6>;
/// Coordinates of G2.
pub(super) type Fq2 = Fp2<Quadratic>;

/// The same element.
pub(super) const fn own2(element: library::Fq2) -> Fq2 {
    Fq2::new(own(element.c0), own(element.c1))
}

/// The same elements.
pub(super) const fn own2_all<const K: usize>(elements: &[library::Fq2]) -> [Fq2; K] {
    let mut all = [Fq2::new(Fq::ZERO, Fq::ZERO); K];
    let mut at = 0;
    while at < K {
        all[at] = own2(elements[at]);
        at += 1;
    }
    all
}

/// u² = −1.
pub(super) struct Quadratic;

impl Fp2Config for Quadratic {
    type Fp = Fq;

    const NONRESIDUE: Fq = own(library::Fq2Config::NONRESIDUE);
    const FROBENIUS_COEFF_FP2_C1: &'static [Fq] =
        &own_all::<_, 6, 2>(library::Fq2Config::FROBENIUS_COEFF_FP2_C1);

    #[inline(always)]
    fn mul_fp_by_nonresidue_in_place(fe: &mut Fq) -> &mut Fq {
        fe.neg_in_place()
    }

    #[inline(always)]
    #[allow(clippy::op_ref, reason = "arkworks copies what is given by value")]
    fn mul_fp_by_nonresidue_and_add(y: &mut Fq, x: &Fq) {
        *y = *x - &*y;
    }

    #[inline(always)]
    fn mul_fp_by_nonresidue_plus_one_and_add(y: &mut Fq, x: &Fq) {
        *y = *x;
    }

    #[inline(always)]
    fn sub_and_mul_fp_by_nonresidue(y: &mut Fq, x: &Fq) {
        *y += x;
    }
}

/// v³ = u + 1.
#[derive(Clone, Copy)]
pub(super) struct Cubic;

impl Fp6Config for Cubic {
    type Fp2Config = Quadratic;

    const NONRESIDUE: Fq2 = own2(library::Fq6Config::NONRESIDUE);
    const FROBENIUS_COEFF_FP6_C1: &'static [Fq2] = &own2_all::<6>(library::Fq6Config::FROBENIUS_COEFF_FP6_C1);
    const FROBENIUS_COEFF_FP6_C2: &'static [Fq2] = &own2_all::<6>(library::Fq6Config::FROBENIUS_COEFF_FP6_C2);

    #[inline(always)]
    fn mul_fp2_by_nonresidue_in_place(fe: &mut Fq2) -> &mut Fq2 {
        let real = fe.c0 - fe.c1;
        fe.c1 += fe.c0;
        fe.c0 = real;
        fe
    }
}

/// w² = v.
#[derive(Clone, Copy)]
pub(super) struct Dodecic;

impl Fp12Config for Dodecic {
    type Fp6Config = Cubic;

    const NONRESIDUE: Fp6<Cubic> = Fp6::new(Fq2::ZERO, Fq2::new(Fq::ONE, Fq::ZERO), Fq2::ZERO);
    const FROBENIUS_COEFF_FP12_C1: &'static [Fq2] =
        &own2_all::<12>(library::Fq12Config::FROBENIUS_COEFF_FP12_C1);
}
