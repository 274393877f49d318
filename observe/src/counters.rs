//! What is counted as it happens.

use histogram::Histogram;
use parking_lot::Mutex;
use rpc::{PoolIndex, SECONDS, Times};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};
use types::{BlockId, Event, Reason, Sizes, Time};

/// Upper bounds in seconds for what takes slots.
const SLOT_SECONDS: &[f64] = &[0.25, 0.5, 1.0, 3.0, 6.0, 12.0, 18.0, 30.0, 60.0, 120.0, 300.0, 900.0];
/// Upper bounds for transactions of a block.
const COUNTS: &[f64] = &[0.0, 1.0, 10.0, 50.0, 100.0, 500.0, 1_000.0, 2_000.0, 5_714.0];
/// Upper bounds for gas of a block.
const GAS: &[f64] = &[1e5, 1e6, 5e6, 1e7, 3e7, 6e7, 9e7, 1.2e8];
/// Upper bounds for gas of JAM's virtual machine.
const REFINE_GAS: &[f64] = &[2e6, 1e7, 5e7, 1e8, 2.5e8, 5e8, 1e9, 2.5e9, 5e9];
/// Upper bounds for bytes of a bundle and its witness.
const BYTES: &[f64] = &[1e4, 5e4, 1e5, 5e5, 1e6, 3e6, 6e6, 9e6, 1.2e7];

/// Events of the pool, as they are counted.
pub(super) const POOL_EVENTS: &[&str] = &["added", "promoted", "demoted", "bundled", "returned", "final"];
/// How transactions end without becoming final.
pub(super) const ENDS: &[&str] =
    &["replaced", "evicted", "expired", "nonce_too_low", "poisonous", "invalid", "flushed", "does_not_fit"];
/// Events of the queue, as they are counted.
pub(super) const QUEUE_EVENTS: &[&str] = &[
    "sealed",
    "refused",
    "window",
    "window_missed",
    "submitted",
    "not_submitted",
    "guaranteed",
    "duplicate_guarantee",
    "accumulated",
    "finalized",
    "guarantee_timeout",
    "anchor_stale",
    "requeued",
    "abandoned",
    "released",
];
/// What must never happen.
pub(super) const ALARMS: &[&str] = &["service_differs", "service_unreadable", "foreign_head"];
/// How far a bundle has come, measured from its seal.
pub(super) const STAGES: &[&str] = &["submitted", "guaranteed", "accumulated", "finalized"];

/// Counters under the names of a list.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) names: &'static [&'static str],
    counts: Vec<AtomicU64>,
}

impl Named {
    fn new(names: &'static [&'static str]) -> Self {
        Self { names, counts: names.iter().map(|_| AtomicU64::new(0)).collect() }
    }

    /// Counts a name; those that are not in the list are nobody's.
    fn count(&self, name: &str) {
        if let Some(place) = self.names.iter().position(|known| *known == name) {
            self.counts[place].fetch_add(1, Relaxed);
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.names.iter().zip(&self.counts).map(|(name, count)| (*name, count.load(Relaxed)))
    }

    pub(super) fn get(&self, name: &str) -> u64 {
        self.all().find(|(known, _)| *known == name).map_or(0, |(_, count)| count)
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) pool: Named,
    pub(super) ended: Named,
    pub(super) queue: Named,
    pub(super) alarms: Named,
    pub(super) stage_seconds: Vec<Histogram>,
    pub(super) final_seconds: Histogram,
    pub(super) block_transactions: Histogram,
    pub(super) block_gas: Histogram,
    pub(super) refine_gas: Histogram,
    pub(super) bundle_bytes: Histogram,
    pub(super) witness_bytes: Histogram,
    pub(super) commit_seconds: Histogram,
    /// The newest block whose sizes were counted.
    sized: Mutex<u64>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            pool: Named::new(POOL_EVENTS),
            ended: Named::new(ENDS),
            queue: Named::new(QUEUE_EVENTS),
            alarms: Named::new(ALARMS),
            stage_seconds: STAGES.iter().map(|_| Histogram::new(SLOT_SECONDS)).collect(),
            final_seconds: Histogram::new(SLOT_SECONDS),
            block_transactions: Histogram::new(COUNTS),
            block_gas: Histogram::new(GAS),
            refine_gas: Histogram::new(REFINE_GAS),
            bundle_bytes: Histogram::new(BYTES),
            witness_bytes: Histogram::new(BYTES),
            commit_seconds: Histogram::new(SECONDS),
            sized: Mutex::new(0),
        }
    }
}

impl Counters {
    /// Windows in which a bundle should have been sent and was not.
    pub(super) fn windows_missed(&self) -> u64 {
        self.queue.get("window_missed")
    }

    /// How often one of [`ALARMS`] was raised.
    pub(super) fn alarm(&self, name: &str) -> u64 {
        self.alarms.get(name)
    }

    pub(super) fn note(&self, at: Time, event: &Event, index: &PoolIndex) {
        if let Some((_, reason)) = event.ended() {
            self.ended.count(end(&reason));
        }
        // The index hears of it afterwards: what it knows already was sent again, or came back after a fork.
        let stage = |place: usize, block: &BlockId, reached: fn(&Times) -> Option<Time>| {
            let times = index.times(&block.hash);
            if let (Some(sealed), None) = (times.sealed, reached(&times)) {
                self.stage_seconds[place].observe_duration(at.since(sealed));
            }
        };
        match event {
            Event::Added { .. } => self.pool.count("added"),
            Event::Promoted { .. } => self.pool.count("promoted"),
            Event::Demoted { .. } => self.pool.count("demoted"),
            Event::Bundled { .. } => self.pool.count("bundled"),
            Event::Returned { .. } => self.pool.count("returned"),
            Event::Final { hash, .. } => {
                self.pool.count("final");
                if let Some(since) = index.since(hash) {
                    self.final_seconds.observe_duration(at.since(since));
                }
            }
            Event::Submitted { run, .. } => stage(0, &run.first, |times| times.submitted),
            Event::Guaranteed { run, .. } => stage(1, &run.first, |times| times.guaranteed),
            Event::Accumulated { run } => stage(2, &run.first, |times| times.accumulated),
            Event::Finalized { run } => stage(3, &run.first, |times| times.finalized),
            Event::ServiceDiffers { .. } => self.alarms.count("service_differs"),
            Event::ServiceUnreadable { .. } => self.alarms.count("service_unreadable"),
            Event::ForeignHead { .. } => self.alarms.count("foreign_head"),
            _ => {}
        }
        self.queue.count(of_queue(event));
    }

    /// Counts the sizes of blocks that are new. A number that was released and sealed again is counted once.
    pub(super) fn note_sizes(&self, sizes: &BTreeMap<u64, Sizes>) {
        let mut sized = self.sized.lock();
        for (number, sizes) in sizes.range(*sized + 1..) {
            *sized = *number;
            self.block_transactions.observe(sizes.transactions as f64);
            self.block_gas.observe(sizes.gas as f64);
            self.refine_gas.observe(sizes.refine_gas as f64);
            self.bundle_bytes.observe(sizes.bundle_bytes as f64);
            self.witness_bytes.observe(sizes.witness_bytes as f64);
        }
    }
}

const fn of_queue(event: &Event) -> &'static str {
    match event {
        Event::Sealed { .. } => "sealed",
        Event::Refused { .. } => "refused",
        Event::Window { .. } => "window",
        Event::WindowMissed { .. } => "window_missed",
        Event::Submitted { .. } => "submitted",
        Event::NotSubmitted { .. } => "not_submitted",
        Event::Guaranteed { .. } => "guaranteed",
        Event::DuplicateGuarantee { .. } => "duplicate_guarantee",
        Event::Accumulated { .. } => "accumulated",
        Event::Finalized { .. } => "finalized",
        Event::GuaranteeTimeout { .. } => "guarantee_timeout",
        Event::AnchorStale { .. } => "anchor_stale",
        Event::Requeued { .. } => "requeued",
        Event::Abandoned { .. } => "abandoned",
        Event::Dissolved { .. } => "dissolved",
        Event::RunRefused { .. } => "run_refused",
        Event::Released { .. } => "released",
        _ => "",
    }
}

const fn end(reason: &Reason) -> &'static str {
    match reason {
        Reason::Replaced { .. } => "replaced",
        Reason::Evicted => "evicted",
        Reason::Expired => "expired",
        Reason::NonceTooLow => "nonce_too_low",
        Reason::Poisonous { .. } => "poisonous",
        Reason::Invalid { .. } => "invalid",
        Reason::Flushed => "flushed",
        Reason::DoesNotFit { .. } => "does_not_fit",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, B256};

    #[test]
    fn events_are_counted_under_their_names() {
        let (counters, index) = (Counters::default(), PoolIndex::default());
        let (block, hash, sender) = (BlockId::new(1, B256::repeat_byte(1)), B256::ZERO, Address::ZERO);
        let (run, at) = (types::Run::of(block), Time::from_millis);
        index.note(&[Event::Sealed { block, transactions: 1 }], at(1_000));
        for event in [
            Event::Added { hash, sender, pending: true },
            Event::Expired { hash, sender },
            Event::Guaranteed { run, version: 1 },
            Event::WindowMissed { run },
            Event::ForeignHead { head: block },
        ] {
            counters.note(at(6_000), &event, &index);
        }
        let sum = |named: &Named| named.all().map(|(_, count)| count).sum::<u64>();
        assert_eq!((counters.pool.get("added"), counters.ended.get("expired")), (1, 1));
        assert_eq!((counters.queue.get("guaranteed"), counters.windows_missed()), (1, 1));
        assert_eq!((sum(&counters.queue), sum(&counters.alarms)), (2, 1));
        assert_eq!(counters.stage_seconds[1].buckets().sum, 5.0);
    }

    #[test]
    fn only_the_first_time_of_a_step_is_measured() {
        let (counters, index) = (Counters::default(), PoolIndex::default());
        let (block, at) = (BlockId::new(1, B256::repeat_byte(1)), Time::from_millis);
        index.note(&[Event::Sealed { block, transactions: 1 }], at(1_000));
        for (version, now) in [(1, 2_000), (1, 9_000), (2, 20_000)] {
            let event = Event::Submitted { run: types::Run::of(block), version, core: 0 };
            counters.note(at(now), &event, &index);
            index.note(&[event], at(now));
        }
        assert_eq!(counters.queue.get("submitted"), 3);
        let measured = counters.stage_seconds[0].buckets();
        assert_eq!((measured.count, measured.sum), (1, 1.0));
    }

    #[test]
    fn a_size_is_counted_once() {
        let counters = Counters::default();
        let mut sizes = BTreeMap::from([(1, Sizes { gas: 21_000, transactions: 1, ..Sizes::default() })]);
        counters.note_sizes(&sizes);
        counters.note_sizes(&sizes);
        sizes.insert(2, Sizes::default());
        counters.note_sizes(&sizes);
        assert_eq!(counters.block_gas.buckets().count, 2);
        assert_eq!(counters.block_gas.buckets().sum, 21_000.0);
    }
}
