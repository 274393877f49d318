//! The follower on chains that one author with all keys makes.

use super::{Fate, Follower, Limits, Refused, Update};
use crate::{
    Block, Ed25519Secret, Hash, HeaderHash, PackageHash, Params, WorkReport,
    rules::{assurances::AssuranceRefusal, epoch::EpochRefusal, reports::ReportRefusal},
    sample::{Author, Body, Source},
    shuffle::{Era, shuffled},
};
use proptest::prelude::*;
use std::collections::BTreeSet;

const PARAMS: Params = Params::TINY;

fn package(n: u64) -> PackageHash {
    PackageHash(Hash::from(alloy_primitives::U256::from(n + 1)))
}

/// A follower with the author whose blocks it follows.
struct Chain {
    author: Author,
    follower: Follower,
}

impl Chain {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        let author = Author::new(PARAMS);
        let follower = Follower::new(PARAMS, author.start(), limits);
        Self { author, follower }
    }

    fn head(&self) -> HeaderHash {
        self.follower.view().head().hash
    }

    fn slot(&self) -> u32 {
        self.follower.view().head().slot
    }

    fn fate(&self, n: u64) -> Fate {
        self.follower.view().fate(package(n))
    }

    /// A report anchored at the best block.
    fn report(&self, n: u64, core: u16) -> WorkReport {
        self.author.report(&self.follower.view(), package(n), core, self.head())
    }

    fn make(&self, parent: HeaderHash, slot: u32, body: Body) -> Block {
        self.author.block(&self.follower.view_from(parent).unwrap(), slot, body)
    }

    /// A block on the best one, believed.
    fn extend(&mut self, reports: Vec<WorkReport>, available: &[u16]) -> HeaderHash {
        let slot = self.slot() + 1;
        self.extend_at(slot, reports, available)
    }

    fn extend_at(&mut self, slot: u32, reports: Vec<WorkReport>, available: &[u16]) -> HeaderHash {
        let block = self.make(self.head(), slot, Body { reports, available: available.to_vec(), salt: 0 });
        let hash = block.header.hash();
        let update = self.follower.import(block);
        assert_eq!(update.refused, []);
        assert!(update.best_moved);
        hash
    }

    fn finalize(&mut self, hash: HeaderHash) -> Update {
        let slot = self.follower.view_from(hash).unwrap().head().slot;
        let mut last = Update::default();
        for secret in &self.author.secrets()[..5] {
            last = self.follower.claim_final(secret.public(), hash, slot);
        }
        last
    }

    fn refusal(&mut self, block: Block) -> Option<Refused> {
        let before = (self.head(), self.follower.finalized(), self.follower.size());
        let update = self.follower.import(block);
        assert!(update.changed.is_empty() && !update.best_moved && !update.finalized_moved);
        assert_eq!(
            (self.head(), self.follower.finalized(), self.follower.size()),
            before,
            "something changed"
        );
        update.refused.first().map(|(_, refused)| *refused)
    }
}

#[test]
fn the_life_of_a_package() {
    let mut chain = Chain::new();
    assert_eq!(chain.fate(1), Fate::NotSeen);
    let reported = chain.extend(vec![chain.report(1, 1)], &[]);
    assert_eq!(chain.fate(1), Fate::Reported { core: 1, block: reported });
    let view = chain.follower.view();
    assert_eq!((view.core(0), view.core(1).unwrap().package), (None, package(1)));
    assert_eq!(view.core(1).unwrap().until_slot, view.head().slot + 5);

    // Its core takes the next report in the very block in which it becomes available.
    let next = chain.report(2, 1);
    let accumulated = chain.extend(vec![next], &[1]);
    assert_eq!(chain.fate(1), Fate::Accumulated { block: accumulated });
    assert_eq!(chain.fate(2), Fate::Reported { core: 1, block: accumulated });
    assert_eq!(chain.follower.view().finalized_fate(package(1)), Fate::NotSeen);

    let update = chain.finalize(accumulated);
    assert!(update.finalized_moved && update.changed.contains(&package(1)));
    assert_eq!(chain.follower.view().finalized_fate(package(1)), Fate::Accumulated { block: accumulated });
    assert_eq!(chain.fate(2), Fate::Reported { core: 1, block: accumulated });
}

#[test]
fn a_report_that_does_not_become_available_is_dropped_and_frees_its_core() {
    let mut chain = Chain::new();
    chain.extend_at(1, vec![chain.report(1, 0)], &[]);
    chain.extend_at(5, vec![], &[]);
    assert!(matches!(chain.fate(1), Fate::Reported { .. }));
    let block = chain.extend_at(6, vec![], &[]);
    assert_eq!(chain.fate(1), Fate::TimedOut { block });
    assert_eq!(chain.follower.view().core(0), None);
    // Another package can be reported there at once, in the block that drops it too.
    chain.extend_at(7, vec![chain.report(2, 0)], &[]);
    chain.extend_at(12, vec![chain.report(3, 0)], &[]);
    assert!(matches!(chain.fate(2), Fate::TimedOut { .. }));
    assert!(matches!(chain.fate(3), Fate::Reported { .. }));
}

#[test]
fn a_package_whose_block_loses_is_gone_by_reorg() {
    let mut chain = Chain::new();
    let root = chain.head();
    let losing = chain.extend(vec![chain.report(1, 0)], &[]);
    let a = chain.make(root, 2, Body::default());
    let (a_hash, a_slot) = (a.header.hash(), 2);
    assert!(!chain.follower.import(a).best_moved || a_hash < losing);
    let b = chain.make(a_hash, a_slot + 1, Body::default());
    let winner = b.header.hash();
    let update = chain.follower.import(b);
    assert!(update.best_moved);
    assert_eq!(chain.fate(1), Fate::Reorged);
    let other = chain.follower.view_from(losing).unwrap();
    assert!(matches!(other.fate(package(1)), Fate::Reported { .. }));
    assert!(other.core(0).is_some() && chain.follower.view().core(0).is_none());
    chain.finalize(winner);
    assert_eq!(chain.fate(1), Fate::NotSeen);
    assert!(chain.follower.view_from(losing).is_none());
}

#[test]
fn an_anchor_lives_for_eight_blocks() {
    let mut chain = Chain::new();
    let anchor = chain.extend(vec![], &[]);
    for left in (1..=8).rev() {
        assert_eq!(chain.follower.view().anchor_life(anchor), left);
        if left > 1 {
            chain.extend(vec![], &[]);
        }
    }
    // One block left: the next one may still report it, the one after may not.
    let view = chain.follower.view();
    let report = chain.author.report(&view, package(1), 0, anchor);
    let good =
        chain.make(chain.head(), chain.slot() + 1, Body { reports: vec![report.clone()], ..Body::default() });
    chain.extend(vec![], &[]);
    assert_eq!(chain.follower.view().anchor_life(anchor), 0);
    let late = chain.make(chain.head(), chain.slot() + 1, Body { reports: vec![report], ..Body::default() });
    assert_eq!(chain.refusal(late), Some(Refused::Guarantees(ReportRefusal::AnchorNotRecent)));
    assert_eq!(chain.follower.import(good).refused, []);
}

#[test]
fn roots_become_known_from_the_next_header_and_from_the_state() {
    let mut chain = Chain::new();
    let first = chain.extend(vec![], &[]);
    let root =
        |chain: &Chain| chain.follower.view().recent().find(|block| block.hash == first).unwrap().clone();
    assert_eq!((root(&chain).state_root, root(&chain).beefy_root), (None, None));
    chain.extend(vec![], &[]);
    assert!(root(&chain).state_root.is_some());
    let mut state = crate::state::RecentBlocks::EMPTY;
    let told = Hash::repeat_byte(9);
    state.blocks.push(crate::state::RecentBlock {
        hash: first,
        beefy_root: told,
        state_root: Hash::ZERO,
        reported: [].into(),
    });
    chain.follower.learn_roots(&state);
    assert_eq!(root(&chain).beefy_root, Some(told));
    // What is known now is checked: a report with another root is refused.
    let mut report = chain.author.report(&chain.follower.view(), package(1), 0, first);
    report.context.beefy_root = Hash::ZERO;
    let lie = chain.make(chain.head(), chain.slot() + 1, Body { reports: vec![report], ..Body::default() });
    assert_eq!(chain.refusal(lie), Some(Refused::Guarantees(ReportRefusal::BadBeefyMmrRoot)));
}

#[test]
fn a_package_waits_for_what_it_depends_on() {
    let mut chain = Chain::new();
    let first = chain.report(1, 0);
    let mut second = chain.report(2, 1);
    second.context.prerequisites.insert(package(1));
    chain.extend(vec![first, second], &[]);
    let block = chain.extend(vec![], &[1]);
    assert_eq!(chain.fate(2), Fate::Available { block });
    let block = chain.extend(vec![], &[0]);
    assert_eq!((chain.fate(1), chain.fate(2)), (Fate::Accumulated { block }, Fate::Accumulated { block }));
}

#[test]
fn what_waits_longer_than_an_epoch_is_dropped() {
    let mut chain = Chain::new();
    let first = chain.report(1, 0);
    let mut second = chain.report(2, 1);
    second.context.prerequisites.insert(package(1));
    chain.extend(vec![first, second], &[]);
    chain.extend(vec![], &[1]);
    // The first one never becomes available, and a whole epoch passes without a block.
    let block = chain.extend_at(2 + PARAMS.epoch_slots, vec![], &[]);
    assert_eq!((chain.fate(1), chain.fate(2)), (Fate::TimedOut { block }, Fate::Dropped { block }));
}

#[test]
fn a_package_cannot_come_twice() {
    let mut chain = Chain::new();
    chain.extend(vec![chain.report(1, 0)], &[]);
    let again = |chain: &Chain| {
        let reports = vec![chain.report(1, 1)];
        chain.make(chain.head(), chain.slot() + 1, Body { reports, ..Body::default() })
    };
    let duplicate = Some(Refused::Guarantees(ReportRefusal::DuplicatePackage));
    let block = again(&chain);
    assert_eq!(chain.refusal(block), duplicate);
    chain.extend(vec![], &[0]);
    for _ in 0..PARAMS.epoch_slots {
        let block = again(&chain);
        assert_eq!(chain.refusal(block), duplicate);
        let head = chain.extend(vec![], &[]);
        chain.finalize(head);
    }
    // The chain has forgotten it by now, and so have we.
    let block = again(&chain);
    assert_eq!(chain.follower.import(block).refused, []);
}

#[test]
fn guarantees_of_the_rotation_before_are_believed_across_epochs() {
    let mut chain = Chain::new();
    chain.extend_at(10, vec![], &[]);
    let report = chain.report(1, 0);
    let assignment = chain.follower.view().assignment(11).unwrap();
    let old = chain.author.guarantee(report, 11, &assignment);
    let mut block = chain.make(chain.head(), 13, Body::default());
    assert!(block.header.epoch_mark.is_some());
    block.extrinsic.guarantees = vec![old];
    block.header.unsealed.extrinsic_hash = block.extrinsic.hash();
    assert_eq!(chain.follower.import(block).refused, []);
    assert!(matches!(chain.fate(1), Fate::Reported { .. }));
    assert_eq!(chain.follower.view().assignment(11), None, "an epoch that has passed");
}

#[test]
fn the_next_epochs_guarantors_are_known_in_advance() {
    let mut chain = Chain { author: Author::changing(PARAMS, 2), ..Chain::new() };
    chain.follower = Follower::new(PARAMS, chain.author.start(), Limits::default());
    chain.extend_at(10, vec![], &[]);
    let view = chain.follower.view();
    let ahead = view.assignment(14).unwrap();
    let keys = view.epoch().validators(ahead.era).keys().to_vec();
    assert_eq!((ahead.era, view.assignment(24)), (Era::Next, None));
    chain.extend_at(13, vec![], &[]);
    let view = chain.follower.view();
    let now = view.assignment(14).unwrap();
    assert_eq!((&now.cores, now.era), (&ahead.cores, Era::Current));
    assert_eq!(view.epoch().validators(now.era).keys(), keys);
}

#[test]
fn a_mark_with_made_up_entropy_is_refused() {
    let mut chain = Chain::new();
    let mut block = chain.make(chain.head(), 12, Body::default());
    let mark = block.header.unsealed.epoch_mark.as_mut().unwrap();
    mark.tickets_entropy = Hash::repeat_byte(0x66);
    assert_eq!(chain.refusal(block), Some(Refused::Epoch(EpochRefusal::MarkEntropy)));
}

#[test]
fn a_liar_changes_nothing() {
    let mut chain = Chain::new();
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
fn finality_needs_more_than_two_thirds_of_the_validators() {
    let mut chain = Chain::new();
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
    let mut chain = Chain::new();
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

#[test]
fn missing_ancestors_are_asked_for_within_limits() {
    let mut source = Chain::new();
    let mut blocks = Vec::new();
    for slot in 1..=40 {
        let block = source.make(source.head(), slot, Body::default());
        source.follower.import(block.clone());
        blocks.push(block);
    }
    let mut chain = Chain::with(Limits { orphans_max: 10, wanted_max: 3, ..Limits::default() });
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
fn children_of_a_refused_block_are_refused_whenever_they_come() {
    let mut source = Chain::new();
    source.extend(vec![], &[]);
    let mut bad = source.make(source.head(), 2, Body::default());
    bad.header.unsealed.extrinsic_hash = Hash::ZERO;
    let mut child = source.make(source.head(), 3, Body::default());
    child.header.unsealed.parent = bad.header.hash();
    let mut early = Chain::new();
    early.extend(vec![], &[]);
    early.follower.import(child.clone());
    assert_eq!(early.follower.wanted(), [bad.header.hash()]);
    early.follower.import(bad);
    assert_eq!((early.follower.size().1, early.follower.wanted()), (0, vec![]));
    assert_eq!(early.refusal(child), Some(Refused::Parent));
}

#[test]
fn memory_is_bounded_by_unfinalized_blocks() {
    let mut chain = Chain::new();
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
    let mut chain = Chain::with(Limits { unfinalized_max: 20, ..Limits::default() });
    let root = chain.head();
    for salt in 0..100 {
        let fork = chain.make(root, 1, Body { salt, ..Body::default() });
        chain.follower.import(fork);
    }
    assert!(chain.follower.size().0 <= 21);
    let head = chain.extend(vec![chain.report(1, 0)], &[]);
    assert_eq!(chain.head(), head);
}

/// A random tree of blocks with reports and availability, in an order in which parents come first.
fn random_tree(seed: u64) -> (Vec<Block>, Vec<(HeaderHash, u32)>) {
    let mut chain = Chain::new();
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
    let finals =
        finals.filter_map(|hash| Some((hash, chain.follower.view_from(hash)?.head().slot))).collect();
    (blocks, finals)
}

/// Everything that a view answers.
fn answers(follower: &Follower) -> String {
    let describe = |view: super::ChainView<'_>| {
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
    fn any_order_of_delivery_gives_the_same_view(seed: u64, order: [u8; 32], again: [u8; 32]) {
        let (blocks, finals) = random_tree(seed);
        let deliver = |order: Vec<usize>| {
            let mut chain = Chain::new();
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
        if let Some((hash, slot)) = finals.first() {
            straight.finalize(*hash);
            let expected = answers(&straight.follower);
            let mut early = Chain::new();
            for secret in &early.author.secrets()[..5] {
                early.follower.claim_final(secret.public(), *hash, *slot);
            }
            for index in shuffled_once {
                early.follower.import(blocks[index].clone());
            }
            prop_assert_eq!(early.follower.finalized(), straight.follower.finalized());
            prop_assert_eq!(answers(&early.follower), expected);
        }
    }

    #[test]
    fn updates_name_every_package_whose_fate_changed(seed: u64, order: [u8; 32]) {
        let (blocks, finals) = random_tree(seed);
        let mut chain = Chain::new();
        let fates = |chain: &Chain| (0..48).map(|n| {
            (chain.fate(n), chain.follower.view().finalized_fate(package(n)))
        }).collect::<Vec<_>>();
        let mut before = fates(&chain);
        let mut check = |chain: &Chain, update: &Update| {
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
        for (hash, slot) in finals.into_iter().rev() {
            for i in 0..5 {
                let secret = Ed25519Secret::trivial(i);
                let update = chain.follower.claim_final(secret.public(), hash, slot);
                check(&chain, &update);
            }
        }
    }
}
