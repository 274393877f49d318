//! What validators say about the time, by when the blocks that they announce arrive.
//!
//! An honest validator announces no block before its slot has begun. So the start of that slot, less what the monotonic
//! clock shows when the announcement arrives, is a lower bound of how far time is ahead of the monotonic clock, and a
//! tight one if the block is new. Old blocks arrive too, when a peer catches up: they come faster than one per slot, and
//! a peer counts only if its last two announcements arrived at the pace of slots.

use std::collections::BTreeMap;
use types::Time;

/// So many peers are remembered at most: more than JAM has validators.
const PEERS_MAX: usize = 2048;

/// What a peer's key is here.
pub(crate) type Peer = [u8; 32];

#[derive(Clone, Copy, Debug)]
struct Sighting {
    slot_start: Time,
    /// How far time is ahead of the monotonic clock, at least.
    offset_ms: i64,
    /// Whether the announcement before gave the same, within half a slot.
    is_steady: bool,
}

/// The newest announcement of each validator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    sightings: BTreeMap<Peer, Sighting>,
}

impl Evidence {
    /// Takes an announcement.
    pub(crate) fn note(&mut self, peer: Peer, slot_start: Time, offset_ms: i64, slot_ms: u64) {
        let before = self.sightings.get(&peer);
        if before.is_some_and(|before| before.slot_start >= slot_start)
            || before.is_none() && self.sightings.len() >= PEERS_MAX
        {
            return;
        }
        let is_steady = before.is_some_and(|before| is_near(before.offset_ms, offset_ms, slot_ms));
        self.sightings.insert(peer, Sighting { slot_start, offset_ms, is_steady });
    }

    /// Forgets everything: what was seen before a jump says nothing about it, since a machine may have been stopped.
    pub(crate) fn clear(&mut self) {
        self.sightings.clear();
    }

    /// How far time is ahead of the monotonic clock, if more than a third of the validators agree on that. The third
    /// highest values may be those of dishonest validators, who can announce too early; the next one is not above what an
    /// honest one has shown.
    pub(crate) fn agreed_ms(&self, validators: u16, slot_ms: u64) -> Option<i64> {
        let third = usize::from(validators) / 3;
        let steady = self.sightings.values().filter(|sighting| sighting.is_steady);
        let mut offsets = steady.map(|sighting| sighting.offset_ms).collect::<Vec<_>>();
        offsets.sort_unstable_by_key(|offset| core::cmp::Reverse(*offset));
        let candidate = *offsets.get(third)?;
        let agreeing = offsets.iter().filter(|offset| is_near(**offset, candidate, slot_ms)).count();
        (agreeing > third).then_some(candidate)
    }
}

/// Whether two announcements fit the pace of slots.
const fn is_near(a: i64, b: i64, slot_ms: u64) -> bool {
    a.abs_diff(b) <= slot_ms / 2
}
