//! Following a chain whose finality stands still.

use jam::{
    Block, Hash, HeaderHash, PackageHash, Params,
    follow::{Follower, Limits},
    sample::{Author, Body},
};
use std::time::{Duration, Instant};

/// An import takes a time that does not depend on how many unfinalized blocks are below; with a walk down to the
/// finalized block it was twice as long for twice as many. The factor leaves room for a busy machine.
#[test]
fn twice_as_many_unfinalized_blocks_take_twice_as_long() {
    let author = Author::new(Params::TINY);
    let start = || Follower::new(Params::TINY, author.start(), Limits::default());
    let mut source = start();
    let blocks = (1..=4000).map(|slot| {
        let block = author.block(&source.view(), slot, Body::default());
        source.import(block.clone());
        block
    });
    let blocks = blocks.collect::<Vec<Block>>();
    let time = |count: usize| -> Duration {
        let mut follower = start();
        // Validators disagree, so that nothing becomes final and there is always something to count.
        let (some, others) = author.secrets().split_at(4);
        for secret in some {
            follower.claim_final(secret.public(), blocks[0].header.hash(), 1);
        }
        for secret in others {
            follower.claim_final(secret.public(), HeaderHash::ZERO, 1_000_000);
        }
        let started = Instant::now();
        for block in &blocks[..count] {
            follower.import(block.clone());
            follower.view().fate(PackageHash(Hash::ZERO));
        }
        assert_eq!(follower.size().0, count + 1);
        started.elapsed()
    };
    let best = |count| (0..3).map(|_| time(count)).min().unwrap();
    let (half, whole) = (best(2000), best(4000));
    println!("2,000 blocks: {half:?}, 4,000 blocks: {whole:?}");
    assert!(whole < 3 * half, "2,000 blocks: {half:?}, 4,000 blocks: {whole:?}");
}
