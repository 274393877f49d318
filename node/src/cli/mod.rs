//! The command line.

mod account;
mod chain_spec;
mod config;
mod dev;
mod failure;
mod file;
mod managed;
mod node;
mod options;
mod prompt;
mod send;
mod setup;
mod validator;

pub use failure::Failure;
pub use options::{LogFormat, Options, Policy};

use clap::{Parser, Subcommand};

/// The version, with the commit it was built from.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PECTIN_COMMIT"), ")");

/// An EVM builder node for JAM.
#[derive(Debug, Parser)]
#[command(
    name = "pectin",
    version = VERSION,
    about = "An EVM builder node for JAM: Ethereum transactions in, finalized JAM work packages out.",
    after_help = "Begin with:\n  pectin dev\n\nIt starts a builder and six validators, and prints a line to try."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A whole network on this machine: validators, a builder, funded accounts.
    #[command(
        after_help = "Examples:\n  pectin dev\n  pectin dev --slot-ms 1000 --http-port 9000\n  pectin dev --data-dir ./chain --block-txs-max 5"
    )]
    Dev(Box<dev::DevArgs>),
    /// A builder for a network that runs elsewhere.
    #[command(after_help = "Example:\n  pectin node --config pectin.toml")]
    Node(Box<node::NodeArgs>),
    /// A validator of a development network, in a process of its own.
    #[command(
        after_help = "Example:\n  pectin validator --chain-spec net/chain-spec.json --index 0 --slot-ms 6000"
    )]
    Validator(validator::ValidatorArgs),
    /// Makes the files that a network of separate processes starts from.
    #[command(
        name = "chain-spec",
        after_help = "Example:\n  pectin chain-spec --out net --validators 6 --cores 2"
    )]
    ChainSpec(chain_spec::ChainSpecArgs),
    /// Keys in encrypted files, for accounts that a node runs.
    Account(account::AccountArgs),
    /// Hands a transaction to a running node, and shows what becomes of it.
    #[command(
        after_help = "Examples:\n  pectin send --to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --value 1.5ether\n  pectin send --to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --idempotency-key order-7 --wait confirmed"
    )]
    Send(Box<send::SendArgs>),
    /// Shows what can be set, and checks configuration files.
    Config(config::ConfigArgs),
}

/// Does what the command line says. The exit code says what kind of thing went wrong.
pub fn run() -> std::process::ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Dev(args) => dev::run(*args),
        Command::Node(args) => node::run(*args),
        Command::Validator(args) => validator::run(args),
        Command::ChainSpec(args) => chain_spec::run(&args),
        Command::Account(args) => account::run(&args),
        Command::Send(args) => send::run(&args),
        Command::Config(args) => config::run(&args),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("pectin: {failure}");
            failure.code()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
