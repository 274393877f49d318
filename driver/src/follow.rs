//! The JAM chain comes in.

use crate::{Blocks, Broken, Driver};
use jam::{Block, Ed25519Key, HeaderHash, codec::Bytes, spec::StateKey, state::RecentBlocks};
use queue::ChainInput;
use service::accumulate::ServiceState;
use std::collections::BTreeMap;
use types::{Event, Time};

/// Clocks of honest nodes differ by less than this many slots.
const CLOCK_SLOTS: u32 = 1;

impl<B: Blocks> Driver<B> {
    /// Takes a block, in any order. It takes effect in the next [step](Driver::step).
    pub fn import(&mut self, block: Block, now: Time) {
        self.set_time(now);
        self.follower.note_slot(self.clock.slot_at(self.now).saturating_add(CLOCK_SLOTS));
        self.chain_news += 1;
        let update = self.follower.import(block);
        self.update.merge(update);
    }

    /// Takes a validator's word that a block is final.
    pub fn final_word(&mut self, validator: Ed25519Key, hash: HeaderHash, slot: u32) {
        self.chain_news += 1;
        let update = self.follower.claim_final(validator, hash, slot);
        self.update.merge(update);
    }

    /// Takes a part of the state after a block, which was proved: the recent history, and our service's storage, which
    /// must be what folding the reports gave.
    pub fn learn(&mut self, header: HeaderHash, recent: &RecentBlocks, entries: &BTreeMap<StateKey, Bytes>) {
        self.chain_news += 1;
        self.follower.learn_roots(recent);
        self.update.best_moved = true;
        let read = |key: &StateKey| entries.get(key).map(|value| &value[..]);
        let told = ServiceState::from_storage(self.service_id, read);
        let folded = self.tracker.at(header);
        match (told, folded) {
            (Ok(told), Some(folded)) if told != *folded => {
                let (chain, ours) = (told.head(), folded.head());
                self.tell(Event::ServiceDiffers { chain, ours });
            }
            (Err(why), Some(_)) => self.tell(Event::ServiceUnreadable { why: why.to_string() }),
            _ => {}
        }
    }

    /// The keys of our service's storage.
    pub fn service_keys(&self) -> Vec<StateKey> {
        self.service.finalized.storage(self.service_id).into_iter().map(|(key, _)| key).collect()
    }

    /// Nobody has a block that is wanted.
    pub fn unavailable(&mut self, hash: HeaderHash) {
        self.chain_news += 1;
        self.follower.unavailable(hash);
    }

    /// Blocks to ask peers for.
    pub fn wanted(&self) -> Vec<HeaderHash> {
        self.follower.wanted()
    }

    /// The durable values hold what blocks up to `height` wrote. Readers must let go of the old base.
    pub fn rebase(&mut self, height: u64, base: &B::Base) {
        self.blocks.rebase(height, base);
        self.view.rebased();
    }

    /// Tells the queue what changed on the chain.
    pub(crate) fn handle_chain(&mut self) -> Result<(), Broken> {
        let update = core::mem::take(&mut self.update);
        let is_news = update.best_moved
            || update.finalized_moved
            || !update.changed.is_empty()
            || !update.cores.is_empty();
        if is_news {
            self.service = self.tracker.view(&self.follower, &update);
            self.check_not_behind()?;
            let view = self.follower.view();
            let input = ChainInput {
                view: &view,
                service: &self.service,
                packages: &update.changed,
                cores: &update.cores,
            };
            self.queue.handle_chain(&input, self.now);
            self.note_cores();
            self.view.blocks_changed();
        }
        self.gather_queue()?;
        if update.finalized_moved {
            self.output.batch.checkpoint(&self.follower.checkpoint(), &self.service.finalized);
        }
        Ok(())
    }

    /// What the chain has applied must have been sealed here, and be known here.
    fn check_not_behind(&self) -> Result<(), Broken> {
        let (chain, ours) = (self.service.finalized.head().number, self.blocks.newest_id().number);
        if chain > ours { Err(Broken::Behind { chain, ours }) } else { Ok(()) }
    }
}
