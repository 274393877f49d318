//! `sender-e2e --target pectin|anvil --requests N --accounts N --kills N [--seed N]`: managed accounts, end to end. On anvil
//! the first provider is pruned, limited and lies; the second loses answers and is busy, or (`--second good`) is only slow.
//! `sender-e2e --measure`: accepts and transactions per second.
//! `sender-e2e --accepts`: durable accepts over REST with 1, 10 and 100 accounts, against the store's own.
//! `sender-e2e --dependents`: requests that need each other, handed over at once.
//! `sender-e2e --faults [berlin] [NAME…]`: each kind of faulty provider in front of a good one, on anvil.

use blackbox::sender_e2e::{FAULTS, Options, Target, measure, run, run_accepts, run_dependents, run_faults};
use std::process::ExitCode;

const USAGE: &str = "usage: sender-e2e [--target pectin|anvil] [--requests N] [--accounts N] [--kills N] [--seed N] [--second good|harsh] \
                     | --measure | --accepts | --dependents | --faults [berlin] [NAME..]";

/// Accepts over REST, as a part of what the store does.
const ACCEPTS_MIN: f64 = 0.35;
/// Accepts must not depend on the chain's latency by more than this.
const RATIO_MAX: f64 = 1.2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => return failed(&why.to_string()),
    };
    if arguments == ["--measure"] {
        return match runtime.block_on(measure()) {
            Ok(ratio) if ratio <= RATIO_MAX => ExitCode::SUCCESS,
            Ok(ratio) => failed(&format!("accepts depend on latency: {ratio:.2} > {RATIO_MAX}")),
            Err(why) => failed(&why),
        };
    }
    if arguments == ["--dependents"] {
        return match runtime.block_on(run_dependents()) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => failed("a request that needs another did not end as it must"),
            Err(why) => failed(&why),
        };
    }
    if arguments == ["--accepts"] {
        return match runtime.block_on(run_accepts()) {
            Ok((ratio, _)) if ratio >= ACCEPTS_MIN => ExitCode::SUCCESS,
            Ok((ratio, _)) => {
                failed(&format!("accepts over REST: {ratio:.2} of the store's < {ACCEPTS_MIN}"))
            }
            Err(why) => failed(&why),
        };
    }
    if let Some((first, rest)) = arguments.split_first()
        && first == "--faults"
    {
        return faults(&runtime, rest);
    }
    let options = match read(&arguments) {
        Ok(options) => options,
        Err(why) => return failed(&why),
    };
    match runtime.block_on(run(options)) {
        Ok(report) => {
            report.wrong.iter().take(10).for_each(|wrong| println!("wrong: {wrong}"));
            println!("{}", report.line());
            if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(why) => failed(&why),
    }
}

fn faults(runtime: &tokio::runtime::Runtime, rest: &[String]) -> ExitCode {
    let (berlin, names): (Vec<String>, Vec<String>) = rest.iter().cloned().partition(|name| name == "berlin");
    let anvil: &[&str] = if berlin.is_empty() { &[] } else { &["--hardfork", "berlin"] };
    if let Some(unknown) = names.iter().find(|name| !FAULTS.iter().any(|(known, _)| known == name)) {
        return failed(&format!("there is no fault {unknown}"));
    }
    match runtime.block_on(run_faults(&names, anvil)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => failed("not everything was confirmed"),
        Err(why) => failed(&why),
    }
}

fn failed(why: &str) -> ExitCode {
    eprintln!("sender-e2e: {why}");
    ExitCode::from(2)
}

fn read(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        target: Target::Pectin,
        requests: 1_000,
        accounts: 10,
        kills: 25,
        seed: 1,
        is_second_good: false,
    };
    for pair in arguments.chunks(2) {
        let [flag, value] = pair else { return Err(USAGE.into()) };
        let number = || value.parse::<usize>().map_err(|why| format!("{flag}: {why}"));
        match (flag.as_str(), value.as_str()) {
            ("--target", "pectin") => options.target = Target::Pectin,
            ("--target", "anvil") => options.target = Target::Anvil,
            ("--second", "good") => options.is_second_good = true,
            ("--second", "harsh") => options.is_second_good = false,
            ("--requests", _) => options.requests = number()?,
            ("--accounts", _) => options.accounts = number()?.clamp(1, 10),
            ("--kills", _) => options.kills = number()?,
            ("--seed", _) => options.seed = number()? as u64,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}
