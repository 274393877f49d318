//! Signatures checked together with hints: the verdict is that of recovery one by one, whatever was changed.

use alloy_primitives::{Address, B256, Signature as Single, U256, keccak256};
use k256::{
    AffinePoint, ProjectivePoint, Scalar,
    elliptic_curve::{
        PrimeField,
        ops::Reduce,
        point::{AffineCoordinates, DecompressPoint},
        sec1::ToEncodedPoint,
        subtle::Choice,
    },
};
use signatures::{Hints, Refused, Signature, Weights, hint_of, verify};

/// More are not tried at once.
const SIGNATURES_MAX: usize = 24;
const CHANGES_MAX: usize = 8;
/// How many changes come first, and the bytes of each: what, where, which bit.
const CHANGE: usize = 3;
/// How a signature is meant, and three numbers.
const PIECE: usize = 1 + 3 * 32;
const CONTRIVED: u8 = 2;
const ODD: u8 = 1;

pub(super) fn run(bytes: &[u8]) {
    if let Some(hints) = Hints::decode(bytes) {
        assert_eq!(hints.encode(), bytes);
    }
    let Some((count, rest)) = bytes.split_first() else { return };
    let count = usize::from(*count) % (CHANGES_MAX + 1);
    let Some((changes, rest)) = rest.split_at_checked(count * CHANGE) else { return };
    let (pieces, _) = rest.as_chunks::<PIECE>();
    let mut signatures = pieces.iter().take(SIGNATURES_MAX).map(signature).collect::<Vec<_>>();
    // What cannot have a hint gets one that must be refused.
    let hint = |signature: &Signature| hint_of(signature).unwrap_or(([3; 64], [4; 32]));
    let mut hints = Hints::collect(signatures.iter().map(hint));
    agree(&signatures, &hints);
    for [what, at, bit] in changes.as_chunks::<CHANGE>().0 {
        if !signatures.is_empty() {
            change(&mut signatures, &mut hints, *what, usize::from(*at), usize::from(*bit));
        }
    }
    agree(&signatures, &hints);
}

/// The verdict with both kinds of weights is what libsecp256k1 and k256 say of each.
fn agree(signatures: &[Signature], hints: &Hints) {
    let expected = signatures.len() == hints.signatures.len()
        && signatures.iter().zip(&hints.signatures).all(|(signature, hint)| {
            hints.keys.get(hint.key as usize).is_some_and(|key| made(signature, key, &hint.r_y))
        });
    for weights in [Weights::Transcript, Weights::Local(&keccak256([signatures.len() as u8]).0)] {
        let verdict = verify(signatures, hints, weights);
        // A change can leave a key without a signature, which is refused although no signature is wrong.
        let unused = matches!(verdict, Err(Refused::KeyUnused { .. }));
        assert!(verdict.is_ok() == expected || unused && expected, "{verdict:?}, expected {expected}");
    }
}

/// Whether this key made the signature, by recovery, and R has this y.
fn made(signature: &Signature, key: &[u8; 64], r_y: &[u8; 32]) -> bool {
    let [r, s] = [signature.r, signature.s].map(U256::from_limbs);
    let single = Single::new(r, s, signature.odd_y);
    let signer = ecrecover::signer(&single, B256::from(signature.hash));
    let point =
        AffinePoint::decompress(&r.to_be_bytes::<32>().into(), Choice::from(u8::from(signature.odd_y)));
    let y = Option::<AffinePoint>::from(point).map(|point| point.to_encoded_point(false));
    single.normalize_s().is_none()
        && signer == Some(Address::from_slice(&keccak256(key)[12..]))
        && y.is_some_and(|point| point.y().is_some_and(|y| <[u8; 32]>::from(*y) == *r_y))
}

fn change(signatures: &mut [Signature], hints: &mut Hints, what: u8, at: usize, bit: usize) {
    let (count, keys) = (signatures.len(), hints.keys.len());
    let (at, other) = (at % count, bit % count);
    match what % 11 {
        0 => signatures[at].r[bit / 64] ^= 1 << (bit % 64),
        1 => signatures[at].s[bit / 64] ^= 1 << (bit % 64),
        2 => signatures[at].hash[bit / 8] ^= 1 << (bit % 8),
        3 => signatures[at].odd_y ^= true,
        4 => hints.signatures[at].r_y[bit / 8] ^= 1 << (bit % 8),
        5 => hints.keys[at % keys][bit / 4] ^= 1 << (bit % 8),
        6 => hints.signatures[at].key = other as u32,
        7 => signatures.swap(at, other),
        8 => hints.signatures.swap(at, other),
        9 => hints.keys.swap(at % keys, other % keys),
        _ => signatures[at].hash = signatures[other].hash,
    }
}

fn signature([how, numbers @ ..]: &[u8; PIECE]) -> Signature {
    let (numbers, _) = numbers.as_chunks::<32>();
    let [a, b, c] = [numbers[0], numbers[1], numbers[2]];
    if how & CONTRIVED == 0 {
        let [r, s] = [a, b].map(|number| U256::from_be_bytes(number).into_limbs());
        return Signature { r, s, odd_y: how & ODD != 0, hash: c };
    }
    contrived([a, b, c].map(|number| <Scalar as Reduce<k256::U256>>::reduce_bytes(&number.into())))
}

/// A signature whose signer is `base · G + factor · (nonce · G)`. Its s is made low.
fn contrived([nonce, base, factor]: [Scalar; 3]) -> Signature {
    let point = (ProjectivePoint::GENERATOR * nonce).to_affine();
    let r = <Scalar as Reduce<k256::U256>>::reduce_bytes(&point.x());
    let number = |scalar: Scalar| U256::from_be_bytes::<32>(scalar.to_repr().into());
    let single = Single::new(number(r), number(factor * r), bool::from(point.y_is_odd()));
    let single = single.normalize_s().unwrap_or(single);
    Signature {
        r: single.r().into_limbs(),
        s: single.s().into_limbs(),
        odd_y: single.v(),
        hash: number(-(base * r)).to_be_bytes(),
    }
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let piece = |numbers: [U256; 3]| {
        let mut piece = vec![CONTRIVED];
        numbers.iter().for_each(|number| piece.extend_from_slice(&number.to_be_bytes::<32>()));
        piece
    };
    let number = |index: u64| U256::from_be_bytes(keccak256(index.to_be_bytes()).0);
    let random = (0..12).flat_map(|index| piece([number(index), number(index + 100), number(index + 200)]));
    let random = random.collect::<Vec<_>>();
    let small = (1..20).flat_map(|index| piece([index, 20 - index, 2].map(U256::from)));
    let same_nonce = (1..20).flat_map(|index| piece([7, index, 1].map(U256::from)));
    let same_signature = (0..16).flat_map(|_| piece([3, 5, 9].map(U256::from)));
    let with = |changes: &[[u8; CHANGE]], pieces: &[u8]| {
        [&[changes.len() as u8], changes.as_flattened(), pieces].concat()
    };
    let mut seeds = vec![
        ("random".to_owned(), with(&[], &random)),
        ("small".to_owned(), with(&[], &small.collect::<Vec<_>>())),
        ("same-nonce".to_owned(), with(&[], &same_nonce.collect::<Vec<_>>())),
        ("same-signature".to_owned(), with(&[[1, 4, 9]], &same_signature.collect::<Vec<_>>())),
    ];
    let names =
        ["r", "s", "hash", "parity", "r-y", "key", "key-index", "signatures", "hints", "keys", "hashes"];
    for (what, name) in names.iter().enumerate() {
        seeds.push((format!("changed-{name}"), with(&[[what as u8, 5, 77]], &random)));
    }
    seeds.push(("twice-changed".to_owned(), with(&[[3, 5, 0], [3, 5, 0]], &random)));
    seeds
}
