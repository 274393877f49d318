//! What those who watch the node want to know, gathered while it happens: how large blocks came out, what the cores were
//! used for, and windows that were missed.

use super::Driver;
use bundler::{Refined, Sealed};
use rpc::{CoreUse, Insight, Sizes, SlotCores};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use store::Base;
use types::{BlockId, Event, Time};

/// So many blocks are remembered with their sizes.
const SIZES_KEPT: usize = 128;
/// So many slots are remembered with their cores.
const SLOTS_KEPT: usize = 64;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Watch {
    sizes: Arc<BTreeMap<u64, Sizes>>,
    slots: VecDeque<SlotCores>,
    /// The bundle that the next window is for, and when that closes.
    departure: Option<(BlockId, Time)>,
}

impl Watch {
    /// The clock was corrected: the window that was waited for never was.
    pub(super) const fn set_back(&mut self) {
        self.departure = None;
    }
}

impl Driver {
    /// Notes how large a block came out.
    pub(super) fn note_sizes(&mut self, sealed: &Sealed<Base>, refined: &Refined) {
        let [witness, codes, transactions] = &sealed.extrinsics;
        let block = sealed.block();
        let sizes = Sizes {
            witness_bytes: witness.len(),
            codes_bytes: codes.len(),
            transactions_bytes: transactions.len(),
            bundle_bytes: refined.bundle_bytes(),
            export_segments: sealed.export_segments,
            gas: block.header().gas_used,
            transactions: block.transactions().len(),
        };
        let all = Arc::make_mut(&mut self.watch.sizes);
        all.insert(block.id().number, sizes);
        while all.len() > SIZES_KEPT {
            all.pop_first();
        }
    }

    /// Notes what the cores are used for after the best block. After a fork the slots of the branch that was left are
    /// forgotten.
    pub(super) fn note_cores(&mut self) {
        let view = self.follower.view();
        let slot = view.head().slot;
        let used = |core: u16| match view.core(core).map(|report| report.package) {
            None => CoreUse::Free,
            Some(package) => {
                let bundle = self.queue.block_of(&package).and_then(|number| self.queue.get(number));
                let version =
                    bundle.and_then(|b| b.versions.iter().find(|version| version.package == package));
                match (bundle, version) {
                    (Some(bundle), Some(version)) => {
                        CoreUse::Ours { block: bundle.block.number, version: version.number }
                    }
                    _ => CoreUse::Other,
                }
            }
        };
        let cores = (0..self.bundler.params.cores).map(used).collect();
        let slots = &mut self.watch.slots;
        while slots.back().is_some_and(|last| last.slot >= slot) {
            slots.pop_back();
        }
        slots.push_back(SlotCores { slot, cores });
        while slots.len() > SLOTS_KEPT {
            slots.pop_front();
        }
    }

    /// Tells of a window in which a bundle should have been sent and which went by while nobody looked.
    pub(super) fn note_missed_window(&mut self) {
        if let Some((block, closes)) = self.watch.departure.take()
            && closes <= self.now
        {
            self.tell(Event::WindowMissed { block });
        }
    }

    /// Remembers what the next window is for.
    pub(super) fn note_departure(&mut self) {
        let may_send = !self.settings.dry_run;
        self.watch.departure = self.queue.next_departure(self.now).filter(|_| may_send);
    }

    pub(super) fn insight(&self) -> Insight {
        Insight {
            accepted: self.accepted,
            outlook: Some(Arc::new(self.queue.outlook(self.now))),
            sizes: Arc::clone(&self.watch.sizes),
            slots: self.watch.slots.iter().cloned().collect(),
        }
    }
}
