//! `sim --seeds N [--start S] [--bug NAME] [--policy pectin|spec] [--trace]`: tries to break the queue.
//!
//! Without `--policy` every seed runs under both. With `--bug` a known mistake is put back, and the program ends well if
//! it is found; `--list-bugs` names them.
//!
//! `sim --crashes` runs the node's driver on a disk that stops at every single operation.

use queue::Policy;
use simulators::{
    command::{Failure, Program, no_other},
    sim::{BUGS, Options, report::Report, run},
};
use std::process::ExitCode;

const USAGE: &str = "usage: sim --seeds N [--start S] [--bug NAME] [--policy pectin|spec] [--trace] | --list-bugs | --crashes";

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
    let program = Program { name: "sim", usage: USAGE, bugs: BUGS };
    let mut policies = vec![Policy::Pectin, Policy::Spec];
    let arguments = program.arguments(|flag, value| match flag {
        "--policy" => policy(value).map(|policy| policies = vec![policy]),
        _ => no_other(flag, value),
    });
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(end) => return end,
    };
    // A mistake may make the simulated node panic; that is a finding, not a story to tell at length.
    std::panic::set_hook(Box::new(|_| ()));
    let bug = arguments.bug;
    let mut report = Report::default();
    for policy in policies {
        if bug.is_some() && !report.failures.is_empty() {
            break;
        }
        let options = Options { policy, bug, ..Options::default() };
        report.run(arguments.seeds.clone(), &options, bug.is_some());
    }
    print!("{report}");
    let failures = report.failures.iter().map(|(policy, seed, violations)| Failure {
        seed: format!("{seed} ({policy:?})"),
        violation: &violations[0],
        trace: Box::new(move || {
            run(*seed, &Options { policy: *policy, bug, trace: true, ..Options::default() }).trace
        }),
    });
    let failures = failures.collect::<Vec<_>>();
    program.close(&arguments, report.runs, report.faults, &failures, report.dropped_innocents())
}
