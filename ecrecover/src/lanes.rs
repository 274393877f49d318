//! Signatures in lanes: some go in together, and each lane's answer comes out.

use crate::{
    curve::{Divide, Recover, Task},
    field::{Avx2, Ifma, Lanes, Words},
    scalar::{self, Factors},
    signer,
};
use alloy_consensus::crypto::secp256k1;
use alloy_primitives::{Address, B256, Signature, keccak256};
use std::sync::LazyLock;

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

/// Who signed each; nobody where somebody else must look.
pub(crate) fn signers(signed: &[(Signature, B256)]) -> Vec<Option<Address>> {
    match *TRUSTED {
        Some(Trusted::Eight(lanes)) => recover(lanes, signed),
        Some(Trusted::Four(lanes)) => recover(lanes, signed),
        None => vec![None; signed.len()],
    }
}

/// These lanes, if the machine has them and they recover signatures whose signers are known.
fn checked<L: Lanes<N>, const N: usize>() -> Option<L> {
    let lanes = L::detect()?;
    let signed = (1..=N as u8).map(|number| {
        let (key, hash) = (B256::with_last_byte(number), keccak256([number]));
        secp256k1::sign_message(key, hash).map(|signature| (signature, hash))
    });
    let signed = signed.collect::<Result<Vec<_>, _>>().ok()?;
    let known = signed.iter().map(|(signature, hash)| signer(signature, *hash));
    (recover(lanes, &signed) == known.collect::<Vec<_>>()).then_some(lanes)
}

/// Who signed each; nobody where somebody else must look, and where a group is so small that one by one is quicker.
pub(crate) fn recover<L: Lanes<N>, const N: usize>(
    lanes: L,
    signed: &[(Signature, B256)],
) -> Vec<Option<Address>> {
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
            signers[*at] = Some(address(&x, &y, lane));
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

/// The address of the public key in a lane.
fn address<const N: usize>(x: &Words<N>, y: &Words<N>, lane: usize) -> Address {
    let mut key = [0; 64];
    let words = x.iter().rev().chain(y.iter().rev());
    for (place, word) in key.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word[lane].to_be_bytes());
    }
    Address::from_slice(&keccak256(key)[12..])
}
