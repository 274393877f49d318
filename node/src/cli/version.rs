//! `pectin version`: what this program is, and what was compiled into it.

use super::{Failure, VERSION, show};
use crate::features::test_features;
use clap::Args;

/// What to show.
#[derive(Debug, Args)]
pub(super) struct VersionArgs {
    /// Only the features for tests that were compiled in, one on each line: none in the product.
    #[arg(long)]
    features: bool,
}

pub(super) fn run(args: &VersionArgs) -> Result<(), Failure> {
    if args.features {
        show::print(&test_features().map(|feature| format!("{feature}\n")).collect::<String>());
    } else {
        show::print(&format!("pectin {VERSION}\n"));
    }
    Ok(())
}
