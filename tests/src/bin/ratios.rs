//! `ratios [--only NAME]`: prints `RATIO <name> <value> <target>` for every ratio that has a target.
//!
//! Each ratio is measured in a process of its own, so that what one leaves in memory does not slow down the next.

use measure::Ratio;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let all = measure::all();
    match arguments.as_slice() {
        [] => {
            let over = all.iter().filter(|ratio| !is_met_alone(ratio)).count();
            close(all.len(), over)
        }
        [flag, name] if flag == "--only" => match all.iter().find(|ratio| ratio.name == name) {
            Some(ratio) => close(1, usize::from(!is_met(ratio))),
            None => {
                let names = all.iter().map(|ratio| ratio.name).collect::<Vec<_>>().join(", ");
                eprintln!("ratios: no ratio is called {name}; there are: {names}");
                ExitCode::from(2)
            }
        },
        // The server of a ratio runs in a process of its own, so that its work can be told from the clients'.
        [flag] if flag == "--serve-rpc" => measure::rpc::serve(),
        _ => {
            eprintln!("usage: ratios [--only NAME]");
            ExitCode::from(2)
        }
    }
}

/// Measures a ratio and prints it; whether it meets its target.
fn is_met(ratio: &Ratio) -> bool {
    let value = (ratio.measure)();
    println!("RATIO {} {value:.2} {}", ratio.name, ratio.target);
    value <= ratio.target
}

/// The same in another process.
fn is_met_alone(ratio: &Ratio) -> bool {
    let program = std::env::current_exe().expect("a running program has a file");
    let output = Command::new(program).args(["--only", ratio.name]).output();
    match output {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines().filter(|line| !line.starts_with("ratios: ")).for_each(|line| println!("{line}"));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            output.status.success()
        }
        Err(error) => {
            eprintln!("ratios: {} cannot be measured: {error}", ratio.name);
            false
        }
    }
}

fn close(measured: usize, over: usize) -> ExitCode {
    println!("ratios: {measured} measured, {over} over target");
    ExitCode::from(u8::from(over > 0))
}
