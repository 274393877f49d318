//! The command line.

mod account;
mod announce;
mod chain_spec;
mod check;
mod client;
mod completions;
mod config;
mod db;
mod dev;
mod doctor;
mod execution;
mod failure;
mod file;
mod inspect;
mod load;
mod managed;
mod node;
mod options;
mod per_chain;
mod progress;
mod prompt;
mod queue;
mod refining;
mod scratch;
mod send;
mod service;
mod setup;
mod show;
mod stop;
mod tx;
mod validator;
mod version;

pub use failure::Failure;
pub use file::check_config;
pub use options::{LogFormat, Options, Policy};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// The version, with the commit it was built from.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PECTIN_COMMIT"), ")");

/// The same in two parts, for metrics.
pub const BUILD: observe::Build =
    observe::Build { version: env!("CARGO_PKG_VERSION"), commit: env!("PECTIN_COMMIT") };

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
        after_help = "Examples:\n  pectin chain-spec --out net --validators 6 --cores 2\n  pectin chain-spec --out net --validator-addrs 10.0.0.1:40000,10.0.0.2:40000,10.0.0.3:40000 --cores 1"
    )]
    ChainSpec(chain_spec::ChainSpecArgs),
    /// Keys in encrypted files, for accounts that a node runs.
    #[command(after_help = "Example:\n  pectin account new --keystore keys --password-file password.txt")]
    Account(account::AccountArgs),
    /// Hands a transaction to a running node, and shows what becomes of it.
    #[command(
        after_help = "Examples:\n  pectin send --to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --value 1.5ether\n  pectin send --to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --idempotency-key order-7 --wait confirmed"
    )]
    Send(Box<send::SendArgs>),
    /// Shows what can be set, and checks configuration files.
    #[command(after_help = "Example:\n  pectin config print > pectin.toml")]
    Config(config::ConfigArgs),
    /// A transaction's whole way, from the pool to finality.
    #[command(
        after_help = "Examples:\n  pectin tx 0x6b1e…\n  pectin tx 0x6b1e… --wait finalized\n  pectin tx 0x6b1e… --json --rpc-url http://127.0.0.1:9000"
    )]
    Tx(tx::TxArgs),
    /// What is on its way to the validators.
    #[command(after_help = "Examples:\n  pectin queue\n  pectin queue --finished --json")]
    Queue(queue::QueueArgs),
    /// One bundle: its versions, packages, anchors, cores and times.
    #[command(after_help = "Examples:\n  pectin bundle 7\n  pectin bundle B-7 --json")]
    Bundle(queue::BundleArgs),
    /// What is in a file, or in the bundle of a block.
    #[command(
        after_help = "Examples:\n  pectin inspect witness witness.bin\n  pectin inspect block block.bin --chain-spec net/chain-spec.json --json\n  pectin inspect bundle --block 7 --out ./bundle-7\n  pectin inspect bundle --block 7 --out ./bundle-7 --data-dir ./chain"
    )]
    Inspect(inspect::InspectArgs),
    /// The service's code as a file, and its owner's orders.
    #[command(after_help = "Example:\n  pectin service export service.code --chain-spec net/chain-spec.json")]
    Service(service::ServiceArgs),
    /// Looks after the data directory.
    #[command(after_help = "Example:\n  pectin db check --data-dir ./chain")]
    Db(db::DbArgs),
    /// Is this machine fit to build blocks, and is the node that runs on it well?
    #[command(
        after_help = "Examples:\n  pectin doctor\n  pectin doctor --config pectin.toml --ntp pool.ntp.org"
    )]
    Doctor(Box<doctor::DoctorArgs>),
    /// Sends transactions to a node, and measures what becomes of them.
    #[command(
        after_help = "Examples:\n  pectin load\n  pectin load --senders 50 --rate 500 --seconds 30 --erc20 40 --batch 25"
    )]
    Load(load::LoadArgs),
    /// What a shell needs to complete commands and flags.
    #[command(
        after_help = "Example:\n  pectin completions bash > ~/.local/share/bash-completion/completions/pectin"
    )]
    Completions(completions::CompletionsArgs),
    /// The version, and which features for tests were compiled in.
    #[command(after_help = "Examples:\n  pectin version\n  pectin version --features")]
    Version(version::VersionArgs),
}

/// Does what the command line says. The exit code says what kind of thing went wrong.
pub fn run() -> std::process::ExitCode {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // What the store catches it tells as an error, in one sentence.
        if !store::is_guarded() {
            usual(panic);
        }
    }));
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|why| why.exit());
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for warning in file::unknown_variables(variables) {
        eprintln!("pectin: {warning}");
    }
    let result = match cli.command {
        Command::Dev(args) => dev::run(*args),
        Command::Node(args) => node::run(*args),
        Command::Validator(args) => validator::run(args),
        Command::ChainSpec(args) => chain_spec::run(&args),
        Command::Config(args) => config::run(args, matches.subcommand_matches("config")),
        Command::Tx(args) => tx::run(&args),
        Command::Queue(args) => queue::run_queue(&args),
        Command::Bundle(args) => queue::run_bundle(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Service(args) => service::run(&args),
        Command::Db(args) => db::run(&args),
        Command::Doctor(args) => doctor::run(*args),
        Command::Load(args) => load::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Account(args) => account::run(&args),
        Command::Send(args) => send::run(&args),
        Command::Version(args) => version::run(&args),
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

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_explains_itself_with_an_example() {
        fn look(command: &mut clap::Command, path: &str, missing: &mut Vec<String>) {
            let help = command.render_long_help().to_string();
            let has_example = help.contains("Example:\n  pectin ")
                || help.contains("Examples:\n  pectin ")
                || help.contains("Begin with:\n  pectin ");
            if !has_example || command.get_about().is_none() {
                missing.push(path.to_owned());
            }
            for command in command.get_subcommands_mut().filter(|command| command.get_name() != "help") {
                let path = format!("{path} {}", command.get_name());
                look(command, &path, missing);
            }
        }
        let (mut command, mut missing) = (Cli::command(), vec![]);
        command.build();
        look(&mut command, "pectin", &mut missing);
        assert_eq!(missing, Vec::<String>::new());
    }

    /// The words of a command as a text shows it, with something in the place of what the reader has to fill in. What a
    /// shell would take for itself ends it.
    fn words(line: &str) -> Vec<String> {
        let word = |word: &str| match word {
            "HASH" | "\"$hash\"" | "0x6b1e…" => format!("0x{}", "6b".repeat(32)),
            "N" | "NUMBER" | "SECONDS" | "COUNT" => "7".to_owned(),
            "KIND" => "witness".to_owned(),
            "SHELL" => "bash".to_owned(),
            "URL" => "http://127.0.0.1:9000".to_owned(),
            "redis://…" => "redis://127.0.0.1/0".to_owned(),
            "…" => String::new(),
            word => word.to_owned(),
        };
        let own = line.split_whitespace().take_while(|word| !["|", ">", "#", "&&"].contains(word));
        own.map(word).filter(|word| !word.is_empty()).collect()
    }

    /// Examples in `--help` are commands that there are.
    #[test]
    fn every_example_can_be_typed() {
        fn look(command: &mut clap::Command, examples: &mut Vec<String>) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            examples.extend(
                help.lines()
                    .filter_map(|line| line.strip_prefix("  "))
                    .filter(|line| line.starts_with("pectin "))
                    .map(str::to_owned),
            );
            command.get_subcommands_mut().for_each(|command| look(command, examples));
        }
        let (mut command, mut examples) = (Cli::command(), vec![]);
        command.build();
        look(&mut command, &mut examples);
        assert!(examples.len() > 30, "{examples:#?}");
        for example in examples {
            let parsed = Cli::try_parse_from(words(&example));
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
    }

    /// Commands in the sentences of documents exist too, with the flags that are named. Blocks are run by other tests.
    #[test]
    fn every_command_that_a_document_mentions_exists() {
        use clap::error::ErrorKind;
        let documents = [
            include_str!("../../../README.md"),
            include_str!("../../../SECURITY.md"),
            include_str!("../../../ARCHITECTURE.md"),
            include_str!("../../../docs/operating.md"),
            include_str!("../../../docs/commands.md"),
            include_str!("../../../docs/sending.md"),
        ];
        let mut found = 0;
        for document in documents {
            let outside = document.split("```").step_by(2).collect::<String>();
            for span in outside.split('`').skip(1).step_by(2).filter(|span| span.starts_with("pectin ")) {
                found += 1;
                let result = Cli::try_parse_from(words(span));
                // A name alone is a mention; what it needs besides is not said.
                let is_fine = result.as_ref().err().is_none_or(|why| {
                    let kinds = [
                        ErrorKind::MissingRequiredArgument,
                        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
                        ErrorKind::MissingSubcommand,
                    ];
                    kinds.contains(&why.kind())
                });
                assert!(is_fine, "{span}: {}", result.unwrap_err());
            }
        }
        assert!(found > 30, "{found}");
    }

    /// Every variable that a flag can come from is one that is known: a mistyped one is named.
    #[test]
    fn every_variable_is_known() {
        fn look(command: &clap::Command, names: &mut Vec<String>) {
            let variables = command.get_arguments().filter_map(clap::Arg::get_env);
            names.extend(variables.map(|name| name.to_str().expect("they are letters").to_owned()));
            command.get_subcommands().for_each(|command| look(command, names));
        }
        let mut names = vec![];
        look(&Cli::command(), &mut names);
        assert!(names.iter().any(|name| name == "PECTIN_RPC_URL"), "{names:?}");
        assert_eq!(file::unknown_variables(names.into_iter()), [""; 0]);
    }
}
