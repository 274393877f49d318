//! A JAM chain on which nothing goes wrong but what the script says.

use super::Driver;
use alloy_primitives::Bytes;
use bundler::Packaged;
use driver::Outgoing;
use harness::blocks::SERVICE;
use jam::{
    Block, Ed25519Key, Hash, HeaderHash, Params, WorkReport, WorkResult,
    follow::{Fate, Follower, Limits, Start, Update},
    hash::blake2b,
    sample::{Author, Body},
    spec::StateKey,
    state::{RecentBlock, RecentBlocks},
};
use queue::ServiceTracker;
use service::accumulate::{Claim, ServiceState};
use std::collections::BTreeMap;
use types::{BlockId, Time};

/// How many blocks finality lies behind.
const FINALITY_LAG: usize = 2;

struct Held {
    outgoing: Outgoing<Packaged>,
    claim: Claim,
}

/// The chain, and what its guarantors hold.
pub(super) struct JamChain {
    author: Author,
    truth: Follower,
    tracker: ServiceTracker,
    config: service::Config,
    blocks: Vec<Block>,
    held: Vec<Held>,
}

impl JamChain {
    pub(super) fn new(config: service::Config, head: BlockId) -> Self {
        jam::sample::allow_simulated_keys();
        let author = Author::simulated(Params::TINY);
        let truth = Follower::new(Params::TINY, author.start(), Limits::default());
        let start = truth.finalized().hash;
        let tracker = ServiceTracker::new(SERVICE, config.code_hash, start, ServiceState::new(head));
        Self { author, truth, tracker, config, blocks: vec![], held: vec![] }
    }

    pub(super) fn start(&self) -> Start {
        self.author.start()
    }

    pub(super) fn genesis(&self) -> HeaderHash {
        Follower::new(Params::TINY, self.author.start(), Limits::default()).finalized().hash
    }

    /// The number of the last block that the service applied for good.
    pub(super) fn final_head(&mut self) -> BlockId {
        self.tracker.view(&self.truth, &Update::default()).finalized.head()
    }

    /// A guarantor takes a package: it must refine.
    pub(super) fn take(&mut self, outgoing: Outgoing<Packaged>) -> Result<(), String> {
        let bytes = outgoing.packaged.bytes();
        let output = service::refine::refine(&bytes, &self.config, &Params::TINY);
        let output = output.map_err(|why| format!("{} does not refine: {why}", outgoing.run()))?;
        // The same bytes may come again, for another core.
        self.held.retain(|held| held.outgoing.package() != outgoing.package());
        self.held.push(Held { outgoing, claim: output.claim });
        Ok(())
    }

    /// Makes the block of a slot, and moves finality on.
    pub(super) fn author(&mut self, slot: u32) -> Result<(), String> {
        let view = self.truth.view();
        let busy = (0..Params::TINY.cores).filter(|core| view.core(*core).is_some()).collect::<Vec<_>>();
        let mut reports = BTreeMap::<u16, WorkReport>::new();
        for held in &self.held {
            let (package, core) = (held.outgoing.package(), held.outgoing.core);
            let context = &held.outgoing.packaged.bundle.package.context;
            let is_new = matches!(view.fate(package), Fate::NotSeen | Fate::Reorged);
            if is_new && view.anchor_life(context.anchor) > 0 && !reports.contains_key(&core) {
                let mut report = self.author.report(&view, package, core, context.anchor);
                report.context = context.clone();
                let digest = &mut report.digests[0];
                (digest.service, digest.code_hash) = (SERVICE, self.config.code_hash);
                digest.result = WorkResult::Output(held.claim.encode().to_vec().into());
                reports.insert(core, report);
            }
        }
        let body = Body { reports: reports.into_values().collect(), available: busy, salt: slot.into() };
        let block = self.author.block(&view, slot, body);
        let update = self.truth.import(block.clone());
        if !update.refused.is_empty() {
            return Err(format!("the author made a bad block: {:?}", update.refused));
        }
        self.tracker.view(&self.truth, &update);
        self.truth.learn_roots(&recent(&self.truth));
        self.blocks.push(block);
        if let Some((hash, slot)) = self.final_word() {
            for validator in self.validators() {
                let update = self.truth.claim_final(validator, hash, slot);
                self.tracker.view(&self.truth, &update);
            }
        }
        Ok(())
    }

    fn validators(&self) -> Vec<Ed25519Key> {
        self.author.secrets().iter().map(|secret| secret.public()).take(5).collect()
    }

    fn final_word(&self) -> Option<(HeaderHash, u32)> {
        let block = self.blocks.iter().rev().nth(FINALITY_LAG)?;
        Some((block.header.hash(), block.header.slot))
    }

    /// Tells a driver the newest block, or all of them after a restart.
    pub(super) fn tell(&self, driver: &mut Driver, all: bool, now: Time) {
        driver.set_peers(self.validators().into_iter().collect());
        let from = if all { 0 } else { self.blocks.len().saturating_sub(1) };
        for block in &self.blocks[from..] {
            driver.import(block.clone(), now);
            let header = block.header.hash();
            driver.learn(header, &recent(driver.follower()), &self.storage(header));
        }
        if let Some((hash, slot)) = self.final_word() {
            for validator in self.validators() {
                driver.final_word(validator, hash, slot);
            }
        }
    }

    /// Our service's storage after a block.
    fn storage(&self, header: HeaderHash) -> BTreeMap<StateKey, Bytes> {
        let state = self.tracker.at(header).into_iter().flat_map(|state| state.storage(SERVICE));
        state.filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// The roots that only the state has, of the best block and those before it.
fn recent(follower: &Follower) -> RecentBlocks {
    let view = follower.view();
    let told = view.recent().filter(|block| block.beefy_root.is_none()).map(|block| RecentBlock {
        hash: block.hash,
        beefy_root: blake2b(&[b"beefy", block.hash.as_slice()]),
        state_root: Hash::ZERO,
        reported: BTreeMap::new(),
    });
    RecentBlocks { blocks: told.collect(), ..RecentBlocks::EMPTY }
}
