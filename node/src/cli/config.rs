//! `pectin config`: what can be set, and whether a file is right.

use super::{Failure, Options, check, file, options::SECRET, show};
use clap::{ArgMatches, Args, Subcommand, parser::ValueSource};
use std::path::PathBuf;

/// Longer lines do not push the others' sources to the right.
const WIDTH: usize = 60;

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
    /// Prints every setting that a node would be started with, and where each comes from: a flag, the environment, the
    /// file, or its default. What may hold a secret is not printed.
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

/// Where a setting comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Flag,
    Environment,
    File,
    Default,
}

impl Source {
    const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        }
    }
}

/// Every setting as it is, as a file that has the same: what is no value of its own is a comment.
fn effective(args: ShowArgs, matches: Option<&ArgMatches>) -> Result<String, Failure> {
    let (network, options) = file::merged(args.config.as_deref(), args.network, args.options)?;
    let set = file::set(&network, &options)?;
    let given = |key: &str| matches.and_then(|matches| matches.value_source(&key.replace('-', "_")));
    let mut lines = vec![];
    for (key, default) in file::defaults() {
        let source = match (given(key), set.get(key)) {
            (Some(ValueSource::CommandLine), _) => Source::Flag,
            (Some(ValueSource::EnvVariable), _) => Source::Environment,
            (_, Some(_)) => Source::File,
            (_, None) => Source::Default,
        };
        let line = match (set.get(key), default) {
            (Some(_), _) if SECRET.contains(&key) => {
                format!("# {key}: set, not shown as it may hold a secret")
            }
            (Some(value), _) => format!("{key} = {value}"),
            (None, file::Unset::Value(value)) => format!("{key} = {value}"),
            (None, file::Unset::Words(words)) => format!("# {key}: {words}"),
        };
        lines.push((line, source));
    }
    let width = lines.iter().map(|(line, _)| line.chars().count()).filter(|width| *width <= WIDTH).max();
    let width = width.unwrap_or_default();
    Ok(lines.iter().map(|(line, source)| format!("{line:<width$}  # {}\n", source.name())).collect())
}

pub(super) fn run(args: ConfigArgs, matches: Option<&ArgMatches>) -> Result<(), Failure> {
    match args.what {
        What::Print => show::print(&file::reference()),
        What::Show(args) => {
            let matches = matches.and_then(|matches| matches.subcommand_matches("show"));
            show::print(&effective(*args, matches)?);
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
