//! Many seeds: run on all cores, summed up.

use super::{Options, Outcome, is_harsh, run};
use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// What the runs with mild or with harsh faults came to.
#[derive(Clone, Debug, Default)]
pub struct Row {
    seeds: u64,
    faults: u64,
    accepted: usize,
    ends: [usize; 4],
    commits: usize,
    attempts: usize,
    latencies_ms: Vec<u64>,
}

impl Row {
    fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.faults += outcome.faults;
        self.accepted += outcome.accepted;
        (0..4).for_each(|end| self.ends[end] += outcome.ends[end]);
        self.commits += outcome.commits;
        self.attempts += outcome.attempts;
        self.latencies_ms.extend(&outcome.latencies_ms);
    }

    /// The time in which so many of a hundred requests ended, in seconds.
    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.latencies_ms.clone();
        sorted.sort_unstable();
        let at = sorted.len().saturating_sub(1) * percent / 100;
        sorted.get(at).map_or(0.0, |ms| *ms as f64 / 1000.0)
    }
}

/// What many runs came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Seeds that were run.
    pub runs: u64,
    /// Faults that happened.
    pub faults: u64,
    /// Seeds in which something was wrong, with what was wrong.
    pub failures: Vec<(u64, Vec<String>)>,
    mild: Row,
    harsh: Row,
}

impl Report {
    /// Runs seeds on all cores; stops at the first violation if `stop_at_first`.
    pub fn run(&mut self, seeds: impl Iterator<Item = u64> + Send, options: &Options, stop_at_first: bool) {
        let seeds = Mutex::new(seeds);
        let (found, results) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let done = AtomicU64::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !(stop_at_first && found.load(Ordering::Relaxed)) {
                        let next = seeds.lock().expect("no thread panics with it").next();
                        let Some(seed) = next else { break };
                        let outcome = run(seed, options);
                        found.fetch_or(!outcome.violations.is_empty(), Ordering::Relaxed);
                        results.lock().expect("no thread panics with it").push((seed, outcome));
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                    }
                });
            }
        });
        let mut results = results.into_inner().expect("no thread panicked with it");
        results.sort_by_key(|(seed, _)| *seed);
        for (seed, outcome) in results {
            self.add(seed, outcome);
        }
    }

    fn add(&mut self, seed: u64, outcome: Outcome) {
        self.runs += 1;
        self.faults += outcome.faults;
        if is_harsh(seed) { &mut self.harsh } else { &mut self.mild }.add(&outcome);
        if !outcome.violations.is_empty() {
            self.failures.push((seed, outcome.violations));
        }
    }
}

/// Long work shows progress.
fn progress(done: u64) {
    if done.is_multiple_of(1000) {
        eprintln!("{done} seeds");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "faults  seeds   faults  accepted   mined  cancelled  expired  failed  commits/   attempts/  accept to end, s"
        )?;
        writeln!(
            f,
            "                                                                  request    mined         p50       p99"
        )?;
        for (name, row) in [("mild", &self.mild), ("harsh", &self.harsh)] {
            let [mined, cancelled, expired, failed] = row.ends;
            writeln!(
                f,
                "{name:<6} {:>6} {:>8} {:>9} {mined:>7} {cancelled:>10} {expired:>8} {failed:>7} {:>9.1} {:>11.2} {:>9.0} {:>9.0}",
                row.seeds,
                row.faults,
                row.accepted,
                row.commits as f64 / row.accepted.max(1) as f64,
                row.attempts as f64 / mined.max(1) as f64,
                row.percentile(50),
                row.percentile(99),
            )?;
        }
        Ok(())
    }
}
