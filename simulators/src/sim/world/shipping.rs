//! What ships packages: from the node, through a network that may lose, delay or repeat them, to guarantors and back.

use super::{Due, Simulation};
use crate::sim::{
    blocks::Kind,
    faults::Fault,
    network::{Parcel, SLOT_MS},
};
use driver::Outgoing;
use jam::PackageHash;
use queue::Sent;
use service::accumulate::Claim;

impl<K: Kind> Simulation<K> {
    /// A version leaves the node, unless its window has closed meanwhile.
    pub(super) fn send(&mut self, outgoing: &Outgoing<K::Package>) {
        let Some(node) = &mut self.node else { return };
        let now = node.now(self.true_ms);
        let (number, package) = (outgoing.run().first.number, outgoing.package());
        if outgoing.time_left(now).is_zero() {
            node.driver.sent(number, package, Sent::Failed, now);
            return self.note(|| format!("missed the window of block {number}"));
        }
        let queue = node.driver.queue();
        let version =
            queue.get(number).and_then(|bundle| bundle.versions.iter().find(|v| v.package == package));
        // A release may have come before the bytes were durable.
        let Some(anchor_height) = version.map(|version| version.anchor_height) else { return };
        let Self { checker, journal, network, .. } = self;
        checker.on_send(&node.driver, outgoing, anchor_height, now, journal, network);
        self.note(|| {
            format!("send {} v{} core {} {package}", outgoing.run(), outgoing.version, outgoing.core)
        });
        self.ship(outgoing, anchor_height);
    }

    /// Sends what left the node through a network that may lose, delay or repeat it.
    fn ship(&mut self, outgoing: &Outgoing<K::Package>, anchor_height: u64) {
        let (number, package) = (outgoing.run().first.number, outgoing.package());
        let is_connected = outgoing.guarantors.iter().any(|key| !self.lost_peers.contains(key));
        if !is_connected || self.is_cut_off() || self.strikes(Fault::SubmissionDropped) {
            return self.later(300, Due::Answer(number, package, Sent::Failed));
        }
        if !self.strikes(Fault::AnswerLost) {
            self.later(200, Due::Answer(number, package, Sent::Taken));
        }
        if self.strikes(Fault::AcceptedSilent) {
            return;
        }
        let run = outgoing.run();
        let (mut poisonous, mut parent, mut block) = (false, run.first, run.last);
        while block.number >= run.first.number {
            let Some(sealed) = self.journal.blocks.get(&block.hash) else { return };
            poisonous |= sealed.transactions.iter().any(|tx| self.poison.contains(&tx.hash()));
            (parent, block) = (sealed.parent, sealed.parent);
        }
        let claim = Claim::of_run(parent.hash, number, run.last);
        let parcel = Parcel {
            package,
            core: outgoing.core,
            context: K::context(&outgoing.packaged),
            anchor_height,
            code_hash: K::code_hash(&outgoing.packaged),
            claim,
            poisonous,
            bundle: K::bundle(&outgoing.packaged),
        };
        let delay = if self.strikes(Fault::SubmissionDelayed) { self.rng.within(1000, 60_000) } else { 200 };
        if self.strikes(Fault::SubmissionDuplicated) {
            let again = delay + self.rng.within(1000, 40_000);
            self.later(again, Due::Arrives(Box::new(parcel.clone())));
        }
        self.later(delay, Due::Arrives(Box::new(parcel)));
    }

    pub(super) fn arrives(&mut self, parcel: Parcel) {
        let next = (self.true_ms / SLOT_MS) as u32 + 1;
        let slow = if self.strikes(Fault::GuarantorSlow) { self.rng.within(1, 5) as u32 } else { 0 };
        let block = parcel.claim.last;
        if let Err(why) = self.network.take(parcel, next + slow, &mut self.faults, &mut self.rng) {
            self.checker.violations.push(format!("19: validators refuse {block}: {why}"));
        }
    }

    pub(super) fn answer(&mut self, block: u64, package: PackageHash, sent: Sent) {
        let true_ms = self.true_ms;
        if let Some(node) = &mut self.node {
            let now = node.now(true_ms);
            node.driver.sent(block, package, sent, now);
            self.step();
        }
    }
}
