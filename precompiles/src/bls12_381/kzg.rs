//! Openings of commitments to polynomials (EIP-4844).
//!
//! Whoever made the setup knew τ; a commitment is p(τ) · G₁, and a proof is (p(τ) − y) / (τ − z) · G₁. So what is checked is
//! `proof · (τ − z) = commitment − y`, in one product of two pairings, whose points on G2 are always the same: what pairings need of these
//! is made once.

use super::{
    Coordinate,
    curves::{Curve, G1, G2, Pairing},
    fields::{Fq, own2},
    is_one, read_field,
    root::root,
};
use crate::{field, multiply};
use alloc::boxed::Box;
use ark_bls12_381::{Fq as LibraryFq, Fq2 as LibraryFq2, Fr};
use ark_ec::{
    bls12::G2Prepared,
    short_weierstrass::{Affine, SWCurveConfig},
};
use ark_ff::{Field, MontFp, PrimeField};
use once_cell::race::OnceBox;

const R: [u64; 4] = Fr::MODULUS.0;

/// τ · G₂ of Ethereum's setup.
const TAU: [[LibraryFq; 2]; 2] = [
    [
        MontFp!(
            "3749701713850085193403383609513386037494151572263731328608276629425322978272408394373143740944003571525027436289778"
        ),
        MontFp!(
            "3347537128081568434923729147580015899756771550835613107520576615563260658656019591232316627827007503930666726825842"
        ),
    ],
    [
        MontFp!(
            "194392958648403190675529552496435226424111592982833162118538452666741235889530674000225873281133418439621742897817"
        ),
        MontFp!(
            "3447898402727835650716129438012169492682148398295533958400255525306573911008434577489634554212211450783070687991119"
        ),
    ],
];

static FIXED: OnceBox<[G2Prepared<Curve>; 2]> = OnceBox::new();

/// −G₂ and τ · G₂, ready for pairings.
fn fixed() -> &'static [G2Prepared<Curve>; 2] {
    FIXED.get_or_init(|| {
        let [x, y] = TAU.map(|[real, imaginary]| own2(LibraryFq2::new(real, imaginary)));
        Box::new([(-<G2 as SWCurveConfig>::GENERATOR).into(), Affine::<G2>::new_unchecked(x, y).into()])
    })
}

/// Whether the proof shows that the polynomial of a commitment is y at z.
pub fn verify(commitment: &Coordinate, z: &[u8; 32], y: &[u8; 32], proof: &Coordinate) -> bool {
    checked(commitment, z, y, proof).unwrap_or(false)
}

/// None if something is out of range or no point of the group.
fn checked(commitment: &Coordinate, z: &[u8; 32], y: &[u8; 32], proof: &Coordinate) -> Option<bool> {
    let (commitment, proof) = (read_compressed(commitment)?, read_compressed(proof)?);
    let (z, y) = (read_factor(z)?, read_factor(y)?);
    // proof · τ − (commitment − y + z · proof) · 1
    let minus_y = field::difference(&R, &y).0;
    let sum = multiply::sum(&[(<G1 as SWCurveConfig>::GENERATOR, minus_y), (proof, z)]);
    let points = [Affine::from(sum + commitment), proof];
    Some(is_one(&<Pairing as ark_ec::pairing::Pairing>::multi_miller_loop(points, fixed().clone())))
}

fn read_factor(bytes: &[u8; 32]) -> Option<[u64; 4]> {
    let limbs = field::limbs(bytes);
    field::difference(&limbs, &R).1.then_some(limbs)
}

/// A point of the group as 48 bytes: three flags (compressed, infinity, the greater y) and x.
fn read_compressed(bytes: &Coordinate) -> Option<Affine<G1>> {
    let mut x = *bytes;
    let [compressed, infinite, greater] = [7, 6, 5].map(|bit| x[0] >> bit & 1 == 1);
    x[0] &= 0x1f;
    if !compressed {
        return None;
    }
    if infinite {
        return (!greater && x == [0; 48]).then(Affine::identity);
    }
    let x = read_field(&x)?;
    let y = root(&(x.square() * x + <G1 as SWCurveConfig>::COEFF_B))?;
    let y = if is_greater(&y) == greater { y } else { -y };
    let point = Affine::new_unchecked(x, y);
    point.is_in_correct_subgroup_assuming_on_curve().then_some(point)
}

/// Whether a number is greater than its negative.
fn is_greater(number: &Fq) -> bool {
    number.into_bigint() > (-*number).into_bigint()
}
