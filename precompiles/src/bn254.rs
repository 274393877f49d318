//! The curve BN254 (EIP-196): arkworks' constants over our arithmetic. All its points have the same order, a prime.

use crate::{
    backend::{Own, own},
    field, multiply,
};
use ark_bn254::{self as library, Fr};
use ark_ec::{
    AffineRepr, CurveConfig,
    short_weierstrass::{Affine, Projective, SWCurveConfig},
};
use ark_ff::{AdditiveGroup, BigInt, Fp, PrimeField};

type Fq = Fp<Own<library::FqConfig>, 4>;

struct G1;

impl CurveConfig for G1 {
    type BaseField = Fq;
    type ScalarField = Fr;
    const COFACTOR: &'static [u64] = library::g1::Config::COFACTOR;
    const COFACTOR_INV: Fr = library::g1::Config::COFACTOR_INV;
}

impl SWCurveConfig for G1 {
    const COEFF_A: Fq = Fq::ZERO;
    const COEFF_B: Fq = own(library::g1::Config::COEFF_B);
    const GENERATOR: Affine<Self> =
        Affine::new_unchecked(own(library::g1::G1_GENERATOR_X), own(library::g1::G1_GENERATOR_Y));
    type ZeroFlag = ();

    #[inline(always)]
    fn mul_by_a(_: Fq) -> Fq {
        Fq::ZERO
    }
}

/// x and y, big-endian; zeros for infinity.
fn read(bytes: &[u8; 64]) -> Option<Affine<G1>> {
    let (x, y) = bytes.split_at(32);
    let coordinate = |bytes| Fq::from_bigint(BigInt(field::limbs(bytes)));
    let point = Affine::new_unchecked(coordinate(x)?, coordinate(y)?);
    (point.is_zero() || point.is_on_curve()).then_some(point)
}

fn write(point: &Projective<G1>) -> [u8; 64] {
    let mut bytes = [0; 64];
    let point = Affine::from(*point);
    field::write(&point.x.into_bigint().0, &mut bytes[..32]);
    field::write(&point.y.into_bigint().0, &mut bytes[32..]);
    bytes
}

/// The sum of two points; none if either is no point.
pub fn add(a: &[u8; 64], b: &[u8; 64]) -> Option<[u8; 64]> {
    Some(write(&(read(a)?.into_group() + read(b)?)))
}

/// A point times any number; none if it is no point.
pub fn multiply(point: &[u8; 64], factor: &[u8; 32]) -> Option<[u8; 64]> {
    Some(write(&multiply::multiply(&read(point)?, field::limbs(factor))))
}
