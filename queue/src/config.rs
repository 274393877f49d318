//! The queue's parameters, with their defaults and units.

use crate::sealed::Size;
use jam::Params;
use types::Duration;

/// How anchors are chosen and what a timeout does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Anchor two blocks back; after a timeout the same bytes again while their anchor lives, then a new version.
    #[default]
    Pectin,
    /// The queue specification to the letter: a bundle is one block, an anchor the older the shorter the queue is, a new version
    /// at every timeout.
    Spec,
}

/// The queue's parameters. Times are for slots of six seconds and scale with the slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Cores of the chain.
    pub cores: u16,
    /// Bundles that may be submitted and not yet guaranteed; at most one per core.
    pub max_inflight: usize,
    /// How long to wait for a guarantee while the core is free.
    pub guarantee_timeout: Duration,
    /// Versions that may fail before a bundle is abandoned.
    pub max_retries: u32,
    /// The submission window opens this long before the next slot,
    pub window_opens_before: Duration,
    /// and closes this long before it.
    pub window_closes_before: Duration,
    /// Packing begins this long before the window opens.
    pub pack_before: Duration,
    /// Blocks that one bundle may have.
    pub run_blocks_max: usize,
    /// What the blocks of one bundle may take, as far as can be known before it is packed.
    pub run_max: Size,
    /// What may wait to be submitted. From half of it on sealing slows down, at all of it it stops.
    pub unsent_max: Size,
    /// What may be sealed and not final.
    pub unfinished_max: Size,
    /// Blocks that may wait to be submitted, if that is limited too.
    pub max_depth: Option<usize>,
    /// Blocks that an anchor may be among.
    pub history: u16,
    /// Blocks that an anchor must have left when it is submitted.
    pub anchor_margin: u16,
    /// How anchors are chosen and what a timeout does.
    pub policy: Policy,
    /// Bundles that may be submitted ahead of the applied head.
    pub submit_ahead_max: usize,
    /// From this many blocks of finality lag on, an abandoned bundle gets another version instead of waiting.
    pub finality_lag_blocks: u64,
    /// Slots that a lookup anchor may be old, with some room for the time until the report.
    pub lookup_age_max: u32,
    /// Blocks that must arrive during a timeout for it to say anything about the bundle.
    pub timeout_blocks_min: u64,
    /// Final and released bundles that are kept for whoever asks.
    pub retained: usize,
    /// One known mistake, put back.
    #[cfg(feature = "bugs")]
    pub mistake: Option<crate::Mistake>,
}

impl Config {
    /// The defaults for a chain whose slots last `slot_ms`.
    pub fn new(params: &Params, slot_ms: u64) -> Self {
        let scaled = |ms: u64| Duration::from_millis(ms.saturating_mul(slot_ms) / 6000);
        Self {
            cores: params.cores,
            max_inflight: usize::from(params.cores),
            guarantee_timeout: scaled(18_000),
            max_retries: 3,
            window_opens_before: scaled(3000),
            window_closes_before: scaled(1000),
            pack_before: scaled(1000),
            run_blocks_max: usize::MAX,
            run_max: Size::MAX,
            unsent_max: Size::MAX,
            unfinished_max: Size::MAX,
            max_depth: None,
            history: params.recent_blocks,
            anchor_margin: 2,
            policy: Policy::Pectin,
            submit_ahead_max: 32,
            finality_lag_blocks: 12,
            lookup_age_max: params.lookup_anchor_age_max.saturating_sub(u32::from(params.recent_blocks)),
            timeout_blocks_min: 2,
            retained: 128,
            #[cfg(feature = "bugs")]
            mistake: None,
        }
    }

    /// The same under the queue specification's policy: bundles of one block, of which twelve may wait.
    #[must_use]
    pub fn by_specification(self) -> Self {
        Self { policy: Policy::Spec, run_blocks_max: 1, max_depth: Some(12), ..self }
    }

    /// How far back the anchor of a new version is, in blocks, with so many bundles ahead of it.
    pub fn anchor_offset(&self, bundles_ahead: usize) -> usize {
        match self.policy {
            Policy::Pectin => 2,
            Policy::Spec => {
                let room = usize::from(self.history.saturating_sub(self.anchor_margin));
                room.saturating_sub(bundles_ahead / usize::from(self.cores.max(1))).max(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_scale_with_the_slot() {
        let fast = Config::new(&Params::TINY, 300);
        assert_eq!(fast.guarantee_timeout, Duration::from_millis(900));
        assert_eq!(fast.window_opens_before, Duration::from_millis(150));
        assert_eq!(Config::new(&Params::FULL, 6000).max_inflight, 341);
    }

    #[test]
    fn the_specified_offset_shrinks_with_the_queue() {
        let config = Config::new(&Params::TINY, 6000).by_specification();
        let offsets = [0, 1, 2, 4, 6, 8, 10, 12].map(|ahead| config.anchor_offset(ahead));
        assert_eq!(offsets, [6, 6, 5, 4, 3, 2, 1, 1]);
    }
}
