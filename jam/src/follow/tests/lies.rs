//! Made-up blocks, bodies and roots: they change nothing, and nothing honest suffers for them.

use super::*;
use crate::rules::{assurances::AssuranceRefusal, disputes::DisputeRefusal, epoch::EpochRefusal};

#[test]
fn a_mark_with_made_up_entropy_is_refused() {
    let mut chain = FollowedChain::new();
    let mut block = chain.make(chain.head(), 12, Body::default());
    let mark = block.header.unsealed.epoch_mark.as_mut().unwrap();
    mark.tickets_entropy = Hash::repeat_byte(0x66);
    assert_eq!(chain.refusal(block), Some(Refused::Epoch(EpochRefusal::MarkEntropy)));
}

#[test]
fn a_liar_changes_nothing() {
    let mut chain = FollowedChain::new();
    chain.extend(vec![chain.report(1, 0)], &[]);
    let honest = || Body { reports: vec![chain.report(2, 1)], available: vec![0], salt: 0 };
    let good = chain.make(chain.head(), 2, honest());
    let lie = |change: &dyn Fn(&mut Block)| {
        let mut block = good.clone();
        change(&mut block);
        block.header.unsealed.extrinsic_hash = block.extrinsic.hash();
        block
    };
    let guarantee = |refusal| Some(Refused::Guarantees(refusal));
    let assurance = |refusal| Some(Refused::Assurances(refusal));
    let cases: Vec<(Block, Option<Refused>)> = vec![
        (
            lie(&|b| b.extrinsic.guarantees[0].signatures[1].signature.0[5] ^= 1),
            guarantee(ReportRefusal::BadSignature),
        ),
        (
            lie(&|b| b.extrinsic.guarantees[0].report.spec.bundle_len ^= 1),
            guarantee(ReportRefusal::BadSignature),
        ),
        (
            lie(&|b| {
                let guarantee = &mut b.extrinsic.guarantees[0];
                let stranger =
                    (0..6).find(|v| guarantee.signatures.iter().all(|s| s.validator != *v)).unwrap();
                let secret = Ed25519Secret::trivial(u32::from(stranger));
                let signature = secret.sign(crate::Purpose::Guarantee, guarantee.report.hash().0);
                guarantee.signatures[0] = crate::block::ValidatorSignature { validator: stranger, signature };
                guarantee.signatures.sort_by_key(|s| s.validator);
            }),
            guarantee(ReportRefusal::WrongAssignment),
        ),
        (
            lie(&|b| b.extrinsic.guarantees[0].signatures.truncate(1)),
            guarantee(ReportRefusal::InsufficientGuarantees),
        ),
        (lie(&|b| b.extrinsic.assurances[3].signature.0[0] ^= 1), assurance(AssuranceRefusal::BadSignature)),
        (lie(&|b| b.extrinsic.assurances[3].bits[0] = 0), assurance(AssuranceRefusal::BadSignature)),
        (lie(&|b| b.extrinsic.assurances[0].bits[0] |= 0x80), assurance(AssuranceRefusal::CoreNotEngaged)),
        (lie(&|b| b.header.unsealed.slot = 1), Some(Refused::Slot)),
        (
            lie(&|b| {
                b.header.unsealed.epoch_mark =
                    chain.make(chain.head(), 13, Body::default()).header.epoch_mark.clone()
            }),
            Some(Refused::Epoch(EpochRefusal::MarkUnexpected)),
        ),
        (
            {
                let mut b = good.clone();
                b.extrinsic.assurances.pop();
                b
            },
            Some(Refused::Extrinsic),
        ),
    ];
    for (block, expected) in cases {
        assert_eq!(chain.refusal(block), expected);
    }
    assert_eq!(chain.follower.import(good).refused, []);
}

#[test]
fn children_of_a_refused_block_are_refused_whenever_they_come() {
    let mut source = FollowedChain::new();
    source.extend(vec![], &[]);
    let mut bad = source.make(source.head(), 2, Body::default());
    bad.header.unsealed.offenders = vec![stranger(0).public()];
    let mut child = source.make(source.head(), 3, Body::default());
    child.header.unsealed.parent = bad.header.hash();
    let mut early = FollowedChain::new();
    early.extend(vec![], &[]);
    early.follower.import(child.clone());
    assert_eq!(early.follower.wanted(), [bad.header.hash()]);
    early.follower.import(bad);
    assert_eq!((early.follower.size().1, early.follower.wanted()), (0, vec![]));
    assert_eq!(early.refusal(child), Some(Refused::Parent));
}

#[test]
fn a_tampered_body_does_not_taint_the_honest_header() {
    let mut source = FollowedChain::new();
    let report = source.report(1, 0);
    let honest = source.make(source.head(), 1, Body { reports: vec![report], ..Body::default() });
    source.follower.import(honest.clone());
    let child = source.make(source.head(), 2, Body::default());
    let mut fake = honest.clone();
    fake.extrinsic = crate::Extrinsic::EMPTY;

    // While the parent is known, and while the fake itself would have to wait.
    let mut chain = FollowedChain::new();
    assert_eq!(chain.refusal(fake.clone()), Some(Refused::Extrinsic));
    assert_eq!(chain.follower.import(child.clone()).refused, []);
    assert_eq!(chain.follower.wanted(), [honest.header.hash()]);
    assert_eq!(chain.refusal(fake), Some(Refused::Extrinsic));
    assert_eq!(chain.follower.wanted(), [honest.header.hash()], "it is still asked for");
    assert_eq!(chain.follower.import(honest).refused, []);
    assert_eq!(chain.head(), child.header.hash());
}

#[test]
fn a_body_is_checked_before_a_block_waits() {
    let mut source = FollowedChain::new();
    let blocks = source.grow(2);
    let mut fake = blocks[1].clone();
    fake.extrinsic.preimages.push(crate::block::Preimage { requester: 0, blob: vec![0; 1000].into() });
    let mut chain = FollowedChain::new();
    assert_eq!(chain.refusal(fake), Some(Refused::Extrinsic));
    blocks.into_iter().rev().for_each(|block| assert_eq!(chain.follower.import(block).refused, []));
    assert_eq!(chain.head(), source.head());
}

#[test]
fn a_block_of_the_future_is_refused_but_not_for_ever() {
    let mut source = FollowedChain::new();
    let blocks = source.grow(3);
    let mut chain = FollowedChain::new();
    chain.follower.note_slot(1);
    assert_eq!(chain.refusal(blocks[1].clone()), Some(Refused::Future));
    assert_eq!(chain.follower.import(blocks[0].clone()).refused, []);
    assert_eq!(chain.refusal(blocks[1].clone()), Some(Refused::Future));
    chain.follower.note_slot(3);
    blocks.into_iter().skip(1).for_each(|block| assert_eq!(chain.follower.import(block).refused, []));
    assert_eq!(chain.head(), source.head());
}

#[test]
fn a_child_that_contradicts_a_root_from_the_state_is_refused() {
    let mut chain = FollowedChain::new();
    let parent = chain.extend(vec![], &[]);
    let child = chain.make(parent, 2, Body::default());
    let mut recent = crate::state::RecentBlocks::EMPTY;
    recent.blocks.push(crate::state::RecentBlock {
        hash: parent,
        beefy_root: Hash::ZERO,
        state_root: child.header.prior_state_root,
        reported: [].into(),
    });
    chain.follower.learn_roots(&recent);
    let mut lie = child.clone();
    lie.header.unsealed.prior_state_root = Hash::repeat_byte(0x66);
    assert_eq!(chain.refusal(lie), Some(Refused::StateRoot));
    assert_eq!(chain.follower.import(child).refused, []);
}

#[test]
fn a_made_up_verdict_does_not_drop_a_report() {
    let mut chain = FollowedChain::new();
    let report = chain.report(1, 0);
    let condemned = report.hash();
    chain.extend(vec![report], &[]);
    let vote =
        |validator| crate::block::Judgement { valid: false, validator, signature: crate::Signature::ZERO };
    let votes = (0..5).map(vote).collect();
    let mut block = chain.make(chain.head(), 2, Body::default());
    let culprits = (0..2).map(|i| crate::block::Culprit {
        report: condemned,
        key: chain.author.secrets()[i].public(),
        signature: crate::Signature::ZERO,
    });
    let mut culprits = culprits.collect::<Vec<_>>();
    culprits.sort_by_key(|culprit| culprit.key);
    block.header.unsealed.offenders = culprits.iter().map(|culprit| culprit.key).collect();
    block.extrinsic.disputes.culprits = culprits;
    block.extrinsic.disputes.verdicts = vec![crate::block::Verdict { report: condemned, epoch: 0, votes }];
    block.header.unsealed.extrinsic_hash = block.extrinsic.hash();
    assert_eq!(chain.refusal(block), Some(Refused::Disputes(DisputeRefusal::BadSignature)));
    assert!(matches!(chain.fate(1), Fate::Reported { .. }));
}
