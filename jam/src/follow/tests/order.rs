//! What came decides, not in which order.

use super::*;
use crate::{
    codec::{Decode, Encode},
    follow::Start,
    sample::Source,
    shuffle::shuffled,
};
use proptest::prelude::*;

/// A block, its slot, and validators of its epoch who call it final.
type Final = (HeaderHash, u32, Vec<Ed25519Key>);

/// A random tree of blocks with reports and availability, in an order in which parents come first.
fn random_tree(author: &Author, seed: u64) -> (Vec<Block>, Vec<Final>) {
    let mut chain = FollowedChain::of(author.clone(), Limits::default());
    let mut source = Source::new(&PARAMS, seed);
    let mut known = vec![chain.head()];
    let mut blocks = Vec::new();
    for n in 0..24 {
        // Mostly near the top, so that branches grow.
        let parent = known[known.len() - 1 - source.below(known.len().min(4))];
        let view = chain.follower.view_from(parent).unwrap();
        let slot = view.head().slot + 1 + source.below(3) as u32;
        let engaged = (0..2).filter(|core| view.core(*core).is_some());
        let available = engaged.filter(|_| source.below(3) > 0).collect::<Vec<_>>();
        let timeout = |core: u16| view.core(core).is_some_and(|busy| slot >= busy.until_slot);
        let free =
            (0..2).filter(|core| view.core(*core).is_none() || available.contains(core) || timeout(*core));
        let chosen = free.filter(|_| source.below(2) == 0).collect::<Vec<_>>();
        let reports = chosen.into_iter().map(|core| {
            let mut report = chain.author.report(&view, package(2 * n + u64::from(core)), core, parent);
            report.context.lookup_anchor_slot = view.head().slot;
            // Whatever was reported lately may be waited for.
            let reported = view.recent().flat_map(|block| block.reported.keys().copied()).collect::<Vec<_>>();
            if source.below(4) == 0 && !reported.is_empty() {
                report.context.prerequisites.insert(reported[source.below(reported.len())]);
            }
            report
        });
        let reports = reports.collect();
        let block = chain.make(parent, slot, Body { reports, available, salt: n });
        known.push(block.header.hash());
        blocks.push(block.clone());
        assert_eq!(chain.follower.import(block).refused, []);
    }
    let view = chain.follower.view();
    let finals = view.recent().skip(1).map(|block| block.hash);
    let finals = finals.filter_map(|hash| {
        let view = chain.follower.view_from(hash)?;
        Some((hash, view.head().slot, view.epoch().current.keys()[..5].to_vec()))
    });
    let finals = finals.collect();
    (blocks, finals)
}

/// Everything that a view answers.
fn answers(follower: &Follower) -> String {
    let describe = |view: crate::follow::ChainView<'_>| {
        let fates = (0..48).map(|n| view.fate(package(n))).collect::<Vec<_>>();
        let finals = (0..48).map(|n| view.finalized_fate(package(n))).collect::<Vec<_>>();
        let recent =
            view.recent().map(|block| (block.clone(), view.anchor_life(block.hash))).collect::<Vec<_>>();
        format!("{:?} {fates:?} {finals:?} {recent:?} {:?}", view.head(), [view.core(0), view.core(1)])
    };
    let mut nodes = follower.nodes.keys().copied().collect::<Vec<_>>();
    nodes.sort();
    let branches =
        nodes.iter().filter_map(|hash| follower.view_from(*hash)).map(describe).collect::<Vec<_>>();
    format!("{:?} {:?} {branches:?} {:?}", follower.view().head(), follower.finalized(), follower.wanted())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_delivery_gives_the_same_view(
        seed: u64,
        order: [u8; 32],
        again: [u8; 32],
        turnover in 0..2_u16,
    ) {
        let author = Author::changing(PARAMS, turnover);
        let (blocks, finals) = random_tree(&author, seed);
        let fresh = || FollowedChain::of(author.clone(), Limits::default());
        let deliver = |order: Vec<usize>| {
            let mut chain = fresh();
            for index in order {
                chain.follower.import(blocks[index].clone());
            }
            chain
        };
        let in_order = || (0..blocks.len()).collect::<Vec<_>>();
        let mut straight = deliver(in_order());
        let expected = answers(&straight.follower);
        let shuffled_once = shuffled(in_order(), order.into());
        let mut other = deliver(shuffled_once.clone());
        prop_assert_eq!(&answers(&other.follower), &expected);

        // Duplicates change nothing.
        for index in shuffled(in_order(), again.into()) {
            prop_assert_eq!(other.follower.import(blocks[index].clone()), Update::default());
        }
        prop_assert_eq!(&answers(&other.follower), &expected);

        // Nor does it matter whether finality is told before, between or after.
        for (hash, slot, keys) in finals.iter().rev() {
            straight.claim(keys, *hash, *slot);
        }
        let expected = answers(&straight.follower);
        let mut early = fresh();
        let mut between = fresh();
        let halfway = shuffled_once.len() / 2;
        for index in &shuffled_once[..halfway] {
            between.follower.import(blocks[*index].clone());
        }
        for (hash, slot, keys) in &finals {
            early.claim(keys, *hash, *slot);
            between.claim(keys, *hash, *slot);
        }
        for (turn, index) in shuffled_once.into_iter().enumerate() {
            early.follower.import(blocks[index].clone());
            if turn >= halfway {
                between.follower.import(blocks[index].clone());
            }
        }
        prop_assert_eq!(&answers(&early.follower), &expected);
        prop_assert_eq!(&answers(&between.follower), &expected);
    }

    #[test]
    fn a_checkpoint_is_as_good_as_having_been_there(seed: u64) {
        let author = Author::changing(PARAMS, 1);
        let (blocks, finals) = random_tree(&author, seed);
        let mut chain = FollowedChain::of(author, Limits::default());
        blocks.iter().for_each(|block| drop(chain.follower.import(block.clone())));
        for (hash, slot, keys) in finals.iter().rev().take(3) {
            chain.claim(keys, *hash, *slot);
        }
        let checkpoint = chain.follower.checkpoint();
        let mut other = Follower::new(PARAMS, checkpoint.clone(), Limits::default());
        prop_assert_eq!(&other.checkpoint(), &checkpoint);
        prop_assert_eq!(Start::decode(&checkpoint.encode(), &PARAMS), Ok(checkpoint));
        blocks.iter().for_each(|block| drop(other.import(block.clone())));
        for (hash, slot, keys) in &finals {
            chain.claim(keys, *hash, *slot);
            keys.iter().for_each(|key| drop(other.claim_final(*key, *hash, *slot)));
        }
        prop_assert_eq!(answers(&other), answers(&chain.follower));
    }

    #[test]
    fn updates_name_every_package_whose_fate_changed(seed: u64, order: [u8; 32]) {
        let (blocks, finals) = random_tree(&Author::new(PARAMS), seed);
        let mut chain = FollowedChain::new();
        let fates = |chain: &FollowedChain| (0..48).map(|n| {
            (chain.fate(n), chain.follower.view().finalized_fate(package(n)))
        }).collect::<Vec<_>>();
        let mut before = fates(&chain);
        let mut check = |chain: &FollowedChain, update: &Update| {
            let after = fates(chain);
            for n in 0..48 {
                let changed = before[n as usize] != after[n as usize];
                assert!(!changed || update.changed.contains(&package(n)), "package {n}: {before:?} {after:?}");
            }
            before = after;
        };
        for index in shuffled((0..blocks.len()).collect(), order.into()) {
            let update = chain.follower.import(blocks[index].clone());
            check(&chain, &update);
        }
        for (hash, slot, keys) in finals.into_iter().rev() {
            for key in keys {
                let update = chain.follower.claim_final(key, hash, slot);
                check(&chain, &update);
            }
        }
    }
}

/// The winner of a switch that finality forces is one of several blocks; updates used to name those that were looked at
/// on the way, in an order that nobody chose.
#[test]
fn updates_are_the_same_every_time() {
    let update = || {
        let mut chain = FollowedChain::new();
        let root = chain.head();
        let fork = |chain: &mut FollowedChain, parent, slot, salt, reports| {
            let block = chain.make(parent, slot, Body { salt, reports, ..Body::default() });
            let hash = block.header.hash();
            chain.follower.import(block);
            hash
        };
        let final_block = fork(&mut chain, root, 1, 1, vec![]);
        (1..=5).fold(root, |parent, slot| fork(&mut chain, parent, slot, 2, vec![]));
        let view = chain.follower.view_from(final_block).unwrap();
        let report = chain.author.report(&view, package(5), 0, final_block);
        fork(&mut chain, final_block, 2, 3, vec![report]);
        let other = fork(&mut chain, final_block, 2, 4, vec![]);
        fork(&mut chain, other, 3, 4, vec![]);
        chain.finalize(final_block)
    };
    let first = update();
    assert!(first.finalized_moved && first.best_moved);
    (0..40).for_each(|_| assert_eq!(update(), first));
}
