//! Virtual time: what happens when, between users, node and chain.

mod chain_news;
mod commits;
mod shipping;

use super::{
    Options, Outcome,
    blocks::Kind,
    check::Checker,
    faults::{Fault, Faults},
    journal::{Journal, Location},
    network::{Network, PARAMS, Parcel, SLOT_MS},
    node::Node,
    owner::Owner,
    users,
};
use alloy_primitives::{Address, B256};
use driver::{PackJob as _, Responder};
use harness::rng::Rng;
use jam::{Ed25519Key, Hash, HeaderHash, PackageHash, sample::Author};
use queue::Sent;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};

/// How often the node looks around even if it has no reason to.
const TICK_MS: u64 = 500;
/// Slots in which faults happen.
const FAULT_SLOTS: (u64, u64) = (30, 70);
/// Slots in which everything must become final once faults have healed; and with something poisonous in it, whose
/// blocks have to fail several times first.
const HEAL_SLOTS: u64 = 120;
const HEAL_SLOTS_POISON: u64 = 900;
/// How wrong a wall clock is that is wrong by hours.
const CLOCK_WRONG_MS: u64 = 20 * 3600 * 1000;

/// Something that will happen.
#[derive(Clone, Debug)]
enum Due {
    Tick,
    /// The driver's own deadline, unless something else made it step since.
    Wake(u64),
    Slot(u32),
    Notice(HeaderHash),
    Claims(HeaderHash, u32),
    Arrives(Box<Parcel>),
    Answer(u64, PackageHash, Sent),
    /// Blocks are packed, unless the node died since.
    Packed(u64),
    Users,
    Restart,
    /// The disk is done with what it was given, unless the node died since.
    Durable(u64),
    /// Lost validators are connected again.
    PeersBack,
}

/// One run.
pub(super) struct Simulation<K: Kind> {
    options: Options,
    setup: K::Setup,
    journal: Journal<K>,
    checker: Checker,
    faults: Faults,
    rng: Rng,
    network: Network,
    node: Option<Node<K>>,
    /// What the journal must bring the queue back to.
    queue_now: Option<queue::JournalState>,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Due>,
    sequence: u64,
    outage_until: u64,
    /// Counts starts of the node, and its steps.
    starts: u64,
    steps: u64,
    is_disk_busy: bool,
    lost_peers: BTreeSet<Ed25519Key>,
    wall_offset_ms: i64,
    /// The users' addresses.
    senders: Vec<Address>,
    heal_at: u64,
    healed: bool,
    poison: BTreeSet<B256>,
    /// When each transaction was accepted, in true time.
    first_seen: BTreeMap<B256, u64>,
    log: Hash,
    trace: Option<Vec<String>>,
    duplicate_guarantees: u64,
    true_ms: u64,
    latencies_ms: Vec<u64>,
}

impl<K: Kind> Simulation<K> {
    /// Prepares the run of a seed.
    pub(super) fn new(seed: u64, options: &Options) -> Self {
        let mut rng = Rng::new(seed);
        let faults = Faults::choose(&mut rng, super::is_harsh(seed));
        let author = match options.real_signatures {
            true => Author::new(PARAMS),
            false => Author::simulated(PARAMS),
        };
        let heal_at = rng.within(FAULT_SLOTS.0, FAULT_SLOTS.1) * SLOT_MS;
        let senders = rng.within(2, 6);
        let setup = K::setup(senders, options.bundler_mistake());
        let genesis = K::genesis(&setup);
        let network = Network::new(author, genesis, options.service_mistake(), Owner::new(seed));
        let mut simulation = Self {
            options: options.clone(),
            setup,
            journal: Journal::new(genesis),
            checker: Checker::default(),
            faults,
            rng,
            network,
            node: None,
            queue_now: None,
            due: BinaryHeap::new(),
            events: BTreeMap::new(),
            sequence: 0,
            outage_until: 0,
            starts: 0,
            steps: 0,
            is_disk_busy: false,
            lost_peers: BTreeSet::new(),
            wall_offset_ms: 0,
            senders: (0..senders).map(|who| users::sender(who, K::IS_REAL)).collect(),
            heal_at,
            healed: false,
            poison: BTreeSet::new(),
            first_seen: BTreeMap::new(),
            log: Hash::ZERO,
            trace: options.trace.then(Vec::new),
            duplicate_guarantees: 0,
            true_ms: SLOT_MS,
            latencies_ms: vec![],
        };
        simulation.restart();
        simulation.plan(SLOT_MS + 100, Due::Tick);
        simulation.plan(2 * SLOT_MS, Due::Slot(2));
        simulation.plan(SLOT_MS + 1000, Due::Users);
        simulation
    }

    /// Runs to the end.
    pub(super) fn run(mut self) -> Outcome {
        let poison = self.faults.has(Fault::Poison);
        let end = self.heal_at + SLOT_MS * if poison { HEAL_SLOTS_POISON } else { HEAL_SLOTS };
        let mut looked_at = 0;
        while let Some(Reverse((at, sequence))) = self.due.pop() {
            if at > self.true_ms {
                self.checker.on_progress();
            }
            self.true_ms = at;
            if at >= self.heal_at && !self.healed {
                self.heal();
            }
            if let Some(due) = self.events.remove(&sequence) {
                self.happen(due);
            }
            // To look through all transactions costs more than most events do.
            let looks = at >= looked_at + TICK_MS;
            looked_at = if looks { at } else { looked_at };
            let over = at >= end || looks && self.healed && self.is_done();
            if over || !self.checker.violations.is_empty() {
                break;
            }
        }
        self.finish()
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9} {}", self.true_ms, line()));
        }
    }

    fn plan(&mut self, at: u64, due: Due) {
        self.sequence += 1;
        self.events.insert(self.sequence, due);
        self.due.push(Reverse((at, self.sequence)));
    }

    fn later(&mut self, ms: u64, due: Due) {
        self.plan(self.true_ms + ms, due);
    }

    fn strikes(&mut self, fault: Fault) -> bool {
        self.faults.strikes(fault, &mut self.rng)
    }

    fn heal(&mut self) {
        self.healed = true;
        self.faults.heal();
        self.outage_until = 0;
        self.lost_peers.clear();
        self.note(|| "healed".into());
        self.set_wall_clock(0);
        self.tell_peers();
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Tick => self.tick(),
            Due::Wake(steps) => {
                if steps == self.steps {
                    self.step();
                }
            }
            Due::Slot(slot) => self.slot(slot),
            Due::Notice(hash) => self.notice(hash),
            Due::Claims(hash, slot) => self.claims(hash, slot),
            Due::Arrives(parcel) => self.arrives(*parcel),
            Due::Answer(block, package, sent) => self.answer(block, package, sent),
            Due::Packed(starts) => {
                if starts == self.starts {
                    self.packed();
                }
            }
            Due::Users => self.users(),
            Due::Restart => self.restart(),
            Due::Durable(starts) => {
                if starts == self.starts {
                    self.is_disk_busy = false;
                    self.commit();
                }
            }
            Due::PeersBack => {
                self.lost_peers.clear();
                self.tell_peers();
            }
        }
    }

    fn is_cut_off(&self) -> bool {
        self.true_ms < self.outage_until
    }

    fn tick(&mut self) {
        self.later(TICK_MS, Due::Tick);
        if self.strikes(Fault::Outage) {
            self.outage_until = self.true_ms + self.rng.within(20_000, 240_000);
            self.note(|| "outage".into());
        }
        if self.strikes(Fault::ClockJump) {
            let to = self.rng.within(0, 20_000) as i64 - 10_000;
            self.set_wall_clock(to);
        }
        if self.strikes(Fault::ClockWrong) {
            let to = self.rng.within(0, 2 * CLOCK_WRONG_MS) as i64 - CLOCK_WRONG_MS as i64;
            self.note(|| format!("the wall clock is wrong by {} s", to / 1000));
            self.set_wall_clock(to);
        }
        if self.strikes(Fault::PeersLost) {
            self.lose_peers();
        }
        if self.strikes(Fault::Crash) {
            self.crash();
        }
        self.step();
        self.ask();
    }

    fn set_wall_clock(&mut self, offset_ms: i64) {
        self.wall_offset_ms = offset_ms;
        if let Some(node) = &mut self.node {
            node.set_wall_clock(offset_ms);
        }
    }

    /// Some validators, half of the time all, are gone for a while.
    fn lose_peers(&mut self) {
        let all = self.rng.chance(500);
        for key in self.network.validators() {
            if all || self.rng.chance(500) {
                self.lost_peers.insert(key);
            }
        }
        let lost = self.lost_peers.len();
        self.note(|| format!("{lost} validators lost"));
        let back = self.rng.within(3_000, 90_000);
        self.later(back, Due::PeersBack);
        self.tell_peers();
    }

    fn tell_peers(&mut self) {
        let connected = self.network.validators().into_iter().filter(|key| !self.lost_peers.contains(key));
        let connected = connected.collect();
        if let Some(node) = &mut self.node {
            node.set_peers(connected);
        }
    }

    /// Lets the driver do what is due, and checks what it decided.
    fn step(&mut self) {
        let Some(mut node) = self.node.take() else { return };
        self.steps += 1;
        self.checker.on_time(node.now(self.true_ms));
        let sends = match node.step(self.true_ms) {
            Ok(sends) => sends,
            Err(why) => return self.checker.violations.push(format!("14: the driver is broken: {why}")),
        };
        sends.iter().for_each(|outgoing| self.checker.on_submission(&node, outgoing));
        let jobs = node.jobs.len();
        self.checker.on_step(&node.driver);
        if (self.true_ms / TICK_MS).is_multiple_of(8) && node.undurable.is_empty() {
            self.checker.on_quiet(Some(&node.driver), &self.journal);
        }
        match node.rest_ms(self.true_ms) {
            Some(0) => {
                self.checker.on_restless();
                self.later(0, Due::Wake(self.steps));
            }
            Some(ms) if ms < TICK_MS => self.later(ms, Due::Wake(self.steps)),
            _ => {}
        }
        self.node = Some(node);
        if jobs > 0 {
            let ms = if self.strikes(Fault::SlowPacking) {
                self.rng.within(500, 9000)
            } else {
                self.rng.within(0, 80)
            };
            self.later(ms, Due::Packed(self.starts));
        }
        self.commit();
    }

    /// What was to be packed is.
    fn packed(&mut self) {
        let true_ms = self.true_ms;
        let Some(node) = &mut self.node else { return };
        let now = node.now(true_ms);
        for job in std::mem::take(&mut node.jobs) {
            if let Err(why) = node.driver.packed(job.pack(), now) {
                return self.checker.violations.push(format!("14: the driver is broken: {why}"));
            }
        }
        self.step();
    }

    fn users(&mut self) {
        if self.healed {
            return;
        }
        let pause = self.rng.within(300, 6000);
        self.later(pause, Due::Users);
        let count = if self.strikes(Fault::Flood) { self.rng.within(10, 60) } else { self.rng.within(1, 4) };
        for _ in 0..count {
            self.user();
        }
    }

    /// One user sends one transaction.
    fn user(&mut self) {
        let who = self.rng.below(self.senders.len() as u64);
        let sender = self.senders[who as usize];
        let Some(next) = self.node.as_ref().map(|node| node.next_nonce(sender)) else { return };
        let replaces = next > 0 && self.strikes(Fault::Replacement);
        let (nonce, fee) = if replaces { (next - 1, 3 + self.rng.below(50)) } else { (next, 2) };
        // Sometimes a later nonce comes first.
        let nonce = nonce + u64::from(!replaces && self.rng.chance(50));
        let tx = users::transaction((who, sender), K::IS_REAL, nonce, fee, self.rng.bits());
        if self.strikes(Fault::Poison) {
            self.poison.insert(tx.hash());
        }
        let true_ms = self.true_ms;
        let Some(node) = &mut self.node else { return };
        let now = node.now(true_ms);
        match node.driver.submit(vec![tx], Responder::new(drop), now) {
            Ok(()) => self.step(),
            Err(why) => self.checker.violations.push(format!("14: the driver is broken: {why}")),
        }
    }

    /// Whether everything that can become final has.
    fn is_done(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.undurable.is_empty()) && self.unfinished().is_empty()
    }

    /// Accepted transactions that should be final and are not.
    fn unfinished(&self) -> Vec<B256> {
        let is_queued = |hash: &B256| {
            let status = self.node.as_ref().and_then(|node| node.driver.pool().get(hash));
            status.is_some_and(|lookup| lookup.status == txpool::Status::Queued)
        };
        let open = self
            .journal
            .kept()
            .filter(|kept| matches!(kept.location, Location::Pool | Location::Block(_) | Location::Nowhere));
        let open = open.map(|kept| kept.tx.hash());
        open.filter(|hash| !self.poison.contains(hash) && !is_queued(hash)).collect()
    }

    fn finish(mut self) -> Outcome {
        if self.checker.violations.is_empty() {
            self.checker.on_finality(&mut self.network, &self.journal);
            let driver = self.node.as_ref().filter(|node| node.undurable.is_empty());
            self.checker.on_quiet(driver.map(|node| &node.driver), &self.journal);
            let left = self.unfinished();
            if !left.is_empty() {
                let (count, first) = (left.len(), left[0]);
                let what =
                    format!("16: {count} transactions are not final after the faults healed, e.g. {first}");
                self.checker.violations.push(what);
            }
        }
        let dropped = self
            .journal
            .kept()
            .filter(|kept| kept.lone_failures >= 3 && matches!(kept.location, Location::Ended(_)));
        let dropped_innocents = dropped.filter(|kept| !self.poison.contains(&kept.tx.hash())).count();
        let Self { checker, faults, log, trace, journal, duplicate_guarantees, .. } = self;
        Outcome {
            faults: faults.count,
            accepted: journal.transactions.len(),
            final_blocks: checker.final_blocks(),
            violations: checker.violations,
            releases: journal.releases,
            duplicate_guarantees,
            packages: journal.packages.len(),
            dropped_innocents,
            log,
            trace: trace.unwrap_or_default(),
            latencies_ms: self.latencies_ms,
        }
    }
}
