//! What RPC counts about itself: calls by method, how long they took, and transactions that it refused, by reason.
//!
//! Methods are counted under the names that exist here; whatever else a client calls is one name more. So nobody can make
//! the table grow.

use histogram::{Buckets, Histogram};
use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds in seconds for what takes between a blink and a timeout.
pub const SECONDS: &[f64] = &[0.0001, 0.000_5, 0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0];

/// How often a method was called, and how long it took.
#[derive(Debug)]
pub struct MethodStats {
    errors: AtomicU64,
    seconds: Histogram,
}

impl Default for MethodStats {
    fn default() -> Self {
        Self { errors: AtomicU64::new(0), seconds: Histogram::new(SECONDS) }
    }
}

impl MethodStats {
    /// Counts a call.
    pub(crate) fn note(&self, took: Duration, failed: bool) {
        self.seconds.observe_duration(took);
        self.errors.fetch_add(u64::from(failed), Relaxed);
    }

    /// Calls that were answered with an error.
    pub fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// How long calls took.
    pub fn seconds(&self) -> Buckets {
        self.seconds.buckets()
    }
}

/// What RPC counts about itself.
#[derive(Debug, Default)]
pub struct Stats {
    methods: HashMap<&'static str, MethodStats>,
    /// Calls of methods that do not exist here.
    other: MethodStats,
    refused: HashMap<&'static str, AtomicU64>,
    pub(crate) connections: AtomicUsize,
}

/// Transactions that were refused because the node takes nothing at the moment are counted under this name.
const UNAVAILABLE: &str = "unavailable";

impl Stats {
    pub(crate) fn new(methods: impl Iterator<Item = &'static str>) -> Self {
        let reasons = txpool::Error::REASONS.iter().copied().chain([UNAVAILABLE]);
        Self {
            methods: methods.map(|name| (name, MethodStats::default())).collect(),
            refused: reasons.map(|name| (name, AtomicU64::new(0))).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn method(&self, name: &str) -> &MethodStats {
        self.methods.get(name).unwrap_or(&self.other)
    }

    pub(crate) fn refuse(&self, error: &crate::SendError) {
        let reason = match error {
            crate::SendError::Refused(refused) => refused.reason(),
            crate::SendError::Unavailable(_) => UNAVAILABLE,
        };
        if let Some(count) = self.refused.get(reason) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// The methods that were called so far, in order; those that do not exist are called `other`.
    pub fn methods(&self) -> Vec<(&'static str, &MethodStats)> {
        let known = self.methods.iter().map(|(name, stats)| (*name, stats));
        let all = known.chain([("other", &self.other)]);
        let mut called = all.filter(|(_, stats)| stats.seconds().count > 0).collect::<Vec<_>>();
        called.sort_unstable_by_key(|(name, _)| *name);
        called
    }

    /// Transactions that were refused, by reason, in order; reasons that never occurred are there too.
    pub fn refused(&self) -> Vec<(&'static str, u64)> {
        let mut refused =
            self.refused.iter().map(|(name, count)| (*name, count.load(Relaxed))).collect::<Vec<_>>();
        refused.sort_unstable();
        refused
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.connections.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_make_the_table_grow() {
        let stats = Stats::new(["eth_chainId"].into_iter());
        for name in ["eth_chainId", "made_up", "made_up_too"] {
            stats.method(name).note(Duration::from_millis(1), name != "eth_chainId");
        }
        let methods = stats.methods();
        assert_eq!(methods.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["eth_chainId", "other"]);
        assert_eq!((methods[0].1.errors(), methods[1].1.errors()), (0, 2));
        let reasons = stats.refused().len();
        stats.refuse(&crate::SendError::Unavailable("it is full".into()));
        assert_eq!(stats.refused().len(), reasons);
        assert!(stats.refused().contains(&(UNAVAILABLE, 1)));
    }
}
