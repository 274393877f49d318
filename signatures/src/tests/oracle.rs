//! Random signatures, honest and contrived: the verdict is what libsecp256k1 says of each.

use super::*;
use crate::{hint_of, r_y, recover};
use proptest::prelude::*;

/// Whether each key made its signature, one by one.
fn expected(signatures: &[Signature], hints: &Hints) -> bool {
    signatures.iter().zip(&hints.signatures).all(|(signature, hint)| {
        let low = signature.s[3] >> 63 == 0 && !(signature.s > HALF_ORDER && is_above_half(&signature.s));
        let key = hints.keys.get(hint.key as usize);
        low && key.is_some() && recovered(signature).as_ref() == key && y_of(signature) == Some(hint.r_y)
    })
}

const HALF_ORDER: Limbs = [0xdfe9_2f46_681b_20a0, 0x5d57_6e73_57a4_501d, u64::MAX, u64::MAX >> 1];

fn is_above_half(s: &Limbs) -> bool {
    s.iter().rev().gt(HALF_ORDER.iter().rev())
}

#[test]
fn honest_bundles_of_any_size_are_accepted() {
    for (count, keys) in
        [(1, 1), (2, 1), (2, 2), (3, 2), (10, 10), (40, 3), (100, 100), (333, 50), (1_000, 1_000), (1_500, 1)]
    {
        let (signatures, hints) = honest_bundle(count, keys, 7);
        assert_eq!(hints.keys.len(), keys);
        assert_eq!(verdict(&signatures, &hints), Ok(()), "{count} by {keys}");
        let signers = crate::verify(&signatures, &hints, Weights::Transcript).unwrap();
        for (at, signature) in signatures.iter().enumerate() {
            assert_eq!(signers.key_of(at).copied(), recovered(signature));
        }
        assert_eq!(Hints::decode(&hints.encode()), Some(hints));
    }
    assert_eq!(verdict(&[], &Hints::default()), Ok(()));
}

#[test]
fn recovery_agrees_and_makes_the_hints() {
    let (signatures, hints) = honest_bundle(200, 200, 8);
    for (signature, (hint, key)) in signatures.iter().zip(hints.signatures.iter().zip(&hints.keys)) {
        assert_eq!(recover(signature), Some(*key));
        assert_eq!(r_y(&signature.r, signature.odd_y), Some(hint.r_y));
        assert_eq!(hint_of(signature), Some((*key, hint.r_y)));
    }
}

#[test]
fn hints_that_end_too_early_or_too_late_are_none() {
    let (_, hints) = honest_bundle(3, 2, 9);
    let encoded = hints.encode();
    assert_eq!(encoded.len(), Hints::bytes_for(hints.keys.len(), hints.signatures.len()));
    for end in 0..encoded.len() {
        let shorter = Hints::decode(&encoded[..end]);
        assert!(shorter.is_none_or(|shorter| shorter.signatures.len() < 3));
    }
    let longer = [encoded.as_slice(), &[0]].concat();
    assert_eq!(Hints::decode(&longer), None);
    assert_eq!(Hints::decode(&[255; 64]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Contrived signatures with some bytes changed: never another verdict than one by one.
    #[test]
    fn the_verdict_is_that_of_recovery_one_by_one(
        numbers in proptest::collection::vec(any::<([u8; 32], u8, u8)>(), 1..24),
        changes in proptest::collection::vec(any::<(u8, u8, u8)>(), 0..3),
    ) {
        let mut signatures = vec![];
        for (nonce, base, factor) in &numbers {
            let point = ProjectivePoint::GENERATOR * reduced(*nonce);
            let signature = contrived(&point, Scalar::from(u64::from(*base)), Scalar::from(u64::from(*factor) + 1));
            if recovered(&signature).is_some() {
                signatures.push(signature);
            }
        }
        let mut hints = hints_of(&signatures);
        prop_assert_eq!(verdict(&signatures, &hints), Ok(()));
        for (what, at, bit) in changes {
            if signatures.is_empty() {
                break;
            }
            let at = at as usize % signatures.len();
            match what % 6 {
                0 => signatures[at].r[bit as usize / 64] ^= 1 << (bit % 64),
                1 => signatures[at].s[bit as usize / 64] ^= 1 << (bit % 64),
                2 => signatures[at].hash[bit as usize / 8] ^= 1 << (bit % 8),
                3 => signatures[at].odd_y ^= true,
                4 => hints.signatures[at].r_y[bit as usize / 8] ^= 1 << (bit % 8),
                _ => hints.keys[at % numbers.len().min(1)][bit as usize / 4] ^= 1 << (bit % 8),
            }
        }
        prop_assert_eq!(verdict(&signatures, &hints).is_ok(), expected(&signatures, &hints));
    }

    #[test]
    fn recovery_is_that_of_libsecp256k1(r: [u8; 32], s: [u8; 32], odd_y: bool, hash: [u8; 32]) {
        let signature = Signature { r: field::limbs(&r), s: field::limbs(&s), odd_y, hash };
        prop_assert_eq!(recover(&signature), recovered(&signature));
    }
}
