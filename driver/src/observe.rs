//! The JAM chain comes in.

use crate::{Blocks, Broken, Driver};
use jam::{Block, Ed25519Key, HeaderHash, codec::Bytes, spec::StateKey, state::RecentBlocks};
use queue::ChainInput;
use std::collections::BTreeMap;
use types::Time;

/// Clocks of honest nodes differ by less than this many slots.
const CLOCK_SLOTS: u32 = 1;

impl<B: Blocks> Driver<B> {
    /// Takes a block, in any order. It takes effect in the next [step](Driver::step).
    pub fn import(&mut self, block: Block, now: Time) {
        self.set_time(now);
        let slot = self.clock.slot_at(self.now());
        self.chain.import(block, slot.saturating_add(CLOCK_SLOTS));
    }

    /// Takes a validator's word that a block is final.
    pub fn final_word(&mut self, validator: Ed25519Key, hash: HeaderHash, slot: u32) {
        self.chain.claim_final(validator, hash, slot);
    }

    /// Takes a part of the state after a block, which was proved: the recent history, and our service's storage, which
    /// must be what folding the reports gave.
    pub fn learn(&mut self, header: HeaderHash, recent: &RecentBlocks, entries: &BTreeMap<StateKey, Bytes>) {
        if let Some(alarm) = self.chain.learn(header, recent, entries) {
            self.tell(alarm);
        }
    }

    /// The keys of our service's storage.
    pub fn service_keys(&self) -> Vec<StateKey> {
        self.chain.service_keys()
    }

    /// Nobody has a block that is wanted.
    pub fn unavailable(&mut self, hash: HeaderHash) {
        self.chain.unavailable(hash);
    }

    /// Blocks to ask peers for.
    pub fn wanted(&self) -> Vec<HeaderHash> {
        self.chain.follower().wanted()
    }

    /// The durable values hold what blocks up to `height` wrote. Readers must let go of the old base.
    pub fn rebase(&mut self, height: u64, base: &B::Base) {
        self.blocks.rebase(height, base);
        self.view.rebased();
    }

    /// Tells the queue what changed on the chain.
    pub(crate) fn handle_chain(&mut self) -> Result<(), Broken> {
        let (update, is_news) = self.chain.take_update();
        if is_news {
            self.check_not_behind()?;
            self.follow_code()?;
            let view = self.chain.follower().view();
            let service = self.chain.service();
            let input = ChainInput { view: &view, service, packages: &update.changed, cores: &update.cores };
            self.queue.handle_chain(&input, self.time.now());
            self.note_cores();
            self.view.blocks_changed();
        }
        self.gather_queue()?;
        if update.finalized_moved {
            let (checkpoint, service) = (self.chain.follower().checkpoint(), self.chain.service());
            self.outbox.batch().checkpoint(&checkpoint, &service.finalized, service.finalized_code);
        }
        Ok(())
    }

    /// What the chain has applied must have been sealed here, and be known here.
    fn check_not_behind(&self) -> Result<(), Broken> {
        let (chain, ours) = (self.chain.service().finalized.head().number, self.blocks.newest_id().number);
        if chain > ours { Err(Broken::Behind { chain, ours }) } else { Ok(()) }
    }
}
