//! `sender-sim --seeds N [--start S] [--bug NAME] [--trace]`: tries to break the sender.
//!
//! With `--bug` a known mistake is put back, and the program ends well if it is found; `--list-bugs` names them.

use harness::cpu::cpu_time;
use simulators::sender_sim::{BUGS, Bug, Options, report::Report, run};
use std::process::ExitCode;

struct Arguments {
    seeds: u64,
    start: u64,
    bug: Option<Bug>,
    trace: bool,
}

const USAGE: &str = "usage: sender-sim --seeds N [--start S] [--bug NAME] [--trace] | --list-bugs";

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments { seeds: 0, start: 0, bug: None, trace: false };
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

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--list-bugs") {
        BUGS.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("sender-sim: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A mistake may make a simulated owner panic; that is a finding, not a story to tell at length.
    std::panic::set_hook(Box::new(|_| ()));
    let mut report = Report::default();
    let options = Options { bug: arguments.bug, trace: false };
    let seeds = arguments.start..arguments.start.saturating_add(arguments.seeds);
    report.run(seeds, &options, arguments.bug.is_some());
    print!("{report}");
    println!("CPU per run: {:.1} ms", cpu_time().as_secs_f64() * 1000.0 / report.runs.max(1) as f64);
    tell_failures(&report, &arguments);
    let violations = report.failures.len();
    println!("sender-sim: seeds={} faults={} violations={violations}", arguments.seeds, report.faults);
    let well = if arguments.bug.is_some() { violations > 0 } else { violations == 0 };
    ExitCode::from(u8::from(!well))
}

/// What was wrong, and for the first one how it came to that.
fn tell_failures(report: &Report, arguments: &Arguments) {
    for (index, (seed, violations)) in report.failures.iter().enumerate().take(10) {
        println!("seed {seed}: {}", violations[0]);
        if index == 0 && (arguments.trace || arguments.bug.is_none()) {
            let trace = run(*seed, &Options { bug: arguments.bug, trace: true }).trace;
            let shown = trace.len().saturating_sub(80);
            trace[shown..].iter().for_each(|line| println!("  {line}"));
        }
    }
}
