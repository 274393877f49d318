//! Many seeds: run on all cores, summed up.

use super::{Options, Outcome, is_harsh, run};
use crate::seeds::{percentile_s, run_all};
use std::fmt;

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
        let is_wrong = |outcome: &Outcome| !outcome.violations.is_empty();
        for (seed, outcome) in run_all(seeds, stop_at_first, |seed| run(seed, options), is_wrong) {
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
                percentile_s(&row.latencies_ms, 50),
                percentile_s(&row.latencies_ms, 99),
            )?;
        }
        Ok(())
    }
}
