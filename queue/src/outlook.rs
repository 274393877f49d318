//! What lies ahead of the bundles: how long anchors live, when a guarantee is given up, what holds back those that wait.
//!
//! Nothing is decided here. It is what the queue already knows, gathered for whoever watches; [`why_slow`](crate::why_slow)
//! makes sentences of it.

use crate::{Bundle, Config, Queue, bundle::State, submit::Next};
use jam::SlotClock;
use std::collections::BTreeMap;
use types::{Duration, ReleasedBy, Run, Time};

/// Why a bundle that waits has not been sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Nothing but the window, which opens before each slot.
    Window,
    /// The service's head was not built here; nothing is sent any more.
    Halted,
    /// The chain has not been seen yet.
    NoChain,
    /// As many bundles as may be on their way are, or each core has one.
    Inflight {
        /// How many are.
        submitted: usize,
    },
    /// Bundles with lower numbers go first.
    Behind {
        /// How many of them wait.
        bundles: usize,
    },
    /// Too many bundles before it are not applied yet.
    TooFar {
        /// The applied head's number.
        applied: u64,
    },
    /// No block can be its anchor.
    NoAnchor,
    /// No guarantor of a core that could take it is connected.
    NoGuarantor,
}

/// What lies ahead of one bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ahead {
    /// In how many of the next blocks the version that was sent last can still be reported; `None` if none was sent.
    pub anchor_life: Option<u16>,
    /// When its guarantee is given up; `None` while that time does not run.
    pub gives_up_at: Option<Time>,
    /// What holds it back, if it waits.
    pub hold: Option<Hold>,
}

/// The chain and the queue's rules, as far as they say what lies ahead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// When slots begin.
    pub clock: SlotClock,
    /// The slot and height of the best block, once the chain was seen.
    pub best: Option<(u32, u64)>,
    /// The slot and height of the finalized block.
    pub finalized: Option<(u32, u64)>,
    /// Versions that may fail before a bundle is abandoned.
    pub retries_max: u32,
    /// How long a guarantee is waited for.
    pub guarantee_timeout: Duration,
    /// Blocks that an anchor may be among.
    pub history: u16,
    /// Blocks that an anchor must have left to be sent once more.
    pub anchor_margin: u16,
    /// Bundles that may be sent ahead of the applied head.
    pub submit_ahead_max: usize,
    /// The lowest abandoned block.
    pub abandoned_from: Option<u64>,
    /// Who gave that block up.
    pub abandoned_by: ReleasedBy,
    /// What lies ahead of each unfinished bundle, by the number of its first block.
    pub bundles: BTreeMap<u64, Ahead>,
    /// What holds back the blocks that are in no bundle yet, if there are any.
    pub unbundled: Option<Hold>,
}

impl Outlook {
    /// What an empty queue has ahead of it.
    pub fn empty(config: &Config, clock: SlotClock) -> Self {
        Self {
            clock,
            best: None,
            finalized: None,
            retries_max: config.max_retries,
            guarantee_timeout: config.guarantee_timeout,
            history: config.history,
            anchor_margin: config.anchor_margin,
            submit_ahead_max: config.submit_ahead_max,
            abandoned_from: None,
            abandoned_by: ReleasedBy::Chain,
            bundles: BTreeMap::new(),
            unbundled: None,
        }
    }

    /// Blocks that finality is behind.
    pub fn finality_lag(&self) -> u64 {
        let height = |block: Option<(u32, u64)>| block.map_or(0, |(_, height)| height);
        height(self.best).saturating_sub(height(self.finalized))
    }
}

impl Queue {
    /// What lies ahead of the bundles at a time.
    pub fn outlook(&self, now: Time) -> Outlook {
        let head = self.head.as_ref();
        Outlook {
            best: head.map(|head| (head.best().slot, head.best().height)),
            finalized: head.map(|head| (head.finalized().slot, head.finalized().height)),
            abandoned_from: self.abandonment.from(),
            abandoned_by: self.abandonment.by(),
            bundles: self.bundles.iter().map(|bundle| (bundle.number(), self.ahead(bundle, now))).collect(),
            unbundled: self.bundles.first_unbundled().map(|block| self.hold(block.id.number, now)),
            ..Outlook::empty(&self.config, self.window.clock())
        }
    }

    fn ahead(&self, bundle: &Bundle, now: Time) -> Ahead {
        let life = |anchor| self.head.as_ref().map_or(0, |head| head.anchor_life(anchor));
        Ahead {
            anchor_life: bundle.versions.last().map(|version| life(version.context.anchor)),
            gives_up_at: bundle.timer.map(|since| since + self.config.guarantee_timeout),
            hold: matches!(bundle.state, State::Queued { .. }).then(|| self.hold(bundle.number(), now)),
        }
    }

    /// What holds back a bundle that waits: the same questions, in the same order, that sending asks.
    fn hold(&self, number: u64, now: Time) -> Hold {
        let Some(head) = &self.head else { return Hold::NoChain };
        let submitted = self.cores.given();
        match () {
            () if self.halted.is_some() => Hold::Halted,
            () if !self.has_core() => Hold::Inflight { submitted },
            () if self.bundles.first_queued().is_some_and(|first| first != number) => {
                Hold::Behind { bundles: self.bundles.queued_before(number) }
            }
            () if self.is_too_far(number) => Hold::TooFar { applied: head.applied() },
            () if self.is_held(now) => Hold::NoAnchor,
            () if !self.can_submit() => Hold::NoGuarantor,
            () => Hold::Window,
        }
    }

    /// The bundle that must leave in the open or the next window, or the first block of one that is not formed yet, and when
    /// that window closes; `None` if nothing could be sent in it.
    pub fn next_departure(&self, now: Time) -> Option<(Run, Time)> {
        if !self.can_submit() || self.is_held(now) {
            return None;
        }
        let (run, is_in_time) = match self.next_up()? {
            Next::Bundle(first) => (self.bundles.get(first)?.run, true),
            // To pack takes its time, and what is sealed after a run was sent waits for the next window.
            Next::Unbundled(first) => {
                let block = self.bundles.block(first)?;
                let packed_from = self.window.opening(now) - self.config.pack_before;
                let is_closed = self.packing.is_closed(self.window.slot_at(now));
                (Run::of(block.id), !is_closed && block.sealed_at < packed_from)
            }
        };
        let is_of_use = is_in_time && !self.failed_in_this_slot(now);
        Some((run, self.window.next_closing(now, is_of_use)))
    }
}
