//! Assuring: fetching our shards of new reports, and saying that we hold them.

use super::{Inner, slots::assurance_time};
use crate::{
    data::{is_justified, shard_index},
    event::Deed,
};
use jam::{Assurance, Ed25519Key, Hash, Purpose};
use network::{AssuranceMessage, ShardRequest};
use std::sync::Arc;

/// A shard that we should hold.
struct Missing {
    erasure_root: Hash,
    index: u16,
    /// Who may have it, the guarantors first.
    holders: Vec<Ed25519Key>,
}

impl Inner {
    /// Asks for our shards of all reports that wait on the best block.
    pub(super) fn fetch_shards(self: &Arc<Self>) {
        for missing in self.missing_shards() {
            let inner = Arc::clone(self);
            tokio::spawn(async move {
                inner.fetch_shard(&missing).await;
                inner.core.lock().fetching.remove(&missing.erasure_root);
                inner.assure_if_due();
            });
        }
    }

    fn missing_shards(&self) -> Vec<Missing> {
        let mut core = self.core.lock();
        let best = core.tree.best();
        let validators = best.state.epoch.current.keys();
        let Some(own) = validators.iter().position(|key| *key == self.own) else { return vec![] };
        let pending = best.state.pending.iter().flatten().map(|pending| &pending.report);
        let missing = pending.filter(|report| !core.data.holds(&report.spec.erasure_root)).map(|report| {
            let guarantors = core.pool.guarantee(&report.package()).map(|guarantee| &guarantee.signatures);
            let signed = guarantors.into_iter().flatten().map(|entry| usize::from(entry.validator));
            let signed = signed.filter_map(|place| validators.get(place)).copied().collect::<Vec<_>>();
            let rest = validators.iter().filter(|key| !signed.contains(key) && **key != self.own);
            Missing {
                erasure_root: report.spec.erasure_root,
                index: shard_index(&self.params, report.core, own as u16),
                holders: signed.iter().chain(rest).copied().collect(),
            }
        });
        let mut missing = missing.collect::<Vec<_>>();
        let reports = best.state.pending.iter().flatten().map(|pending| pending.report.spec.erasure_root);
        let (slot, reports) = (best.slot(), reports.collect::<Vec<_>>());
        core.data.retain(slot, &reports);
        missing.retain(|missing| core.fetching.insert(missing.erasure_root));
        missing
    }

    async fn fetch_shard(&self, missing: &Missing) {
        let request = ShardRequest { erasure_root: missing.erasure_root, index: missing.index };
        for holder in &missing.holders {
            let Some(connection) = self.connection(holder) else { continue };
            let Ok(answer) = connection.shard(request).await else { continue };
            if is_justified(&self.params, missing.erasure_root, missing.index, &answer) {
                let slot = self.slot_now();
                self.core.lock().data.hold_own(missing.erasure_root, answer, slot);
                return;
            }
            connection.misbehaved("a shard that the erasure root does not commit to");
        }
    }

    /// Says what we hold of the best block's reports, if it is time and was not said yet.
    pub(super) fn assure_if_due(self: &Arc<Self>) {
        let slot = self.slot_now();
        if self.now() < assurance_time(&self.clock, slot) || self.faults.is_unavailable() {
            return;
        }
        let Some(assurance) = self.next_assurance() else { return };
        let cores = (0..self.params.cores).filter(|core| assurance.has(*core)).collect();
        self.tell(Deed::Assured { anchor: assurance.anchor, cores });
        let Assurance { anchor, bits, signature, .. } = assurance;
        let message = Arc::new(AssuranceMessage { anchor, bits, signature });
        for peer in self.founders.iter().filter(|key| **key != self.own) {
            let Some(connection) = self.connection(peer) else { continue };
            let message = Arc::clone(&message);
            tokio::spawn(async move { connection.assurance(&message).await });
        }
    }

    fn next_assurance(&self) -> Option<Assurance> {
        let mut core = self.core.lock();
        let best = core.tree.best();
        let (anchor, height) = (best.hash, best.height);
        let validators = best.state.epoch.current.keys();
        let validator = validators.iter().position(|key| *key == self.own)? as u16;
        let mut bits = vec![0; usize::from(self.params.cores.div_ceil(8))];
        for report in best.state.pending.iter().flatten().map(|pending| &pending.report) {
            if core.data.holds(&report.spec.erasure_root) {
                bits[usize::from(report.core / 8)] |= 1 << (report.core % 8);
            }
        }
        if bits.iter().all(|byte| *byte == 0) || core.assured.as_ref() == Some(&(anchor, bits.clone())) {
            return None;
        }
        let signature = self.keys.ed25519.sign(Purpose::Available, Assurance::subject(anchor, &bits));
        let assurance = Assurance { anchor, bits: bits.clone(), validator, signature };
        core.assured = Some((anchor, bits));
        core.pool.add_assurance(height, assurance.clone());
        Some(assurance)
    }

    /// An assurance from another validator.
    pub(super) fn hear_assurance(&self, from: Ed25519Key, message: AssuranceMessage) -> bool {
        let mut core = self.core.lock();
        let Some(node) = core.tree.get(message.anchor) else { return false };
        let height = node.height;
        let set = &node.state.epoch.current;
        let Some(validator) = set.keys().iter().position(|key| *key == from) else { return false };
        let AssuranceMessage { anchor, bits, signature } = message;
        let subject = Assurance::subject(anchor, &bits);
        let validator = validator as u16;
        if !set.verifies(validator, Purpose::Available, subject, &signature) {
            return false;
        }
        core.pool.add_assurance(height, Assurance { anchor, bits, validator, signature });
        true
    }
}
