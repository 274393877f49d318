//! `sender-sim --seeds N [--start S] [--bug NAME] [--trace]`: tries to break the sender.
//!
//! With `--bug` a known mistake is put back, and the program ends well if it is found; `--list-bugs` names them.

use simulators::{
    command::{Failure, Program, no_other},
    sender_sim::{BUGS, Options, report::Report, run},
};
use std::process::ExitCode;

const USAGE: &str = "usage: sender-sim --seeds N [--start S] [--bug NAME] [--trace] | --list-bugs";

fn main() -> ExitCode {
    let program = Program { name: "sender-sim", usage: USAGE, bugs: BUGS };
    let arguments = match program.arguments(no_other) {
        Ok(arguments) => arguments,
        Err(end) => return end,
    };
    // A mistake may make a simulated owner panic; that is a finding, not a story to tell at length.
    std::panic::set_hook(Box::new(|_| ()));
    let bug = arguments.bug;
    let mut report = Report::default();
    report.run(arguments.seeds.clone(), &Options { bug, trace: false }, bug.is_some());
    print!("{report}");
    let failures = report.failures.iter().map(|(seed, violations)| Failure {
        seed: seed.to_string(),
        violation: &violations[0],
        trace: Box::new(move || run(*seed, &Options { bug, trace: true }).trace),
    });
    let failures = failures.collect::<Vec<_>>();
    program.close(&arguments, report.runs, report.faults, &failures, 0)
}
