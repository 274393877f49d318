//! The command line of a simulator: `--seeds N [--start S] [--bug NAME] [--trace] | --list-bugs`, and its closing lines.

use harness::cpu::cpu_time;
use std::{ops::Range, process::ExitCode};

/// Failures that are printed.
const FAILURES_SHOWN: usize = 10;
/// The last lines of a trace that are printed.
const TRACE_SHOWN: usize = 80;

/// A simulator as a program.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a, B> {
    /// Its name.
    pub name: &'a str,
    /// Printed after an error.
    pub usage: &'a str,
    /// The known mistakes by the names that `--bug` takes.
    pub bugs: &'a [(&'a str, B)],
}

/// What a simulator is asked to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arguments<B> {
    /// The seeds.
    pub seeds: Range<u64>,
    /// The known mistake to put back. Then the program ends well if it is found.
    pub bug: Option<B>,
    /// Whether to show how it came to the first failure, also with a mistake.
    pub trace: bool,
}

/// One thing that was wrong.
pub struct Failure<'a> {
    /// The seed, and under what.
    pub seed: String,
    /// What was wrong.
    pub violation: &'a str,
    /// Runs it again with a trace.
    pub trace: Box<dyn Fn() -> Vec<String> + 'a>,
}

impl<B: Copy> Program<'_, B> {
    /// Reads the process's arguments; `other` is given flags that not all simulators have, with their values. If there is
    /// nothing to run, the result is how the process ends.
    pub fn arguments(
        &self,
        other: impl FnMut(&str, &str) -> Result<(), String>,
    ) -> Result<Arguments<B>, ExitCode> {
        let given = std::env::args().skip(1).collect::<Vec<_>>();
        if given.first().is_some_and(|flag| flag == "--list-bugs") {
            self.bugs.iter().for_each(|(name, _)| println!("{name}"));
            return Err(ExitCode::SUCCESS);
        }
        self.parse(given, other).map_err(|why| {
            eprintln!("{}: {why}\n{}", self.name, self.usage);
            ExitCode::from(2)
        })
    }

    fn parse(
        &self,
        given: impl IntoIterator<Item = String>,
        mut other: impl FnMut(&str, &str) -> Result<(), String>,
    ) -> Result<Arguments<B>, String> {
        let (mut count, mut start, mut bug, mut trace) = (0, 0, None, false);
        let mut given = given.into_iter();
        while let Some(flag) = given.next() {
            if flag == "--trace" {
                trace = true;
                continue;
            }
            let value = given.next().ok_or_else(|| format!("{flag} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|why| format!("{flag}: {why}"));
            match &*flag {
                "--seeds" => count = number()?,
                "--start" => start = number()?,
                "--bug" => bug = Some(self.bug(&value)?),
                _ => other(&flag, &value)?,
            }
        }
        match count {
            0 => Err("--seeds is missing".into()),
            _ => Ok(Arguments { seeds: start..start.saturating_add(count), bug, trace }),
        }
    }

    fn bug(&self, name: &str) -> Result<B, String> {
        let found = self.bugs.iter().find(|(known, _)| *known == name).map(|(_, bug)| *bug);
        let names = || self.bugs.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| format!("no bug is called {name}; there are: {}", names()))
    }

    /// Prints what was wrong, for the first failure how it came to that, and the closing line: a contract with scripts.
    /// `more` violations have no seed of their own.
    pub fn close(
        &self,
        arguments: &Arguments<B>,
        runs: u64,
        faults: u64,
        failures: &[Failure<'_>],
        more: u64,
    ) -> ExitCode {
        println!("CPU per run: {:.1} ms", cpu_time().as_secs_f64() * 1000.0 / runs.max(1) as f64);
        for (index, failure) in failures.iter().enumerate().take(FAILURES_SHOWN) {
            println!("seed {}: {}", failure.seed, failure.violation);
            if index == 0 && (arguments.trace || arguments.bug.is_none()) {
                let trace = (failure.trace)();
                let shown = trace.len().saturating_sub(TRACE_SHOWN);
                trace[shown..].iter().for_each(|line| println!("  {line}"));
            }
        }
        let violations = failures.len() as u64 + more;
        let seeds = arguments.seeds.end - arguments.seeds.start;
        println!("{}: seeds={seeds} faults={faults} violations={violations}", self.name);
        let well = if arguments.bug.is_some() { violations > 0 } else { violations == 0 };
        ExitCode::from(u8::from(!well))
    }
}

/// For simulators without flags of their own: every other flag is an error.
pub fn no_other(flag: &str, _: &str) -> Result<(), String> {
    Err(format!("{flag} is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Program<'_, u8> = Program { name: "p", usage: "", bugs: &[("one", 1), ("two", 2)] };

    fn parse(text: &str) -> Result<Arguments<u8>, String> {
        PROGRAM.parse(text.split_whitespace().map(str::to_owned), no_other)
    }

    #[test]
    fn arguments_are_read() {
        let read = parse("--seeds 5 --start 7 --bug two --trace").unwrap();
        assert_eq!(read, Arguments { seeds: 7..12, bug: Some(2), trace: true });
        let read = parse("--start 3 --seeds 18446744073709551615").unwrap();
        assert_eq!(read.seeds, 3..u64::MAX, "not beyond the last seed");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("", "--seeds is missing"),
            ("--seeds", "--seeds needs a value"),
            ("--seeds x", "--seeds: invalid digit found in string"),
            ("--seeds 1 --bug three", "no bug is called three; there are: one, two"),
            ("--seeds 1 --fast 1", "--fast is not known"),
        ] {
            assert_eq!(parse(text), Err(why.to_owned()));
        }
    }

    #[test]
    fn a_planted_bug_must_be_found() {
        let (clean, bug) = (parse("--seeds 1").unwrap(), parse("--seeds 1 --bug one").unwrap());
        let failed = [Failure { seed: "1".into(), violation: "it", trace: Box::new(Vec::new) }];
        let end = |arguments: &Arguments<u8>, failures: &[Failure<'_>], more| {
            format!("{:?}", PROGRAM.close(arguments, 1, 0, failures, more))
        };
        let (well, ill) = (format!("{:?}", ExitCode::SUCCESS), format!("{:?}", ExitCode::FAILURE));
        assert_eq!(
            [end(&clean, &[], 0), end(&clean, &failed, 0), end(&clean, &[], 1)],
            [well.clone(), ill.clone(), ill.clone()]
        );
        assert_eq!([end(&bug, &[], 0), end(&bug, &failed, 0)], [ill, well]);
    }
}
