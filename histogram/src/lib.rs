//! A histogram for metrics: many threads count values into buckets, and a scrape reads them.
//!
//! ```text
//!   observe(0.3) ──▶ counts: [≤ 0.1 | ≤ 0.5 | ≤ 2.0 | above]   sum     (atomics, no lock)
//!                                │
//!   buckets() ───────────────────▶ cumulative counts, as Prometheus wants them
//! ```
//!
//! The bounds are fixed when the histogram is made, so its size is too. The sum is kept in millionths of the unit and is
//! exact to a millionth for each value; it wraps beyond 2^64 millionths. A snapshot that is taken while others count may
//! lack their newest values, but its counts never decrease from bound to bound.
//!
//! ```
//! use histogram::Histogram;
//!
//! let seconds = Histogram::new(&[0.1, 0.5, 2.0]);
//! seconds.observe(0.3);
//! let buckets = seconds.buckets();
//! assert_eq!((buckets.up_to, buckets.count), (vec![0, 1, 1, 1], 1));
//! ```

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Counts values into buckets. See the [crate](crate).
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One for each bound, and one for what is above all of them.
    counts: Vec<AtomicU64>,
    sum_millionths: AtomicU64,
}

/// A histogram at one moment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Buckets {
    /// Upper bounds, in rising order.
    pub bounds: &'static [f64],
    /// How many values were at most as large as each bound, and last how many there were in all.
    pub up_to: Vec<u64>,
    /// How many values there were.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

impl Histogram {
    /// Without any value. The bounds must rise.
    pub fn new(bounds: &'static [f64]) -> Self {
        debug_assert!(bounds.is_sorted(), "the bounds of a histogram rise");
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum_millionths: AtomicU64::new(0) }
    }

    /// Counts a value. A bound belongs to the bucket below it.
    pub fn observe(&self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum_millionths.fetch_add((value * 1e6).round() as u64, Relaxed);
    }

    /// Counts a duration, in seconds.
    pub fn observe_duration(&self, duration: Duration) {
        self.observe(duration.as_secs_f64());
    }

    /// The values so far.
    pub fn buckets(&self) -> Buckets {
        let mut count = 0;
        let sums = self.counts.iter().map(|bucket| {
            count += bucket.load(Relaxed);
            count
        });
        let up_to = sums.collect();
        Buckets { bounds: self.bounds, up_to, count, sum: self.sum_millionths.load(Relaxed) as f64 / 1e6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_cumulative_and_a_bound_belongs_below() {
        let histogram = Histogram::new(&[1.0, 10.0]);
        for value in [0.5, 1.0, 2.0, 50.0] {
            histogram.observe(value);
        }
        let buckets = histogram.buckets();
        assert_eq!((buckets.up_to, buckets.count, buckets.sum), (vec![2, 3, 4], 4, 53.5));
    }

    #[test]
    fn an_empty_histogram_has_all_its_buckets() {
        let buckets = Histogram::new(&[1.0, 10.0]).buckets();
        assert_eq!((buckets.up_to, buckets.count, buckets.sum), (vec![0, 0, 0], 0, 0.0));
    }

    #[test]
    fn durations_are_seconds_and_their_sum_loses_nothing() {
        let histogram = Histogram::new(&[0.01, 0.1]);
        // 0.07 s has no exact binary form: cut off instead of rounded it would lose a microsecond each time.
        for _ in 0..1_000 {
            histogram.observe_duration(Duration::from_millis(70));
        }
        let buckets = histogram.buckets();
        assert_eq!((buckets.up_to, buckets.sum), (vec![0, 1_000, 1_000], 70.0));
    }
}
