//! `sim --seeds N [--start S] [--bug NAME] [--policy pectin|spec] [--trace]`: tries to break the queue.
//!
//! Without `--policy` every seed runs under both. With `--bug` a known mistake is put back, and the program ends well if
//! it is found; `--list-bugs` names them.
//!
//! `sim --crashes` runs the node's driver on a disk that stops at every single operation.

use harness::cpu::cpu_time;
use queue::Policy;
use simulators::sim::{BUGS, Bug, Options, report::Report, run};
use std::process::ExitCode;

struct Arguments {
    seeds: u64,
    start: u64,
    bug: Option<Bug>,
    policies: Vec<Policy>,
    trace: bool,
}

const USAGE: &str = "usage: sim --seeds N [--start S] [--bug NAME] [--policy pectin|spec] [--trace] | --list-bugs | --crashes";

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        seeds: 0,
        start: 0,
        bug: None,
        policies: vec![Policy::Pectin, Policy::Spec],
        trace: false,
    };
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        if flag == "--trace" {
            parsed.trace = true;
            continue;
        }
        let value = given.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{flag}: {e}"));
        match flag.as_str() {
            "--seeds" => parsed.seeds = number()?,
            "--start" => parsed.start = number()?,
            "--bug" => parsed.bug = Some(bug(&value)?),
            "--policy" => parsed.policies = vec![policy(&value)?],
            _ => return Err(format!("{flag} is not known")),
        }
    }
    if parsed.seeds == 0 { Err("--seeds is missing".into()) } else { Ok(parsed) }
}

fn bug(name: &str) -> Result<Bug, String> {
    let names = || BUGS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = BUGS.iter().find(|(known, _)| *known == name).map(|(_, bug)| *bug);
    found.ok_or_else(|| format!("no bug is called {name}; there are: {}", names()))
}

fn policy(name: &str) -> Result<Policy, String> {
    match name {
        "pectin" => Ok(Policy::Pectin),
        "spec" => Ok(Policy::Spec),
        _ => Err(format!("no policy is called {name}; there are: pectin, spec")),
    }
}

/// Crashes at every storage operation of one run.
fn crashes() -> ExitCode {
    let mut told = 0;
    let report = simulators::crash::everywhere(1, |operation, all| {
        if operation >= told {
            eprintln!("crashes: operation {operation} of {all}");
            told = operation + all / 10;
        }
    });
    for (operation, fault, why) in report.wrong.iter().take(5) {
        println!("operation {operation} ({fault:?}): {why}");
    }
    println!(
        "crashes: operations={} crashes={} accepted={} wrong={}",
        report.operations,
        report.crashes,
        report.accepted,
        report.wrong.len()
    );
    ExitCode::from(u8::from(!report.wrong.is_empty() || report.crashes == 0))
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--crashes") {
        return crashes();
    }
    if std::env::args().nth(1).as_deref() == Some("--list-bugs") {
        BUGS.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("sim: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A mistake may make the simulated node panic; that is a finding, not a story to tell at length.
    std::panic::set_hook(Box::new(|_| ()));
    let mut report = Report::default();
    for policy in &arguments.policies {
        if arguments.bug.is_some() && !report.failures.is_empty() {
            break;
        }
        let options = Options { policy: *policy, bug: arguments.bug, ..Options::default() };
        report.run(arguments.start..arguments.start + arguments.seeds, &options, arguments.bug.is_some());
    }
    print!("{report}");
    println!("CPU per run: {:.1} ms", cpu_time().as_secs_f64() * 1000.0 / report.runs.max(1) as f64);
    tell_failures(&report, &arguments);
    let violations = report.failures.len() as u64 + report.dropped_innocents();
    println!("sim: seeds={} faults={} violations={violations}", arguments.seeds, report.faults);
    let well = if arguments.bug.is_some() { violations > 0 } else { violations == 0 };
    ExitCode::from(u8::from(!well))
}

/// What was wrong, and for the first one how it came to that.
fn tell_failures(report: &Report, arguments: &Arguments) {
    for (index, (policy, seed, violations)) in report.failures.iter().enumerate().take(10) {
        println!("seed {seed} ({policy:?}): {}", violations[0]);
        if index == 0 && (arguments.trace || arguments.bug.is_none()) {
            let options = Options { policy: *policy, bug: arguments.bug, trace: true, ..Options::default() };
            let trace = run(*seed, &options).trace;
            let shown = trace.len().saturating_sub(60);
            trace[shown..].iter().for_each(|line| println!("  {line}"));
        }
    }
}
