//! What operators want to know, gathered while it happens: what the cores were used for, and windows that were missed.

use crate::{Blocks, Driver};
use std::{collections::VecDeque, sync::Arc};
use types::{CoreUse, Event, Run, SlotCores, Time};

/// So many slots are remembered with their cores.
const SLOTS_KEPT: usize = 64;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Watch {
    slots: VecDeque<SlotCores>,
    /// The bundle that the next window is for, and when that closes.
    departure: Option<(Run, Time)>,
}

impl Watch {
    /// Notes what the cores are used for after the block of a slot. After a fork the slots of the branch that was left are
    /// forgotten.
    fn note_cores(&mut self, cores: SlotCores) {
        while self.slots.back().is_some_and(|last| last.slot >= cores.slot) {
            self.slots.pop_back();
        }
        self.slots.push_back(cores);
        while self.slots.len() > SLOTS_KEPT {
            self.slots.pop_front();
        }
    }

    /// The cores in the last slots on the best branch, oldest first.
    pub(crate) fn slot_cores(&self) -> Arc<[SlotCores]> {
        self.slots.iter().cloned().collect()
    }

    /// Takes the window that was waited for, and gives its bundle if it has closed.
    fn take_missed(&mut self, now: Time) -> Option<Run> {
        self.departure.take().filter(|(_, closes)| *closes <= now).map(|(run, _)| run)
    }

    /// The clock was corrected: the window that was waited for never was.
    pub(crate) const fn set_back(&mut self) {
        self.departure = None;
    }
}

impl<B: Blocks> Driver<B> {
    /// Notes what the cores are used for after the best block.
    pub(crate) fn note_cores(&mut self) {
        let view = self.chain.follower().view();
        let slot = view.head().slot;
        let used = |core: u16| match view.core(core).map(|report| report.package) {
            None => CoreUse::Free,
            Some(package) => {
                let bundle = self.queue.bundle_of(&package).and_then(|number| self.queue.get(number));
                let version =
                    bundle.and_then(|b| b.versions.iter().find(|version| version.package == package));
                match (bundle, version) {
                    (Some(bundle), Some(version)) => {
                        CoreUse::Ours { bundle: bundle.number(), version: version.number }
                    }
                    _ => CoreUse::Other,
                }
            }
        };
        let cores = (0..self.chain.follower().params().cores).map(used).collect();
        self.watch.note_cores(SlotCores { slot, cores });
    }

    /// Tells of a window in which a bundle should have been sent and which went by while nobody looked.
    pub(crate) fn note_missed_window(&mut self) {
        let now = self.now();
        if let Some(run) = self.watch.take_missed(now) {
            self.tell(Event::WindowMissed { run });
        }
    }

    /// Remembers what the next window is for.
    pub(crate) fn note_departure(&mut self) {
        let may_send = !self.settings.dry_run;
        self.watch.departure = self.queue.next_departure(self.now()).filter(|_| may_send);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(watch: &Watch) -> Vec<u32> {
        watch.slot_cores().iter().map(|cores| cores.slot).collect()
    }

    fn note(watch: &mut Watch, slot: u32) {
        watch.note_cores(SlotCores { slot, cores: [CoreUse::Free].into_iter().collect() });
    }

    #[test]
    fn a_fork_forgets_the_slots_of_the_branch_that_was_left() {
        let mut watch = Watch::default();
        [1, 2, 4, 5].into_iter().for_each(|slot| note(&mut watch, slot));
        note(&mut watch, 3);
        assert_eq!(slots(&watch), [1, 2, 3]);
        (4..=100).for_each(|slot| note(&mut watch, slot));
        assert_eq!(slots(&watch), (37..=100).collect::<Vec<_>>());
    }

    #[test]
    fn a_window_is_missed_once_it_has_closed() {
        let (run, closes) = (Run::default(), Time::from_millis(5));
        let mut watch = Watch { departure: Some((run, closes)), ..Watch::default() };
        assert_eq!((watch.take_missed(Time::from_millis(4)), watch.departure), (None, None));
        watch.departure = Some((run, closes));
        assert_eq!(watch.take_missed(closes), Some(run));
        watch.departure = Some((run, closes));
        watch.set_back();
        assert_eq!(watch.take_missed(closes), None, "it never was");
    }
}
