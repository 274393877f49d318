//! `pectin config`: what can be set, and whether a file is right.

use super::{Failure, file};
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
    /// Says whether a configuration file can be used.
    #[command(after_help = "Example:\n  pectin config check pectin.toml")]
    Check {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

pub(super) fn run(args: &ConfigArgs) -> Result<(), Failure> {
    match &args.what {
        What::Print => print!("{}", file::reference()),
        What::Check { file } => {
            file::load(file)?;
            println!("{} can be used", file.display());
        }
    }
    Ok(())
}
