//! The invariants, checked by one who sees everything and shares no state with the node.

use super::{
    blocks::Kind,
    journal::{Journal, Location},
    network::{Network, PARAMS},
    node::{Node, slots},
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use driver::{Driver, Outgoing};
use jam::{PackageHash, follow::Fate};
use queue::State;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use txpool::Status;
use types::{BlockId, Event, ReleasedBy, Run, Time};

/// The queue may be so full, in thousandths: one block may come when it is all but full.
const FULLNESS_MAX: u64 = 1100;
/// The driver may take so many steps in a row without time passing.
const STEPS_MAX: u32 = 32;

/// What every package that was sent is.
#[derive(Clone, Debug)]
struct SentPackage {
    run: Run,
    anchor_height: u64,
}

/// Remembers what was sent, applied and told.
#[derive(Debug, Default)]
pub(super) struct Checker {
    packages: BTreeMap<PackageHash, SentPackage>,
    versions: HashMap<(Run, u32), PackageHash>,
    /// Blocks that were sent, by transaction.
    sent_with: HashMap<B256, Vec<BlockId>>,
    /// What is final, in order.
    applied: Vec<BlockId>,
    applied_txs: HashSet<B256>,
    newly_final: Vec<B256>,
    nonces: BTreeMap<Address, u64>,
    finalized: BTreeSet<BlockId>,
    /// Blocks that were released because the chain did not take them, since that was last looked at.
    chain_releases: Vec<BlockId>,
    parents: BTreeMap<BlockId, BlockId>,
    /// How often each package was sent in a slot, since the node started.
    sends: BTreeMap<(PackageHash, u32), u32>,
    /// The node's time at its last step.
    latest: Time,
    /// Steps in a row between which no time passed.
    steps: u32,
    /// What was found wrong.
    pub violations: Vec<String>,
}

impl Checker {
    fn require(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(what());
        }
    }

    /// The node has started; what it was sent before it does not know.
    pub(super) fn on_start(&mut self) {
        self.sends.clear();
        self.steps = 0;
    }

    /// The node's time before a step. Where it ran back, slots come again that had windows by the wrong time.
    pub(super) fn on_time(&mut self, now: Time) {
        if now < self.latest {
            self.sends.clear();
        }
        self.latest = now;
    }

    /// The driver decided to send a version.
    pub(super) fn on_submission<K: Kind>(&mut self, node: &Node<K>, outgoing: &Outgoing<K::Package>) {
        let (block, driver) = (outgoing.run(), &node.driver);
        let on_core = driver
            .queue()
            .bundles()
            .filter(|bundle| matches!(bundle.state, State::Submitted { core, .. } if core == outgoing.core));
        let on_core = on_core.count();
        self.require(on_core <= 1, || format!("6: {on_core} bundles submitted on core {}", outgoing.core));
        let view = driver.follower().view();
        let life = view.anchor_life(K::context(&outgoing.packaged).anchor);
        let margin = driver.queue().config().anchor_margin;
        self.require(life >= margin, || {
            format!("8: {block} sent with an anchor that lives for {life} blocks")
        });
        let (named, code) = (K::code_hash(&outgoing.packaged), driver.service().best_code.hash);
        self.require(named == code, || format!("23: {block} names code {named}, the service has {code}"));
        let is_connected = outgoing.guarantors.iter().any(|key| node.peers().contains(key));
        self.require(is_connected, || {
            format!("21: {block} submitted on core {}, where no guarantor is connected", outgoing.core)
        });
        // First guarantee wins: nothing is sent of a block that the node could see on the chain.
        let guaranteed = self.packages.iter().filter(|(_, sent)| sent.run == block).find(|(package, _)| {
            matches!(view.fate(**package), Fate::Reported { .. } | Fate::Available { .. })
        });
        let seen =
            guaranteed.is_some() || driver.service().best.is_waiting(block.first.number, &block.last.hash);
        self.require(!seen, || format!("3: {block} sent although a version is guaranteed"));
    }

    /// A version leaves the node.
    pub(super) fn on_send<K: Kind>(
        &mut self,
        driver: &Driver<K>,
        outgoing: &Outgoing<K::Package>,
        anchor_height: u64,
        now: Time,
        journal: &Journal<K>,
        network: &Network,
    ) {
        // What the package is, and not what it is said to be.
        let (built, package) = (outgoing.run(), outgoing.package());
        let known = driver.queue().bundle_of(&package).and_then(|number| driver.queue().get(number));
        let block = known.map_or(built, |bundle| bundle.run);
        self.require(built == block, || format!("10: {block} was rebuilt as {built}"));
        let blocks = self.blocks_of(block, journal);
        self.require(blocks.is_some(), || format!("5: {block} sent, of which a block was never sealed"));
        let blocks = blocks.unwrap_or_default();
        if let Some(bundle) = known {
            self.check_alone(bundle);
        }
        self.require(driver.queue().in_window(now), || format!("7: {block} sent outside the window"));
        self.require(journal.packages.contains(&package.0), || {
            format!("13: {block} sent before it was durable")
        });
        let known = *self.versions.entry((block, outgoing.version)).or_insert(package);
        self.require(known == package, || {
            format!("10: version {} of {block} has other bytes", outgoing.version)
        });
        let sends = self.sends.entry((package, slots().slot_at(now))).or_default();
        *sends += 1;
        let sends = *sends;
        self.require(sends <= 1, || format!("22: {block} sent {sends} times in one window"));
        self.check_no_overlap(block, network);
        for block in blocks {
            self.check_not_elsewhere(block, journal, network);
        }
        self.packages.insert(package, SentPackage { run: block, anchor_height });
    }

    /// The blocks of a run, if they were all sealed, one on the other.
    fn blocks_of<K: Kind>(&self, run: Run, journal: &Journal<K>) -> Option<Vec<BlockId>> {
        let (mut blocks, mut block) = (vec![], run.last);
        loop {
            let sealed = journal.blocks.get(&block.hash)?;
            blocks.push(block);
            if block == run.first {
                blocks.reverse();
                return Some(blocks);
            }
            block = Some(sealed.parent).filter(|parent| parent.number >= run.first.number)?;
        }
    }

    /// An empty block that shows that the network works, and suspects, travel alone.
    fn check_alone(&mut self, bundle: &queue::Bundle) {
        let shares = bundle.blocks.len() > 1 && bundle.blocks.iter().any(|block| block.is_alone);
        let run = bundle.run;
        self.require(!shares, || format!("27: a probe or suspects share the run {run}"));
    }

    /// No block is in two runs, unless the earlier one is dead in finalized state.
    fn check_no_overlap(&mut self, run: Run, network: &Network) {
        let runs = self.packages.values().map(|sent| sent.run).collect::<BTreeSet<_>>();
        let shares = |other: &Run| {
            *other != run && other.first.number <= run.last.number && run.first.number <= other.last.number
        };
        for other in runs.into_iter().filter(shares) {
            let dead = self.is_run_dead(other, network) || self.ancestor_is_dead(other.first, network);
            self.require(dead, || format!("26: {run} sent while {other} may still be applied"));
        }
    }

    /// No transaction in two different blocks unless the earlier one is dead in finalized state.
    fn check_not_elsewhere<K: Kind>(&mut self, block: BlockId, journal: &Journal<K>, network: &Network) {
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

    /// Whether a block that was sent can never be applied, seen from the finalized block: all runs with it are dead, or
    /// the block it stands on is dead.
    fn is_dead(&self, block: BlockId, network: &Network) -> bool {
        let mut runs = self.packages.values().map(|sent| sent.run).filter(|run| run.contains(block.number));
        let has = |run: &Run| {
            let mut here = run.last;
            while here.number > block.number {
                let Some(parent) = self.parents.get(&here) else { return here == block };
                here = *parent;
            }
            here == block
        };
        let runs_dead = runs.all(|run| !has(&run) || self.is_run_dead(run, network));
        let applied = self.finalized.contains(&block);
        !applied && (runs_dead || self.ancestor_is_dead(block, network))
    }

    /// Whether no version of a run can ever be applied, seen from the finalized block.
    fn is_run_dead(&self, run: Run, network: &Network) -> bool {
        let service = network.final_service();
        let finalized = network.truth.finalized().height;
        let view = network.truth.view();
        let history = u64::from(PARAMS.recent_blocks);
        let mut versions = self.packages.iter().filter(|(_, sent)| sent.run == run);
        let versions_dead = versions.all(|(package, sent)| {
            let fate = view.finalized_fate(*package);
            let waits = matches!(fate, Fate::Reported { .. } | Fate::Available { .. });
            finalized >= sent.anchor_height + history && !waits
        });
        let applied = self.finalized.contains(&run.last) || service.head() == run.last;
        !applied && versions_dead && !service.is_waiting(run.first.number, &run.last.hash)
    }

    /// A block whose parent is neither final nor can become so is dead too; parents are known by what was sealed.
    fn ancestor_is_dead(&self, block: BlockId, network: &Network) -> bool {
        let parent = self.parents.get(&block).copied();
        parent.is_some_and(|parent| {
            !self.finalized.contains(&parent) && parent.number > 0 && self.is_dead(parent, network)
        })
    }

    /// The node has taken in everything it was told: where each bundle stands must follow from the chain view, for a
    /// reader who recomputes it from scratch with every version that was ever sent.
    pub(super) fn on_step<K: Kind>(&mut self, driver: &Driver<K>) {
        let view = driver.follower().view();
        let service = &driver.service().best;
        let mut found = Vec::new();
        for bundle in driver.queue().bundles() {
            let versions = self.packages.iter().filter(|(_, sent)| sent.run == bundle.run);
            let reported = versions.clone().any(|(package, _)| {
                matches!(view.fate(*package), Fate::Reported { .. } | Fate::Available { .. })
            });
            let applied = service.head().number >= bundle.run.last.number;
            let expected = if applied {
                "Accumulated"
            } else if reported || service.is_waiting(bundle.number(), &bundle.run.last.hash) {
                "Guaranteed"
            } else {
                "waiting"
            };
            let is = match bundle.state {
                State::Queued { .. } | State::Submitted { .. } | State::Abandoned => "waiting",
                ref other => other.name(),
            };
            if is != expected {
                found.push(format!("6: {} is {is}, the chain says {expected}", bundle.run));
            }
        }
        self.violations.extend(found);
        let (_, submitted, _) = driver.queue().counts();
        let config = driver.queue().config();
        self.require(submitted <= config.max_inflight, || format!("15: {submitted} submitted"));
        let ahead = driver.queue().bundles().filter(|bundle| bundle.number() > service.head().number).count();
        // One more may wait to be sent again, and a dissolved one counts for two.
        self.require(ahead <= 2 * config.submit_ahead_max + 2, || {
            format!("15: {ahead} ahead of the service")
        });
        let fullness = driver.queue().fullness();
        self.require(fullness <= FULLNESS_MAX, || format!("15: the queue is full by {fullness} thousandths"));
    }

    /// Time has passed, or something happened.
    pub(super) const fn on_progress(&mut self) {
        self.steps = 0;
    }

    /// The driver wants to take another step at once.
    pub(super) fn on_restless(&mut self) {
        self.steps += 1;
        let steps = self.steps;
        self.require(steps <= STEPS_MAX, || format!("23: {steps} steps in a row without time passing"));
    }

    /// A transaction expired after this much true time.
    pub(super) fn on_expired(&mut self, hash: B256, lived_ms: u64, ttl_ms: u64) {
        self.require(lived_ms >= ttl_ms, || format!("24: {hash} expired after {} s", lived_ms / 1000));
    }

    /// An event that the node told.
    pub(super) fn on_event(&mut self, event: &Event) {
        if matches!(event, Event::ServiceDiffers { .. } | Event::ServiceUnreadable { .. }) {
            self.violations.push(format!("25: {event}"));
        }
        if let Event::RunRefused { .. } = event {
            self.violations.push(format!("28: {event}"));
        }
        if let Event::Released { block, by: ReleasedBy::Chain } = event {
            self.chain_releases.push(*block);
        }
        if let Event::Finalized { run } = event {
            self.require(self.applied.contains(&run.last), || format!("20: {run} told final, but is not"));
        }
    }

    /// The node has released blocks that the chain did not take: only a run of one block is given up, the first of them.
    pub(super) fn on_release(&mut self) {
        let released = core::mem::take(&mut self.chain_releases);
        let Some(root) = released.first().copied() else { return };
        let runs = self.packages.values().map(|sent| sent.run);
        let last = runs.filter(|run| run.first == root).map(|run| run.blocks()).min();
        self.require(last == Some(1), || {
            format!("29: {root} released, which was never sent as a run of its own")
        });
    }

    /// The chain finalized something: what the service applied there is for ever, and must be one chain.
    pub(super) fn on_finality<K: Kind>(&mut self, network: &mut Network, journal: &Journal<K>) {
        let mut blocks = vec![];
        for last in network.take_applied() {
            // Runs are applied by their last block.
            let (mut run, mut block) = (vec![], last);
            while self
                .applied
                .last()
                .map_or(0, |applied| applied.number)
                .max(blocks.last().map_or(0, |applied: &BlockId| applied.number))
                < block.number
            {
                run.push(block);
                let Some(sealed) = journal.blocks.get(&block.hash) else { break };
                block = sealed.parent;
            }
            blocks.extend(run.into_iter().rev());
        }
        for block in blocks {
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

    fn apply<K: Kind>(&mut self, block: BlockId, journal: &Journal<K>) {
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
    pub(super) fn on_quiet<K: Kind>(&mut self, driver: Option<&Driver<K>>, journal: &Journal<K>) {
        let mut found = Vec::new();
        for kept in journal.kept() {
            let hash = kept.tx.hash();
            if kept.location == Location::Nowhere {
                found.push(format!("2: {hash} is nowhere"));
            }
            let Some(driver) = driver else { continue };
            let here = driver.pool().get(&hash).map(|lookup| lookup.status);
            let agrees = match (&kept.location, here) {
                (Location::Pool, Some(Status::Pending | Status::Queued | Status::Open)) => true,
                (Location::Block(number), Some(Status::Bundled(block))) => block.number == *number,
                (Location::Final | Location::Ended(_), None) => true,
                _ => false,
            };
            if !agrees {
                found.push(format!(
                    "2: {hash} is {:?} in the journal and {here:?} in the pool",
                    kept.location
                ));
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
