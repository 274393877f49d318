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

/// A way to recover signatures in lanes.
struct Way {
    lanes: usize,
    recover: Box<dyn Fn(&[(Signature, B256)]) -> Vec<Option<Address>> + Send + Sync>,
}

/// The widest that the machine has and that does what it should.
static TRUSTED: LazyLock<Option<Way>> = LazyLock::new(|| trusted::<Ifma, 8>().or_else(trusted::<Avx2, 4>));

/// How many lanes there are to use.
pub(crate) fn count() -> usize {
    TRUSTED.as_ref().map_or(1, |way| way.lanes)
}

/// Who signed each; nobody where somebody else must look.
pub(crate) fn signers(signed: &[(Signature, B256)]) -> Vec<Option<Address>> {
    match &*TRUSTED {
        Some(way) => (way.recover)(signed),
        None => vec![None; signed.len()],
    }
}

/// These lanes, if the machine has them and they recover signatures whose signers are known.
fn trusted<L: Lanes<N> + Send + Sync + 'static, const N: usize>() -> Option<Way> {
    let lanes = L::detect()?;
    let signed = (1..=N as u8).map(|number| {
        let (key, hash) = (B256::with_last_byte(number), keccak256([number]));
        secp256k1::sign_message(key, hash).map(|signature| (signature, hash))
    });
    let signed = signed.collect::<Result<Vec<_>, _>>().ok()?;
    let known = signed.iter().map(|(signature, hash)| signer(signature, *hash)).collect::<Vec<_>>();
    (recover(lanes, &signed) == known)
        .then(|| Way { lanes: N, recover: Box::new(move |signed| recover(lanes, signed)) })
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
