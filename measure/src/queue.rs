//! One event of the queue against one insert into a hash map of the same size: nothing may scan the bundles.

use super::{Ratio, cost, median_of_pairs};
use alloy_primitives::B256;
use jam::{
    Hash, HeaderHash, PackageHash, Params, SlotClock, WorkResult,
    follow::{ChainView, Follower, Limits, Update},
    hash::blake2b,
    sample::{Author, Body, allow_simulated_keys},
    state::{RecentBlock, RecentBlocks},
};
use queue::{Action, ChainInput, Config, Queue, QueuedBlock, Sent, ServiceTracker, ServiceView, Size, State};
use service::accumulate::{Claim, ServiceState};
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};
use types::{BlockId, Time};

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "queue-event-1k", target: 50.0, measure: || event_against_insert(1000, &Params::TINY) },
    Ratio { name: "queue-event-10k", target: 50.0, measure: || event_against_insert(10_000, &Params::FULL) },
];

const PAIRS: usize = 61;
/// Each round is one timeout, two submissions, two answers, an enqueue, a guarantee and an accumulation.
const ROUNDS: u64 = 2;
const EVENTS_PER_ROUND: u32 = 8;
const INSERTS: u32 = 256;
const SLOT_MS: u64 = 6000;
const SERVICE: u32 = 7;
const CODE_HASH: Hash = Hash::repeat_byte(9);

fn event_against_insert(bundles: u64, params: &Params) -> f64 {
    allow_simulated_keys();
    let chain = ScriptedChain::new(params);
    let (mut spent, mut turns) = (Duration::ZERO, 0);
    let ours = || {
        let mut driver = Driver::new(&chain, bundles);
        let (time, ()) = cost(|| (1..=ROUNDS).for_each(|round| driver.round(round)));
        driver.check();
        spent += time;
        turns += EVENTS_PER_ROUND * ROUNDS as u32;
        time * INSERTS / (EVENTS_PER_ROUND * ROUNDS as u32)
    };
    let mut map = (0..bundles).map(|i| (*key(i), i)).collect::<HashMap<[u8; 32], u64>>();
    let floor = || {
        let keys = (0..u64::from(INSERTS)).map(|i| *key(bundles + i)).collect::<Vec<_>>();
        let (time, ()) = cost(|| {
            for key in &keys {
                map.insert(*key, bundles);
            }
        });
        map.retain(|_, value| *value < bundles);
        time
    };
    let ratio = median_of_pairs(PAIRS, ours, floor);
    println!("queue: {bundles} bundles, {} cores: {:?} per event", params.cores, spent / turns);
    ratio
}

fn key(i: u64) -> B256 {
    blake2b(&[b"key", &i.to_le_bytes()])
}

fn block_id(number: u64) -> BlockId {
    BlockId::new(number, blake2b(&[b"block", &number.to_le_bytes()]))
}

/// The package of a version. The queue takes any.
fn package(number: u64, version: u32) -> PackageHash {
    PackageHash(blake2b(&[b"package", &number.to_le_bytes(), &version.to_le_bytes()]))
}

/// A chain on which block after block is guaranteed and then accumulated, with what the service was at each.
struct ScriptedChain {
    params: Params,
    author: Author,
    follower: Follower,
    tracker: ServiceTracker,
    /// The blocks, what each changed, and the service there.
    steps: Vec<(HeaderHash, Update, ServiceView)>,
}

impl ScriptedChain {
    fn new(params: &Params) -> Self {
        let author = Author::simulated(*params);
        let start = author.start();
        let tracker = ServiceTracker::new(SERVICE, CODE_HASH, start.hash, ServiceState::new(block_id(0)));
        let follower = Follower::new(*params, start, Limits::default());
        let mut chain = Self { params: *params, author, follower, tracker, steps: vec![] };
        (0..6).for_each(|_| chain.extend(None, &[]));
        for number in 1..=ROUNDS {
            chain.extend(Some(number), &[]);
            chain.extend(None, &[0]);
        }
        chain
    }

    /// A block that may report a block of ours on core 0.
    fn extend(&mut self, number: Option<u64>, available: &[u16]) {
        let view = self.follower.view();
        let report = number.map(|number| {
            let anchor = view.recent().nth(1).map_or(view.head().hash, |block| block.hash);
            let mut report = self.author.report(&view, package(number, 1), 0, anchor);
            let claim = Claim::of_run(block_id(number - 1).hash, number, block_id(number));
            report.digests[0].service = SERVICE;
            report.digests[0].code_hash = CODE_HASH;
            report.digests[0].result = WorkResult::Output(claim.encode().to_vec().into());
            report
        });
        let body = Body { reports: report.into_iter().collect(), available: available.to_vec(), salt: 0 };
        let block = self.author.block(&view, view.head().slot + 1, body);
        let hash = block.header.hash();
        let update = self.follower.import(block);
        assert!(update.refused.is_empty(), "{:?}", update.refused);
        let mut recent = RecentBlocks::EMPTY;
        recent.blocks.push(RecentBlock {
            hash,
            beefy_root: Hash::ZERO,
            state_root: Hash::ZERO,
            reported: BTreeMap::new(),
        });
        self.follower.learn_roots(&recent);
        let service = self.tracker.view(&self.follower, &update);
        self.steps.push((hash, update, service));
    }

    fn views(&self) -> Vec<ChainView<'_>> {
        let view = |(hash, ..): &(HeaderHash, _, _)| self.follower.view_from(*hash);
        self.steps.iter().map(|step| view(step).expect("nothing became final")).collect()
    }
}

/// A queue full of bundles, as many submitted as there are cores, and the driver's part.
struct Driver<'a> {
    chain: &'a ScriptedChain,
    views: Vec<ChainView<'a>>,
    queue: Queue,
    now: Time,
    next_step: usize,
    next_block: u64,
}

impl<'a> Driver<'a> {
    fn new(chain: &'a ScriptedChain, bundles: u64) -> Self {
        let clock = SlotClock::starting_at(Time::ZERO, SLOT_MS);
        let config = Config {
            run_blocks_max: 1,
            submit_ahead_max: usize::MAX,
            lookup_age_max: u32::MAX,
            ..Config::new(&chain.params, SLOT_MS)
        };
        let queue = Queue::new(config, clock, block_id(0));
        // The middle of a window.
        let now = clock.start_of(20) - Duration::from_millis(2900);
        let mut driver = Self { chain, views: chain.views(), queue, now, next_step: 5, next_block: 1 };
        (0..bundles).for_each(|_| driver.enqueue());
        driver.chain_event();
        for _ in 0..chain.params.cores {
            driver.submit();
        }
        driver
    }

    /// After every event: what a driver does then.
    fn settle(&mut self) {
        drop(self.queue.take_records());
        self.queue.drain_events();
        std::hint::black_box(self.queue.poll_timeout(self.now));
    }

    fn enqueue(&mut self) {
        let (id, parent) = (block_id(self.next_block), block_id(self.next_block - 1));
        self.next_block += 1;
        let (size, sealed_at) = (Size::default(), self.now);
        let block = QueuedBlock { id, transactions: 0, is_alone: false, size, sealed_at };
        self.queue.enqueue(block, parent).expect("there is room");
        self.settle();
    }

    fn chain_event(&mut self) {
        let (_, update, service) = &self.chain.steps[self.next_step];
        let view = &self.views[self.next_step];
        let input = ChainInput { view, service, packages: &update.changed, cores: &update.cores };
        self.queue.handle_chain(&input, self.now);
        self.next_step += 1;
        self.settle();
    }

    /// The lowest bundle that waits is sent, and a guarantor takes it.
    fn submit(&mut self) {
        let submission = loop {
            match self.queue.poll_action(self.now) {
                Some(Action::Pack(plan)) => self.queue.packed(plan.run.first.number, plan.run.last.number),
                Some(Action::Submit(submission)) => break submission,
                other => panic!("nothing to send: {other:?}"),
            }
        };
        let number = submission.run.first.number;
        let package = package(number, submission.version);
        self.queue.commit_submission(&submission, package, self.now).expect("nothing has moved");
        self.settle();
        self.queue.handle_sent(number, package, Sent::Taken);
        self.settle();
        self.now = self.now + Duration::from_millis(1);
    }

    /// The timeout of one bundle, which is sent again and guaranteed; the next one gets its core; the first one is
    /// accumulated; and another one enters.
    fn round(&mut self, number: u64) {
        let Some(State::Submitted { sent_at, .. }) = self.queue.get(number).map(|bundle| bundle.state) else {
            panic!("block {number} is not submitted")
        };
        self.now = sent_at + self.queue.config().guarantee_timeout;
        self.queue.handle_timeout(self.now);
        self.settle();
        self.submit();
        self.chain_event();
        self.submit();
        self.chain_event();
        self.enqueue();
    }

    /// That the rounds were what they should be.
    fn check(&self) {
        let applied = |number: &u64| self.queue.get(*number).map(|bundle| bundle.state);
        assert!((1..=ROUNDS).all(|number| applied(&number) == Some(State::Accumulated)));
        let stats = self.queue.stats();
        let cores = u64::from(self.chain.params.cores);
        assert_eq!((stats.timeouts, stats.sends, stats.guaranteed), (ROUNDS, cores + 2 * ROUNDS, ROUNDS));
        assert_eq!(self.queue.counts().1 as u64, cores);
    }
}
