//! A million random signatures against libsecp256k1: `cargo run --release -p signatures --example million [COUNT]`.
//!
//! Bundles of 1 to 2,000 signatures by fewer or as many keys. Each signature must have the key that libsecp256k1 recovers, and
//! each bundle with one random bit changed must be refused.

use secp256k1::{Message, SECP256K1, SecretKey};
use signatures::{Hints, Signature, Weights, hint_of, verify};

const COUNT: usize = 1_000_000;
const BUNDLE_MAX: usize = 2_000;

struct Random(u64);

impl Random {
    fn words(&mut self) -> [u64; 4] {
        self.0 += 1;
        blake2b::one_block::<1, 8>(&[self.0])
    }

    fn bytes(&mut self) -> [u8; 32] {
        let words = self.words().map(u64::to_le_bytes);
        words.concat().try_into().expect("four words are 32 bytes")
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.words()[0] % limit as u64) as usize
    }
}

/// A signature, and the key and R's y as libsecp256k1 says them.
fn signed(key: &SecretKey, hash: [u8; 32]) -> (Signature, ([u8; 64], [u8; 32])) {
    let message = Message::from_digest(hash);
    let recoverable = SECP256K1.sign_ecdsa_recoverable(&message, key);
    let (id, compact) = recoverable.serialize_compact();
    let key = SECP256K1.recover_ecdsa(&message, &recoverable).expect("it was just signed");
    let odd_y = i32::from(id) & 1 == 1;
    let point = [&[2 + u8::from(odd_y)], &compact[..32]].concat();
    let point = secp256k1::PublicKey::from_slice(&point).expect("r is x of a point");
    let [key, point] = [key, point].map(|key| key.serialize_uncompressed());
    let signature = Signature { r: limbs(&compact[..32]), s: limbs(&compact[32..]), odd_y, hash };
    let bytes = |bytes: &[u8]| -> [u8; 32] { bytes.try_into().expect("a coordinate has 32 bytes") };
    let mut both = [0; 64];
    both.copy_from_slice(&key[1..]);
    (signature, (both, bytes(&point[33..])))
}

fn limbs(bytes: &[u8]) -> [u64; 4] {
    let (words, _) = bytes.as_chunks();
    [3, 2, 1, 0].map(|at| u64::from_be_bytes(words[at]))
}

/// Changes one bit of a signature or its hint.
fn spoil(signature: &mut Signature, hints: &mut Hints, at: usize, random: &mut Random) {
    let bit = random.below(256);
    let key = hints.signatures[at].key as usize;
    match random.below(6) {
        0 => signature.r[bit / 64] ^= 1 << (bit % 64),
        1 => signature.s[bit / 64] ^= 1 << (bit % 64),
        2 => signature.hash[bit / 8] ^= 1 << (bit % 8),
        3 => signature.odd_y ^= true,
        4 => hints.signatures[at].r_y[bit / 8] ^= 1 << (bit % 8),
        _ => hints.keys[key][random.below(64)] ^= 1 << (bit % 8),
    }
}

/// Signs, checks, spoils and checks again one bundle.
fn bundle(count: usize, random: &mut Random) {
    let keys = (0..1 + random.below(count)).map(|_| SecretKey::from_slice(&random.bytes()));
    let keys = keys.collect::<Result<Vec<_>, _>>().expect("a hash is a key but for one in 2¹²⁷");
    let all = (0..count).map(|_| signed(&keys[random.below(keys.len())], random.bytes())).collect::<Vec<_>>();
    let mut signatures = all.iter().map(|(signature, _)| *signature).collect::<Vec<_>>();
    let mut hints = Hints::collect(all.iter().map(|(_, hint)| *hint));
    assert_eq!(hint_of(&signatures[0]), Some(all[0].1));
    let local = random.bytes();
    for weights in [Weights::Transcript, Weights::Local(&local)] {
        let signers = verify(&signatures, &hints, weights).expect("all signatures are right");
        for (at, (_, (key, _))) in all.iter().enumerate() {
            assert_eq!(signers.key_of(at), Some(key));
        }
    }
    let at = random.below(count);
    spoil(&mut signatures[at], &mut hints, at, random);
    assert!(verify(&signatures, &hints, Weights::Transcript).is_err(), "a changed bit was accepted");
}

fn main() {
    let count = std::env::args().nth(1).map_or(COUNT, |count| count.parse().expect("a number of signatures"));
    let (mut random, mut done, mut bundles) = (Random(1 << 50), 0, 0);
    while done < count {
        let size = 1 + random.below(BUNDLE_MAX.min(count - done));
        bundle(size, &mut random);
        done += size;
        bundles += 1;
        if bundles % 50 == 0 {
            println!("{done} signatures in {bundles} bundles agree with libsecp256k1");
        }
    }
    println!(
        "{done} signatures agree with libsecp256k1; {bundles} bundles accepted, as many with a changed bit refused"
    );
}
