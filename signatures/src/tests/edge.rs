//! Cases that a signer or a builder can arrange, each against libsecp256k1.

use super::*;
use crate::{
    field::{Element, P},
    point::right_side,
    scalar::N,
};
use k256::elliptic_curve::point::AffineCoordinates;

fn generator(factor: u64) -> ProjectivePoint {
    ProjectivePoint::GENERATOR * Scalar::from(factor)
}

fn accepted(signatures: &[Signature]) {
    assert_eq!(verdict(signatures, &hints_of(signatures)), Ok(()));
}

#[test]
fn hashes_that_are_zero_or_above_n_are_accepted() {
    let key = Random(50).bytes();
    let n = field::bytes(&N);
    let mut above = n;
    above[31] += 1;
    let signatures = [[0; 32], n, above, [0xff; 32]].map(|hash| honest(key, hash));
    accepted(&signatures);
    signatures.iter().for_each(|one| accepted(&[*one]));
    // Not because the hash is left out.
    let mut hints = hints_of(&signatures);
    let mut wrong = signatures;
    wrong[0].hash[31] = 1;
    assert_eq!(verdict(&wrong, &hints), Err(Refused::Sum));
    hints.signatures.swap(0, 3);
    assert!(verdict(&signatures, &hints).is_err());
}

#[test]
fn numbers_out_of_range_are_refused() {
    let (signatures, hints) = honest_bundle(3, 3, 51);
    let n_more = [N[0] + 1, N[1], N[2], N[3]];
    for number in [[0; 4], N, n_more, [u64::MAX; 4]] {
        let mut wrong = signatures.clone();
        wrong[1].r = number;
        assert_eq!(verdict(&wrong, &hints), Err(Refused::OutOfRange { signature: 1 }));
        let mut wrong = signatures.clone();
        wrong[2].s = number;
        assert_eq!(verdict(&wrong, &hints), Err(Refused::OutOfRange { signature: 2 }));
    }
}

/// A signature with this s, by whatever key that makes it.
fn with_s(s: Limbs) -> Signature {
    let [x, y] = halves(key_of(&generator(77)));
    Signature { r: field::limbs(&x), s, odd_y: y[31] & 1 == 1, hash: [9; 32] }
}

#[test]
fn a_high_s_is_refused_and_half_of_n_is_not_high() {
    let half = [0xdfe9_2f46_681b_20a0, 0x5d57_6e73_57a4_501d, u64::MAX, u64::MAX >> 1];
    accepted(&[with_s(half)]);
    accepted(&[with_s([1, 0, 0, 0])]);
    let more = [half[0] + 1, half[1], half[2], half[3]];
    for high in [more, [N[0] - 1, N[1], N[2], N[3]]] {
        let signature = with_s(high);
        let hints = hints_of(&[signature]);
        assert_eq!(verdict(&[signature], &hints), Err(Refused::OutOfRange { signature: 0 }));
    }
}

#[test]
fn the_other_s_of_a_signature_is_refused() {
    let (mut signatures, mut hints) = honest_bundle(2, 2, 52);
    let one = &mut signatures[1];
    one.s = crate::scalar::Scalar(one.s).negate().0;
    one.odd_y ^= true;
    hints.signatures[1].r_y = y_of(one).unwrap();
    assert_eq!(recovered(one), Some(hints.keys[1]), "it is right but for being high");
    assert_eq!(verdict(&signatures, &hints), Err(Refused::OutOfRange { signature: 1 }));
}

/// A point with x from n to p, which only recovery identifiers 2 and 3 mean.
pub(super) fn beyond_n() -> (Signature, Hints) {
    let beyond = |more: u64| {
        let x = field::bytes(&[N[0] + more, N[1], N[2], N[3]]);
        let y = Element(right_side(&Element(field::limbs(&x))).root()?.canonical());
        Some((more, x, field::bytes(&y.0)))
    };
    // r must itself be no x of a point, or it would be another signature.
    let off = |r: u64| right_side(&Element([r, 0, 0, 0])).root().is_none();
    let (r, x, y) = (1..).filter(|r| off(*r)).find_map(beyond).unwrap();
    let point = point_of(x, y).unwrap();
    let signature = Signature { r: [r, 0, 0, 0], s: [3, 0, 0, 0], odd_y: y[31] & 1 == 1, hash: [5; 32] };
    let inverse = Scalar::from(r).invert().unwrap();
    let key = (point * Scalar::from(3_u64) - ProjectivePoint::GENERATOR * reduced([5; 32])) * inverse;
    (signature, Hints::collect([(key_of(&key), y)]))
}

#[test]
fn r_is_never_r_plus_n() {
    let (signature, hints) = beyond_n();
    assert_eq!(recovered(&signature), None);
    assert_eq!(verdict(&[signature], &hints), Err(Refused::NoPoint { signature: 0 }));
}

/// A point with so small a y that y + p has 256 bits too, and what it is with y + p.
fn small_y() -> [[[u8; 32]; 2]; 2] {
    // (p + 2) / 9: the cube root, if there is one, since p is 7 modulo 9.
    let exponent = {
        let mut rest = 0_u128;
        let mut quotient = [0; 4];
        for at in (0..4).rev() {
            let dividend = rest << 64 | u128::from(P[at] + u64::from(at == 0) * 2);
            (quotient[at], rest) = ((dividend / 9) as u64, dividend % 9);
        }
        assert_eq!(rest, 0);
        quotient
    };
    let power = |base: &Element| {
        (0..256).rev().fold(Element::ONE, |power, bit| {
            let power = power.square();
            if exponent[bit / 64] >> (bit % 64) & 1 == 1 { power.mul(base) } else { power }
        })
    };
    let found = (1_u64..).find_map(|y| {
        let cube = Element([y * y, 0, 0, 0]).sub(&Element([7, 0, 0, 0]));
        let root = power(&cube);
        root.square().mul(&root).equals(&cube).then(|| (field::bytes(&root.canonical()), y))
    });
    let (x, y) = found.unwrap();
    let beyond = [P[0] + y, P[1], P[2], P[3]];
    assert!(beyond[0] > P[0]);
    [[x, field::bytes(&[y, 0, 0, 0])], [x, field::bytes(&beyond)]]
}

/// A bundle whose hint or key has a coordinate of p or more, which stands for a point of the curve.
pub(super) fn beyond_p(of_key: bool) -> (Signature, Hints) {
    let [[x, y], [_, beyond]] = small_y();
    let point = point_of(x, y).unwrap();
    if of_key {
        let nonce = ProjectivePoint::GENERATOR * Scalar::from(4_u64) + point * Scalar::from(9_u64);
        let r = reduced(nonce.to_affine().x().into());
        // The key is the point: R = 4 G + 9 Q.
        let s = r * Scalar::from(9_u64).invert().unwrap();
        let high = bool::from(k256::elliptic_curve::scalar::IsHigh::is_high(&s));
        let hash = s * Scalar::from(4_u64);
        let odd = bool::from(nonce.to_affine().y_is_odd());
        let s = if high { -s } else { s };
        let signature =
            Signature { r: limbs_of(&r), s: limbs_of(&s), odd_y: odd != high, hash: hash.to_repr().into() };
        let mut hints = hints_of(&[signature]);
        assert_eq!(halves(hints.keys[0]), [x, y]);
        assert_eq!(verdict(&[signature], &hints), Ok(()));
        hints.keys[0][32..].copy_from_slice(&beyond);
        (signature, hints)
    } else {
        // y + p has the other parity, so the signature says that of y + p.
        let signature =
            Signature { r: field::limbs(&x), s: [1, 0, 0, 0], odd_y: beyond[31] & 1 == 1, hash: [1; 32] };
        let honest = Signature { odd_y: y[31] & 1 == 1, ..signature };
        let mut hints = hints_of(&[honest]);
        assert_eq!(verdict(&[honest], &hints), Ok(()));
        hints.signatures[0].r_y = beyond;
        (signature, hints)
    }
}

#[test]
fn coordinates_of_p_or_more_are_refused() {
    let (signature, hints) = beyond_p(false);
    assert_eq!(verdict(&[signature], &hints), Err(Refused::NoPoint { signature: 0 }));
    let (signature, hints) = beyond_p(true);
    assert_eq!(verdict(&[signature], &hints), Err(Refused::KeyNoPoint { key: 0 }));
}

#[test]
fn a_signature_whose_key_would_be_infinity_is_refused() {
    // s · R = hash · G: recovery has no key, and no hint can say one.
    let signature = contrived(&generator(5), Scalar::from(5_u64), -Scalar::ONE);
    assert_eq!(recovered(&signature), None);
    assert_eq!(crate::recover(&signature), None);
    let r_y = y_of(&signature).unwrap();
    for key in [[0; 64], key_of(&generator(1)), key_of(&generator(5))] {
        let (mut others, mut hints) = honest_bundle(2, 2, 53);
        others.push(signature);
        hints.keys.push(key);
        hints.signatures.push(crate::Hint { key: 2, r_y });
        assert!(verdict(&others, &hints).is_err());
    }
}

#[test]
fn points_that_are_equal_or_opposite_are_added() {
    let key = ProjectivePoint::GENERATOR * Random(54).scalar();
    let (one, two) = (Scalar::ONE, Scalar::from(2_u64));
    let mut bundles = vec![];
    // The same signature many times, and one key with the same nonce for other hashes.
    let same = honest(Random(55).bytes(), [1; 32]);
    bundles.push(vec![same; 60]);
    let nonce = generator(1_234_567);
    let reused = (1..50_u64).map(|base| contrived(&nonce, Scalar::from(base), two)).collect::<Vec<_>>();
    bundles.push(reused);
    // R = ±Q, R = ±G, R = ±λ·Q: the key is ±1 times R and nothing else.
    bundles.push(vec![contrived(&key, Scalar::ZERO, one), contrived(&key, Scalar::ZERO, -one)]);
    let lambda = Scalar::from_repr(
        field::bytes(&[
            0xdf02_967c_1b23_bd72,
            0x122e_22ea_2081_6678,
            0xa526_1c02_8812_645a,
            0x5363_ad4c_c05c_30e0,
        ])
        .into(),
    );
    let lambda = lambda.unwrap();
    bundles.push(vec![contrived(&key, Scalar::ZERO, lambda), contrived(&key, Scalar::ZERO, -lambda)]);
    let small = (1..40_u64).flat_map(|nonce| {
        [one, -one, two].map(|factor| contrived(&generator(nonce), Scalar::from(nonce * 3), factor))
    });
    bundles.push(small.filter(|one| recovered(one).is_some()).collect());
    for bundle in &bundles {
        accepted(bundle);
    }
    let all = bundles.concat();
    accepted(&all);
    // And one of them wrong is still found.
    let hints = hints_of(&all);
    for at in (0..all.len()).step_by(17) {
        let mut wrong = all.clone();
        wrong[at].hash[3] ^= 1;
        assert_eq!(verdict(&wrong, &hints), Err(Refused::Sum));
    }
}

#[test]
fn terms_that_are_zero_or_cancel_are_no_obstacle() {
    // hash = 0 in all of them: nothing of the generator.
    let nonces = (1..20_u64).map(|nonce| contrived(&generator(nonce), Scalar::ZERO, Scalar::from(nonce + 1)));
    accepted(&nonces.collect::<Vec<_>>());
    // Keys Q and −Q: their terms partly cancel.
    let opposite = [1_u64, 2, 3].map(|nonce| {
        let factor = Scalar::from(nonce).invert().unwrap();
        [
            contrived(&generator(nonce), Scalar::ZERO, factor),
            contrived(&generator(nonce), Scalar::ZERO, -factor),
        ]
    });
    accepted(opposite.as_flattened());
}

#[test]
fn wrong_keys_are_refused_whatever_they_are() {
    let (signatures, hints) = honest_bundle(4, 4, 56);
    let y = Element(field::limbs(&halves(hints.keys[2])[1])).negate().canonical();
    let mut opposite = hints.clone();
    opposite.keys[2][32..].copy_from_slice(&field::bytes(&y));
    assert_eq!(verdict(&signatures, &opposite), Err(Refused::Sum));
    let mut other = hints.clone();
    other.keys[2] = key_of(&generator(3));
    assert_eq!(verdict(&signatures, &other), Err(Refused::Sum));
    let mut same = hints.clone();
    same.keys[2] = hints.keys[1];
    assert_eq!(verdict(&signatures, &same), Err(Refused::Sum));
    // Every key once more only costs more.
    same.keys[2] = hints.keys[2];
    assert_eq!(verdict(&signatures, &same), Ok(()));
    // R of the other parity, with its y.
    let mut turned = signatures.clone();
    turned[0].odd_y ^= true;
    let mut its = hints.clone();
    its.signatures[0].r_y = y_of(&turned[0]).unwrap();
    assert_eq!(verdict(&turned, &its), Err(Refused::Sum));
    assert_eq!(verdict(&signatures, &its), Err(Refused::NoPoint { signature: 0 }));
    for key in [[0; 64], [0xff; 64], core::array::from_fn(|at| at as u8)] {
        let mut none = hints.clone();
        none.keys[1] = key;
        assert_eq!(verdict(&signatures, &none), Err(Refused::KeyNoPoint { key: 1 }));
    }
}
