//! The builder: the product's driver on a real network, with states in memory and a disk that is always there.

use super::Setup;
use alloy_eips::Encodable2718;
use bundler::{Draft, Parent, Refined, Sealed};
use clock::SystemClock;
use driver::{
    Blocks as _, Driver, EvmBlocks, EvmBuilder, EvmHistory, Outgoing, Output, PackJob as _, Recovered,
    Responder, Settings, Started,
};
use jam::{
    ChainSpec, PackageHash, SlotClock,
    codec::Decode,
    follow::{Fate, Follower, Limits as Depth, Refused, Start, Update},
    state::{RecentBlocks, StateIndex},
};
use network::{
    BlockId as ChainBlock, ChainEvent, Endpoint, Follow, FollowLimits, Handshake, Limits, Peers, Retry, Role,
    StateWanted, Submission,
};
use queue::Sent;
use service::accumulate::ServiceState;
use state::{CodeSet, MemoryValues};
use std::{
    collections::BTreeMap,
    slice,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
use types::{BlockId, Event, Time, Transaction};

type Blocks = EvmBlocks<Arc<MemoryValues>, CodeSet>;

/// Nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(90);
/// Peers that must say the same about a state.
const AGREEMENT: usize = 2;

/// The way of one block: slots in which things happened to it, as the best chain told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// In which it was sent, each time.
    pub sent: Vec<u32>,
    /// How sending ended, each time.
    pub answers: Vec<Sent>,
    /// Of the blocks that reported it.
    pub reported: Vec<u32>,
    /// Of the blocks that accumulated it.
    pub accumulated: Vec<u32>,
    /// Of the blocks that dropped it because it did not become available.
    pub timed_out: Vec<u32>,
}

/// A builder that is connected to a network.
pub struct Builder {
    /// What decides.
    driver: Driver<Blocks>,
    /// Sees what the driver is told, for the test: whose blocks are not believed is a failure.
    pub follower: Follower,
    /// The way of each block.
    pub ways: BTreeMap<u64, Way>,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// When slots begin.
    pub clock: SlotClock,
    /// The time.
    pub time: SystemClock,
    setup: Setup,
    chain: Follow,
    peers: Peers,
    blocks: BTreeMap<u64, (Draft, Parent<Arc<MemoryValues>>)>,
    packages: BTreeMap<PackageHash, u64>,
    sending: JoinSet<(u64, PackageHash, Sent)>,
}

impl Builder {
    /// Connects to the network of a specification.
    pub fn connect(spec: &ChainSpec, slot_ms: u64, setup: &Setup) -> Self {
        let genesis = ChainBlock { hash: spec.genesis_hash(), slot: 0 };
        let status = Handshake { finalized: genesis, leaves: vec![genesis] };
        let (feed, chain) = Follow::start(status, FollowLimits::default());
        let config = network::Config {
            secret: setup.secret.clone(),
            genesis: genesis.hash,
            params: spec.params,
            role: Role::Builder,
            listen: None,
            limits: Limits { redial_first_ms: 50, redial_longest_ms: 1000, ..Limits::default() },
        };
        let endpoint = Endpoint::bind(&config, feed).expect("a free port on the loopback");
        let mut peers = Peers::new(endpoint.clone(), 77);
        peers.set(spec.bootnodes.iter().copied());
        let start =
            Start::from_state(&spec.params, genesis.hash, &spec.genesis_state).expect("a genesis state");
        let (clock, time) = (devnet::validator::clock(slot_ms), SystemClock::default());
        Self {
            driver: start_driver(setup, spec, slot_ms, start.clone(), time.now()),
            follower: Follower::new(spec.params, start, Depth::default()),
            ways: BTreeMap::new(),
            endpoint,
            clock,
            time,
            setup: setup.clone(),
            chain,
            peers,
            blocks: BTreeMap::new(),
            packages: BTreeMap::new(),
            sending: JoinSet::new(),
        }
    }

    /// Connects to the same network at other addresses.
    pub fn move_to(&mut self, spec: &ChainSpec) {
        self.peers.set(spec.bootnodes.iter().copied());
    }

    /// Seals a block of these transactions, and nothing else.
    pub fn seal(&mut self, transactions: &[Transaction]) -> BlockId {
        let now = self.time.now();
        let (answer, answered) = mpsc::channel();
        let responder = Responder::new(move |results| drop(answer.send(results)));
        self.driver.submit(transactions.to_vec(), responder, now).expect("the state is in memory");
        assert!(self.driver.seal_now(now).expect("the state is in memory"), "the queue has room");
        self.step();
        let results = answered.recv().expect("the driver answers in its next step");
        assert!(results.iter().all(Result::is_ok), "the pool takes what the test made: {results:?}");
        let block = self.driver.blocks().newest_id();
        let built = self.driver.blocks().get(block.number).expect("just sealed");
        assert_eq!(built.draft.block.transactions().len(), transactions.len(), "all fit into one block");
        let parent = self.driver.blocks().parent_of(built).expect("the state is in memory");
        self.blocks.insert(block.number, (built.draft.clone(), parent));
        block
    }

    fn replayed(&self, number: u64) -> (Sealed<Arc<MemoryValues>>, Refined) {
        let (draft, parent) = &self.blocks[&number];
        let bundler = self.setup.bundler();
        let sealed = bundler.replay(draft, parent, self.setup.genesis.codes.clone());
        let sealed = sealed.expect("what was sealed once can be executed again");
        let refined = bundler
            .pack_exactly(parent, slice::from_ref(&sealed.piece))
            .expect("validators accept what was sealed");
        (sealed, refined)
    }

    /// A version of a sealed block on another context, for a test that sends it by itself.
    pub fn package(&self, number: u64, context: jam::RefineContext) -> bundler::Packaged {
        self.setup.bundler().package(&self.replayed(number).1, context)
    }

    /// The root of what a block exports.
    pub fn exports_root(&self, number: u64) -> jam::SegmentRoot {
        let (sealed, _) = self.replayed(number);
        let block = sealed.block();
        let transactions = block.transactions().iter().map(Transaction::encoded).collect::<Vec<_>>();
        let receipts = sealed.receipts.iter().map(Encodable2718::encoded_2718).collect::<Vec<_>>();
        let mut exports = service::exports::Exports::default();
        exports.push(block.header(), &transactions, &receipts);
        service::exports::root(&exports.into_segments())
    }

    /// The bundle of a block as it was sent last.
    pub fn sent_package(&self, number: u64) -> Option<jam::Bundle> {
        let version = self.driver.queue().get(number)?.versions.last()?;
        Some(self.package(number, version.context.clone()).bundle)
    }

    /// A context that the next block would accept: anchored two blocks back. `None` while too little is known.
    pub fn context(&self) -> Option<jam::RefineContext> {
        let view = self.follower.view();
        let anchor = view.recent().nth(2)?;
        Some(jam::RefineContext {
            anchor: anchor.hash,
            state_root: anchor.state_root?,
            beefy_root: anchor.beefy_root?,
            lookup_anchor: view.finalized().hash,
            lookup_anchor_slot: view.finalized().slot,
            prerequisites: [].into(),
        })
    }

    /// Runs until something holds. Panics if it does not within a long time.
    pub async fn run_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(
                began.elapsed() < PATIENCE,
                "not within {PATIENCE:?}: {what}\n{:?}\n{:?}",
                self.ways,
                self.states()
            );
            self.turn().await;
        }
    }

    /// The states of all blocks in the queue.
    pub fn states(&self) -> Vec<(u64, queue::State)> {
        self.driver.queue().bundles().map(|bundle| (bundle.number(), bundle.state)).collect()
    }

    /// Whether a block is final.
    pub fn is_final(&self, number: u64) -> bool {
        self.driver.service().finalized.head().number >= number
    }

    /// The way of a block.
    pub fn way(&self, number: u64) -> Way {
        self.ways.get(&number).cloned().unwrap_or_default()
    }

    /// Waits for one thing to happen and does what is due then.
    async fn turn(&mut self) {
        let now = self.time.now();
        let due = self.driver.poll_timeout().unwrap_or(Time::MAX);
        let pause = due.since(now).clamp(Duration::from_millis(1), Duration::from_millis(500));
        tokio::select! {
            event = self.chain.next() => if let Some(event) = event { self.hear(event) },
            Some(sent) = self.sending.join_next() => if let Ok((number, package, sent)) = sent {
                self.ways.entry(number).or_default().answers.push(sent);
                self.driver.sent(number, package, sent, self.time.now());
            },
            () = tokio::time::sleep(pause) => {}
        }
        while let Some(event) = self.chain.try_next() {
            self.hear(event);
        }
        self.step();
    }

    fn hear(&mut self, event: ChainEvent) {
        self.tell_driver(&event);
        let update = event.apply(&mut self.follower);
        let lost = |why: &Refused| matches!(why, Refused::Stale | Refused::Parent);
        let disbelieved = update.refused.iter().filter(|(_, why)| !lost(why)).collect::<Vec<_>>();
        assert!(disbelieved.is_empty(), "the validators' blocks are believed: {disbelieved:?}");
        self.chain.want(self.driver.wanted());
        if update.best_moved {
            let head = self.follower.view().head().hash;
            let keys = self.driver.service_keys();
            self.chain.want_state(StateWanted::of_chain(head, None, &keys, AGREEMENT));
            self.chain.tell(&self.follower);
        }
        self.note(&update);
    }

    fn tell_driver(&mut self, event: &ChainEvent) {
        let driver = &mut self.driver;
        match event {
            ChainEvent::Block { block, .. } => driver.import((**block).clone(), self.time.now()),
            ChainEvent::Final { validator, hash, slot } => driver.final_word(*validator, *hash, *slot),
            ChainEvent::Unavailable { hash } => driver.unavailable(*hash),
            ChainEvent::Peer { .. } => driver.set_peers(self.chain.peers().into_iter().collect()),
            ChainEvent::State { header, entries, .. } => {
                let recent = entries.get(&StateIndex::RecentBlocks.key()).expect("it was asked for");
                let recent = RecentBlocks::decode(recent, self.follower.params()).expect("it was proved");
                driver.learn(*header, &recent, entries);
            }
            ChainEvent::Announced { .. } | ChainEvent::StateUnavailable { .. } => {}
        }
    }

    /// Writes down what the best chain says of packages.
    fn note(&mut self, update: &Update) {
        let view = self.follower.view();
        for package in &update.changed {
            let Some(number) = self.packages.get(package) else { continue };
            let way = self.ways.entry(*number).or_default();
            let slot = |block| self.follower.view_from(block).map(|view| view.head().slot);
            match view.fate(*package) {
                Fate::Reported { block, .. } => note_once(&mut way.reported, slot(block)),
                Fate::Accumulated { block } => note_once(&mut way.accumulated, slot(block)),
                Fate::TimedOut { block } => note_once(&mut way.timed_out, slot(block)),
                _ => {}
            }
        }
    }

    /// Lets the driver do what is due. What it gives is durable at once.
    fn step(&mut self) {
        let Output { news, answers, sends, jobs, .. } =
            self.driver.step(self.time.now()).expect("the state is in memory");
        for job in jobs {
            self.driver.packed(job.pack(), self.time.now()).expect("the state is in memory");
        }
        for event in news.events {
            let is_given_up = matches!(event, Event::Released { .. } | Event::ServiceDiffers { .. });
            assert!(!is_given_up, "nothing fails so often: {event}");
        }
        answers.into_iter().for_each(|(answer, results)| answer.tell(results));
        sends.into_iter().for_each(|outgoing| self.send(outgoing));
    }

    fn send(&mut self, outgoing: Outgoing<bundler::Packaged>) {
        let (number, package) = (outgoing.run().first.number, outgoing.package());
        self.packages.insert(package, number);
        let now = self.time.now();
        self.ways.entry(number).or_default().sent.push(self.clock.slot_at(now));
        let (bundle, params) = (&outgoing.packaged.bundle, *self.follower.params());
        let ready = Submission::new(outgoing.core, bundle, &BTreeMap::new(), &params);
        let ready = ready.expect("it keeps to the limits");
        let deadline = tokio::time::Instant::now() + outgoing.time_left(now);
        let endpoint = self.endpoint.clone();
        self.sending.spawn(async move {
            let sent = match network::submit(&endpoint, &outgoing.guarantors, &ready, deadline).await {
                Ok(_) => Sent::Taken,
                Err(network::SubmitError::Stale { .. }) => Sent::Stale,
                Err(error) if error.retry() == Retry::Resend => Sent::Failed,
                Err(_) => Sent::Refused,
            };
            (number, package, sent)
        });
    }
}

/// The product's driver on a fresh chain. It seals when the test says so, and only then.
fn start_driver(setup: &Setup, spec: &ChainSpec, slot_ms: u64, genesis: Start, now: Time) -> Driver<Blocks> {
    let head = setup.genesis.id();
    let started = Started {
        settings: Settings::default(),
        params: spec.params,
        clock: devnet::validator::clock(slot_ms),
        pool: txpool::Config { tx_bytes_max: 1 << 20, ..txpool::Config::dev() },
        // Tests look at the way of each block.
        queue: queue::Config { run_blocks_max: 1, ..queue::Config::new(&spec.params, slot_ms) },
        genesis,
        service_id: setup.service.service,
        code_hash: setup.service.code_hash,
        service: ServiceState::new(head),
    };
    let builder = EvmBuilder::new(setup.bundler(), setup.secret.clone());
    let history = EvmHistory {
        final_header: setup.genesis.header.clone(),
        finals: vec![],
        states: vec![setup.genesis.layer()],
    };
    let blocks = EvmBlocks::new(builder, history, setup.genesis.codes.clone());
    let recovered = Recovered {
        finalized: head,
        build: 0,
        transactions: vec![],
        blocks: vec![],
        records: vec![],
        checkpoint: None,
    };
    let mut driver = Driver::start(started, recovered, blocks, now).expect("a fresh chain");
    driver.pause();
    driver
}

fn note_once(slots: &mut Vec<u32>, slot: Option<u32>) {
    slots.extend(slot.filter(|slot| !slots.contains(slot)));
}
