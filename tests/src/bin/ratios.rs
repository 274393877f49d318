//! `ratios [--only NAME]`: prints `RATIO <name> <value> <target>` for every ratio that has a target.

use std::process::ExitCode;
use tests::ratios;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let all = ratios::all();
    let chosen = match arguments.as_slice() {
        [] => all,
        [flag, name] if flag == "--only" => {
            let names = all.iter().map(|ratio| ratio.name).collect::<Vec<_>>().join(", ");
            let chosen = all.into_iter().filter(|ratio| ratio.name == name).collect::<Vec<_>>();
            if chosen.is_empty() {
                eprintln!("ratios: no ratio is called {name}; there are: {names}");
                return ExitCode::from(2);
            }
            chosen
        }
        _ => {
            eprintln!("usage: ratios [--only NAME]");
            return ExitCode::from(2);
        }
    };
    let mut over = 0;
    for ratio in &chosen {
        let value = (ratio.measure)();
        println!("RATIO {} {value:.2} {}", ratio.name, ratio.target);
        over += usize::from(value.is_nan() || value > ratio.target);
    }
    println!("ratios: {} measured, {over} over target", chosen.len());
    ExitCode::from(u8::from(over > 0))
}
