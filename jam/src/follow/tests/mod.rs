//! The follower on chains that one author with all keys makes.

mod bounds;
mod finality;
mod lies;
mod order;

use super::{Fate, Follower, Limits, Refused, Update};
use crate::{
    Block, Ed25519Key, Ed25519Secret, Hash, HeaderHash, PackageHash, Params, WorkReport,
    rules::reports::ReportRefusal,
    sample::{Author, Body, Signer},
    shuffle::Era,
};

const PARAMS: Params = Params::TINY;

fn package(n: u64) -> PackageHash {
    PackageHash(Hash::from(alloy_primitives::U256::from(n + 1)))
}

/// The keys of the first epoch's validators.
fn keys(author: &Author) -> Vec<Ed25519Key> {
    author.secrets().iter().map(Signer::public).collect()
}

fn stranger(i: u32) -> Ed25519Secret {
    Ed25519Secret::trivial(1000 + i)
}

/// A follower with the author whose blocks it follows.
struct FollowedChain {
    author: Author,
    follower: Follower,
}

impl FollowedChain {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        Self::of(Author::new(PARAMS), limits)
    }

    fn of(author: Author, limits: Limits) -> Self {
        let follower = Follower::new(PARAMS, author.start(), limits);
        Self { author, follower }
    }

    /// Blocks of the slots 1 to `last`, each on top of the one before and believed.
    fn grow(&mut self, last: u32) -> Vec<Block> {
        let mut blocks = Vec::new();
        for slot in self.slot() + 1..=last {
            let block = self.make(self.head(), slot, Body::default());
            assert_eq!(self.follower.import(block.clone()).refused, []);
            blocks.push(block);
        }
        blocks
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

    /// Five of the six validators of the block's epoch call it final.
    fn finalize(&mut self, hash: HeaderHash) -> Update {
        let view = self.follower.view_from(hash).unwrap();
        let (slot, keys) = (view.head().slot, view.epoch().current.keys().to_vec());
        self.claim(&keys[..5], hash, slot)
    }

    fn claim(&mut self, keys: &[Ed25519Key], hash: HeaderHash, slot: u32) -> Update {
        let mut all = Update::default();
        keys.iter().for_each(|key| all.merge(self.follower.claim_final(*key, hash, slot)));
        all
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
    let mut chain = FollowedChain::new();
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
    let mut chain = FollowedChain::new();
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
    let mut chain = FollowedChain::new();
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
    let mut chain = FollowedChain::new();
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
    let mut chain = FollowedChain::new();
    let first = chain.extend(vec![], &[]);
    let root = |chain: &FollowedChain| {
        chain.follower.view().recent().find(|block| block.hash == first).unwrap().clone()
    };
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
    let mut chain = FollowedChain::new();
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
    let mut chain = FollowedChain::new();
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
    let mut chain = FollowedChain::new();
    chain.extend(vec![chain.report(1, 0)], &[]);
    let again = |chain: &FollowedChain| {
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
    let mut chain = FollowedChain::new();
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
    let mut chain = FollowedChain::of(Author::changing(PARAMS, 2), Limits::default());
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
