//! Who decides what is final.

use super::*;
use crate::{Assurance, Guarantee, Purpose, block::ValidatorSignature};

#[test]
fn finality_needs_more_than_two_thirds_of_the_validators() {
    let mut chain = FollowedChain::new();
    let block = chain.extend(vec![], &[]);
    let keys = (0..6).map(|i| Ed25519Secret::trivial(i).public()).collect::<Vec<_>>();
    // Four of six, a stranger, the same one again, and one who names a block that does not exist.
    for key in &keys[..4] {
        chain.follower.claim_final(*key, block, 1);
    }
    chain.follower.claim_final(Ed25519Secret::trivial(77).public(), block, 1);
    chain.follower.claim_final(keys[0], block, 1);
    chain.follower.claim_final(keys[4], HeaderHash(Hash::repeat_byte(7)), 9);
    assert_eq!(chain.follower.finalized().slot, 0);
    // One who gives the block another slot does not count either.
    chain.follower.claim_final(keys[5], block, 2);
    assert_eq!(chain.follower.finalized().slot, 0);
    // One that calls a later block final means this one too.
    let next = chain.extend_at(3, vec![], &[]);
    assert!(chain.follower.claim_final(keys[5], next, 3).finalized_moved);
    assert_eq!(chain.follower.finalized().hash, block);
}

#[test]
fn a_block_that_validators_call_final_is_asked_for() {
    let mut chain = FollowedChain::new();
    let block = chain.make(chain.head(), 1, Body::default());
    let hash = block.header.hash();
    for i in 0..2 {
        chain.follower.claim_final(Ed25519Secret::trivial(i).public(), hash, 1);
    }
    assert_eq!(chain.follower.wanted(), [], "two of six could be liars");
    for i in 2..5 {
        chain.follower.claim_final(Ed25519Secret::trivial(i).public(), hash, 1);
    }
    assert_eq!(chain.follower.wanted(), [hash]);
    assert!(chain.follower.import(block).finalized_moved);
    assert_eq!((chain.follower.finalized().hash, chain.follower.wanted()), (hash, vec![]));
}

/// A block with an epoch mark that announces these validators.
fn announcing(chain: &FollowedChain, slot: u32, key: impl Fn(u32) -> Ed25519Key) -> Block {
    let mut block = chain.make(chain.head(), slot, Body::default());
    let mark = block.header.unsealed.epoch_mark.as_mut().unwrap();
    (0..).zip(&mut mark.validators).for_each(|(i, keys)| keys.ed25519 = key(i));
    block
}

/// Two empty blocks announce a liar's own validators; with their keys it guarantees, assures and calls final whatever
/// it likes. Seals are not checked, so the blocks are believed; but nobody whom the finalized block trusts has said
/// a word.
#[test]
fn made_up_validators_cannot_make_anything_final() {
    let mut chain = FollowedChain::new();
    chain.extend(vec![], &[]);
    let liars = (0..6).map(|i| stranger(i).public()).collect::<Vec<_>>();
    for slot in [12, 24] {
        let block = announcing(&chain, slot, |i| stranger(i).public());
        assert_eq!(chain.follower.import(block).refused, []);
    }
    let mut report = chain.report(1, 0);
    report.context.lookup_anchor_slot = 24;
    let subject = report.hash().0;
    let sign = |validator: u16| ValidatorSignature {
        validator,
        signature: stranger(validator.into()).sign(Purpose::Guarantee, subject),
    };
    let assignment = chain.follower.view().assignment(25).unwrap();
    let mut block = chain.make(chain.head(), 25, Body::default());
    let signatures = assignment.guarantors(0).map(sign).collect();
    block.extrinsic.guarantees = vec![Guarantee { report, slot: 25, signatures }];
    block.header.unsealed.extrinsic_hash = block.extrinsic.hash();
    chain.follower.import(block);
    let mut block = chain.make(chain.head(), 26, Body::default());
    let subject = Assurance::subject(chain.head(), &[1]);
    let assure = |validator: u16| Assurance {
        anchor: chain.head(),
        bits: vec![1],
        validator,
        signature: stranger(validator.into()).sign(Purpose::Available, subject),
    };
    block.extrinsic.assurances = (0..6).map(assure).collect();
    block.header.unsealed.extrinsic_hash = block.extrinsic.hash();
    chain.follower.import(block);
    let head = chain.head();
    assert_eq!(chain.slot(), 26, "the blocks themselves are believed");
    assert!(!chain.claim(&liars, head, 26).finalized_moved);
    assert_eq!(chain.follower.finalized().slot, 0);
    assert_eq!(chain.follower.view().finalized_fate(package(1)), Fate::NotSeen);

    // The honest chain goes on and becomes final as ever.
    let honest = FollowedChain::new().grow(2);
    let last = honest[1].header.hash();
    honest.into_iter().for_each(|block| drop(chain.follower.import(block)));
    let keys = keys(&chain.author);
    assert!(chain.claim(&keys, last, 2).finalized_moved);
    assert_eq!((chain.head(), chain.follower.contains(head)), (last, false));
}

#[test]
fn a_long_gap_is_crossed_epoch_by_epoch() {
    let mut chain = FollowedChain::of(Author::changing(PARAMS, 1), Limits::default());
    chain.grow(30);
    // Words on a block two epochs ahead. Who speaks validates in all three epochs, and one joins per epoch.
    let head = chain.head();
    let everybody = (0..8).map(|i| Signer::real(i).public()).collect::<Vec<_>>();
    let update = chain.claim(&everybody, head, 30);
    assert!(update.finalized_moved);
    assert_eq!(chain.follower.finalized().hash, head);
}

#[test]
fn words_may_come_before_the_blocks_that_make_their_speakers_validators() {
    let author = Author::changing(PARAMS, 3);
    let mut source = FollowedChain::of(author.clone(), Limits::default());
    let blocks = source.grow(26);
    let mut finals = Vec::new();
    for slot in [5, 11, 17, 23, 26] {
        let view = source.follower.view_from(blocks[slot - 1].header.hash()).unwrap();
        finals.push((view.head(), view.epoch().current.keys().to_vec()));
    }
    let mut late = FollowedChain::of(author.clone(), Limits::default());
    blocks.iter().for_each(|block| drop(late.follower.import(block.clone())));
    finals.iter().for_each(|(at, keys)| drop(late.claim(keys, at.hash, at.slot)));
    let mut early = FollowedChain::of(author, Limits::default());
    finals.iter().for_each(|(at, keys)| drop(early.claim(keys, at.hash, at.slot)));
    blocks.iter().for_each(|block| drop(early.follower.import(block.clone())));
    assert_eq!(late.follower.finalized().slot, 26);
    assert_eq!(early.follower.finalized(), late.follower.finalized());
}

#[test]
fn strangers_words_are_bounded_and_never_displace_validators() {
    let mut chain = FollowedChain::with(Limits { strangers_max: 10, ..Limits::default() });
    let block = chain.extend(vec![], &[]);
    let keys = keys(&chain.author);
    chain.claim(&keys[..4], block, 1);
    for i in 0..100 {
        let key = Ed25519Key(Hash::from(alloy_primitives::U256::from(1_000_000 + i)));
        chain.follower.claim_final(key, block, 1);
    }
    assert!(chain.follower.claims.len() <= 10 + 12, "{}", chain.follower.claims.len());
    assert_eq!(chain.follower.finalized().slot, 0);
    assert!(chain.claim(&keys[4..5], block, 1).finalized_moved);
}

/// The chain zeroes the keys of offenders, so several validators may share the null key, which everybody can sign for.
#[test]
fn null_keys_have_no_voice() {
    let mut chain = FollowedChain::new();
    chain.extend(vec![], &[]);
    let key = |i: u32| if i < 3 { Ed25519Key::ZERO } else { Ed25519Secret::trivial(i).public() };
    for slot in [12, 24] {
        let block = announcing(&chain, slot, key);
        assert_eq!(chain.follower.import(block).refused, []);
    }
    let first = chain.follower.view().recent().nth(1).unwrap().hash;
    chain.finalize(first);
    let head = chain.head();
    chain.claim(&(0..6).map(key).collect::<Vec<_>>(), head, 24);
    assert_eq!(chain.follower.finalized().hash, first, "three voices of six");
}

/// Words come first, then the blocks, last one first: a single input takes all of them in and makes them final. Whoever
/// folds over what blocks accumulated is told what each of them did.
#[test]
fn what_finality_went_past_is_told() {
    let mut source = FollowedChain::new();
    let mut blocks = Vec::new();
    for (slot, available) in [(1, vec![]), (2, vec![0]), (3, vec![])] {
        let reports = if slot == 1 { vec![source.report(1, 0)] } else { vec![] };
        let block = source.make(source.head(), slot, Body { reports, available, salt: 0 });
        source.follower.import(block.clone());
        blocks.push(block);
    }
    let mut chain = FollowedChain::new();
    let keys = keys(&chain.author);
    chain.claim(&keys, source.head(), 3);
    let updates = blocks.iter().rev().map(|block| chain.follower.import(block.clone())).collect::<Vec<_>>();
    assert!(updates[2].finalized_moved && chain.follower.finalized().hash == source.head());
    let told = &updates[2].finalized;
    assert_eq!(
        told.iter().map(|(hash, _)| *hash).collect::<Vec<_>>(),
        blocks.iter().map(|b| b.header.hash()).collect::<Vec<_>>()
    );
    assert_eq!(told.iter().map(|(_, reports)| reports.len()).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(told[1].1[0].report.package(), package(1));
    assert_eq!(chain.follower.size().0, 1, "they are not kept");
}
