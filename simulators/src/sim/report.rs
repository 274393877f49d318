//! Many seeds: run on all cores, summed up.

use super::{Options, Outcome, is_harsh, run};
use crate::seeds::{percentile_s, run_all};
use queue::Policy;
use std::fmt;

/// What the runs of one policy came to, for mild or for harsh faults.
#[derive(Clone, Debug, Default)]
pub struct Row {
    seeds: u64,
    releases: u64,
    duplicate_guarantees: u64,
    packages: u64,
    final_blocks: u64,
    dropped_innocents: u64,
    latencies_ms: Vec<u64>,
}

impl Row {
    fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.releases += outcome.releases as u64;
        self.duplicate_guarantees += outcome.duplicate_guarantees;
        self.packages += outcome.packages as u64;
        self.final_blocks += outcome.final_blocks as u64;
        self.dropped_innocents += outcome.dropped_innocents as u64;
        self.latencies_ms.extend(&outcome.latencies_ms);
    }
}

/// What many runs came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Seeds that were run, each counted once per policy.
    pub runs: u64,
    /// Faults that happened.
    pub faults: u64,
    /// Seeds in which something was wrong, by policy, with what was wrong.
    pub failures: Vec<(Policy, u64, Vec<String>)>,
    rows: Vec<(Policy, bool, Row)>,
}

impl Report {
    /// Runs seeds under a policy on all cores; stops at the first violation if `stop_at_first`.
    pub fn run(&mut self, seeds: impl Iterator<Item = u64> + Send, options: &Options, stop_at_first: bool) {
        let is_wrong = |outcome: &Outcome| !outcome.violations.is_empty();
        for (seed, outcome) in run_all(seeds, stop_at_first, |seed| run(seed, options), is_wrong) {
            self.add(options.policy, seed, outcome);
        }
    }

    fn add(&mut self, policy: Policy, seed: u64, outcome: Outcome) {
        self.runs += 1;
        self.faults += outcome.faults;
        let harsh = is_harsh(seed);
        let row = match self.rows.iter_mut().find(|(p, h, _)| (*p, *h) == (policy, harsh)) {
            Some((.., row)) => row,
            None => {
                self.rows.push((policy, harsh, Row::default()));
                let (.., row) = self.rows.last_mut().expect("just pushed");
                row
            }
        };
        row.add(&outcome);
        if !outcome.violations.is_empty() {
            self.failures.push((policy, seed, outcome.violations));
        }
    }

    /// Transactions that were dropped as poisonous and were not.
    pub fn dropped_innocents(&self) -> u64 {
        self.rows.iter().map(|(.., row)| row.dropped_innocents).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "policy  faults  seeds  releases  duplicate  packages/  accept to final, s  innocent")?;
        writeln!(f, "                               guarantees final block     p50       p99  dropped")?;
        for (policy, harsh, row) in &self.rows {
            let faults = if *harsh { "harsh" } else { "mild" };
            let (p50, p99) = (percentile_s(&row.latencies_ms, 50), percentile_s(&row.latencies_ms, 99));
            let packages = row.packages as f64 / row.final_blocks.max(1) as f64;
            writeln!(
                f,
                "{:<7} {faults:<6} {:>6} {:>9} {:>10} {packages:>10.2} {p50:>8.0} {p99:>9.0} {:>9}",
                format!("{policy:?}").to_lowercase(),
                row.seeds,
                row.releases,
                row.duplicate_guarantees,
                row.dropped_innocents,
            )?;
        }
        Ok(())
    }
}
