//! Following the chain at full size: 341 reports and 1,023 assurances in one block.

use super::{Ratio, cost, median_of_pairs};
use ed25519_zebra::{Signature, VerificationKey};
use jam::{
    Block, Hash, HeaderHash, PackageHash, Params,
    codec::Encode,
    follow::{Follower, Limits},
    hash::blake2b,
    sample::{Author, Body},
};
use std::time::Duration;

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "follow-import", target: 1.3, measure: import_against_bare_signatures },
    Ratio { name: "follow-stall", target: 1.5, measure: import_while_finality_stands_still },
];

const PAIRS: usize = 7;

/// Import of a block against nothing but the verification of its signatures, with keys made ready beforehand.
fn import_against_bare_signatures() -> f64 {
    let author = Author::new(Params::FULL);
    let follower = || Follower::new(Params::FULL, author.start(), Limits::default());
    let mut scratch = follower();
    let first = author.full_block(&scratch.view(), 1, false);
    assert!(scratch.import(first.clone()).refused.is_empty(), "the first block must be believed");
    let second = author.full_block(&scratch.view(), 2, true);
    let keys = author.secrets().iter().map(|secret| {
        VerificationKey::try_from(secret.public().0.0).expect("a key made from a secret is a key")
    });
    let keys = keys.collect::<Vec<_>>();
    let signatures = signatures_of(&second);
    println!(
        "follow-import: {} reports, {} assurances, {} signatures, {} bytes",
        second.extrinsic.guarantees.len(),
        second.extrinsic.assurances.len(),
        signatures.len(),
        second.encode().len()
    );
    let ours = || {
        let mut follower = follower();
        follower.import(first.clone());
        let block = second.clone();
        let (time, update) = cost(|| follower.import(block));
        assert!(update.refused.is_empty() && update.changed.len() == 682, "{:?}", update.refused);
        time
    };
    let floor = || -> Duration {
        cost(|| {
            for (validator, signature, message) in &signatures {
                keys[usize::from(*validator)].verify(signature, message).expect("valid");
            }
        })
        .0
    };
    median_of_pairs(PAIRS, ours, floor)
}

/// Every signature of a block: who made it, and what it signs.
fn signatures_of(block: &Block) -> Vec<(u16, Signature, Vec<u8>)> {
    let guarantees = block.extrinsic.guarantees.iter().flat_map(|guarantee| {
        let message = [b"jam_guarantee", guarantee.report.hash().as_slice()].concat();
        guarantee
            .signatures
            .iter()
            .map(move |s| (s.validator, Signature::from(s.signature.0), message.clone()))
    });
    let assurances = block.extrinsic.assurances.iter().map(|assurance| {
        let subject = blake2b(&[assurance.anchor.as_slice(), &assurance.bits]);
        let message = [b"jam_available", subject.as_slice()].concat();
        (assurance.validator, Signature::from(assurance.signature.0), message)
    });
    guarantees.chain(assurances).collect()
}

/// The cost of a block on top of 4,000 unfinalized ones against that of a block on top of 2,000: an import must not walk
/// down to the finalized block.
fn import_while_finality_stands_still() -> f64 {
    let author = Author::new(Params::TINY);
    let start = || Follower::new(Params::TINY, author.start(), Limits::default());
    let mut source = start();
    let blocks = (1..=4000).map(|slot| {
        let block = author.block(&source.view(), slot, Body::default());
        source.import(block.clone());
        block
    });
    let blocks = blocks.collect::<Vec<Block>>();
    let per_block = |count: usize| {
        let mut follower = start();
        // Validators disagree, so that nothing becomes final and there is always something to count.
        for (index, secret) in author.secrets().iter().enumerate() {
            let (hash, slot) =
                if index < 4 { (blocks[0].header.hash(), 1) } else { (HeaderHash::ZERO, 1_000_000) };
            follower.claim_final(secret.public(), hash, slot);
        }
        let blocks = blocks[..count].to_vec();
        let (time, ()) = cost(|| {
            for block in blocks {
                follower.import(block);
                follower.view().fate(PackageHash(Hash::ZERO));
            }
        });
        time / count as u32
    };
    median_of_pairs(PAIRS, || per_block(4000), || per_block(2000))
}
