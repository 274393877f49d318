//! Many seeds: run on all cores, in order afterwards.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// So many seeds are a line of progress.
const PROGRESS_EVERY: u64 = 500;

/// Runs seeds on all cores; gives the outcomes by seed. With `stop_at_first` no seed is begun after one that `is_wrong`.
pub(crate) fn run_all<O: Send>(
    seeds: impl Iterator<Item = u64> + Send,
    stop_at_first: bool,
    run: impl Fn(u64) -> O + Sync,
    is_wrong: impl Fn(&O) -> bool + Sync,
) -> Vec<(u64, O)> {
    let seeds = Mutex::new(seeds);
    let (found, results) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let done = AtomicU64::new(0);
    let work = || {
        while !(stop_at_first && found.load(Ordering::Relaxed)) {
            let next = seeds.lock().expect("no thread panics with it").next();
            let Some(seed) = next else { break };
            let outcome = run(seed);
            found.fetch_or(is_wrong(&outcome), Ordering::Relaxed);
            results.lock().expect("no thread panics with it").push((seed, outcome));
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(PROGRESS_EVERY) {
                eprintln!("{done} seeds");
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().expect("no thread panicked with it");
    results.sort_by_key(|(seed, _)| *seed);
    results
}

/// The latency that so many of a hundred did not exceed, in seconds.
pub(crate) fn percentile_s(latencies_ms: &[u64], percent: usize) -> f64 {
    let mut sorted = latencies_ms.to_vec();
    sorted.sort_unstable();
    let at = sorted.len().saturating_sub(1) * percent / 100;
    sorted.get(at).map_or(0.0, |ms| *ms as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_seeds_run_and_come_in_order() {
        let outcomes = run_all(3..40, false, |seed| seed * 2, |outcome| *outcome == 10);
        assert!(outcomes.into_iter().eq((3..40).map(|seed| (seed, seed * 2))));
    }

    #[test]
    fn nothing_is_begun_after_the_first_that_is_wrong() {
        let outcomes = run_all(0.., true, |seed| seed, |outcome| *outcome >= 5);
        assert!(outcomes.iter().any(|(seed, _)| *seed >= 5));
    }

    #[test]
    fn percentiles_are_of_the_sorted_latencies() {
        assert_eq!(percentile_s(&[3000, 1000, 2000], 50), 2.0);
        assert_eq!(percentile_s(&[3000, 1000, 2000], 100), 3.0);
        assert_eq!(percentile_s(&[], 50), 0.0);
    }
}
