//! The builder: follows the chain, seals blocks, and sends what the queue says.

use super::Setup;
use alloy_primitives::Address;
use bundler::{Bundler, Opening, Parent, Refined, Sealed};
use clock::SystemClock;
use jam::{
    ChainSpec, PackageHash, SlotClock,
    follow::{Fate, Follower, Limits as Depth, Refused, Start, Update},
};
use network::{
    BlockId as ChainBlock, ChainEvent, Endpoint, Follow, FollowLimits, Handshake, Limits, Peers, Retry, Role,
    StateWanted, Submission,
};
use queue::{Action, ChainInput, Queue, Sent, ServiceTracker, ServiceView};
use service::accumulate::ServiceState;
use state::MemoryValues;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
use types::{BlockId, Time, Transaction};

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
pub struct Driver {
    /// The queue.
    pub queue: Queue,
    /// What it believes of the chain.
    pub follower: Follower,
    /// What it believes of the service.
    pub service: ServiceView,
    /// The way of each block.
    pub ways: BTreeMap<u64, Way>,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// When slots begin.
    pub clock: SlotClock,
    /// The time.
    pub time: SystemClock,
    setup: Setup,
    bundler: Bundler,
    tracker: ServiceTracker,
    chain: Follow,
    peers: Peers,
    blocks: BTreeMap<u64, (Sealed<Arc<MemoryValues>>, Refined)>,
    packages: BTreeMap<PackageHash, u64>,
    update: Update,
    sending: JoinSet<(u64, PackageHash, Sent)>,
}

impl Driver {
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
        let follower = Follower::new(spec.params, start, Depth::default());
        let head = setup.genesis.id();
        let (id, code_hash) = (setup.service.service, setup.service.code_hash);
        let mut tracker = ServiceTracker::new(id, code_hash, genesis.hash, ServiceState::new(head));
        let service = tracker.view(&follower, &Update::default());
        let clock = devnet::validator::clock(slot_ms);
        Self {
            queue: Queue::new(queue::Config::new(&spec.params, slot_ms), clock, head),
            follower,
            service,
            ways: BTreeMap::new(),
            endpoint,
            clock,
            time: SystemClock::default(),
            setup: setup.clone(),
            bundler: setup.bundler(),
            tracker,
            chain,
            peers,
            blocks: BTreeMap::new(),
            packages: BTreeMap::new(),
            update: Update::default(),
            sending: JoinSet::new(),
        }
    }

    /// Connects to the same network at other addresses.
    pub fn move_to(&mut self, spec: &ChainSpec) {
        self.peers.set(spec.bootnodes.iter().copied());
    }

    /// The block that the next one stands on.
    fn parent(&self) -> Parent<Arc<MemoryValues>> {
        let genesis = || Parent::new(self.setup.genesis.header.clone(), self.setup.genesis.layer());
        self.blocks.last_key_value().map_or_else(genesis, |(_, (sealed, _))| sealed.as_parent())
    }

    /// Seals a block of these transactions and puts it into the queue.
    pub fn seal(&mut self, transactions: &[Transaction]) -> BlockId {
        let parent = self.parent();
        let below = parent.id();
        let now = self.time.now();
        let build = below.number + 1;
        let opening = Opening { now_secs: now.as_secs(), beneficiary: Address::repeat_byte(0xfe), build };
        let mut open =
            self.bundler.open(parent, self.setup.genesis.codes.clone(), opening).expect("its parent");
        for tx in transactions {
            open.push(tx).expect("it fits and can be executed");
        }
        let sealed = open.seal(&self.setup.secret).expect("the state is in memory");
        let refined = self.bundler.refine(&sealed).expect("validators accept what was sealed");
        let block = sealed.block().id();
        let hashes = transactions.iter().map(Transaction::hash).collect::<Vec<_>>();
        self.queue.enqueue(block, below, hashes.into(), now).expect("the queue has room");
        self.blocks.insert(block.number, (sealed, refined));
        block
    }

    /// A version of a sealed block on another context, for whoever wants to send it himself.
    pub fn package(&self, number: u64, context: jam::RefineContext) -> bundler::Packaged {
        self.bundler.package(&self.blocks[&number].1, context)
    }

    /// The root of what a block exports.
    pub fn exports_root(&self, number: u64) -> jam::SegmentRoot {
        service::exports::root(&self.blocks[&number].0.exports())
    }

    /// The bundle of a block as it was sent last.
    pub fn sent_package(&self, number: u64) -> Option<jam::Bundle> {
        let version = self.queue.get(number)?.versions.last()?;
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
        self.queue.bundles().map(|bundle| (bundle.block.number, bundle.state)).collect()
    }

    /// Whether a block is final.
    pub fn is_final(&self, number: u64) -> bool {
        self.service.finalized.head().number >= number
    }

    /// The way of a block.
    pub fn way(&self, number: u64) -> Way {
        self.ways.get(&number).cloned().unwrap_or_default()
    }

    /// Waits for one thing to happen and does what is due then.
    async fn turn(&mut self) {
        let now = self.time.now();
        let due = self.queue.poll_timeout(now).unwrap_or(Time::MAX);
        let pause = due.since(now).clamp(Duration::from_millis(1), Duration::from_millis(500));
        tokio::select! {
            event = self.chain.next() => if let Some(event) = event { self.hear(event) },
            Some(sent) = self.sending.join_next() => if let Ok((number, package, sent)) = sent {
                self.ways.entry(number).or_default().answers.push(sent);
                self.queue.handle_sent(number, package, sent);
            },
            () = tokio::time::sleep(pause) => {}
        }
        while let Some(event) = self.chain.try_next() {
            self.hear(event);
        }
        self.step(self.time.now());
    }

    fn hear(&mut self, event: ChainEvent) {
        let update = event.apply(&mut self.follower);
        let lost = |why: &Refused| matches!(why, Refused::Stale | Refused::Parent);
        let disbelieved = update.refused.iter().filter(|(_, why)| !lost(why)).collect::<Vec<_>>();
        assert!(disbelieved.is_empty(), "the validators' blocks are believed: {disbelieved:?}");
        self.chain.want(self.follower.wanted());
        if update.best_moved {
            let head = self.follower.view().head().hash;
            self.chain.want_state(StateWanted::of_chain(head, None, &[], AGREEMENT));
            self.chain.tell(&self.follower);
        }
        self.note(&update);
        self.service = self.tracker.view(&self.follower, &update);
        self.update.merge(update);
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

    fn step(&mut self, now: Time) {
        let update = core::mem::take(&mut self.update);
        let view = self.follower.view();
        let input = ChainInput {
            view: &view,
            service: &self.service,
            packages: &update.changed,
            cores: &update.cores,
        };
        self.queue.handle_chain(&input, now);
        self.queue.handle_timeout(now);
        while let Some(action) = self.queue.poll_action(now) {
            match action {
                Action::Submit(submission) => self.submit(&submission, now),
                Action::Release(blocks) => panic!("nothing fails so often: {blocks:?}"),
                Action::Halt { head } => panic!("the head {head} is not ours"),
            }
        }
        self.queue.take_records();
        self.queue.drain_events();
    }

    fn submit(&mut self, submission: &queue::Submission, now: Time) {
        let number = submission.block.number;
        let packaged = self.package(number, submission.context.clone());
        if self.queue.commit_submission(submission, packaged.hash, now).is_err() {
            return;
        }
        self.packages.insert(packaged.hash, number);
        let slot = self.clock.slot_at(now);
        self.ways.entry(number).or_default().sent.push(slot);
        let guarantors = network::guarantors(&self.follower.view(), submission.core, slot + 1);
        let params = *self.follower.params();
        let ready = Submission::new(submission.core, &packaged.bundle, &BTreeMap::new(), &params);
        let ready = ready.expect("it keeps to the limits");
        let closes = self.clock.next_start(now) - self.queue.config().window_closes_before;
        let deadline = tokio::time::Instant::now() + closes.since(now);
        let (endpoint, package) = (self.endpoint.clone(), packaged.hash);
        self.sending.spawn(async move {
            let sent = match network::submit(&endpoint, &guarantors, &ready, deadline).await {
                Ok(_) => Sent::Taken,
                Err(network::SubmitError::Stale { .. }) => Sent::Stale,
                Err(error) if error.retry() == Retry::Resend => Sent::Failed,
                Err(_) => Sent::Refused,
            };
            (number, package, sent)
        });
    }
}

fn note_once(slots: &mut Vec<u32>, slot: Option<u32>) {
    slots.extend(slot.filter(|slot| !slots.contains(slot)));
}
