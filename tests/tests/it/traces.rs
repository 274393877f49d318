//! The family `traces` on a trace of our own: a tiny chain with reports, availability and a change of epoch, written
//! in the public layout. Each recorded state is made from the rules one by one; the judge must agree with it, and must
//! notice when any part of it is changed.

use jam::{
    Block, Hash, Params,
    block::TicketBody,
    codec::{Bytes, Encode},
    follow::{Fate, Follower, Limits, Start},
    hash::HeaderHash,
    rules::{
        accumulation::{self, Taken},
        assurances, history, reports,
    },
    sample::{Author, Body},
    spec::StateKey,
    state::*,
};
use std::{collections::BTreeMap, sync::Arc};
use tests::vectors::Report;

const PARAMS: Params = Params::TINY;

type Entries = BTreeMap<StateKey, Bytes>;

/// The parts of the state that change, beside an author and a follower that know how to make the next block.
struct Recorder {
    author: Author,
    follower: Follower,
    pending: assurances::Pending,
    recent: RecentBlocks,
    ready: ReadyQueue,
    accumulated: Accumulated,
    slot: u32,
    entropy: Entropy,
}

impl Recorder {
    fn new() -> Self {
        let author = Author::new(PARAMS);
        let start = author.start();
        let mut recent = RecentBlocks::EMPTY;
        recent.blocks.push(RecentBlock {
            hash: start.hash,
            beefy_root: Hash::ZERO,
            state_root: Hash::ZERO,
            reported: BTreeMap::new(),
        });
        let follower = Follower::new(PARAMS, start, Limits::default());
        let entropy = [0, 1, 2, 3].map(Hash::repeat_byte);
        Self {
            author,
            follower,
            pending: vec![None; 2],
            recent,
            ready: ReadyQueue::empty(&PARAMS),
            accumulated: Accumulated::none(&PARAMS),
            slot: 0,
            entropy: Entropy {
                now: entropy[0],
                epoch: entropy[1],
                assignment: entropy[2],
                previous_assignment: entropy[3],
            },
        }
    }

    fn entries(&self) -> Entries {
        let keys = |secret: &jam::sample::Signer| ValidatorKeys {
            bandersnatch: Hash::ZERO,
            ed25519: secret.public(),
            bls: Default::default(),
            metadata: Default::default(),
        };
        let validators = Validators { keys: self.author.secrets().iter().map(keys).collect() };
        let no_tickets = Vec::<TicketBody>::new().encode();
        let sealers = [vec![1], vec![0; 32 * 12]].concat();
        let safrole = [validators.encode(), vec![0; 144], sealers, no_tickets].concat();
        let pool = AuthPool { authorizers: vec![self.authorizer()] };
        let pending = self.pending.iter().map(|p| p.as_ref().map(|p| PendingReport::clone(p))).collect();
        [
            (StateIndex::AuthPools, AuthPools { cores: vec![pool; 2] }.encode()),
            (StateIndex::RecentBlocks, self.recent.encode()),
            (StateIndex::Safrole, safrole),
            (StateIndex::Disputes, DisputeRecords::none().encode()),
            (StateIndex::Entropy, self.entropy.encode()),
            (StateIndex::Validators, validators.encode()),
            (StateIndex::PreviousValidators, validators.encode()),
            (StateIndex::PendingReports, PendingReports { cores: pending }.encode()),
            (StateIndex::Slot, self.slot.encode()),
            (StateIndex::Privileges, [vec![0; 4 * 5], Vec::<(u32, u64)>::new().encode()].concat()),
            (StateIndex::ReadyQueue, self.ready.encode()),
            (StateIndex::Accumulated, self.accumulated.encode()),
            (StateIndex::AccumulationOutputs, Vec::<AccumulationOutput>::new().encode()),
        ]
        .into_iter()
        .map(|(index, value)| (index.key(), Bytes::from(value)))
        .chain([(service_key(7), service().encode().into())])
        .collect()
    }

    fn authorizer(&self) -> Hash {
        Hash::repeat_byte(0xaa)
    }

    /// The next block, with a report on every free core and every busy core's report available.
    fn block(&self, slot: u32) -> Block {
        let view = self.follower.view();
        let available = (0..2).filter(|core| view.core(*core).is_some()).collect::<Vec<_>>();
        let reports = (0..2).map(|core| self.report(2 * slot as u8 + core as u8, core)).collect();
        self.author.block(&view, slot, Body { reports, available, salt: 0 })
    }

    fn report(&self, package: u8, core: u16) -> jam::WorkReport {
        let view = self.follower.view();
        let package = jam::PackageHash(Hash::repeat_byte(package));
        let mut report = self.author.report(&view, package, core, view.head().hash);
        report.context.beefy_root = self.recent.blocks.last().unwrap().beefy_root;
        report.authorizer = self.authorizer();
        report.digests[0].service = 7;
        report.digests[0].code_hash = service().code_hash;
        report
    }

    /// Makes a block with this body, applies it, and gives the step as a file's contents.
    fn step(&mut self, slot: u32, reports: Vec<jam::WorkReport>, available: Vec<u16>) -> Vec<u8> {
        let before = self.entries();
        let block = self.author.block(&self.follower.view(), slot, Body { reports, available, salt: 0 });
        self.apply(&block);
        [raw(1, &before), block.encode(), raw(2, &self.entries())].concat()
    }

    /// Applies a block the way a validator would: rule by rule on the state's own parts.
    fn apply(&mut self, block: &Block) {
        let header = &block.header;
        if let Some(mark) = &header.epoch_mark {
            self.entropy = Entropy {
                now: self.entropy.now,
                epoch: mark.entropy,
                assignment: mark.tickets_entropy,
                previous_assignment: self.entropy.assignment,
            };
        }
        assert!(self.follower.import(block.clone()).refused.is_empty());
        let done = assurances::apply(
            &PARAMS,
            &mut self.pending,
            &self.follower.view().epoch().current,
            &block.extrinsic.assurances,
            header.parent,
            header.slot,
        )
        .unwrap();
        let reported = reports::Reported {
            reports: block
                .extrinsic
                .guarantees
                .iter()
                .map(|g| Arc::new(PendingReport { report: g.report.clone(), slot: header.slot }))
                .collect(),
            reporters: [].into(),
        };
        for report in &reported.reports {
            self.pending[usize::from(report.report.core)] = Some(Arc::clone(report));
        }
        let available = done.reports().collect::<Vec<_>>();
        let (ready, accumulated) = (&mut self.ready, &mut self.accumulated);
        accumulation::apply(
            &PARAMS,
            ready,
            accumulated,
            &available,
            self.slot,
            header.slot,
            Taken::WithinGas(u64::MAX),
        );
        let packages = reported.packages();
        history::apply(
            &PARAMS,
            &mut self.recent,
            header.hash(),
            header.prior_state_root,
            Hash::ZERO,
            packages,
        );
        let mut told = self.recent.clone();
        told.blocks.last_mut().unwrap().state_root = Hash::ZERO;
        self.follower.learn_roots(&told);
        self.slot = header.slot;
    }
}

fn service() -> ServiceInfo {
    ServiceInfo {
        version: 0,
        code_hash: Hash::repeat_byte(0xcc),
        balance: 0,
        min_item_gas: 10,
        min_memo_gas: 10,
        bytes: 0,
        deposit_offset: 0,
        items: 0,
        creation_slot: 0,
        last_accumulation_slot: 0,
        parent_service: 0,
    }
}

fn raw(root: u8, entries: &Entries) -> Vec<u8> {
    let entries = entries.iter().map(|(key, value)| (*key, value.clone())).collect::<Vec<_>>();
    [Hash::repeat_byte(root).encode(), entries.encode()].concat()
}

/// Runs the judge on steps given as files' contents.
fn judge(steps: &[Vec<u8>]) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("traces/ours");
    std::fs::create_dir_all(&folder).unwrap();
    for (number, step) in steps.iter().enumerate() {
        std::fs::write(folder.join(format!("{number:08}.bin")), step).unwrap();
    }
    Report::of(dir.path()).unwrap()
}

/// Blocks over two epochs, with skipped slots.
fn trace() -> Vec<(Entries, Block, Entries)> {
    let mut recorder = Recorder::new();
    let mut steps = vec![];
    for slot in [1, 2, 3, 6, 7, 11, 13, 14, 15] {
        let before = recorder.entries();
        let block = recorder.block(slot);
        recorder.apply(&block);
        steps.push((before, block, recorder.entries()));
    }
    steps
}

#[test]
fn our_own_trace_is_reproduced() {
    let steps = trace();
    let files =
        steps.iter().map(|(before, block, after)| [raw(1, before), block.encode(), raw(2, after)].concat());
    let report = judge(&files.collect::<Vec<_>>());
    assert_eq!((report.passed_in("traces/ours"), report.failed()), (9, 0), "{report}");
}

#[test]
fn services_may_leave_room_for_more_than_asked_gas_says() {
    // Three reports become ready in one block; each asks for half of the block's gas, and the chain, which ran the
    // services, accumulated all three.
    let mut recorder = Recorder::new();
    let greedy = |recorder: &Recorder, package, core| {
        let mut report = recorder.report(package, core);
        report.digests[0].accumulate_gas = PARAMS.accumulate_gas_max;
        report
    };
    let first = greedy(&recorder, 1, 0);
    let mut second = greedy(&recorder, 2, 1);
    second.context.prerequisites.insert(first.package());
    let mut files = vec![recorder.step(1, vec![first, second], vec![])];
    let third = greedy(&recorder, 3, 1);
    files.push(recorder.step(2, vec![third], vec![1]));
    files.push(recorder.step(3, vec![], vec![0, 1]));
    assert_eq!(recorder.accumulated.blocks.last().unwrap().len(), 3);
    let report = judge(&files);
    assert_eq!((report.passed(), report.failed()), (3, 0), "{report}");
}

#[test]
fn fewer_than_asked_gas_allows_is_noticed() {
    let (before, block, mut after) = trace().swap_remove(7);
    let mut accumulated: Accumulated = state_part(&after, StateIndex::Accumulated, &PARAMS).unwrap();
    assert!(accumulated.blocks.last_mut().unwrap().pop_first().is_some());
    after.insert(StateIndex::Accumulated.key(), accumulated.encode().into());
    let report = judge(&[[raw(1, &before), block.encode(), raw(2, &after)].concat()]);
    assert!(report.failed() == 1 && report.to_string().contains("though 2 fit"), "{report}");
}

/// A follower that begins with a recorded state answers as the one that followed all the way.
#[test]
fn a_follower_can_begin_with_any_state() {
    let mut recorder = Recorder::new();
    let first = recorder.report(1, 0);
    let mut second = recorder.report(2, 1);
    second.context.prerequisites.insert(first.package());
    let packages = [first.package(), second.package()];
    recorder.step(1, vec![first, second], vec![]);
    recorder.step(2, vec![], vec![1]);
    let head = recorder.follower.view().head();
    let begin = |hash| Start::from_state(&PARAMS, hash, &recorder.entries());
    let follower = Follower::new(PARAMS, begin(head.hash).unwrap(), Limits::default());
    let fates = packages.map(|package| follower.view().fate(package));
    let block = head.hash;
    assert_eq!(fates, [Fate::Reported { core: 0, block }, Fate::Available { block }]);
    assert_eq!(follower.checkpoint(), begin(head.hash).unwrap());
    // It is the state after that block and no other.
    let other = HeaderHash(Hash::repeat_byte(9));
    let error = StateError::OtherBlock { expected: other, found: head.hash };
    assert_eq!(begin(other), Err(error));
}

#[test]
fn a_trace_with_another_outcome_is_noticed() {
    let (before, block, after) = trace().swap_remove(7);
    let with = |index: StateIndex, value: Vec<u8>| {
        let mut after = after.clone();
        after.insert(index.key(), value.into());
        [raw(1, &before), block.encode(), raw(2, &after)].concat()
    };
    let mut blocks = Accumulated::none(&PARAMS);
    blocks.blocks[3].insert(jam::PackageHash(Hash::repeat_byte(0xee)));
    let mut recent = RecentBlocks::EMPTY;
    recent.log.append(Hash::ZERO);
    let report = judge(&[
        with(StateIndex::PendingReports, PendingReports::none(&PARAMS).encode()),
        with(StateIndex::Accumulated, blocks.encode()),
        with(StateIndex::RecentBlocks, recent.encode()),
        with(StateIndex::Entropy, vec![9; 128]),
        with(StateIndex::ReadyQueue, vec![1; 5]),
    ]);
    assert_eq!((report.passed(), report.failed()), (0, 5), "{report}");
    let text = report.to_string();
    for what in ["another ρ", "another ξ", "another β", "another epoch", "ReadyQueue"] {
        assert!(text.contains(what), "{what} is not named:\n{text}");
    }
}

#[test]
fn a_block_that_had_to_be_refused_asks_for_nothing() {
    let (before, mut block, _) = trace().swap_remove(2);
    block.header.unsealed.parent = HeaderHash(Hash::repeat_byte(1));
    let report = judge(&[[raw(1, &before), block.encode(), raw(1, &before)].concat()]);
    assert_eq!((report.passed(), report.failed()), (1, 0), "{report}");
}
