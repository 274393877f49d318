//! The invariants, checked by one who sees everything and shares no state with the node.

use super::{
    builder::Version,
    journal::{Journal, Place},
    network::{Network, PARAMS},
    node::Node,
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use jam::{PackageHash, follow::Fate};
use queue::{State, Submission};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use types::{BlockId, Event, Time};

/// What every package that was sent is.
#[derive(Clone, Debug)]
struct SentPackage {
    block: BlockId,
    anchor_height: u64,
}

/// Remembers what was sent, applied and told.
#[derive(Debug, Default)]
pub(super) struct Checker {
    packages: BTreeMap<PackageHash, SentPackage>,
    versions: HashMap<(B256, u32), PackageHash>,
    /// Blocks that were sent, by transaction.
    sent_with: HashMap<B256, Vec<BlockId>>,
    /// What is final, in order.
    applied: Vec<BlockId>,
    applied_txs: HashSet<B256>,
    newly_final: Vec<B256>,
    nonces: BTreeMap<Address, u64>,
    finalized: BTreeSet<BlockId>,
    parents: BTreeMap<BlockId, BlockId>,
    /// What was found wrong.
    pub violations: Vec<String>,
}

impl Checker {
    fn require(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(what());
        }
    }

    /// A version leaves the node.
    pub(super) fn on_send(
        &mut self,
        node: &Node,
        submission: &Submission,
        sent: &Version,
        now: Time,
        journal: &Journal,
        network: &mut Network,
    ) {
        let (block, package) = (submission.block, sent.package);
        self.require(sent.block == block, || format!("10: {block} was rebuilt as {}", sent.block));
        let is_sealed = journal.blocks.contains_key(&block.hash);
        self.require(is_sealed, || format!("5: {block} sent, which was never sealed"));
        self.require(node.queue.in_window(now), || format!("7: {block} sent outside the window"));
        self.require(journal.packages.contains(&package.0), || {
            format!("13: {block} sent before it was durable")
        });
        let on_core = node.queue.bundles().filter(
            |bundle| matches!(bundle.state, State::Submitted { core, .. } if core == submission.core),
        );
        let on_core = on_core.count();
        self.require(on_core <= 1, || format!("6: {on_core} bundles submitted on core {}", submission.core));
        let view = node.follower.view();
        let life = view.anchor_life(submission.context.anchor);
        let margin = node.queue.config().anchor_margin;
        self.require(life >= margin, || {
            format!("8: {block} sent with an anchor that lives for {life} blocks")
        });
        let known = *self.versions.entry((block.hash, submission.version)).or_insert(package);
        self.require(known == package, || {
            format!("10: version {} of {block} has other bytes", submission.version)
        });
        // First guarantee wins: nothing is sent of a block that the node could see on the chain.
        let guaranteed = self.packages.iter().filter(|(_, sent)| sent.block == block).find(|(package, _)| {
            matches!(view.fate(**package), Fate::Reported { .. } | Fate::Available { .. })
        });
        let seen = guaranteed.is_some() || node.service.best.is_waiting(&block.hash);
        self.require(!seen, || format!("3: {block} sent although a version is guaranteed"));
        self.check_not_elsewhere(block, journal, network);
        let anchor_height = submission.anchor_height;
        self.packages.insert(package, SentPackage { block, anchor_height });
    }

    /// No transaction in two different blocks unless the earlier one is dead in finalized state.
    fn check_not_elsewhere(&mut self, block: BlockId, journal: &Journal, network: &mut Network) {
        let Some(sealed) = journal.blocks.get(&block.hash) else { return };
        self.parents.insert(block, sealed.parent);
        for tx in sealed.transactions.iter().map(types::Transaction::hash) {
            let others = self.sent_with.entry(tx).or_default();
            let earlier = others.iter().copied().filter(|other| *other != block).collect::<Vec<_>>();
            if !others.contains(&block) {
                others.push(block);
            }
            for other in earlier {
                let dead = self.is_dead(other, network);
                self.require(dead, || format!("9: {tx} sent in {block} while {other} may still be applied"));
            }
        }
    }

    /// Whether a block that was sent can never be applied, seen from the finalized block: its own versions are dead,
    /// or its number was taken by another one that is final or the block it stands on is dead.
    fn is_dead(&self, block: BlockId, network: &mut Network) -> bool {
        let service = network.final_service();
        let finalized = network.truth.finalized().height;
        let view = network.truth.view();
        let history = u64::from(PARAMS.recent_blocks);
        let mut versions = self.packages.iter().filter(|(_, sent)| sent.block == block);
        let versions_dead = versions.all(|(package, sent)| {
            let fate = view.finalized_fate(*package);
            let waits = matches!(fate, Fate::Reported { .. } | Fate::Available { .. });
            finalized >= sent.anchor_height + history && !waits
        });
        let applied = self.finalized.contains(&block) || service.head() == block;
        !applied
            && (versions_dead && !service.is_waiting(&block.hash) || self.ancestor_is_dead(block, network))
    }

    /// A block whose parent is neither final nor can become so is dead too; parents are known by what was sealed.
    fn ancestor_is_dead(&self, block: BlockId, network: &mut Network) -> bool {
        let parent = self.parents.get(&block).copied();
        parent.is_some_and(|parent| {
            !self.finalized.contains(&parent) && parent.number > 0 && self.is_dead(parent, network)
        })
    }

    /// The node has taken in everything it was told: where each bundle stands must follow from the chain view, for a
    /// reader who recomputes it from scratch with every version that was ever sent.
    pub(super) fn on_step(&mut self, node: &Node) {
        let view = node.follower.view();
        let service = &node.service.best;
        let mut found = Vec::new();
        for bundle in node.queue.bundles() {
            let versions = self.packages.iter().filter(|(_, sent)| sent.block == bundle.block);
            let reported = versions.clone().any(|(package, _)| {
                matches!(view.fate(*package), Fate::Reported { .. } | Fate::Available { .. })
            });
            let applied = service.head().number >= bundle.block.number;
            let expected = if applied {
                "Accumulated"
            } else if reported || service.is_waiting(&bundle.block.hash) {
                "Guaranteed"
            } else {
                "waiting"
            };
            let is = match bundle.state {
                State::Queued { .. } | State::Submitted { .. } | State::Abandoned => "waiting",
                ref other => other.name(),
            };
            if is != expected {
                found.push(format!("6: {} is {is}, the chain says {expected}", bundle.block));
            }
        }
        self.violations.extend(found);
        let (queued, submitted, _) = node.queue.counts();
        let config = node.queue.config();
        self.require(submitted <= config.max_inflight, || format!("15: {submitted} submitted"));
        self.require(node.queue.bundles().len() <= config.max_unfinished, || {
            "15: too many unfinished".into()
        });
        self.require(queued <= config.max_unfinished, || "15: too many queued".into());
    }

    /// An event that the node told.
    pub(super) fn on_event(&mut self, event: &Event) {
        if let Event::Finalized { block } = event {
            self.require(self.applied.contains(block) || block.number == 0, || {
                format!("20: {block} told final, but is not")
            });
        }
    }

    /// The chain finalized something: what the service applied there is for ever, and must be one chain.
    pub(super) fn on_finality(&mut self, network: &mut Network, journal: &Journal) {
        for block in network.take_applied() {
            let Some(sealed) = journal.blocks.get(&block.hash) else {
                self.violations.push(format!("5: {block} is applied, but nobody built it"));
                return;
            };
            let last = self.applied.last().copied();
            let joins = last.map_or(sealed.parent.number == 0, |last| last == sealed.parent);
            self.require(joins, || format!("5: {block} does not stand on the last applied block {last:?}"));
            self.apply(block, journal);
        }
    }

    fn apply(&mut self, block: BlockId, journal: &Journal) {
        self.applied.push(block);
        self.finalized.insert(block);
        for tx in &journal.blocks[&block.hash].transactions {
            let (hash, sender, nonce) = (tx.hash(), tx.sender(), tx.nonce());
            let first = self.applied_txs.insert(hash);
            self.newly_final.push(hash);
            self.require(first, || format!("1: {hash} applied twice, again in {block}"));
            let expected = *self.nonces.get(&sender).unwrap_or(&0);
            self.require(nonce == expected, || {
                format!("4: {sender} has nonce {nonce} in {block}, not {expected}")
            });
            self.nonces.insert(sender, nonce + 1);
        }
    }

    /// Every accepted transaction is final, in a block, in the pool, or ended with a reason; and the node agrees with
    /// its journal.
    pub(super) fn on_quiet(&mut self, node: Option<&Node>, journal: &Journal) {
        let mut found = Vec::new();
        for kept in journal.kept() {
            let hash = kept.tx.hash();
            if kept.place == Place::Nowhere {
                found.push(format!("2: {hash} is nowhere"));
            }
            let Some(node) = node else { continue };
            let here = node.pool.get(&hash).map(|lookup| lookup.status);
            let agrees = match (kept.place, here) {
                (Place::Pool, Some(txpool::Status::Pending | txpool::Status::Queued)) => true,
                (Place::Block(number), Some(txpool::Status::Bundled(block))) => block.number == number,
                (Place::Final | Place::Ended, None) => true,
                _ => false,
            };
            if !agrees {
                found.push(format!("2: {hash} is {:?} in the journal and {here:?} in the pool", kept.place));
            }
        }
        self.violations.extend(found);
    }

    /// The transactions that became final since the last call.
    pub(super) fn take_newly_final(&mut self) -> Vec<B256> {
        core::mem::take(&mut self.newly_final)
    }

    /// Final blocks.
    pub(super) fn final_blocks(&self) -> usize {
        self.applied.len()
    }
}
