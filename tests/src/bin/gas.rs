//! `gas [--accounts N] [--transfers N]`: what a transfer costs in the gas of JAM's virtual machine, by the service's code, in a block
//! of so many transfers on a chain with so many accounts. Closes with
//! `gas: transfer=G erc20=G block=G package_tiny=N package_full=N`.
//!
//! `gas --precompiles`: what costly operations of the EVM cost there for each of their EVM gas, one line each. Closes with
//! `precompiles: worst=NAME ratio=R`.

use std::process::ExitCode;

const USAGE: &str = "usage: gas [--accounts N] [--transfers N] | --precompiles";
const ACCOUNTS: u64 = 1_000_000;
const TRANSFERS: u64 = 1_000;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    if arguments == ["--precompiles"] {
        return precompiles();
    }
    let Some((accounts, transfers)) = read(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match measure::gas::Gas::measure(accounts, transfers) {
        Ok(gas) => {
            println!("{gas}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("gas: {why}");
            ExitCode::FAILURE
        }
    }
}

fn precompiles() -> ExitCode {
    match measure::precompiles::measure(|line| println!("{line}")) {
        Ok(worst) => {
            println!("precompiles: worst={} ratio={:.1}", worst.name, worst.ratio());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("gas: {why}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &[String]) -> Option<(u64, u64)> {
    let (mut accounts, mut transfers) = (ACCOUNTS, TRANSFERS);
    let (pairs, rest) = arguments.as_chunks::<2>();
    for [flag, value] in pairs {
        let value = value.parse().ok().filter(|value| *value > 0)?;
        match flag.as_str() {
            "--accounts" => accounts = value,
            "--transfers" => transfers = value,
            _ => return None,
        }
    }
    rest.is_empty().then_some((accounts, transfers))
}
