//! Signatures of P-256 and the arithmetic of fields against another library.

use super::std::vec::Vec;
use crate::{
    field::{self, Modulus},
    p256, window,
};
use ::p256::{
    NonZeroScalar, ProjectivePoint, PublicKey, Scalar,
    ecdsa::{Signature, VerifyingKey, signature::hazmat::PrehashVerifier},
    elliptic_curve::{PrimeField, ops::Reduce, point::AffineCoordinates, sec1::ToEncodedPoint},
};
use proptest::prelude::*;

/// What the library says.
fn library(hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> bool {
    let encoded = [&[4][..], key].concat();
    let key = VerifyingKey::from_sec1_bytes(&encoded);
    let signature = Signature::from_slice(signature);
    matches!((key, signature), (Ok(key), Ok(signature)) if key.verify_prehash(hash, &signature).is_ok())
}

#[track_caller]
fn same(hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> bool {
    let verdict = p256::verify(hash, signature, key);
    assert_eq!(verdict, library(hash, signature, key), "{hash:?} {signature:?} {key:?}");
    verdict
}

fn scalar(bytes: &[u8; 32]) -> Scalar {
    <Scalar as Reduce<::p256::U256>>::reduce_bytes(&(*bytes).into())
}

fn joined(first: impl AsRef<[u8]>, second: impl AsRef<[u8]>) -> [u8; 64] {
    [first.as_ref(), second.as_ref()].concat().try_into().unwrap()
}

fn coordinates(point: &ProjectivePoint) -> Option<[u8; 64]> {
    let point = point.to_affine().to_encoded_point(false);
    Some(joined(point.x()?, point.y()?))
}

/// A signature of a hash by a key, with this nonce.
fn signed(hash: &[u8; 32], secret: Scalar, nonce: Scalar) -> Option<([u8; 64], [u8; 64])> {
    let nonce = Option::<NonZeroScalar>::from(NonZeroScalar::new(nonce))?;
    let r = scalar(&(ProjectivePoint::GENERATOR * *nonce).to_affine().x().into());
    let s = (scalar(hash) + r * secret) * Scalar::invert(&nonce).unwrap();
    let key = coordinates(&(ProjectivePoint::GENERATOR * secret))?;
    Some((joined(r.to_repr(), s.to_repr()), key))
}

/// Changes a bit at each of some places.
fn changed(bytes: &[u8; 64], bit: usize) -> [u8; 64] {
    let mut changed = *bytes;
    changed[bit / 8 % 64] ^= 1 << (bit % 8);
    changed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn signatures_of_p256_are_judged_as_by_another_library(
        hash: [u8; 32], secret: [u8; 32], nonce: [u8; 32], bit in 0_usize..512,
    ) {
        let (signature, key) = signed(&hash, scalar(&secret), scalar(&nonce)).unwrap();
        prop_assert!(same(&hash, &signature, &key));
        same(&hash, &changed(&signature, bit), &key);
        same(&hash, &signature, &changed(&key, bit));
        same(&nonce, &signature, &key);
    }

    #[test]
    fn digits_add_up(number: [u64; 4], zeros in 0_u32..256, width in 2_u32..7) {
        let mut number = number;
        for limb in number.iter_mut().take(zeros as usize / 64) {
            *limb = if zeros % 2 == 0 { 0 } else { u64::MAX };
        }
        let expected = Scalar::from_repr(bytes(&number).into());
        if let Some(expected) = Option::<Scalar>::from(expected) {
            let sum = window::digits(number, width).iter().rev().fold(Scalar::ZERO, |sum, digit| {
                let part = Scalar::from(u64::from(digit.unsigned_abs()));
                sum.double() + if *digit < 0 { -part } else { part }
            });
            prop_assert_eq!(sum, expected);
        }
    }
}

fn bytes(limbs: &[u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    field::write(limbs, &mut bytes);
    bytes
}

#[test]
fn edges_of_p256_are_judged_as_by_another_library() {
    let order: [u8; 32] = (-Scalar::ONE).to_repr().into();
    let mut above = order;
    above[31] += 1;
    let small = [0_u64, 1, 2, 15, 17].map(Scalar::from);
    let scalars = small.iter().flat_map(|small| [*small, -*small]).collect::<Vec<_>>();
    let mut valid = 0;
    for secret in &scalars {
        for nonce in &scalars {
            for hash in
                [[0; 32], [255; 32], order, above, (*nonce).to_repr().into(), (-*secret).to_repr().into()]
            {
                let Some((signature, key)) = signed(&hash, *secret, *nonce) else { continue };
                valid += u32::from(same(&hash, &signature, &key));
            }
        }
    }
    assert!(valid > 200, "{valid}");
    let (signature, key) = signed(&[7; 32], Scalar::from(5_u64), Scalar::from(9_u64)).unwrap();
    let edges = [[0; 32], [255; 32], order, above, bytes(&[u64::MAX, 0xffff_ffff, 0, 0xffff_ffff_0000_0001])];
    for first in edges {
        for second in edges {
            assert!(!same(&[7; 32], &joined(first, second), &key));
            assert!(!same(&[7; 32], &signature, &joined(first, second)));
        }
        assert!(!same(&[7; 32], &joined(first, &signature[32..]), &key));
        assert!(!same(&[7; 32], &joined(&signature[..32], first), &key));
        assert!(!same(&[7; 32], &signature, &joined(first, &key[32..])));
    }
}

/// Signatures whose point has x from n on: r is x − n.
#[test]
fn x_above_the_order_of_p256_counts() {
    let n = [0xf3b9_cac2_fc63_2551, 0xbce6_faad_a717_9e84, u64::MAX, 0xffff_ffff_0000_0000];
    let mut found = 0;
    for small in 1..60_u64 {
        let (sum, _) = field::sum(&n, &[small, 0, 0, 0]);
        let compressed = [&[2][..], &bytes(&sum)].concat();
        let Ok(point) = PublicKey::from_sec1_bytes(&compressed) else { continue };
        // R = u₁ · G + u₂ · Q with any s: Q = (s · R − hash · G) / r.
        let (r, s, hash) = (Scalar::from(small), Scalar::from(77_u64), [3; 32]);
        let rest = point.to_projective() * s - ProjectivePoint::GENERATOR * scalar(&hash);
        let key = coordinates(&(rest * r.invert().unwrap())).unwrap();
        found += u32::from(same(&hash, &joined(r.to_repr(), s.to_repr()), &key));
    }
    assert!(found > 10, "{found}");
}

struct Full;

impl Modulus<4> for Full {
    const PRIME: [u64; 4] = [0xf3b9_cac2_fc63_2551, 0xbce6_faad_a717_9e84, u64::MAX, 0xffff_ffff_0000_0000];
}

#[test]
fn the_field_is_right_at_its_edges() {
    let edge = [0, 1, 2, u64::MAX - 1, u64::MAX, 0xffff_ffff_0000_0000, 0xf3b9_cac2_fc63_2550];
    let mut values = Vec::new();
    for a in edge {
        for b in edge {
            for c in edge {
                values.extend([[a, b, c, edge[5]], [a, b, u64::MAX, c], [c, a, b, 0]]);
            }
        }
    }
    let own = |limbs: &[u64; 4]| Scalar::from_repr(bytes(limbs).into()).into_option();
    let values = values.iter().filter_map(|limbs| Some((field::parse::<Full, 4>(limbs)?, own(limbs)?)));
    let values = values.collect::<Vec<_>>();
    let same = |a: [u64; 4], b: Scalar| {
        assert_eq!(bytes(&field::plain::<Full, 4>(&a)), <[u8; 32]>::from(b.to_repr()))
    };
    for (at, (a, x)) in values.iter().enumerate() {
        same(field::negate::<Full, 4>(a), -*x);
        same(field::square::<Full, 4>(a), x.square());
        same(field::invert::<Full, 4>(a), x.invert().unwrap_or(Scalar::ZERO));
        for (b, y) in values.iter().skip(at % 7).step_by(7) {
            same(field::mul::<Full, 4>(a, b), x * y);
            same(field::add::<Full, 4>(a, b), x + y);
            same(field::sub::<Full, 4>(a, b), x - y);
        }
    }
}
