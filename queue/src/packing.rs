//! Which runs are packed and ready to be sent, and which are being packed.
//!
//! Nothing here is durable: a run is fixed when it is recorded, and that is when it is first sent. A run that is ready and was
//! not sent in the window that it was packed for is packed again with the blocks that came since, unless it was full.

use std::collections::{BTreeMap, BTreeSet};

/// A run that is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ready {
    /// The number of its last block.
    pub(crate) last: u64,
    /// Whether more blocks waited than it holds.
    pub(crate) is_full: bool,
    /// The slot in which it was asked for.
    pub(crate) slot: u32,
}

/// A run that is being packed.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// The slot in which it was asked for.
    slot: u32,
    /// The newest block then.
    newest: u64,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Packing {
    /// By the first block.
    ready: BTreeMap<u64, Ready>,
    /// By the first block.
    asked: BTreeMap<u64, Asked>,
    /// Runs that could not be packed in a slot, by the first block.
    failed: BTreeSet<(u64, u32)>,
    /// A slot in which a new run was sent that was not full: what comes later waits for the next one.
    closed: Option<u32>,
}

impl Packing {
    /// A run that begins with this block, if it is ready.
    pub(crate) fn ready(&self, first: u64) -> Option<Ready> {
        self.ready.get(&first).copied()
    }

    /// Whether a run that begins with this block is being packed.
    pub(crate) fn is_asked(&self, first: u64) -> bool {
        self.asked.contains_key(&first)
    }

    /// Whether a run that begins with this block could not be packed in this slot.
    pub(crate) fn has_failed(&self, first: u64, slot: u32) -> bool {
        self.failed.contains(&(first, slot))
    }

    /// A new run was sent in a slot. If it was not full, no other one leaves in that slot.
    pub(crate) fn sent(&mut self, first: u64, slot: u32) {
        if self.ready(first).is_some_and(|ready| !ready.is_full) {
            self.closed = Some(slot);
        }
    }

    /// Whether no other new run leaves in a slot.
    pub(crate) fn is_closed(&self, slot: u32) -> bool {
        self.closed == Some(slot)
    }

    /// A run shall be packed while this block is the newest.
    pub(crate) fn ask(&mut self, first: u64, slot: u32, newest: u64) {
        self.ready.remove(&first);
        self.asked.insert(first, Asked { slot, newest });
    }

    /// A run was packed. Nothing happens if it is not wanted any more.
    pub(crate) fn done(&mut self, first: u64, last: u64) {
        if let Some(Asked { slot, newest }) = self.asked.remove(&first) {
            self.ready.insert(first, Ready { last, is_full: last < newest, slot });
        }
    }

    /// A run could not be packed; it is tried again in another slot.
    pub(crate) fn fail(&mut self, first: u64) {
        if let Some(Asked { slot, .. }) = self.asked.remove(&first) {
            self.failed.retain(|(_, failed)| *failed == slot);
            self.failed.insert((first, slot));
        }
    }

    /// The packed run that begins with this block is not needed any more.
    pub(crate) fn forget(&mut self, first: u64) {
        self.ready.remove(&first);
        self.asked.remove(&first);
    }

    /// Runs that begin with a block from this number on are not there any more.
    pub(crate) fn forget_from(&mut self, from: u64) {
        self.ready.split_off(&from);
        self.asked.split_off(&from);
    }

    /// Runs that begin with a block up to this number are not needed any more.
    pub(crate) fn forget_through(&mut self, last: u64) {
        self.ready.retain(|first, _| *first > last);
        self.asked.retain(|first, _| *first > last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_becomes_ready_once() {
        let mut packing = Packing::default();
        packing.done(1, 5);
        assert_eq!(packing.ready(1), None, "nobody asked for it");
        packing.ask(1, 7, 6);
        assert!(packing.is_asked(1));
        packing.done(1, 5);
        assert_eq!(packing.ready(1), Some(Ready { last: 5, is_full: true, slot: 7 }));
        assert!(!packing.is_asked(1));
        packing.ask(1, 8, 9);
        assert_eq!(packing.ready(1), None, "it is packed anew");
        packing.forget_from(1);
        packing.done(1, 9);
        assert_eq!(packing.ready(1), None, "its blocks are not there any more");
    }

    #[test]
    fn what_failed_is_tried_again_in_another_slot() {
        let mut packing = Packing::default();
        packing.ask(3, 7, 3);
        packing.fail(3);
        assert_eq!([7, 8].map(|slot| packing.has_failed(3, slot)), [true, false]);
        packing.ask(3, 8, 3);
        packing.fail(3);
        assert_eq!([7, 8].map(|slot| packing.has_failed(3, slot)), [false, true]);
    }

    #[test]
    fn what_is_final_or_gone_is_forgotten() {
        let mut packing = Packing::default();
        for first in [1, 4, 7] {
            packing.ask(first, 1, 9);
            packing.done(first, first + 2);
        }
        assert_eq!(packing.ready(7), Some(Ready { last: 9, is_full: false, slot: 1 }), "nothing else waited");
        packing.forget_through(3);
        packing.forget(4);
        assert_eq!([1, 4, 7].map(|first| packing.ready(first).is_some()), [false, false, true]);
    }
}
