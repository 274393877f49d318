//! Signatures, recovered many at once: each has the signer that it has by itself.

use alloy_primitives::{B256, Signature, U256, keccak256};
use k256::{
    ProjectivePoint, Scalar,
    elliptic_curve::{PrimeField, ops::Reduce, point::AffineCoordinates},
};

/// More are not tried at once.
const SIGNATURES_MAX: usize = 20;
/// How the rest is meant, and three numbers.
const BYTES: usize = 1 + 3 * 32;
/// The bits of the first byte.
const ODD: u8 = 1;
const CONTRIVED: u8 = 2;

pub(super) fn run(bytes: &[u8]) {
    let (pieces, _) = bytes.as_chunks::<BYTES>();
    let signed = pieces.iter().take(SIGNATURES_MAX).map(signed).collect::<Vec<_>>();
    let together = ecrecover::signers(&signed);
    let each = signed.iter().map(|(signature, hash)| ecrecover::signer(signature, *hash));
    assert_eq!(together, each.collect::<Vec<_>>());
}

fn signed(piece: &[u8; BYTES]) -> (Signature, B256) {
    let [how, numbers @ ..] = piece;
    let (numbers, _) = numbers.as_chunks::<32>();
    let [a, b, c] = [numbers[0], numbers[1], numbers[2]];
    match how & CONTRIVED {
        0 => (Signature::new(U256::from_be_bytes(a), U256::from_be_bytes(b), how & ODD != 0), c.into()),
        _ => contrived([a, b, c].map(|number| <Scalar as Reduce<k256::U256>>::reduce_bytes(&number.into()))),
    }
}

/// A signature whose signer is `base · G + factor · (nonce · G)`: whoever signs can choose all three, and so what the sums
/// on the way to the signer are.
fn contrived([nonce, base, factor]: [Scalar; 3]) -> (Signature, B256) {
    let point = (ProjectivePoint::GENERATOR * nonce).to_affine();
    let r = <Scalar as Reduce<k256::U256>>::reduce_bytes(&point.x());
    let number = |scalar: Scalar| U256::from_be_bytes::<32>(scalar.to_repr().into());
    let signature = Signature::new(number(r), number(factor * r), bool::from(point.y_is_odd()));
    (signature, number(-(base * r)).into())
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let piece = |how: u8, numbers: [U256; 3]| {
        let mut piece = vec![how];
        numbers.iter().for_each(|number| piece.extend_from_slice(&number.to_be_bytes::<32>()));
        piece
    };
    let number = |index: u64| U256::from_be_bytes(keccak256(index.to_be_bytes()).0);
    let random =
        (0..17).flat_map(|index| piece(CONTRIVED, [number(index), number(index + 100), number(index + 200)]));
    let small = (1..10).flat_map(|index| piece(CONTRIVED, [index, 10 - index, 2].map(U256::from)));
    let same = (1..10).flat_map(|index| piece(CONTRIVED, [2, 2 * index, index].map(U256::from)));
    let none =
        (1..12).flat_map(|index| piece(index as u8 & ODD, [U256::from(index), number(index), U256::ZERO]));
    let kinds: [(&str, Vec<u8>); 4] = [
        ("random", random.collect()),
        ("small", small.collect()),
        ("the-same-point-twice", same.collect()),
        ("mostly-none", none.collect()),
    ];
    kinds.map(|(name, bytes)| (name.to_owned(), bytes)).into()
}
