//! `gas [--accounts N] [--transfers N]`: what a transfer costs in the gas of JAM's virtual machine, by the service's code, in a block
//! of so many transfers on a chain with so many accounts, and where that goes. Closes with
//! `gas: transfer=G erc20=G block=G package_tiny=N package_full=N`.
//!
//! `gas --precompiles`: what costly operations of the EVM cost there for each of their EVM gas, one line each. Closes with
//! `precompiles: worst=NAME ratio=R`.
//! `gas --calibrate [--quick]`: measures blocks of all kinds, writes the weights with which builders estimate that gas to stdout (into
//! `bundler/src/work/weights.rs`), and says on stderr how far they are off. Closes with
//! `gas-weights: blocks=N above_min=P% above_p50=P% above_max=P%`.
//!
//! `gas --check N [--seed S]`: N random blocks, most of them of the worst operations, filled under small limits. Fails if one took more
//! than its limit or than its estimate. Closes with `gas-bound: blocks=N over=0 below=0 above_max=P% above_p50=P%`.

use measure::gas::{Gas, calibrate, check};
use std::process::ExitCode;

const USAGE: &str = "usage: gas [--accounts N] [--transfers N] | --precompiles | --calibrate [--quick] | --check N [--seed S]";
const ACCOUNTS: u64 = 1_000_000;
const TRANSFERS: u64 = 1_000;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let arguments = arguments.iter().map(String::as_str).collect::<Vec<_>>();
    let done = match arguments[..] {
        ["--precompiles"] => precompiles(),
        ["--calibrate"] => print_weights(false),
        ["--calibrate", "--quick"] => print_weights(true),
        ["--check", blocks] => blocks.parse().map_err(|_| None).and_then(|blocks| print_check(blocks, 0)),
        ["--check", blocks, "--seed", seed] => match (blocks.parse(), seed.parse()) {
            (Ok(blocks), Ok(seed)) => print_check(blocks, seed),
            _ => Err(None),
        },
        _ => read(&arguments).ok_or(None).and_then(|(accounts, transfers)| {
            Gas::measure(accounts, transfers, |line| println!("{line}"))
                .map(|gas| println!("{gas}"))
                .map_err(Some)
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(None) => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
        Err(Some(why)) => {
            eprintln!("gas: {why}");
            ExitCode::FAILURE
        }
    }
}

fn precompiles() -> Result<(), Option<String>> {
    let worst =
        measure::precompiles::measure(|line| println!("{line}")).map_err(|why| Some(why.to_string()))?;
    println!("precompiles: worst={} ratio={:.1}", worst.name, worst.ratio());
    Ok(())
}

fn print_weights(quick: bool) -> Result<(), Option<String>> {
    let (weights, told) = calibrate(quick).map_err(Some)?;
    print!("{weights}");
    eprintln!("{told}");
    Ok(())
}

fn print_check(blocks: u64, seed: u64) -> Result<(), Option<String>> {
    let checked = check(blocks, seed).map_err(Some)?;
    println!("{checked}");
    match checked.over + checked.below {
        0 => Ok(()),
        wrong => Err(Some(format!("{wrong} blocks took more than their limit or estimate"))),
    }
}

fn read(arguments: &[&str]) -> Option<(u64, u64)> {
    let (mut accounts, mut transfers) = (ACCOUNTS, TRANSFERS);
    let (pairs, rest) = arguments.as_chunks::<2>();
    for [flag, value] in pairs {
        let value = value.parse().ok().filter(|value| *value > 0)?;
        match *flag {
            "--accounts" => accounts = value,
            "--transfers" => transfers = value,
            _ => return None,
        }
    }
    rest.is_empty().then_some((accounts, transfers))
}
