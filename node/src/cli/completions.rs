//! `pectin completions`: what a shell needs to complete commands and flags.

use super::{Cli, Failure, show};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Which shell.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pectin", &mut script);
    show::print(&String::from_utf8_lossy(&script));
    Ok(())
}
