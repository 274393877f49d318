//! Signatures in lanes: some go in together, and each lane's answer comes out.

use crate::{
    curve::{Divide, Recover, Task},
    field::{Avx2, Ifma, Lanes, Words},
    scalar::{self, Factors},
    signer,
};
use alloy_primitives::{B256, Signature, U256, keccak256};
use secp256k1::{Message, SECP256K1, SecretKey};
use std::sync::LazyLock;
use types::Signer;

/// Lanes that do what they should.
enum Trusted {
    Eight(Ifma),
    Four(Avx2),
}

/// The widest that the machine has.
static TRUSTED: LazyLock<Option<Trusted>> =
    LazyLock::new(|| checked().map(Trusted::Eight).or_else(|| checked().map(Trusted::Four)));

/// How many lanes there are to use.
pub(crate) fn count() -> usize {
    match *TRUSTED {
        Some(Trusted::Eight(_)) => 8,
        Some(Trusted::Four(_)) => 4,
        None => 1,
    }
}

/// Who signed each; `None` where libsecp256k1 must look.
pub(crate) fn signers(signed: &[(Signature, B256)]) -> Vec<Option<Signer>> {
    match *TRUSTED {
        Some(Trusted::Eight(lanes)) => recover(lanes, signed),
        Some(Trusted::Four(lanes)) => recover(lanes, signed),
        None => vec![None; signed.len()],
    }
}

/// These lanes, if the machine has them and they recover signatures whose signers are known.
fn checked<L: Lanes<N>, const N: usize>() -> Option<L> {
    let lanes = L::detect()?;
    let signed = (1..=N as u8).map(known).collect::<Option<Vec<_>>>()?;
    let known = signed.iter().map(|(signature, hash)| signer(signature, *hash));
    let found = recover(lanes, &signed).into_iter().map(|found| found.map(|signer| signer.address()));
    known.eq(found).then_some(lanes)
}

/// A signature with the secret key of this number, and what it signs.
fn known(number: u8) -> Option<(Signature, B256)> {
    let (key, hash) = (B256::with_last_byte(number), keccak256([number]));
    let key = SecretKey::from_byte_array(&key.0).ok()?;
    let (id, signature) =
        SECP256K1.sign_ecdsa_recoverable(&Message::from_digest(hash.0), &key).serialize_compact();
    let (halves, _) = signature.as_chunks::<32>();
    let [r, s] = [halves[0], halves[1]].map(U256::from_be_bytes);
    Some((Signature::new(r, s, i32::from(id) == 1), hash))
}

/// Who signed each; `None` where libsecp256k1 must look, and where a group is so small that one by one is quicker.
pub(crate) fn recover<L: Lanes<N>, const N: usize>(
    lanes: L,
    signed: &[(Signature, B256)],
) -> Vec<Option<Signer>> {
    let mut signers = vec![None; signed.len()];
    if signed.len() < L::FEWEST {
        return signers;
    }
    let factors = scalar::factors(signed);
    let able = factors.iter().enumerate().filter_map(|(at, factors)| Some((at, factors.as_ref()?)));
    let able = able.collect::<Vec<_>>();
    let groups = able.chunks(N).filter(|group| group.len() >= L::FEWEST).collect::<Vec<_>>();
    let found = groups.iter().map(|group| lanes.run(Recover(lanes, &task(signed, group))));
    let found = found.collect::<Vec<_>>();
    let points = lanes.run(Divide(lanes, &found));
    for ((group, found), [x, y]) in groups.into_iter().zip(&found).zip(points) {
        for (lane, (at, _)) in group.iter().enumerate().filter(|(lane, _)| found.valid >> lane & 1 == 1) {
            let mut key = [0; 64];
            key[..32].copy_from_slice(&big_endian(&x, lane));
            key[32..].copy_from_slice(&big_endian(&y, lane));
            signers[*at] = Some(Signer { key, r_y: Some(big_endian(&found.r_y, lane)) });
        }
    }
    signers
}

/// What a group of signatures is recovered from. Lanes that are left over do what the last one does.
fn task<'a, const N: usize>(signed: &[(Signature, B256)], group: &[(usize, &'a Factors)]) -> Task<'a, N> {
    let of = |lane: usize| group[lane.min(group.len() - 1)];
    let mut task = Task { x: [[0; N]; 4], odd: 0, factors: std::array::from_fn(|lane| of(lane).1) };
    for lane in 0..N {
        let (signature, _) = &signed[of(lane).0];
        for (words, word) in task.x.iter_mut().zip(signature.r().into_limbs()) {
            words[lane] = word;
        }
        task.odd |= u8::from(signature.v()) << lane;
    }
    task
}

/// The number in a lane.
fn big_endian<const N: usize>(words: &Words<N>, lane: usize) -> [u8; 32] {
    let mut number = [0; 32];
    for (bytes, word) in number.chunks_exact_mut(8).zip(words.iter().rev()) {
        bytes.copy_from_slice(&word[lane].to_be_bytes());
    }
    number
}
