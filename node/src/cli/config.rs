//! `pectin config`: what can be set, and whether a file is right.

use super::{Failure, Options, check, file, show};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What to do.
#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Prints every setting with its meaning and its default, as a file to begin with.
    #[command(after_help = "Example:\n  pectin config print > pectin.toml")]
    Print,
    /// Prints what a node would be started with: flags over the environment over the file. What is missing has its default.
    #[command(after_help = "Example:\n  pectin config show --config pectin.toml --http-port 9000")]
    Show(Box<ShowArgs>),
    /// Says whether a configuration file can be used: its settings and the files that it names, as far as that shows without
    /// starting.
    #[command(after_help = "Example:\n  pectin config check pectin.toml")]
    Check {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// What a node would be told.
#[derive(Debug, Args)]
struct ShowArgs {
    /// The configuration file.
    #[arg(long, env = "PECTIN_CONFIG", hide_env = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    network: file::Network,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(args: ConfigArgs) -> Result<(), Failure> {
    match args.what {
        What::Print => show::print(&file::reference()),
        What::Show(args) => {
            let (network, options) = file::merged(args.config.as_deref(), args.network, args.options)?;
            show::print(&file::effective(&network, &options)?);
        }
        What::Check { file } => {
            let left = check::config(&file)?;
            let more = match left.as_slice() {
                [] => String::new(),
                left => format!(
                    "; {} must be given otherwise, as flags or in the environment",
                    left.join(" and ")
                ),
            };
            show::print(&format!("{} can be used{more}\n", file.display()));
        }
    }
    Ok(())
}
