//! Virtual time: what happens when, between users, node and chain.

use super::{
    Options, Outcome,
    builder::{self, Builder, Version},
    check::Checker,
    faults::{Fault, Faults},
    journal::{Entry, Journal, Place},
    network::{Network, PARAMS, Parcel, SLOT_MS},
    node::{Crashed, Node, World, clock},
    rng::Rng,
};
use alloy_primitives::B256;
use jam::{Hash, HeaderHash, PackageHash, hash::blake2b, sample::Author};
use queue::{Queue, Sent, Submission};
use service::accumulate::Claim;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};
use types::{BlockId, Event, Time};

const TICK_MS: u64 = 500;
/// Slots in which faults happen.
const FAULT_SLOTS: (u64, u64) = (30, 70);
/// Slots in which everything must become final once faults have healed; and with something poisonous in it, whose
/// blocks have to fail several times first.
const HEAL_SLOTS: u64 = 120;
const HEAL_SLOTS_POISON: u64 = 900;

/// Something that will happen.
#[derive(Clone, Debug)]
enum Due {
    Tick,
    Slot(u32),
    Notice(HeaderHash),
    Claims(HeaderHash, u32),
    Arrives(Box<Parcel>),
    Answer(u64, PackageHash, Sent),
    Users,
    Restart,
}

/// What the node can reach: journal, network, and whoever watches.
struct Outside {
    journal: Journal,
    checker: Checker,
    faults: Faults,
    rng: Rng,
    outbox: Vec<(Submission, Version, bool)>,
    poison: BTreeSet<B256>,
    log: Hash,
    trace: Option<Vec<String>>,
    network: Network,
    first_seen: BTreeMap<B256, Time>,
    duplicate_guarantees: u64,
    true_ms: u64,
}

impl Outside {
    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9} {}", self.true_ms, line()));
        }
    }
}

impl World for Outside {
    fn commit(&mut self, entries: Vec<Entry>) -> Result<(), Crashed> {
        for entry in &entries {
            if let Entry::Accepted(tx, at) = entry {
                self.first_seen.insert(tx.hash(), *at);
            }
        }
        // A release is the largest step there is; crashes look for it.
        let releases = entries.iter().any(|entry| matches!(entry, Entry::Returned { .. }));
        let tries = if releases { 10 } else { 1 };
        let crashes = (0..tries).any(|_| self.faults.strikes(Fault::CrashAtCommit, &mut self.rng));
        if !(crashes && self.rng.chance(500)) {
            self.journal.commit(entries);
        }
        if crashes { Err(Crashed) } else { Ok(()) }
    }

    fn send(&mut self, node: &Node, submission: &Submission, version: &Version, now: Time) {
        let package = version.package;
        self.note(|| {
            format!("send {} v{} core {} {package}", submission.block, submission.version, submission.core)
        });
        self.checker.on_send(node, submission, version, now, &self.journal, &mut self.network);
        let sealed = self.journal.blocks.get(&submission.block.hash);
        let poisonous = sealed
            .is_some_and(|sealed| sealed.transactions.iter().any(|tx| self.poison.contains(&tx.hash())));
        self.outbox.push((submission.clone(), version.clone(), poisonous));
    }

    fn event(&mut self, event: &Event, now: Time) {
        self.duplicate_guarantees += u64::from(matches!(event, Event::DuplicateGuarantee { .. }));
        self.log =
            blake2b(&[self.log.as_slice(), event.to_string().as_bytes(), &now.as_millis().to_le_bytes()]);
        self.note(|| event.to_string());
        self.checker.on_event(event);
    }
}

/// One run.
pub(super) struct Simulation {
    options: Options,
    outside: Outside,
    node: Option<Node>,
    queue_now: Option<queue::JournalState>,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Due>,
    sequence: u64,
    outage_until: u64,
    senders: u64,
    genesis: BlockId,
    heal_at: u64,
    healed: bool,
    latencies_ms: Vec<u64>,
}

impl Simulation {
    /// Prepares the run of a seed.
    pub(super) fn new(seed: u64, options: &Options) -> Self {
        let mut rng = Rng::new(seed);
        let faults = Faults::swarm(&mut rng, super::is_harsh(seed));
        let author = match options.real_signatures {
            true => Author::new(PARAMS),
            false => Author::simulated(PARAMS),
        };
        let heal_at = rng.within(FAULT_SLOTS.0, FAULT_SLOTS.1) * SLOT_MS;
        let senders = rng.within(2, 6);
        let genesis = Builder::new(options.real_blocks, senders, None).genesis();
        let network = Network::new(author, genesis, options.service_mistake());
        let outside = Outside {
            journal: Journal::default(),
            checker: Checker::default(),
            faults,
            rng,
            outbox: vec![],
            poison: BTreeSet::new(),
            log: Hash::ZERO,
            trace: options.trace.then(Vec::new),
            network,
            first_seen: BTreeMap::new(),
            duplicate_guarantees: 0,
            true_ms: SLOT_MS,
        };
        let mut simulation = Self {
            options: options.clone(),
            outside,
            node: None,
            queue_now: None,
            due: BinaryHeap::new(),
            events: BTreeMap::new(),
            sequence: 0,
            outage_until: 0,
            senders,
            genesis,
            heal_at,
            healed: false,
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
        let poison = self.outside.faults.has(Fault::Poison);
        let end = self.heal_at + SLOT_MS * if poison { HEAL_SLOTS_POISON } else { HEAL_SLOTS };
        while let Some(Reverse((at, sequence))) = self.due.pop() {
            self.outside.true_ms = at;
            if at >= self.heal_at && !self.healed {
                self.heal();
            }
            if let Some(due) = self.events.remove(&sequence) {
                self.happen(due);
            }
            let over = at >= end || self.healed && self.is_done();
            if over || !self.outside.checker.violations.is_empty() {
                break;
            }
        }
        self.finish()
    }

    fn plan(&mut self, at: u64, due: Due) {
        self.sequence += 1;
        self.events.insert(self.sequence, due);
        self.due.push(Reverse((at, self.sequence)));
    }

    fn later(&mut self, ms: u64, due: Due) {
        self.plan(self.outside.true_ms + ms, due);
    }

    fn strikes(&mut self, fault: Fault) -> bool {
        self.outside.faults.strikes(fault, &mut self.outside.rng)
    }

    fn heal(&mut self) {
        self.healed = true;
        self.outside.faults.heal();
        self.outage_until = 0;
        self.outside.note(|| "healed".into());
        if let Some(node) = &mut self.node {
            node.jump_clock(0);
        }
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Tick => self.tick(),
            Due::Slot(slot) => self.slot(slot),
            Due::Notice(hash) => self.notice(hash),
            Due::Claims(hash, slot) => self.claims(hash, slot),
            Due::Arrives(parcel) => self.arrives(*parcel),
            Due::Answer(block, package, sent) => {
                if let Some(node) = &mut self.node {
                    node.answer(block, package, sent);
                }
            }
            Due::Users => self.users(),
            Due::Restart => self.restart(),
        }
    }

    fn is_cut_off(&self) -> bool {
        self.outside.true_ms < self.outage_until
    }

    fn tick(&mut self) {
        self.later(TICK_MS, Due::Tick);
        if self.strikes(Fault::Outage) {
            self.outage_until = self.outside.true_ms + self.outside.rng.within(20_000, 240_000);
            self.outside.note(|| "outage".into());
        }
        if self.strikes(Fault::ClockJump) {
            let to = self.outside.rng.within(0, 20_000) as i64 - 10_000;
            if let Some(node) = &mut self.node {
                node.jump_clock(to);
            }
        }
        if self.strikes(Fault::Crash) {
            self.crash();
        }
        self.step();
        self.ask();
    }

    /// Lets the node do what is due, and checks what it did.
    fn step(&mut self) {
        let Some(mut node) = self.node.take() else { return };
        let result = node.step(self.outside.true_ms, &mut self.outside);
        if result.is_ok() {
            self.outside.checker.on_step(&node);
            if (self.outside.true_ms / TICK_MS).is_multiple_of(8) {
                self.outside.checker.on_quiet(Some(&node), &self.outside.journal);
            }
            self.queue_now = Some(node.queue.journal_state());
            self.node = Some(node);
        } else {
            self.outside.note(|| "crashed at a commit".into());
            self.queue_now = None;
            self.plan_restart();
        }
        self.ship();
    }

    fn crash(&mut self) {
        if let Some(node) = self.node.take() {
            // What the queue decided since the last commit is lost; what it was at that commit must come back.
            let whole = node.queue.journal_state();
            self.queue_now = (self.queue_now.as_ref() == Some(&whole)).then_some(whole);
            self.outside.note(|| "crashed".into());
            self.plan_restart();
        }
    }

    fn plan_restart(&mut self) {
        let delay = self.outside.rng.within(500, 30_000);
        self.later(delay, Due::Restart);
    }

    fn restart(&mut self) {
        let outside = &mut self.outside;
        let config = self.options.queue_config();
        if let Some(expected) = self.queue_now.take() {
            let records = outside.journal.records.iter().cloned();
            let replayed = Queue::replay(config.clone(), clock(), self.genesis, records);
            if replayed.map(|queue| queue.journal_state()) != Ok(expected) {
                outside
                    .checker
                    .violations
                    .push("14: recovery differs from the twin that never crashed".into());
            }
        }
        outside.checker.on_quiet(None, &outside.journal);
        let now = Time::from_millis(outside.true_ms);
        let mistake = self.options.service_mistake();
        let builder = Builder::new(self.options.real_blocks, self.senders, self.options.bundler_mistake());
        let node = Node::start(config, builder, &outside.network, &outside.journal, now, mistake);
        let mut node = match node {
            Ok(node) => node,
            Err(why) => return outside.checker.violations.push(format!("14: no recovery: {why}")),
        };
        let finalized = outside.network.truth.finalized();
        node.claims(&outside.network.validators()[..5], finalized.hash, finalized.slot);
        outside.note(|| "started".into());
        self.node = Some(node);
    }

    /// Sends what left the node through a network that may lose, delay or repeat it.
    fn ship(&mut self) {
        for (submission, version, poisonous) in std::mem::take(&mut self.outside.outbox) {
            let package = version.package;
            let number = submission.block.number;
            if self.is_cut_off() || self.strikes(Fault::SubmissionDropped) {
                self.later(300, Due::Answer(number, package, Sent::Failed));
                continue;
            }
            if !self.strikes(Fault::AnswerLost) {
                self.later(200, Due::Answer(number, package, Sent::Taken));
            }
            if self.strikes(Fault::AcceptedSilent) {
                continue;
            }
            let Some(sealed) = self.outside.journal.blocks.get(&submission.block.hash) else { continue };
            let claim = Claim {
                parent: sealed.parent.hash,
                number,
                block: submission.block.hash,
                ..Claim::default()
            };
            let parcel = Parcel {
                package,
                core: submission.core,
                context: submission.context,
                anchor_height: submission.anchor_height,
                claim,
                poisonous,
                bundle: version.bundle,
            };
            let delay = if self.strikes(Fault::SubmissionDelayed) {
                self.outside.rng.within(1000, 60_000)
            } else {
                200
            };
            if self.strikes(Fault::SubmissionDuplicated) {
                let again = delay + self.outside.rng.within(1000, 40_000);
                self.later(again, Due::Arrives(Box::new(parcel.clone())));
            }
            self.later(delay, Due::Arrives(Box::new(parcel)));
        }
    }

    fn arrives(&mut self, parcel: Parcel) {
        let next = (self.outside.true_ms / SLOT_MS) as u32 + 1;
        let slow = if self.strikes(Fault::GuarantorSlow) { self.outside.rng.within(1, 5) as u32 } else { 0 };
        let Outside { network, faults, rng, checker, .. } = &mut self.outside;
        let block = parcel.claim.id();
        if let Err(why) = network.take(parcel, next + slow, faults, rng) {
            checker.violations.push(format!("19: validators refuse {block}: {why}"));
        }
    }

    fn slot(&mut self, slot: u32) {
        self.plan((u64::from(slot) + 1) * SLOT_MS, Due::Slot(slot + 1));
        let Outside { network, faults, rng, .. } = &mut self.outside;
        let block = network.author(slot, faults, rng);
        let (finalized, final_slot) = network.finalize(slot, faults, rng);
        if let Some(hash) = block {
            self.outside.note(|| format!("block {hash} slot {slot}"));
            self.notify(hash);
        }
        let Outside { checker, network, journal, .. } = &mut self.outside;
        checker.on_finality(network, journal);
        self.note_latencies();
        let late = if self.strikes(Fault::NoticeLate) { self.outside.rng.within(1000, 30_000) } else { 400 };
        if !self.strikes(Fault::NoticeLost) {
            self.later(late, Due::Claims(finalized, final_slot));
        }
    }

    fn note_latencies(&mut self) {
        for hash in self.outside.checker.take_newly_final() {
            let accepted = self.outside.first_seen.get(&hash).map_or(0, |at| at.as_millis());
            self.latencies_ms.push(self.outside.true_ms.saturating_sub(accepted));
        }
    }

    fn notify(&mut self, hash: HeaderHash) {
        if self.strikes(Fault::NoticeTwice) {
            let again = self.outside.rng.within(500, 20_000);
            self.later(again, Due::Notice(hash));
        }
        if self.strikes(Fault::NoticeLost) {
            return;
        }
        let delay = if self.strikes(Fault::NoticeLate) { self.outside.rng.within(1000, 30_000) } else { 300 };
        self.later(delay, Due::Notice(hash));
    }

    fn notice(&mut self, hash: HeaderHash) {
        if self.is_cut_off() {
            return;
        }
        let (Some(node), Some(block)) = (&mut self.node, self.outside.network.block(hash)) else { return };
        node.import(block);
        self.step();
    }

    fn claims(&mut self, hash: HeaderHash, slot: u32) {
        if self.is_cut_off() {
            return;
        }
        let validators = self.outside.network.validators();
        if let Some(node) = &mut self.node {
            node.claims(&validators[..5], hash, slot);
            self.step();
        }
    }

    /// The node asks for blocks that it misses.
    fn ask(&mut self) {
        if self.is_cut_off() {
            return;
        }
        let wanted = self.node.as_ref().map_or(vec![], |node| node.follower.wanted());
        for hash in wanted {
            if !self.strikes(Fault::NoticeLost) {
                self.later(300, Due::Notice(hash));
            }
        }
    }

    fn users(&mut self) {
        if self.healed {
            return;
        }
        let pause = self.outside.rng.within(300, 6000);
        self.later(pause, Due::Users);
        let count = if self.strikes(Fault::Flood) {
            self.outside.rng.within(10, 60)
        } else {
            self.outside.rng.within(1, 4)
        };
        for _ in 0..count {
            self.user();
        }
    }

    /// One user sends one transaction.
    fn user(&mut self) {
        let Some(mut node) = self.node.take() else { return };
        let who = self.outside.rng.below(self.senders);
        let sender = builder::sender(who, self.options.real_blocks);
        let next = node.next_nonce(sender);
        let replaces = next > 0 && self.strikes(Fault::Replacement);
        let (nonce, fee) = if replaces { (next - 1, 3 + self.outside.rng.below(50)) } else { (next, 2) };
        // Sometimes a later nonce comes first.
        let nonce = nonce + u64::from(!replaces && self.outside.rng.chance(50));
        let tx = builder::transaction(who, self.options.real_blocks, nonce, fee, self.outside.rng.bits());
        if self.strikes(Fault::Poison) {
            self.outside.poison.insert(tx.hash());
        }
        let now = node.now(self.outside.true_ms);
        match node.accept(tx, now, &mut self.outside) {
            Ok(_) => self.node = Some(node),
            Err(Crashed) => {
                self.queue_now = None;
                self.plan_restart();
            }
        }
    }

    /// Whether everything that can become final has.
    fn is_done(&self) -> bool {
        self.node.is_some() && self.unfinished().is_empty()
    }

    /// Accepted transactions that should be final and are not.
    fn unfinished(&self) -> Vec<B256> {
        let journal = &self.outside.journal;
        let waits_for_nonce = |kept: &super::journal::Kept| {
            let node = self.node.as_ref();
            node.is_some_and(|node| {
                let status = node.pool.get(&kept.tx.hash()).map(|lookup| lookup.status);
                status == Some(txpool::Status::Queued)
            })
        };
        let open = journal
            .kept()
            .filter(|kept| matches!(kept.place, Place::Pool | Place::Block(_) | Place::Nowhere));
        let open =
            open.filter(|kept| !self.outside.poison.contains(&kept.tx.hash()) && !waits_for_nonce(kept));
        open.map(|kept| kept.tx.hash()).collect()
    }

    fn finish(mut self) -> Outcome {
        if self.outside.checker.violations.is_empty() {
            let Outside { checker, network, journal, .. } = &mut self.outside;
            checker.on_finality(network, journal);
            checker.on_quiet(self.node.as_ref(), journal);
            let left = self.unfinished();
            if !left.is_empty() {
                let what = format!(
                    "16: {} transactions are not final after the faults healed, e.g. {}",
                    left.len(),
                    left[0]
                );
                self.outside.checker.violations.push(what);
            }
        }
        let innocent = |hash: &&B256| !self.outside.poison.contains(*hash);
        let dropped =
            self.outside.journal.kept().filter(|kept| kept.lone_failures >= 3 && kept.place == Place::Ended);
        let dropped_innocents = dropped.map(|kept| kept.tx.hash()).filter(|hash| innocent(&hash)).count();
        let Outside { checker, faults, log, trace, journal, duplicate_guarantees, .. } = self.outside;
        Outcome {
            faults: faults.count,
            accepted: journal.transactions.len(),
            final_blocks: checker.final_blocks(),
            violations: checker.violations,
            releases: journal
                .records
                .iter()
                .filter(|record| matches!(record, queue::Record::Released { .. }))
                .count(),
            duplicate_guarantees,
            packages: journal.packages.len(),
            dropped_innocents,
            log,
            trace: trace.unwrap_or_default(),
            latencies_ms: self.latencies_ms,
        }
    }
}
