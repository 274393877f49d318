//! `sender-e2e --target pectin|anvil --requests N --accounts N --kills N [--seed N]`: managed accounts, end to end.
//! `sender-e2e --measure`: accepts and transactions per second.

use blackbox::sender_e2e::{Options, Target, measure, run};
use std::process::ExitCode;

const USAGE: &str = "usage: sender-e2e [--target pectin|anvil] [--requests N] [--accounts N] [--kills N] [--seed N] \
                     | --measure";

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

fn failed(why: &str) -> ExitCode {
    eprintln!("sender-e2e: {why}");
    ExitCode::from(2)
}

fn read(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { target: Target::Pectin, requests: 1_000, accounts: 10, kills: 25, seed: 1 };
    for pair in arguments.chunks(2) {
        let [flag, value] = pair else { return Err(USAGE.into()) };
        let number = || value.parse::<usize>().map_err(|why| format!("{flag}: {why}"));
        match (flag.as_str(), value.as_str()) {
            ("--target", "pectin") => options.target = Target::Pectin,
            ("--target", "anvil") => options.target = Target::Anvil,
            ("--requests", _) => options.requests = number()?,
            ("--accounts", _) => options.accounts = number()?.clamp(1, 10),
            ("--kills", _) => options.kills = number()?,
            ("--seed", _) => options.seed = number()? as u64,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}
