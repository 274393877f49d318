//! A chain in virtual time with a queue on it: one author who holds all keys, a follower, the service, a journal.

use super::check;
use crate::{
    Action, ChainInput, Config, EnqueueError, PackPlan, Queue, QueuedBlock, Record, Sent, ServiceTracker,
    ServiceView, Size, SubmissionPlan, Version,
};
use jam::{
    Block, Hash, HeaderHash, PackageHash, Params, SlotClock, WorkReport, WorkResult,
    codec::Encode,
    follow::{Follower, Limits, Update},
    hash::blake2b,
    sample::{Author, Body, allow_simulated_keys},
    state::{RecentBlock, RecentBlocks},
};
use service::accumulate::{Claim, ServiceState};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};
use types::{BlockId, Run, SpecLine, Time};

pub(crate) const PARAMS: Params = Params::TINY;
pub(crate) const SLOT_MS: u64 = 6000;
const SERVICE: u32 = 7;
const CODE_HASH: Hash = Hash::repeat_byte(9);

/// The clock of the test chain: slot 0 begins at time zero.
pub(crate) fn clock() -> SlotClock {
    SlotClock::starting_at(Time::ZERO, SLOT_MS)
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The block that the service begins with.
pub fn genesis() -> BlockId {
    BlockId::new(0, Hash::repeat_byte(0xee))
}

/// The bytes of a version, as far as the chain cares: the blocks and their refine context.
pub(crate) fn package_of(submission: &SubmissionPlan) -> PackageHash {
    let Run { first, last } = submission.run;
    let blocks = [first.hash.as_slice(), last.hash.as_slice()].concat();
    PackageHash(blake2b(&[&blocks, submission.code_hash.as_slice(), &submission.context.encode()]))
}

/// A version that left the process.
#[derive(Clone)]
pub(crate) struct Out {
    pub(crate) run: Run,
    pub(crate) parent: BlockId,
    pub(crate) version: Version,
}

/// The whole of it.
pub(crate) struct World {
    pub(crate) author: Author,
    pub(crate) follower: Follower,
    tracker: ServiceTracker,
    service: ServiceView,
    pub(crate) queue: Queue,
    pub(crate) now: Time,
    /// Every record that the queue ever wrote.
    pub(crate) journal: Vec<Record>,
    /// Those of them that a journal has to keep.
    pub(crate) kept: Vec<Record>,
    /// The log lines since they were last taken.
    pub(crate) log: Vec<String>,
    /// Releases and halts since they were last taken.
    pub(crate) actions: Vec<Action>,
    /// So many blocks behind the best one is final; `None` if nothing becomes final by itself.
    pub(crate) finality_lag: Option<usize>,
    /// How the guarantors answer; `None` if not at all.
    pub(crate) answer: Option<Sent>,
    /// Blocks that a package holds.
    pub(crate) package_blocks: u64,
    /// Bytes that each block takes, of those that a package has.
    pub(crate) block_bytes: u64,
    /// Everything that was sent, in order.
    pub(crate) out: Vec<Out>,
    pub(crate) slots: HashMap<HeaderHash, u32>,
    /// Every block that was made, in order.
    pub(crate) made: Vec<Block>,
    pub(super) seals: u64,
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        allow_simulated_keys();
        let author = Author::simulated(PARAMS);
        let start = author.start();
        let genesis_hash = start.hash;
        let follower = Follower::new(PARAMS, start, Limits::default());
        let mut tracker = ServiceTracker::new(SERVICE, CODE_HASH, genesis_hash, ServiceState::new(genesis()));
        let service = tracker.view(&follower, &Update::default());
        Self {
            author,
            follower,
            tracker,
            service,
            queue: Queue::new(config, clock(), genesis()),
            now: Time::ZERO,
            journal: vec![],
            kept: vec![],
            log: vec![],
            actions: vec![],
            finality_lag: Some(2),
            answer: Some(Sent::Taken),
            package_blocks: u64::MAX,
            block_bytes: 1000,
            out: vec![],
            slots: [(genesis_hash, 0)].into(),
            made: vec![],
            seals: 0,
        }
    }

    /// A chain that has been running for a while.
    pub(crate) fn running(config: Config) -> Self {
        let mut world = Self::new(config);
        world.blocks(10);
        world
    }

    /// What is due after every input: the journal and the log are kept, and everything is checked.
    fn settle(&mut self) {
        let records = self.queue.take_records();
        self.kept.extend(records.iter().cloned());
        self.journal.extend(records);
        self.log.extend(self.queue.drain_events().map(|event| SpecLine(&event).to_string()));
        check::indexes(&self.queue);
        check::journal(&self.queue, &self.journal);
        self.compact();
        check::compacted(&self.queue, &self.kept);
    }

    /// Forgets the records that say nothing any more.
    pub(super) fn compact(&mut self) {
        let mut needed = Record::still_needed(&self.kept).into_iter();
        self.kept.retain(|_| needed.next().unwrap_or(true));
    }

    // Time.

    pub(crate) fn go(&mut self, by: Duration) {
        self.go_to(self.now + by);
    }

    pub(crate) fn go_to(&mut self, at: Time) {
        self.now = self.now.max(at);
        self.queue.handle_timeout(self.now);
        self.settle();
    }

    /// Goes into the next submission window: two seconds before a slot.
    pub(crate) fn go_to_window(&mut self) {
        let clock = clock();
        let middle = clock.next_start(self.now) - ms(2000);
        self.go_to(if middle >= self.now { middle } else { middle + clock.slot_duration() });
    }

    // Blocks of transactions.

    pub(crate) fn try_seal(&mut self, transactions: usize) -> Result<u64, EnqueueError> {
        self.try_seal_as(transactions, false)
    }

    /// Seals a block that must be a run of its own, or one that need not be.
    pub(crate) fn try_seal_as(&mut self, transactions: usize, is_alone: bool) -> Result<u64, EnqueueError> {
        self.seals += 1;
        let parent = self.queue.newest();
        let id = BlockId::new(parent.number + 1, blake2b(&[b"block", &self.seals.to_le_bytes()]));
        let size = Size { bytes: self.block_bytes, ..Size::default() };
        let transactions = transactions as u32;
        let block = QueuedBlock { id, transactions, is_alone, size, sealed_at: self.now };
        self.queue.enqueue(block, parent)?;
        self.settle();
        Ok(id.number)
    }

    /// The operator gives a block up.
    pub(crate) fn give_up(&mut self, number: u64) -> bool {
        let given_up = self.queue.give_up(number);
        self.settle();
        given_up.is_some()
    }

    // Sending.

    /// Asks for actions until there is none; commits what is to be sent. Gives block, version and core of each.
    pub(crate) fn send(&mut self) -> Vec<(u64, u32, u16)> {
        let mut sent = vec![];
        while let Some(action) = self.queue.poll_action(self.now) {
            let submission = match action {
                Action::Submit(submission) => submission,
                Action::Pack(plan) => {
                    self.pack(&plan);
                    continue;
                }
                other => {
                    self.actions.push(other);
                    continue;
                }
            };
            let package = package_of(&submission);
            self.queue.commit_submission(&submission, package, self.now).unwrap();
            self.settle();
            check::submission(&self.queue, &submission);
            self.note_out(&submission);
            if let Some(answer) = self.answer {
                self.sent(submission.run.first.number, package, answer);
            }
            sent.push((submission.run.first.number, submission.version, submission.core));
            if sent.len() > 100 {
                panic!("it never stops sending: {sent:?}");
            }
        }
        self.settle();
        sent
    }

    /// Packs what was asked for, at once.
    pub(crate) fn pack(&mut self, plan: &PackPlan) {
        let (first, last) = (plan.run.first.number, plan.run.last.number);
        let holds = first.saturating_add(self.package_blocks - 1);
        self.queue.packed(first, if plan.is_fixed { last } else { last.min(holds) });
    }

    fn note_out(&mut self, submission: &SubmissionPlan) {
        let bundle = self.queue.get(submission.run.first.number).unwrap();
        let version = bundle.versions.last().unwrap().clone();
        self.out.push(Out { run: bundle.run, parent: bundle.parent, version });
    }

    pub(crate) fn sent(&mut self, block: u64, package: PackageHash, answer: Sent) {
        self.queue.handle_sent(block, package, answer);
        self.settle();
    }

    /// In the next window, everything that can be sent.
    pub(crate) fn send_in_window(&mut self) -> Vec<(u64, u32, u16)> {
        self.go_to_window();
        self.send()
    }

    // The chain.

    pub(crate) fn head(&self) -> HeaderHash {
        self.follower.view().head().hash
    }

    /// So many empty blocks, one per slot.
    pub(crate) fn blocks(&mut self, count: usize) {
        for _ in 0..count {
            self.block(&[], &[]);
        }
    }

    /// The next block, at the beginning of its slot: what it reports (block and version) and which cores' reports it
    /// makes available.
    pub(crate) fn block(&mut self, reports: &[(u64, u32)], available: &[u16]) -> HeaderHash {
        let slot = self.follower.view().head().slot + 1;
        self.block_on(self.head(), slot, reports, available)
    }

    pub(crate) fn block_on(
        &mut self,
        parent: HeaderHash,
        slot: u32,
        reports: &[(u64, u32)],
        available: &[u16],
    ) -> HeaderHash {
        let reports = reports.iter().map(|(block, version)| self.report(*block, *version)).collect();
        self.raw_block_on(parent, slot, reports, available)
    }

    /// A block with any reports.
    pub(crate) fn raw_block_on(
        &mut self,
        parent: HeaderHash,
        slot: u32,
        reports: Vec<WorkReport>,
        available: &[u16],
    ) -> HeaderHash {
        self.go_to(clock().start_of(slot));
        let salt = self.slots.len() as u64;
        let body = Body { reports, available: available.to_vec(), salt };
        let block = self.author.block(&self.follower.view_from(parent).unwrap(), slot, body);
        let hash = block.header.hash();
        self.slots.insert(hash, slot);
        self.made.push(block.clone());
        let mut update = self.follower.import(block);
        assert_eq!(update.refused, [], "the author makes good blocks");
        self.learn_roots(hash);
        if let Some(lag) = self.finality_lag {
            let last = self.follower.view().recent().nth(lag).map(|block| block.hash);
            update.merge(last.map_or_else(Update::default, |hash| self.claim(hash)));
        }
        self.deliver(&update);
        hash
    }

    pub(crate) fn learn_roots(&mut self, hash: HeaderHash) {
        let mut recent = RecentBlocks::EMPTY;
        let beefy_root = blake2b(&[b"beefy", hash.as_slice()]);
        recent.blocks.push(RecentBlock {
            hash,
            beefy_root,
            state_root: Hash::ZERO,
            reported: BTreeMap::new(),
        });
        self.follower.learn_roots(&recent);
    }

    pub(crate) fn claim(&mut self, hash: HeaderHash) -> Update {
        let mut update = Update::default();
        if !self.follower.contains(hash) {
            return update;
        }
        for signer in self.author.secrets().to_vec() {
            update.merge(self.follower.claim_final(signer.public(), hash, self.slots[&hash]));
        }
        update
    }

    pub(crate) fn deliver(&mut self, update: &Update) {
        self.service = self.tracker.view(&self.follower, update);
        self.deliver_parts(&update.changed, &update.cores);
    }

    pub(crate) fn deliver_parts(&mut self, packages: &BTreeSet<PackageHash>, cores: &BTreeSet<u16>) {
        let service = self.service.clone();
        let view = self.follower.view();
        self.queue.handle_chain(&ChainInput { view: &view, service: &service, packages, cores }, self.now);
        check::level(&self.queue, &view, &service);
        self.settle();
    }

    /// The report of a version that was sent, with the claim that refining its block gives.
    pub(crate) fn report(&self, block: u64, version: u32) -> WorkReport {
        let is_it = |out: &&Out| out.run.first.number == block && out.version.number == version;
        self.report_of(self.out.iter().rfind(is_it).unwrap())
    }

    pub(crate) fn report_of(&self, out: &Out) -> WorkReport {
        let claim = Claim::of_run(out.parent.hash, out.run.first.number, out.run.last);
        let view = self.follower.view();
        let Version { package, core, context, code_hash, .. } = &out.version;
        let mut report = self.author.report(&view, *package, *core, context.anchor);
        report.context = context.clone();
        report.digests[0].service = SERVICE;
        report.digests[0].code_hash = *code_hash;
        report.digests[0].result = WorkResult::Output(claim.encode().to_vec().into());
        report
    }

    /// The report of an order of the service's owner on a core.
    #[cfg(test)]
    pub(crate) fn report_of_order(&self, order: &service::order::Order, core: u16) -> WorkReport {
        let view = self.follower.view();
        let anchor = view.recent().nth(1).map_or(view.head().hash, |block| block.hash);
        let package = PackageHash(blake2b(&[b"order", &order.encode()]));
        let mut report = self.author.report(&view, package, core, anchor);
        report.digests[0].service = SERVICE;
        report.digests[0].code_hash = self.service.best_code.hash;
        report.digests[0].result = WorkResult::Output(order.encode().to_vec().into());
        report
    }

    /// The process dies and comes back with its journal.
    pub(crate) fn restart(&mut self) {
        let config = self.queue.config().clone();
        self.queue =
            Queue::restore(config, clock(), genesis(), self.journal.iter().cloned(), self.now).unwrap();
        self.settle();
    }
}
