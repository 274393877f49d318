//! The lanes against libsecp256k1, and their arithmetic against numbers of any size.

use crate::{signer, signers};
use alloy_consensus::crypto::secp256k1::sign_message;
use alloy_primitives::{Address, B256, Signature, U256, keccak256, uint};
use k256::{
    ProjectivePoint, Scalar,
    elliptic_curve::{Field, PrimeField, ops::Reduce, point::AffineCoordinates, sec1::ToEncodedPoint},
};
use proptest::prelude::*;

const ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);
const LAMBDA: U256 = uint!(0x5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72_U256);

type Signed = (Signature, B256);

fn scalar(number: U256) -> Scalar {
    <Scalar as Reduce<k256::U256>>::reduce_bytes(&number.to_be_bytes::<32>().into())
}

fn number(bytes: impl Into<[u8; 32]>) -> U256 {
    U256::from_be_bytes::<32>(bytes.into())
}

fn honest(seed: u64) -> Signed {
    let (key, hash) = (keccak256(seed.to_le_bytes()), keccak256(seed.to_be_bytes()));
    (sign_message(key, hash).unwrap(), hash)
}

/// A signature whose signer is `base · G + factor · (nonce · G)`.
fn contrived(nonce: Scalar, base: Scalar, factor: Scalar) -> Signed {
    let point = (ProjectivePoint::GENERATOR * nonce).to_affine();
    let r = scalar(number(point.x()));
    let signature =
        Signature::new(number(r.to_repr()), number((factor * r).to_repr()), bool::from(point.y_is_odd()));
    (signature, B256::from(number((-(base * r)).to_repr())))
}

/// What a third implementation says of a contrived one.
fn expected(nonce: Scalar, base: Scalar, factor: Scalar) -> Option<Address> {
    let point = ProjectivePoint::GENERATOR * (base + factor * nonce);
    let point = point.to_affine().to_encoded_point(false);
    point.x()?;
    Some(Address::from_slice(&keccak256(&point.as_bytes()[1..])[12..]))
}

fn one_by_one(signed: &[Signed]) -> Vec<Option<Address>> {
    signed.iter().map(|(signature, hash)| signer(signature, *hash)).collect()
}

/// How many lanes, and what they say.
type Said = (usize, Vec<Option<Address>>);

/// What each kind of lanes that this machine has says of them, the widest and others.
#[cfg(target_arch = "x86_64")]
fn in_lanes(signed: &[Signed]) -> Vec<Said> {
    use crate::{
        field::{Avx2, Ifma, Lanes},
        lanes::recover,
    };
    fn said<L: Lanes<N>, const N: usize>(signed: &[Signed]) -> Option<Said> {
        let found = recover(L::detect()?, signed);
        for (found, (signature, _)) in found.iter().zip(signed) {
            assert!(found.is_none_or(|signer| signer.r_y == point_y(signature)), "y of {signature:?}");
        }
        Some((N, found.into_iter().map(|signer| signer.map(|signer| signer.address())).collect()))
    }
    [said::<Ifma, 8>(signed), said::<Avx2, 4>(signed)].into_iter().flatten().collect()
}

/// y of a signature's point, by libsecp256k1.
#[cfg(target_arch = "x86_64")]
fn point_y(signature: &Signature) -> Option<[u8; 32]> {
    let compressed = [&[2 + u8::from(signature.v())], &signature.r().to_be_bytes::<32>()[..]].concat();
    let point = secp256k1::PublicKey::from_slice(&compressed).ok()?.serialize_uncompressed();
    point.last_chunk().copied()
}

#[cfg(not(target_arch = "x86_64"))]
fn in_lanes(_: &[Signed]) -> Vec<Said> {
    vec![]
}

/// Everybody says this, or nothing.
fn agree(signed: &[Signed], expected: &[Option<Address>]) {
    let plain = signed.iter().map(|(signature, hash)| crate::plain::signer(signature, *hash));
    assert_eq!(plain.collect::<Vec<_>>(), expected, "in Rust alone");
    assert_eq!(signers(signed), expected);
    assert_eq!(one_by_one(signed), expected);
    for (lanes, said) in in_lanes(signed) {
        assert_eq!(said.len(), expected.len());
        for (at, (said, expected)) in said.iter().zip(expected).enumerate() {
            assert!(said.is_none() || said == expected, "{at} of {}, in {lanes} lanes", signed.len());
        }
    }
}

/// Compares, wherever in a group a signature stands.
fn check(signed: &[Signed]) {
    for shift in 0..8_u64 {
        let mut shifted = (0..shift).map(honest).collect::<Vec<_>>();
        shifted.extend_from_slice(signed);
        agree(&shifted, &one_by_one(&shifted));
    }
}

#[test]
fn any_number_of_signatures_is_recovered() {
    if crate::at_once() == 1 {
        println!("skipped: this machine recovers one at a time");
    }
    let all = (0..40).map(honest).collect::<Vec<_>>();
    for count in 0..all.len() {
        let some = &all[..count];
        let expected = one_by_one(some);
        assert!(expected.iter().all(Option::is_some));
        agree(some, &expected);
        for (lanes, said) in in_lanes(some) {
            let full = count - count % lanes;
            assert!(
                said[..full].iter().all(Option::is_some),
                "{count} in {lanes} lanes: nothing is out of the ordinary"
            );
        }
    }
}

#[test]
fn what_is_no_signature_has_no_signer_and_harms_no_other() {
    let mut all = (0..24).map(honest).collect::<Vec<_>>();
    let values =
        [U256::ZERO, U256::ONE, U256::from(5), ORDER - U256::ONE, ORDER, ORDER + U256::ONE, U256::MAX];
    for (r, s) in values.iter().flat_map(|r| values.iter().map(move |s| (*r, *s))) {
        for odd in [false, true] {
            all.push((Signature::new(r, s, odd), keccak256(r.to_be_bytes::<32>())));
        }
    }
    // Half of all r belong to no point.
    all.extend((0..64_u64).map(|r| (Signature::new(U256::from(r), U256::from(3), r % 3 == 0), B256::ZERO)));
    for hash in [B256::ZERO, B256::from(ORDER), B256::from(ORDER - U256::ONE), B256::repeat_byte(0xff)] {
        all.extend((0..9).map(|seed| (honest(seed).0, hash)));
    }
    all.extend((24..30).map(honest));
    assert!(one_by_one(&all).iter().filter(|signer| signer.is_none()).count() > 60);
    check(&all);
}

#[test]
fn sums_that_the_formulas_cannot_add_are_found() {
    let two = Scalar::from(2_u64);
    let lambda = scalar(LAMBDA);
    let mut interesting = (1..=17_u64).map(Scalar::from).collect::<Vec<_>>();
    interesting
        .extend([8, 9, 64, 127, 128, 129, 130, 131, 132, 248, 255].map(|bits| two.pow_vartime([bits])));
    interesting.extend([lambda, lambda + Scalar::ONE, lambda * lambda, lambda - Scalar::ONE]);
    let negatives = interesting.iter().map(|number| -*number).collect::<Vec<_>>();
    interesting.extend(negatives);
    let mut cases = vec![];
    for nonce in interesting.iter().step_by(3) {
        for factor in &interesting {
            // The same point twice, opposite points, and neighbours of both.
            let same = *factor * nonce;
            for base in [same, -same, same + Scalar::ONE, -same - Scalar::ONE, *nonce, -*nonce, Scalar::ONE] {
                cases.push((*nonce, base, *factor));
            }
        }
    }
    let signed = cases.iter().map(|(nonce, base, factor)| contrived(*nonce, *base, *factor));
    let signed = signed.collect::<Vec<_>>();
    let expected = cases.iter().map(|(nonce, base, factor)| expected(*nonce, *base, *factor));
    let expected = expected.collect::<Vec<_>>();
    assert!(expected.iter().any(Option::is_none), "some sums are no point");
    for (part, expected) in signed.chunks(64).zip(expected.chunks(64)) {
        agree(part, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_is_signed_is_recovered(
        values in proptest::collection::vec(any::<([u8; 32], [u8; 32], [u8; 32], bool)>(), 1..20),
    ) {
        let signed = values.iter().map(|(r, s, hash, odd)| {
            (Signature::new(number(*r), number(*s), *odd), B256::from(*hash))
        });
        let signed = signed.collect::<Vec<_>>();
        agree(&signed, &one_by_one(&signed));
        // And with numbers that make valid ones.
        let made = values.iter().map(|(nonce, base, factor, _)| {
            (scalar(number(*nonce)), scalar(number(*base)), scalar(number(*factor)))
        });
        let made = made.collect::<Vec<_>>();
        let signed = made.iter().map(|(nonce, base, factor)| contrived(*nonce, *base, *factor));
        let expected = made.iter().map(|(nonce, base, factor)| expected(*nonce, *base, *factor));
        agree(&signed.collect::<Vec<_>>(), &expected.collect::<Vec<_>>());
    }
}
