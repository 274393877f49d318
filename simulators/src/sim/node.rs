//! A running node: the product's driver and clock, and outputs that are not durable yet.

use super::{
    blocks::Kind,
    network::{CODE_HASH, Network, PARAMS, SERVICE, SLOT_MS, roots},
};
use alloy_primitives::Address;
use clock::{Clock, Reading, Trust};
use driver::{Broken, Driver, Output, Recovered, Settings, Started};
use jam::{Block, Ed25519Key, HeaderHash, SlotClock};
use queue::JournalState;
use service::accumulate::ServiceState;
use std::collections::{BTreeSet, VecDeque};
use types::{BlockId, Duration, Time};

/// What the wall clock shows when the simulation begins: late enough that a clock can be wrong by hours.
const EPOCH_MS: u64 = 48 * 3600 * 1000;

/// The slots of the simulated chain.
pub(super) const fn slots() -> SlotClock {
    SlotClock::starting_at(Time::from_millis(EPOCH_MS), SLOT_MS)
}

/// What the driver gave and the disk does not have yet.
pub(super) struct Undurable<K: Kind> {
    /// The output.
    pub(super) output: Output<K>,
    /// What the journal must bring the queue back to once it is durable.
    pub(super) queue: JournalState,
}

/// See the [module](self).
pub(super) struct Node<K: Kind> {
    /// The product's.
    pub(super) driver: Driver<K>,
    /// The product's.
    clock: Clock,
    /// How wrong the machine's wall clock is.
    wall_offset_ms: i64,
    /// In order.
    pub(super) undurable: VecDeque<Undurable<K>>,
    /// Blocks that are being packed.
    pub(super) jobs: Vec<K::Job>,
    /// The validators that it knows to be connected.
    peers: BTreeSet<Ed25519Key>,
}

/// How a node is set up, apart from what its journal holds.
pub(super) struct Setup {
    pub(super) queue: queue::Config,
    pub(super) genesis: BlockId,
    pub(super) mistake: Option<driver::Mistake>,
    pub(super) service_mistake: Option<service::accumulate::Mistake>,
}

impl<K: Kind> Node<K> {
    /// Starts from what the journal kept, on a chain that it has to learn again.
    pub(super) fn start(
        setup: Setup,
        network: &Network,
        (recovered, blocks): (Recovered<K::Sealed>, K),
        true_ms: u64,
        wall_offset_ms: i64,
    ) -> Result<Self, Broken> {
        let trust = Trust::Validators { count: PARAMS.validators, slot: Duration::from_millis(SLOT_MS) };
        let reading = reading(true_ms, wall_offset_ms);
        let mut clock = Clock::new(trust, reading);
        let started = Started {
            settings: Settings { empty_blocks: 2, ..Settings::default() },
            params: PARAMS,
            clock: slots(),
            pool: txpool::Config { sender_txs_max: 64, ..txpool::Config::default() },
            queue: setup.queue,
            genesis: network.start(),
            service_id: SERVICE,
            code_hash: CODE_HASH,
            service: ServiceState::new(setup.genesis),
        };
        let driver = Driver::start(started, recovered, blocks, clock.time(reading))?;
        let driver = driver.with_mistakes(setup.mistake, setup.service_mistake);
        let peers = BTreeSet::new();
        let mut node =
            Self { driver, clock, wall_offset_ms, undurable: VecDeque::new(), jobs: vec![], peers };
        for block in network.blocks() {
            node.import(block, network, true_ms);
        }
        Ok(node)
    }

    /// The node's time.
    pub(super) fn now(&mut self, true_ms: u64) -> Time {
        self.clock.time(reading(true_ms, self.wall_offset_ms))
    }

    /// The machine's wall clock is set.
    pub(super) const fn set_wall_clock(&mut self, offset_ms: i64) {
        self.wall_offset_ms = offset_ms;
    }

    /// The validators that are connected now.
    pub(super) fn set_peers(&mut self, peers: BTreeSet<Ed25519Key>) {
        self.driver.set_peers(peers.clone());
        self.peers = peers;
    }

    /// The validators that it knows to be connected.
    pub(super) const fn peers(&self) -> &BTreeSet<Ed25519Key> {
        &self.peers
    }

    /// The nonce that a sender should use next.
    pub(super) fn next_nonce(&self, sender: Address) -> u64 {
        let account = || self.driver.blocks().account(sender).map_or(0, |account| account.nonce);
        self.driver.pool().next_nonce(&sender).unwrap_or_else(account)
    }

    /// Connected validators announce a block, which says something about the time.
    pub(super) fn announced(&mut self, slot: u32, true_ms: u64) {
        let reading = reading(true_ms, self.wall_offset_ms);
        let view = self.driver.follower().view();
        let voters = self.peers.iter().filter(|key| view.epoch().current.has_voter(key));
        for key in voters {
            self.clock.announced(key.0.0, slots().start_of(slot), reading);
        }
    }

    /// A block of the chain arrives, and then the state after it.
    pub(super) fn import(&mut self, block: &Block, network: &Network, true_ms: u64) {
        let now = self.now(true_ms);
        self.driver.import(block.clone(), now);
        let hash = block.header.hash();
        if let Some(recent) = roots(self.driver.follower(), hash) {
            self.driver.learn(hash, &recent, &network.storage(hash));
        }
    }

    /// Validators call a block final.
    pub(super) fn claims(&mut self, validators: &[Ed25519Key], hash: HeaderHash, slot: u32) {
        for key in validators {
            self.driver.final_word(*key, hash, slot);
        }
    }

    /// Lets the driver do what is due. Gives what it wants to be sent, which is not durable yet.
    pub(super) fn step(&mut self, true_ms: u64) -> Result<Vec<driver::Outgoing<K::Package>>, Broken> {
        let now = self.now(true_ms);
        self.driver.set_time_confirmed(self.clock.is_confirmed());
        let mut output = self.driver.step(now)?;
        self.jobs.append(&mut output.jobs);
        let sends = output.sends.clone();
        if !output.is_empty() {
            self.undurable.push_back(Undurable { output, queue: self.driver.queue().journal_state() });
        }
        Ok(sends)
    }

    /// How long the driver rests if nothing happens, in milliseconds.
    pub(super) fn rest_ms(&mut self, true_ms: u64) -> Option<u64> {
        let now = self.now(true_ms);
        let due = self.driver.poll_timeout()?;
        Some(u64::try_from(due.since(now).as_millis()).unwrap_or(u64::MAX))
    }
}

fn reading(true_ms: u64, wall_offset_ms: i64) -> Reading {
    Reading { monotonic_ms: true_ms, wall_ms: (EPOCH_MS + true_ms).saturating_add_signed(wall_offset_ms) }
}
