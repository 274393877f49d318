//! What came of it.

use super::{connection::Tally, honest::Served};
use std::{fmt, time::Duration};

/// An honest client waits so many times longer at most.
const LATENCY_RATIO_MAX: f64 = 10.0;
/// The node takes so much more memory at most: what its limits on bodies, answers, calls and subscriptions add up to.
const MEMORY_GROWTH_MIB_MAX: u64 = 768;
/// Of so many calls of an honest client one may be refused.
const CALLS_PER_REFUSAL: usize = 10;
/// From fewer answers nothing can be said about how long they take.
const SERVED_MIN: usize = 20;

/// One kind of abuse.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What abusers were answered.
    pub tally: Tally,
    /// How honest clients were served meanwhile.
    pub served: Served,
    /// The node's memory at its end.
    pub resident_kib: u64,
}

/// The value that this part of all does not exceed.
fn percentile(all: &[Duration], percent: usize) -> Duration {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

impl Kind {
    fn of(&self, percent: usize) -> Duration {
        percentile(&self.served.steady, percent)
    }

    /// How many times longer than when it was quiet the client that stays waited: in the middle, and at worst in a hundred.
    fn ratios(&self, quiet: &[Duration]) -> (f64, f64) {
        let ratio = |percent| micros(self.of(percent)) / micros(percentile(quiet, percent)).max(1.0);
        (ratio(50), ratio(99))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:14} p50 {:>6.0} µs, p99 {:>6.0} µs of {}",
            self.name,
            micros(self.of(50)),
            micros(self.of(99)),
            self.served.steady.len()
        )?;
        let new = &self.served.new;
        write!(f, "; new p50 {:>6.0} µs of {}", micros(percentile(new, 50)), new.len())?;
        let calls = &self.served.calls;
        let (middle, late) = (micros(percentile(calls, 50)), micros(percentile(calls, 99)));
        write!(f, "; calls p50 {middle:>6.0} µs, p99 {late:>6.0} µs of {}", calls.len())?;
        write!(f, ", {} refused", self.served.calls_refused.len())?;
        write!(f, "; {} refused; {} MiB", self.served.refused.len(), self.resident_kib / 1024)?;
        write!(f, "; {}", self.tally)
    }
}

/// The whole run.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// In order; the first and the last are without abuse.
    pub kinds: Vec<Kind>,
    /// Bodies that were sent.
    pub bodies: u64,
    /// Panics in the node's log.
    pub panics: usize,
    /// Answers that the node blamed itself for.
    pub faults: usize,
    /// The node's memory.
    pub start_kib: u64,
    /// The most that it had.
    pub peak_kib: u64,
    /// What it had when all was over.
    pub end_kib: u64,
}

impl Verdict {
    fn server_errors(&self) -> usize {
        self.kinds.iter().map(|kind| kind.tally.server_errors()).sum::<usize>() + self.faults
    }

    fn refused(&self) -> impl Iterator<Item = &String> {
        self.kinds.iter().flat_map(|kind| &kind.served.refused)
    }

    /// How long the client that stays waited without abuse, before and after.
    fn quiet(&self) -> Vec<Duration> {
        let both = [self.kinds.first(), self.kinds.last()];
        both.into_iter().flatten().flat_map(|kind| kind.served.steady.iter().copied()).collect()
    }

    /// Each kind of abuse with its ratios.
    fn ratios(&self) -> Vec<(&Kind, (f64, f64))> {
        let (quiet, abused) = (self.quiet(), self.kinds.len().saturating_sub(1));
        let kinds = self.kinds.iter().take(abused).skip(1);
        kinds.map(|kind| (kind, kind.ratios(&quiet))).collect()
    }

    /// The worst ratio of all kinds of abuse, of medians and of ninety-ninth percentiles.
    fn latency(&self) -> f64 {
        let ratios = self.ratios().into_iter().map(|(_, (middle, late))| middle.max(late));
        ratios.reduce(f64::max).unwrap_or(f64::INFINITY)
    }

    fn growth_mib(&self) -> u64 {
        self.peak_kib.saturating_sub(self.start_kib) / 1024
    }

    /// What is wrong.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = vec![];
        let mut problem = |is: bool, text: String| is.then(|| problems.push(text));
        problem(self.panics > 0, format!("the node panicked {} times", self.panics));
        problem(self.server_errors() > 0, format!("{} answers blame the server", self.server_errors()));
        let latency = self.latency();
        problem(latency > LATENCY_RATIO_MAX, format!("honest clients waited {latency:.1} times longer"));
        let growth = self.growth_mib();
        problem(growth > MEMORY_GROWTH_MIB_MAX, format!("the memory grew by {growth} MiB"));
        for kind in self.kinds.iter().filter(|kind| kind.served.least() < SERVED_MIN) {
            problem(true, format!("during {} honest clients were hardly served", kind.name));
        }
        for Kind { name, served, .. } in &self.kinds {
            let (refused, calls) = (served.calls_refused.len(), served.calls.len());
            let often = refused * CALLS_PER_REFUSAL > refused + calls;
            let first = served.calls_refused.first().map_or("", String::as_str);
            problem(
                often,
                format!("during {name} {refused} calls were refused and {calls} made, first: {first}"),
            );
        }
        if let Some(first) = self.refused().next() {
            problem(
                true,
                format!("honest clients were refused {} times, first: {first}", self.refused().count()),
            );
        }
        problems
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (Kind { name, .. }, (middle, late)) in self.ratios() {
            writeln!(f, "{name:14} waits {middle:.1} times as long in the middle, {late:.1} times at worst")?;
        }
        let mib = |kib: u64| kib / 1024;
        let (start, peak, end) = (mib(self.start_kib), mib(self.peak_kib), mib(self.end_kib));
        writeln!(
            f,
            "resident {start} MiB at the start, {peak} at most, {end} at the end; {MEMORY_GROWTH_MIB_MAX} more are allowed"
        )?;
        for problem in self.problems() {
            writeln!(f, "WRONG: {problem}")?;
        }
        let (bodies, panics, errors) = (self.bodies, self.panics, self.server_errors());
        write!(
            f,
            "abuse: bodies={bodies} panics={panics} server_errors={errors} latency={:.1} memory_mib={peak}",
            self.latency()
        )
    }
}
