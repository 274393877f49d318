//! Virtual time: what happens when, between users, owners, store, nodes and receivers.

use super::{
    Bug, Options, Outcome,
    chain::Chain,
    check::Checker,
    faults::{Fault, Faults},
    provider::{self, Kind, Limit},
    users::{Traits, Users},
    webhooks::Receivers,
    wire::{Question, Reply},
    worker::Worker,
};
use alloy_primitives::{Address, B256, U256, keccak256};
use harness::rng::Rng;
use sender::store::{self, Memory};
use sender_model::{Account, AccountId, Commit, Config, Quote, View, key, providers::Providers};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    sync::Arc,
};
use types::Time;

/// Virtual minutes in which faults happen.
const FAULT_MS: (u64, u64) = (120_000, 480_000);
/// Virtual time in which everything must come to its end once faults have healed.
const HEAL_MS: u64 = 3_600_000;

/// When, after faults have healed, owners have found each other again, and how long they may take to see a gap.
const SETTLED_MS: u64 = 120_000;
const GAP_SLACK_MS: u64 = 30_000;

/// Something that will happen.
#[derive(Clone, Debug)]
pub(super) enum Due {
    Tick(usize),
    Block,
    Users,
    Asked(usize, u64, u64, Question),
    Answered(usize, u64, u64, Reply),
    Restart(usize),
}

/// How a commit went, as its owner sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Committing {
    Done,
    Refused(store::Outcome),
    Unknown,
    Crashed,
}

/// Everything but the owners.
pub(super) struct World {
    pub store: Memory,
    pub chain: Chain,
    pub checker: Checker,
    pub faults: Faults,
    pub rng: Rng,
    pub config: Arc<Config>,
    pub id: AccountId,
    pub now_ms: u64,
    pub healed_at: Option<u64>,
    /// Whether owners take several answers in before they write.
    pub together: bool,
    /// Whether requests are forgotten soon after their end, and some are withdrawn.
    pub forgets: bool,
    pub traits: BTreeMap<String, Traits>,
    /// Whether nodes still have the states of their final blocks.
    pub has_old_states: bool,
    /// Whether nodes can simulate a transaction on top of others.
    pub simulates_on_top: bool,
    pub kinds: Vec<Kind>,
    pub limits: Vec<Limit>,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Due>,
    sequence: u64,
    commits: usize,
    log: B256,
    trace: Option<Vec<String>>,
}

impl World {
    pub(super) fn now(&self) -> Time {
        Time::from_millis(self.now_ms)
    }

    pub(super) fn later(&mut self, ms: u64, due: Due) {
        self.sequence += 1;
        self.events.insert(self.sequence, due);
        self.due.push(Reverse((self.now_ms + ms, self.sequence)));
    }

    pub(super) fn strikes(&mut self, fault: Fault) -> bool {
        self.faults.strikes(fault, &mut self.rng)
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9} {}", self.now_ms, line()));
        }
    }

    /// How a node sees the account. What it says about fees may be wrong on a chain without EIP-1559.
    pub(super) fn look(&mut self, node: usize) -> View {
        let view = self.chain.view(node);
        let hidden = self.chain.legacy && self.strikes(Fault::MarketHidden);
        let quote = if hidden { Quote::dynamic(self.chain.base_fee, 10) } else { view.quote };
        View { quote, finalized_count: view.finalized_count.filter(|_| self.has_old_states), ..view }
    }

    /// Commits, through a store that may crash or fall silent, before or after it has done it.
    pub(super) fn commit(&mut self, commit: &Commit, by: Option<&Account>) -> Committing {
        let (crashes, unknown) = (self.strikes(Fault::CrashAtCommit), self.strikes(Fault::CommitUnknown));
        if (crashes || unknown) && self.rng.chance(500) {
            // It was written, but not synced.
            let _undone = self.store.apply(commit);
            self.store.crash();
            return if crashes { Committing::Crashed } else { Committing::Unknown };
        }
        let outcome = match self.store.apply(commit) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.checker.violations.push(format!("the model asks for a malformed commit: {error}"));
                return Committing::Unknown;
            }
        };
        self.store.sync();
        self.commits += 1;
        if outcome == store::Outcome::Committed {
            let lease = self.store.lease(&self.id.to_string());
            self.checker.on_commit(commit, by, lease.as_ref(), &self.chain, self.now());
            self.log_commit(commit);
        }
        match outcome {
            _ if crashes => Committing::Crashed,
            _ if unknown => Committing::Unknown,
            store::Outcome::Committed => Committing::Done,
            refused => Committing::Refused(refused),
        }
    }

    fn log_commit(&mut self, commit: &Commit) {
        let mut text = format!("{} {}", self.log, self.now_ms);
        for write in &commit.writes {
            text.push_str(write.key());
        }
        self.log = keccak256(text.as_bytes());
        if self.trace.is_some() {
            let keys: Vec<_> = commit.writes.iter().map(|write| write.key().clone()).collect();
            self.note(|| format!("commit {:?} {}", commit.authority, keys.join(" ")));
        }
    }
}

/// One run.
pub(super) struct Simulation {
    pub world: World,
    pub workers: Vec<Worker>,
    pub users: Users,
    pub receivers: Receivers,
    heal_at: u64,
}

impl Simulation {
    /// Prepares the run of a seed.
    pub(super) fn new(seed: u64, options: &Options) -> Self {
        let mut rng = Rng::new(seed);
        let faults = Faults::choose(&mut rng, super::is_harsh(seed));
        let heal_at = rng.within(FAULT_MS.0, FAULT_MS.1);
        let config = Arc::new(config(&mut rng, seed, options));
        let id = AccountId { chain_id: 1337, address: Address::repeat_byte(0xaa) };
        let (count, txs) = (rng.below(20), rng.within(1, 12));
        let depth = if super::is_late(seed) { rng.within(20, 60) } else { rng.within(1, 6) };
        let (kinds, number) = (provider::kinds(&mut rng), rng.within(100, 10_000_000));
        let mut world = World {
            store: match options.bug {
                Some(Bug::NoEpochCheck) => Memory::ignoring_epochs(),
                _ => Memory::new(),
            },
            chain: Chain::new(number, count, plenty(), depth, txs),
            checker: Checker::new(config.clone(), id),
            faults,
            config,
            id,
            now_ms: 1_000_000,
            healed_at: None,
            together: super::takes_together(seed),
            forgets: super::forgets(seed),
            traits: BTreeMap::new(),
            has_old_states: super::has_old_states(seed),
            simulates_on_top: super::simulates_on_top(seed),
            limits: vec![Limit::default(); kinds.len()],
            kinds,
            due: BinaryHeap::new(),
            events: BTreeMap::new(),
            sequence: 0,
            commits: 0,
            log: B256::ZERO,
            trace: options.trace.then(Vec::new),
            rng,
        };
        world.chain.legacy = super::is_legacy(seed);
        let owners = world.rng.within(2, 3) as usize;
        (0..owners).for_each(|owner| world.later(owner as u64 * 137, Due::Tick(owner)));
        world.later(2_000, Due::Block);
        world.later(500, Due::Users);
        let users = Users::new(&mut world.rng);
        let mut providers = Providers::new(world.kinds.len(), None);
        providers.set_mistake(options.mistake());
        let workers = (0..owners).map(|owner| Worker::new(owner, providers.clone())).collect();
        let heal_at = world.now_ms + heal_at;
        Self { world, workers, users, receivers: Receivers::default(), heal_at }
    }

    /// Runs to the end.
    pub(super) fn run(mut self) -> Outcome {
        let end = self.heal_at + HEAL_MS;
        while let Some(Reverse((at, sequence))) = self.world.due.pop() {
            self.world.now_ms = at;
            self.world.store.set_now(Time::from_millis(at));
            if at >= self.heal_at && self.world.healed_at.is_none() {
                self.heal();
            }
            if let Some(due) = self.world.events.remove(&sequence) {
                self.happen(due);
            }
            if !self.world.checker.violations.is_empty() {
                break;
            }
            if self.world.healed_at.is_some() && self.is_done() {
                self.receivers.check(&mut self.world.checker, &self.world.config);
                break;
            }
            if at >= end {
                let open = self.world.checker.open();
                self.world.checker.violations.push(format!("R6: no progress after faults healed: {open}"));
                break;
            }
        }
        self.finish()
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Tick(owner) => self.tick(owner),
            Due::Block => self.block(),
            Due::Users => self.act_as_user(),
            Due::Asked(owner, life, epoch, question) => self.asked(owner, life, epoch, &question),
            Due::Answered(owner, life, epoch, reply) => self.answered(owner, life, epoch, reply),
            Due::Restart(owner) => self.workers[owner].up = true,
        }
    }

    fn heal(&mut self) {
        let world = &mut self.world;
        world.healed_at = Some(world.now_ms);
        world.faults.heal();
        world.chain.base_fee = 1;
        world.chain.set_balance(plenty());
        world.note(|| "healed".into());
        self.workers.iter_mut().for_each(|worker| worker.frozen_until = 0);
        self.command(sender_model::CommandKind::Resume);
    }

    fn is_done(&self) -> bool {
        let world = &self.world;
        self.users.are_done()
            && world.checker.all_ended()
            && world.store.rows(&key::deliveries(world.id), None, 1).is_empty()
            && world.store.rows(&key::commands(world.id), None, 1).is_empty()
    }

    fn block(&mut self) {
        let world = &mut self.world;
        let delay = world.rng.within(1_000, 4_000);
        world.later(delay, Due::Block);
        if world.strikes(Fault::FeeSpike) {
            world.chain.base_fee *= u128::from(world.rng.within(2, 30));
            world.chain.base_fee = world.chain.base_fee.min(200_000);
        } else if world.chain.base_fee > 1_000 {
            world.chain.base_fee = (world.chain.base_fee * 9 / 10).max(1_000);
        }
        if world.strikes(Fault::Drained) {
            world.chain.set_balance(U256::from(world.rng.below(100_000_000)));
        }
        if world.strikes(Fault::Foreign) {
            world.chain.foreign(&mut world.rng);
        }
        if world.strikes(Fault::Eviction) {
            world.chain.evict(&mut world.rng);
        }
        if world.strikes(Fault::BlockSkipped) {
            return;
        }
        if world.strikes(Fault::Reorg) {
            world.chain.reorg(&mut world.rng);
        } else {
            let salt = world.rng.bits();
            world.chain.seal(salt);
        }
        if !world.strikes(Fault::FinalityStall) {
            world.chain.finalize();
        }
        world.checker.on_block(&world.chain);
        if world.healed_at.is_some_and(|at| world.now_ms > at + SETTLED_MS) {
            world.checker.check_gaps(&world.chain, world.now(), GAP_SLACK_MS);
            world.checker.check_sends(&world.chain, world.now());
        }
        let (count, fee) = (world.chain.count(), world.chain.base_fee);
        world.note(|| format!("block: count {count} base fee {fee}"));
    }

    fn finish(self) -> Outcome {
        let world = self.world;
        Outcome {
            faults: world.faults.count,
            accepted: world.checker.accepted(),
            ends: world.checker.ends(),
            commits: world.commits,
            attempts: world.checker.attempts,
            violations: world.checker.violations,
            log: world.log,
            trace: world.trace.unwrap_or_default(),
            latencies_ms: world.checker.latencies_ms,
        }
    }
}

/// More than all requests of a run can cost.
fn plenty() -> U256 {
    U256::from(10).pow(U256::from(18))
}

/// Small limits, so that they matter.
fn config(rng: &mut Rng, seed: u64, options: &Options) -> Config {
    let mut config = limits(rng, options);
    if super::is_late(seed) {
        // Many blocks that are not final compete with what is to be sent.
        config.actions_max = rng.within(2, 5) as usize;
    }
    if super::forgets(seed) {
        config.retention_ms = rng.within(1_000, 60_000);
        if rng.chance(300) {
            config.name_retention_ms = rng.within(60_000, 300_000);
        }
    }
    config
}

fn limits(rng: &mut Rng, options: &Options) -> Config {
    Config {
        in_flight_max: rng.within(2, 16) as usize,
        pool_slots: 16,
        free_max: rng.within(1, 4) as usize,
        leased_max: 3,
        stall_ms: rng.within(12_000, 60_000),
        replacement_interval_ms: rng.within(5_000, 12_000),
        fee_cap: 150_000,
        cancel_after_ms: rng.chance(200).then_some(120_000),
        endpoints: if rng.chance(500) { vec!["one".into()] } else { vec!["one".into(), "two".into()] },
        look_ms: rng.within(2_000, 10_000),
        actions_max: rng.within(3, 32) as usize,
        mistake: options.mistake(),
        ..Config::default()
    }
}
