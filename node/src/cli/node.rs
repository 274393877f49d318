//! `pectin node`: a builder for a network that runs elsewhere.

use super::{
    Failure, Options,
    announce::Facts,
    check,
    file::{self, Network},
    setup::{self, Setup},
    stop,
};
use clap::Args;
use std::{path::PathBuf, time::Instant};

/// What a builder is told.
#[derive(Debug, Args)]
pub(super) struct NodeArgs {
    /// The configuration file.
    #[arg(long, env = "PECTIN_CONFIG", hide_env = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    network: Network,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(args: NodeArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    let (network, options) = file::merged(args.config.as_deref(), args.network, args.options)?;
    Setup::start_logging(&options)?;
    let needed = |path: Option<PathBuf>, name: &str| {
        path.ok_or_else(|| {
            Failure::Usage(format!("--{name} is needed, as a flag or in the configuration file"))
        })
    };
    let spec = check::chain_spec(&needed(network.chain_spec, "chain-spec")?)?;
    let secret = setup::read_key(&needed(network.builder_key, "builder-key")?)?;
    let genesis = check::first_block(&spec, network.genesis.as_deref())?;
    let setup = Setup::new(spec, genesis, secret, network.slot_ms.unwrap_or(setup::SLOT_MS), options);
    let facts = Facts::of(&setup)?;
    stop::run(async move |mut stop| {
        let Some(node) = stop.unless(Box::pin(setup.start())).await? else { return Ok(()) };
        facts.tell(&node, begun);
        setup::run_until_stopped(node, &mut stop).await
    })
}
