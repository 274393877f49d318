//! Memory, time and requests are bounded, whatever comes.

use super::*;
use std::collections::BTreeSet;

#[test]
fn missing_ancestors_are_asked_for_within_limits() {
    let mut source = FollowedChain::new();
    let mut blocks = Vec::new();
    for slot in 1..=40 {
        let block = source.make(source.head(), slot, Body::default());
        source.follower.import(block.clone());
        blocks.push(block);
    }
    let mut chain = FollowedChain::with(Limits { orphans_max: 10, wanted_max: 3, ..Limits::default() });
    for block in blocks.iter().skip(1).step_by(2) {
        chain.follower.import(block.clone());
    }
    // Twenty came, ten are kept: the nearest. Three of their parents are asked for: the nearest.
    assert_eq!(chain.follower.size().1, 10);
    assert_eq!(chain.follower.wanted(), [0, 2, 4].map(|i: usize| blocks[i].header.hash()));
    for block in &blocks {
        chain.follower.import(block.clone());
    }
    assert_eq!(chain.head(), source.head());
    assert_eq!((chain.follower.size().1, chain.follower.wanted()), (0, vec![]));
}

#[test]
fn memory_is_bounded_by_unfinalized_blocks() {
    let mut chain = FollowedChain::new();
    let mut sizes = BTreeSet::new();
    let mut recent = vec![chain.head(); 2];
    for n in 0..400 {
        let available: &[u16] = if n == 0 { &[] } else { &[0] };
        recent.push(chain.extend(vec![chain.report(n, 0)], available));
        // A fork that loses, at every height.
        if n > 0 {
            let below = recent[recent.len() - 3];
            let fork = chain.make(below, chain.slot(), Body { salt: n, ..Body::default() });
            chain.follower.import(fork);
        }
        let final_block = recent[recent.len().saturating_sub(4)];
        chain.finalize(final_block);
        if n > 50 {
            sizes.insert(chain.follower.size());
        }
    }
    let (nodes, orphans, packages) = sizes.last().copied().unwrap();
    assert!(nodes <= 10 && orphans == 0, "{sizes:?}");
    assert!(packages <= PARAMS.epoch_slots as usize + 6, "{sizes:?}");
    assert!(sizes.len() <= 4, "it does not grow: {sizes:?}");
}

#[test]
fn a_flood_of_forks_stays_within_the_limit() {
    let mut chain = FollowedChain::with(Limits { unfinalized_max: 20, ..Limits::default() });
    let root = chain.head();
    for salt in 0..100 {
        let fork = chain.make(root, 1, Body { salt, ..Body::default() });
        chain.follower.import(fork);
    }
    assert!(chain.follower.size().0 <= 21);
    let head = chain.extend(vec![chain.report(1, 0)], &[]);
    assert_eq!(chain.head(), head);
}

/// A liar's chain of empty blocks is higher than the honest one and fills the memory. Validators call the honest one
/// final; that must be enough.
#[test]
fn a_long_chain_of_lies_cannot_keep_the_honest_one_out() {
    let mut honest = FollowedChain::new();
    let blocks = honest.grow(60);
    let mut chain = FollowedChain::with(Limits { unfinalized_max: 20, ..Limits::default() });
    chain.follower.import(blocks[0].clone());
    for slot in 2..40 {
        let lie = chain.make(chain.head(), slot, Body { salt: 7, ..Body::default() });
        chain.follower.import(lie);
    }
    assert_eq!(chain.follower.size().0, 21);
    let keys = keys(&chain.author);
    for block in &blocks[1..] {
        let (hash, slot) = (block.header.hash(), block.header.slot);
        chain.follower.import(block.clone());
        chain.claim(&keys[..5], hash, slot);
    }
    assert_eq!((chain.head(), chain.follower.finalized().hash), (honest.head(), honest.head()));
}

#[test]
fn what_validators_call_final_is_not_pushed_out() {
    let mut chain = FollowedChain::with(Limits { unfinalized_max: 20, ..Limits::default() });
    let root = chain.head();
    let low = chain.extend(vec![], &[]);
    let keys = keys(&chain.author);
    chain.claim(&keys[..3], low, 1);
    for salt in 1..60 {
        let other = chain.make(root, 1, Body { salt, ..Body::default() });
        chain.follower.import(other);
    }
    assert!(chain.follower.contains(low));
    assert!(chain.claim(&keys[3..5], low, 1).finalized_moved);
}

/// More blocks than fit, none of them named but the last: this gap is not crossed. Nothing is held against the blocks,
/// and words on a block in reach are enough to go on.
#[test]
fn a_gap_above_the_limit_ends_in_full_until_a_word_comes_in_reach() {
    let mut honest = FollowedChain::new();
    let blocks = honest.grow(30);
    let mut chain = FollowedChain::with(Limits { unfinalized_max: 20, ..Limits::default() });
    for block in &blocks[..20] {
        assert_eq!(chain.follower.import(block.clone()).refused, []);
    }
    assert_eq!(chain.refusal(blocks[20].clone()), Some(Refused::Full));
    let keys = keys(&chain.author);
    chain.claim(&keys, blocks[14].header.hash(), 15);
    for block in &blocks[20..] {
        assert_eq!(chain.follower.import(block.clone()).refused, []);
    }
    assert_eq!(chain.head(), honest.head());
}

#[test]
fn blocks_with_made_up_parents_do_not_starve_the_others() {
    let blocks = FollowedChain::new().grow(5);
    let made_up = |i: u64| {
        let mut block = blocks[0].clone();
        block.header.unsealed.parent = HeaderHash(Hash::from(alloy_primitives::U256::from(i + 77)));
        block
    };
    let mut chain = FollowedChain::with(Limits { wanted_max: 4, orphans_max: 40, ..Limits::default() });
    (0..20).for_each(|i| drop(chain.follower.import(made_up(i))));
    chain.follower.import(blocks[4].clone());
    assert!(!chain.follower.wanted().contains(&blocks[3].header.hash()), "it stands in line");
    // Nobody has the parents that do not exist. New ones come all the time, but behind.
    for i in 20..40 {
        let wanted = chain.follower.wanted();
        if wanted.contains(&blocks[3].header.hash()) {
            break;
        }
        chain.follower.unavailable(wanted[0]);
        chain.follower.import(made_up(i));
    }
    assert!(chain.follower.wanted().contains(&blocks[3].header.hash()));
}

#[test]
fn what_validators_call_final_is_asked_for_first_and_kept() {
    let blocks = FollowedChain::new().grow(5);
    let mut chain = FollowedChain::with(Limits { wanted_max: 4, orphans_max: 20, ..Limits::default() });
    for i in 0..100 {
        let mut block = blocks[0].clone();
        block.header.unsealed.parent = HeaderHash(Hash::from(alloy_primitives::U256::from(i + 77)));
        chain.follower.import(block);
    }
    let keys = keys(&chain.author);
    let named = blocks[4].header.hash();
    chain.claim(&keys[..3], named, 5);
    assert_eq!(chain.follower.wanted()[0], named);
    // It comes, and waits; it is the farthest ahead, but not the one to go, and neither is what leads to it.
    for block in blocks.iter().rev() {
        assert_eq!(chain.follower.wanted()[0], block.header.hash());
        chain.follower.import(block.clone());
    }
    assert_eq!((chain.head(), chain.follower.size().1), (named, 16));
}
