//! `kill [--kills N] [--seed S] [--slot-ms MS] [--bin PATH] | --soak MINUTES`: kills the real node, again and again.
//!
//! The binary is the product (see [`harness::product`]) unless `--bin` names another.

use blackbox::kill::{Options, run, soak};
use harness::product;
use std::{path::PathBuf, process::ExitCode};

const USAGE: &str = "usage: kill [--kills N] [--soak MINUTES] [--seed S] [--slot-ms MS] [--bin PATH]";

fn arguments() -> Result<(Options, Option<u64>), String> {
    let mut options = Options { binary: PathBuf::new(), kills: 25, seed: 1, slot_ms: 300 };
    let (mut soak, mut given_binary) = (None, None);
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        let value = given.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{flag}: {e}"));
        match flag.as_str() {
            "--kills" => options.kills = number()?,
            "--soak" => soak = Some(number()?),
            "--seed" => options.seed = number()?,
            "--slot-ms" => options.slot_ms = number()?,
            "--bin" => given_binary = Some(PathBuf::from(&value)),
            _ => return Err(format!("{flag} is not known")),
        }
    }
    options.binary = match given_binary {
        Some(binary) if !binary.is_file() => return Err(format!("{}: no such file", binary.display())),
        Some(binary) => binary,
        None => product::binary().map_err(|why| why.to_string())?,
    };
    if options.kills == 0 {
        return Err("--kills must not be zero".to_owned());
    }
    Ok((options, soak))
}

fn main() -> ExitCode {
    let (options, minutes) = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("kill: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let judged = match minutes {
        Some(minutes) => soak(&options, minutes),
        None => run(&options),
    };
    match judged {
        Ok(verdict) => {
            verdict.findings.problems.iter().for_each(|problem| println!("{problem}"));
            println!("{verdict}");
            ExitCode::from(u8::from(!verdict.is_good()))
        }
        Err(why) => {
            println!("no verdict: {why}");
            ExitCode::FAILURE
        }
    }
}
