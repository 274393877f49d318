//! Against libsecp256k1, one by one, and arithmetic against k256.

extern crate std;

mod arithmetic;
mod bits;
mod bugs;
mod edge;
mod oracle;

use crate::{
    Hints, Refused, Signature, Weights,
    bugs::Rules,
    check::check,
    field::{self, Limbs},
};
use k256::{
    EncodedPoint, ProjectivePoint, Scalar,
    elliptic_curve::{
        PrimeField,
        ops::Reduce,
        sec1::{FromEncodedPoint, ToEncodedPoint},
    },
};
use secp256k1::{
    Message, SECP256K1, SecretKey,
    ecdsa::{RecoverableSignature, RecoveryId},
};
use std::{vec, vec::Vec};

/// A sequence of random-looking bytes, the same in every run.
struct Random(u64);

impl Random {
    fn bytes(&mut self) -> [u8; 32] {
        self.0 += 1;
        field::bytes(&blake2b::one_block::<1, 8>(&[self.0]))
    }

    fn below(&mut self, limit: usize) -> usize {
        self.bytes()[..8].iter().fold(0_usize, |number, byte| number << 8 | *byte as usize) % limit
    }

    fn scalar(&mut self) -> Scalar {
        reduced(self.bytes())
    }
}

fn reduced(bytes: [u8; 32]) -> Scalar {
    <Scalar as Reduce<k256::U256>>::reduce_bytes(&bytes.into())
}

fn limbs_of(scalar: &Scalar) -> Limbs {
    field::limbs(&scalar.to_repr().into())
}

/// x and y of a point other than infinity.
fn key_of(point: &ProjectivePoint) -> [u8; 64] {
    point.to_affine().to_encoded_point(false).as_bytes()[1..].try_into().unwrap()
}

fn point_of(x: [u8; 32], y: [u8; 32]) -> Option<ProjectivePoint> {
    let encoded = EncodedPoint::from_affine_coordinates(&x.into(), &y.into(), false);
    Option::from(ProjectivePoint::from_encoded_point(&encoded))
}

fn halves(key: [u8; 64]) -> [[u8; 32]; 2] {
    let (halves, _) = key.as_chunks();
    [halves[0], halves[1]]
}

fn honest(key: [u8; 32], hash: [u8; 32]) -> Signature {
    let key = SecretKey::from_slice(&key).unwrap();
    let signature = SECP256K1.sign_ecdsa_recoverable(&Message::from_digest(hash), &key);
    let (id, bytes) = signature.serialize_compact();
    let [r, s] = halves(bytes);
    Signature { r: field::limbs(&r), s: field::limbs(&s), odd_y: i32::from(id) & 1 == 1, hash }
}

/// What libsecp256k1 recovers.
fn recovered(signature: &Signature) -> Option<[u8; 64]> {
    let mut compact = [0; 64];
    compact[..32].copy_from_slice(&field::bytes(&signature.r));
    compact[32..].copy_from_slice(&field::bytes(&signature.s));
    let id = RecoveryId::try_from(i32::from(signature.odd_y)).unwrap();
    let compact = RecoverableSignature::from_compact(&compact, id).ok()?;
    let key = SECP256K1.recover_ecdsa(&Message::from_digest(signature.hash), &compact).ok()?;
    Some(key.serialize_uncompressed()[1..].try_into().unwrap())
}

/// y of R, by libsecp256k1.
fn y_of(signature: &Signature) -> Option<[u8; 32]> {
    let mut compressed = [2 + u8::from(signature.odd_y); 33];
    compressed[1..].copy_from_slice(&field::bytes(&signature.r));
    let point = secp256k1::PublicKey::from_slice(&compressed).ok()?;
    Some(point.serialize_uncompressed()[33..].try_into().unwrap())
}

/// A signature by the key `base · G + factor · point`, whose discrete logarithm need not be known. s may come out high: then its
/// negative belongs to the point's negative.
fn contrived(point: &ProjectivePoint, base: Scalar, factor: Scalar) -> Signature {
    let [x, y] = halves(key_of(point));
    let r = reduced(x);
    let (s, hash) = (factor * r, -(base * r));
    let odd_y = y[31] & 1 == 1;
    let (s, odd_y) =
        if bool::from(k256::elliptic_curve::scalar::IsHigh::is_high(&s)) { (-s, !odd_y) } else { (s, odd_y) };
    Signature { r: limbs_of(&r), s: limbs_of(&s), odd_y, hash: hash.to_repr().into() }
}

fn hints_of(signatures: &[Signature]) -> Hints {
    Hints::collect(signatures.iter().map(|one| (recovered(one).unwrap(), y_of(one).unwrap())))
}

/// Some honest signatures by some keys, and their hints.
fn honest_bundle(count: usize, keys: usize, seed: u64) -> (Vec<Signature>, Hints) {
    let mut random = Random(seed << 32);
    let keys = (0..keys).map(|_| random.bytes()).collect::<Vec<_>>();
    let signatures = (0..count).map(|at| honest(keys[at % keys.len()], random.bytes())).collect::<Vec<_>>();
    let hints = hints_of(&signatures);
    (signatures, hints)
}

/// What is said with the weights of the transcript; with local ones it must be the same.
fn verdict(signatures: &[Signature], hints: &Hints) -> Result<(), Refused> {
    let verdict = check(signatures, hints, Weights::Transcript, Rules::default());
    let random = Random(signatures.len() as u64).bytes();
    assert_eq!(verdict, check(signatures, hints, Weights::Local(&random), Rules::default()));
    verdict
}
