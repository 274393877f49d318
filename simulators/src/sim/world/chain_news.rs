//! What the chain does in its slots, and how the node learns of it: late, twice, never, or because it asks.

use super::{Due, Simulation};
use crate::sim::{blocks::Kind, faults::Fault, network::SLOT_MS};
use jam::HeaderHash;

impl<K: Kind> Simulation<K> {
    pub(super) fn slot(&mut self, slot: u32) {
        self.plan((u64::from(slot) + 1) * SLOT_MS, Due::Slot(slot + 1));
        let Self { network, faults, rng, .. } = self;
        let block = network.author(slot, faults, rng);
        let (finalized, final_slot) = network.finalize(slot, faults, rng);
        if let Some(hash) = block {
            self.note(|| format!("block {hash} slot {slot}"));
            self.notify(hash);
        }
        self.checker.on_finality(&mut self.network, &self.journal);
        self.note_latencies();
        let late = if self.strikes(Fault::NoticeLate) { self.rng.within(1000, 30_000) } else { 400 };
        if !self.strikes(Fault::NoticeLost) {
            self.later(late, Due::Claims(finalized, final_slot));
        }
    }

    fn note_latencies(&mut self) {
        for hash in self.checker.take_newly_final() {
            let accepted = self.first_seen.get(&hash).copied().unwrap_or(0);
            self.latencies_ms.push(self.true_ms.saturating_sub(accepted));
        }
    }

    fn notify(&mut self, hash: HeaderHash) {
        if self.strikes(Fault::NoticeTwice) {
            let again = self.rng.within(500, 20_000);
            self.later(again, Due::Notice(hash));
        }
        if self.strikes(Fault::NoticeLost) {
            return;
        }
        let delay = if self.strikes(Fault::NoticeLate) { self.rng.within(1000, 30_000) } else { 300 };
        self.later(delay, Due::Notice(hash));
    }

    pub(super) fn notice(&mut self, hash: HeaderHash) {
        if self.is_cut_off() {
            return;
        }
        let (Some(node), Some(block)) = (&mut self.node, self.network.block(hash)) else { return };
        node.announced(block.header.slot, self.true_ms);
        node.import(block, &self.network, self.true_ms);
        self.step();
    }

    pub(super) fn claims(&mut self, hash: HeaderHash, slot: u32) {
        if self.is_cut_off() {
            return;
        }
        let validators = self.network.validators();
        if let Some(node) = &mut self.node {
            node.claims(&validators[..5], hash, slot);
            self.step();
        }
    }

    /// The node asks for blocks that it misses.
    pub(super) fn ask(&mut self) {
        if self.is_cut_off() {
            return;
        }
        let wanted = self.node.as_ref().map_or(vec![], |node| node.driver.wanted());
        for hash in wanted {
            if !self.strikes(Fault::NoticeLost) {
                self.later(300, Due::Notice(hash));
            }
        }
    }
}
