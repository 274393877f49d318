//! Signatures in lanes: eight go in together, and each lane's answer comes out.

use crate::{
    curve::{Divide, Recover, Task},
    field::{LANES, Lanes, Words},
    scalar::{self, Factors},
    signer,
};
use alloy_consensus::crypto::secp256k1;
use alloy_primitives::{Address, B256, Signature, keccak256};
use std::sync::LazyLock;

/// Fewer than this are cheaper one by one: lanes without work cost the same.
const FEWEST: usize = 2;

/// The instructions, if the machine has them and they do what they should.
static TRUSTED: LazyLock<Option<Lanes>> = LazyLock::new(|| Lanes::try_new().filter(|lanes| works(*lanes)));

/// Whether there are lanes to use.
pub(crate) fn are_there() -> bool {
    TRUSTED.is_some()
}

/// Who signed each; nobody where somebody else must look.
pub(crate) fn signers(signed: &[(Signature, B256)]) -> Vec<Option<Address>> {
    match *TRUSTED {
        Some(lanes) if signed.len() >= FEWEST => recover(lanes, signed),
        _ => vec![None; signed.len()],
    }
}

/// Recovers signatures whose signers are known.
fn works(lanes: Lanes) -> bool {
    let signed = (1..=LANES as u8).map(|number| {
        let (key, hash) = (B256::with_last_byte(number), keccak256([number]));
        secp256k1::sign_message(key, hash).map(|signature| (signature, hash))
    });
    signed.collect::<Result<Vec<_>, _>>().is_ok_and(|signed| {
        let known = signed.iter().map(|(signature, hash)| signer(signature, *hash));
        recover(lanes, &signed) == known.collect::<Vec<_>>()
    })
}

fn recover(lanes: Lanes, signed: &[(Signature, B256)]) -> Vec<Option<Address>> {
    let mut signers = vec![None; signed.len()];
    let factors = scalar::factors(signed);
    let able = factors.iter().enumerate().filter_map(|(at, factors)| Some((at, factors.as_ref()?)));
    let able = able.collect::<Vec<_>>();
    let groups = able.chunks(LANES).filter(|group| group.len() >= FEWEST).collect::<Vec<_>>();
    let found = groups.iter().map(|group| lanes.vectorize(Recover(lanes, &task(signed, group))));
    let found = found.collect::<Vec<_>>();
    let points = lanes.vectorize(Divide(lanes, &found));
    for ((group, found), [x, y]) in groups.into_iter().zip(&found).zip(points) {
        for (lane, (at, _)) in group.iter().enumerate().filter(|(lane, _)| found.valid >> lane & 1 == 1) {
            signers[*at] = Some(address(&x, &y, lane));
        }
    }
    signers
}

/// What a group of signatures is recovered from. Lanes that are left over do what the last one does.
fn task<'a>(signed: &[(Signature, B256)], group: &[(usize, &'a Factors)]) -> Task<'a> {
    let of = |lane: usize| group[lane.min(group.len() - 1)];
    let mut task = Task { x: [[0; LANES]; 4], odd: 0, factors: std::array::from_fn(|lane| of(lane).1) };
    for lane in 0..LANES {
        let (signature, _) = &signed[of(lane).0];
        for (words, word) in task.x.iter_mut().zip(signature.r().into_limbs()) {
            words[lane] = word;
        }
        task.odd |= u8::from(signature.v()) << lane;
    }
    task
}

/// The address of the public key in a lane.
fn address(x: &[Words; 4], y: &[Words; 4], lane: usize) -> Address {
    let mut key = [0; 64];
    let words = x.iter().rev().chain(y.iter().rev());
    for (place, word) in key.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word[lane].to_be_bytes());
    }
    Address::from_slice(&keccak256(key)[12..])
}
