//! What a signature costs: `cargo run --release -p signatures --example speed`.
//!
//! In one run, best of several: recovery one by one with libsecp256k1, recovery in lanes, and the check together, with weights of
//! 128 bits from the transcript and of 64 bits from local randomness, by as many keys as signatures and by a tenth of them.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "this program measures time")]

use alloy_primitives::{B256, Signature as Single, U256};
use secp256k1::{Message, SECP256K1, SecretKey};
use signatures::{Hints, Signature, Weights, hint_of, verify};
use std::{hint::black_box, time::Instant};

fn bytes(number: usize) -> [u8; 32] {
    let words = blake2b::one_block::<1, 8>(&[number as u64]).map(u64::to_le_bytes);
    words.concat().try_into().expect("four words are 32 bytes")
}

fn signed(key: usize, message: usize) -> Signature {
    let key = SecretKey::from_slice(&bytes(key)).expect("a hash is a key but for one in 2¹²⁷");
    let hash = bytes(1 << 40 | message);
    let (id, compact) =
        SECP256K1.sign_ecdsa_recoverable(&Message::from_digest(hash), &key).serialize_compact();
    let [r, s] = [&compact[..32], &compact[32..]].map(|number| U256::from_be_slice(number).into_limbs());
    Signature { r, s, odd_y: i32::from(id) & 1 == 1, hash }
}

/// Microseconds for each signature: the best of some runs.
fn best(count: usize, mut run: impl FnMut()) -> f64 {
    let runs = (20_000 / count).clamp(4, 50);
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::MAX, f64::min) * 1e6 / count as f64
}

fn main() {
    println!("microseconds for each signature; lanes: {}", ecrecover::at_once());
    println!(
        "| signatures | keys | libsecp256k1 | lanes | together, 128 bits | together, 64 bits | hints, bytes each |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (count, keys) in
        [(100, 100), (1_000, 1_000), (1_000, 100), (5_000, 5_000), (5_000, 500), (13_000, 13_000)]
    {
        let signatures = (0..count).map(|at| signed(at % keys, at)).collect::<Vec<_>>();
        let hints = Hints::collect(signatures.iter().map(|one| hint_of(one).expect("an honest signature")));
        let single = |one: &Signature| {
            let [r, s] = [one.r, one.s].map(U256::from_limbs);
            (Single::new(r, s, one.odd_y), B256::from(one.hash))
        };
        let singles = signatures.iter().map(single).collect::<Vec<_>>();
        let one_by_one = best(count, || {
            singles.iter().for_each(|(single, hash)| {
                black_box(ecrecover::signer(single, *hash));
            });
        });
        let lanes = best(count, || drop(black_box(ecrecover::signers(&singles))));
        let together = |weights| {
            best(count, || {
                black_box(verify(&signatures, &hints, weights)).expect("all are right");
            })
        };
        let (transcript, local) = (together(Weights::Transcript), together(Weights::Local(&bytes(7))));
        let size = hints.encode().len() / count;
        println!(
            "| {count} | {keys} | {one_by_one:.1} | {lanes:.1} | {transcript:.2} | {local:.2} | {size} |"
        );
    }
}
