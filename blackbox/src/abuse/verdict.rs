//! What came of it.

use super::{connection::Tally, honest::Served};
use std::{fmt, time::Duration};

/// An honest client of the abused node waits so many times as long at most as one of the control.
const LATENCY_RATIO_MAX: f64 = 10.0;
/// Who waits longer on average is hardly served.
const MEAN_WAIT_MAX: Duration = Duration::from_millis(500);
/// The node takes so much more memory at most: what its limits on bodies, answers, calls and subscriptions add up to.
const MEMORY_GROWTH_MIB_MAX: u64 = 768;
/// Of so many calls of an honest client one may be refused.
const CALLS_PER_REFUSAL: usize = 10;
/// From fewer answers of the control nothing can be said about how long they take.
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
    /// How the control served the same clients meanwhile.
    pub control: Served,
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
    /// How many times as long as for the control the client that stays waited: in the middle, and at worst in a hundred.
    fn ratios(&self) -> (f64, f64) {
        let of = |served: &Served, percent| micros(percentile(&served.steady, percent));
        let ratio = |percent| of(&self.served, percent) / of(&self.control, percent).max(1.0);
        (ratio(50), ratio(99))
    }

    /// Whether the control was served so seldom that nothing can be said.
    fn is_unknown(&self) -> bool {
        self.control.counts().into_iter().any(|count| count < SERVED_MIN)
    }

    /// Whether one of the honest clients was hardly served.
    fn is_starved(&self) -> bool {
        self.served.means().into_iter().any(|mean| mean.is_none_or(|mean| mean > MEAN_WAIT_MAX))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:14}", self.name)?;
        for (before, Served { steady, .. }) in [(" ", &self.served), ("; control ", &self.control)] {
            let (middle, late) = (micros(percentile(steady, 50)), micros(percentile(steady, 99)));
            write!(f, "{before}p50 {middle:>6.0} µs, p99 {late:>6.0} µs of {}", steady.len())?;
        }
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
    /// Threads for calls whose priority is not lower than that of others.
    pub hurried: usize,
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

    /// Each kind with its ratios.
    fn ratios(&self) -> impl Iterator<Item = (&Kind, (f64, f64))> {
        self.kinds.iter().map(|kind| (kind, kind.ratios()))
    }

    /// The worst ratio of all kinds, of medians and of ninety-ninth percentiles.
    fn latency(&self) -> f64 {
        let ratios = self.ratios().map(|(_, (middle, late))| middle.max(late));
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
        problem(
            latency > LATENCY_RATIO_MAX,
            format!("honest clients waited {latency:.1} times as long as those of the control"),
        );
        let hurried = self.hurried;
        problem(hurried > 0, format!("{hurried} threads for calls have no lower priority than others"));
        let growth = self.growth_mib();
        problem(growth > MEMORY_GROWTH_MIB_MAX, format!("the memory grew by {growth} MiB"));
        for kind in &self.kinds {
            let (name, means) = (kind.name, kind.served.means());
            problem(
                kind.is_starved(),
                format!("during {name} honest clients were hardly served; they waited {means:?} on average"),
            );
            problem(
                kind.is_unknown(),
                format!(
                    "during {name} the machine was too busy to say anything: not even the control served"
                ),
            );
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
            writeln!(
                f,
                "{name:14} waits {middle:.1} times as long as the control in the middle, {late:.1} times at worst"
            )?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn served(micros: u64, count: usize) -> Served {
        let times = vec![Duration::from_micros(micros); count];
        Served { steady: times.clone(), new: times.clone(), calls: times, ..Served::default() }
    }

    fn kind(name: &'static str, served: Served, control: Served) -> Kind {
        Kind { name, tally: Tally::default(), served, control, resident_kib: 0 }
    }

    fn problems(kinds: Vec<Kind>) -> Vec<String> {
        Verdict { kinds, ..Verdict::default() }.problems()
    }

    #[test]
    fn a_machine_that_becomes_busy_is_no_fault_of_the_node() {
        let quiet = kind("quiet", served(100, 2_000), served(100, 2_000));
        let busy = kind("calls", served(9_000, 150), served(6_000, 170));
        assert_eq!(problems(vec![quiet, busy]), Vec::<String>::new());
    }

    #[test]
    fn who_waits_for_abusers_is_noticed_on_a_busy_machine_too() {
        let slow = kind("calls", served(70_000, 150), served(6_000, 170));
        let found = problems(vec![slow]);
        assert_eq!(found, ["honest clients waited 11.7 times as long as those of the control"]);
        let mut late = served(6_000, 170);
        late.steady[165..].fill(Duration::from_millis(200));
        assert_eq!(
            problems(vec![kind("calls", late, served(6_000, 170))]).len(),
            1,
            "a few late ones are enough"
        );
        let mut starved = served(6_000, 170);
        starved.calls = vec![Duration::from_millis(501); 8];
        assert!(
            problems(vec![kind("calls", starved.clone(), served(6_000, 170))])[0].contains("hardly served")
        );
        starved.calls.clear();
        assert!(problems(vec![kind("calls", starved, served(6_000, 170))])[0].contains("hardly served"));
    }

    #[test]
    fn nothing_is_said_where_not_even_the_control_was_served() {
        let idle = kind("calls", served(6_000, 10), served(6_000, 10));
        assert!(problems(vec![idle])[0].contains("too busy to say anything"));
    }

    #[test]
    fn calls_at_the_priority_of_others_are_noticed() {
        let kinds = vec![kind("quiet", served(100, 100), served(100, 100))];
        let verdict = Verdict { kinds, hurried: 2, ..Verdict::default() };
        assert_eq!(verdict.problems(), ["2 threads for calls have no lower priority than others"]);
    }
}
