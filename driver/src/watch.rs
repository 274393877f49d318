//! What operators want to know, gathered while it happens: what the cores were used for, and windows that were missed.

use crate::{Blocks, Driver};
use std::{collections::VecDeque, sync::Arc};
use types::{BlockId, CoreUse, Event, SlotCores, Time};

/// So many slots are remembered with their cores.
const SLOTS_KEPT: usize = 64;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Watch {
    slots: VecDeque<SlotCores>,
    /// The bundle that the next window is for, and when that closes.
    departure: Option<(BlockId, Time)>,
}

impl Watch {
    /// The clock was corrected: the window that was waited for never was.
    pub(crate) const fn set_back(&mut self) {
        self.departure = None;
    }
}

impl<B: Blocks> Driver<B> {
    /// Notes what the cores are used for after the best block. After a fork the slots of the branch that was left are
    /// forgotten.
    pub(crate) fn note_cores(&mut self) {
        let view = self.chain.follower().view();
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
        let cores = (0..self.chain.follower().params().cores).map(used).collect();
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
    pub(crate) fn note_missed_window(&mut self) {
        if let Some((block, closes)) = self.watch.departure.take()
            && closes <= self.now()
        {
            self.tell(Event::WindowMissed { block });
        }
    }

    /// Remembers what the next window is for.
    pub(crate) fn note_departure(&mut self) {
        let may_send = !self.settings.dry_run;
        self.watch.departure = self.queue.next_departure(self.now()).filter(|_| may_send);
    }

    /// The cores in the last slots on the best branch, oldest first.
    pub(crate) fn slot_cores(&self) -> Arc<[SlotCores]> {
        self.watch.slots.iter().cloned().collect()
    }
}
