//! `abuse [--bodies N] [--seed S] [--seconds S]`: everything that a client must not do, done to the real node.
//!
//! The binary is the product (see [`harness::product`]).

use blackbox::abuse::{Options, run};
use std::{process::ExitCode, time::Duration};

const USAGE: &str = "usage: abuse [--bodies N] [--seed S] [--seconds S]";

fn arguments() -> Result<Options, String> {
    let mut options = Options { bodies: 1_000_000, seed: 1, each: Duration::from_secs(10) };
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        let value = given.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let number = value.parse::<u64>().map_err(|why| format!("{flag}: {why}"))?;
        match &*flag {
            "--bodies" => options.bodies = number,
            "--seed" => options.seed = number,
            "--seconds" => options.each = Duration::from_secs(number),
            _ => return Err(format!("{flag} is not known")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match arguments() {
        Ok(options) => options,
        Err(why) => {
            eprintln!("abuse: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(verdict) => {
            println!("{verdict}");
            ExitCode::from(u8::from(!verdict.problems().is_empty()))
        }
        Err(why) => {
            println!("no verdict: {why}");
            ExitCode::FAILURE
        }
    }
}
