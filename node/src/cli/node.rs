//! `pectin node`: a builder for a network that runs elsewhere.

use super::{
    Failure, Options,
    file::{self, Network},
    setup::{self, Setup},
};
use clap::Args;
use jam::ChainSpec;
use service::genesis::Genesis;
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
    let spec_path = needed(network.chain_spec, "chain-spec")?;
    let spec = ChainSpec::from_json(&file::read(&spec_path, "the chain specification")?);
    let spec = spec.map_err(|why| Failure::Usage(format!("{}: {why}", spec_path.display())))?;
    let secret = setup::read_key(&needed(network.builder_key, "builder-key")?)?;
    let (service, _) = devnet::genesis::service_of(&spec)
        .map_err(|why| Failure::Usage(format!("{}: {why}", spec_path.display())))?;
    let genesis = match &network.genesis {
        None => Genesis::dev(&service),
        Some(path) => Genesis::from_json(&file::read(path, "the genesis file")?, &service)
            .map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?,
    };
    let data_dir = Some(options.data_dir.clone().unwrap_or_else(|| PathBuf::from("pectin-data")));
    let slot_ms = network.slot_ms.unwrap_or(6000);
    let setup = Setup {
        spec,
        genesis,
        secret,
        slot_ms,
        options,
        data_dir,
        is_dev: false,
        dev: None,
        dev_keys: vec![],
        token: None,
        devnet: None,
    };
    setup::runtime()?.block_on(async {
        let node = Box::pin(setup.start()).await?;
        tracing::info!("ready in {:.1} s, RPC on http://{}", begun.elapsed().as_secs_f64(), node.http());
        setup::run_until_stopped(node).await
    })
}
