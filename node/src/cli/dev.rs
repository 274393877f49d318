//! `pectin dev`: a whole network on this machine.

use super::{
    Failure, Options,
    chain_spec::{Chain, ChainArgs},
    setup::{self, Setup},
};
use crate::{
    accounts::{self, DEV_MNEMONIC},
    banner::Banner,
};
use clap::Args;
use devnet::Devnet;
use jam::Ed25519Secret;
use std::{path::PathBuf, sync::Arc, time::Instant};

/// Builders of development networks have this key. Validators have the keys before it.
const BUILDER: u32 = 1 << 16;

/// What the network is like.
#[derive(Debug, Args)]
pub(super) struct DevArgs {
    #[command(flatten)]
    chain: ChainArgs,
    /// The first EVM block, as a genesis file (the format of geth).
    #[arg(long, value_name = "FILE", help_heading = "Chain")]
    genesis: Option<PathBuf>,
    /// How long a slot lasts.
    #[arg(long, default_value_t = 6000, value_name = "MS", help_heading = "Chain")]
    slot_ms: u64,
    /// Blocks that finality lies behind.
    #[arg(long, default_value_t = 2, value_name = "BLOCKS", help_heading = "Chain")]
    finality_lag: u64,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(args: DevArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    Setup::start_logging(&args.options)?;
    let secret = Ed25519Secret::trivial(BUILDER);
    let gas_limit = args.options.gas_limit.unwrap_or(service::config::GAS_LIMIT);
    let chain = args.chain.chain(args.genesis.as_deref(), gas_limit, &secret)?;
    setup::runtime()?.block_on(start(args, chain, secret, begun))
}

async fn start(args: DevArgs, chain: Chain, secret: Ed25519Secret, begun: Instant) -> Result<(), Failure> {
    let DevArgs { chain: flags, genesis: genesis_file, slot_ms, finality_lag, options } = args;
    let Chain { params, config, genesis, .. } = chain;
    let data_dir = options.data_dir.clone();
    let devnet = Devnet::start(devnet::Config {
        cores: params.cores,
        slot_ms,
        finality_lag,
        data_dir: data_dir.as_ref().map(|directory| directory.join("validators")),
        ..devnet::Config::new(config, genesis.id())
    });
    let devnet = Arc::new(devnet.await.map_err(Failure::from)?);
    let spec = devnet.chain_spec().clone();
    let funded = match genesis_file {
        Some(_) => vec![],
        None => accounts::derive(&flags.mnemonic, flags.accounts).map_err(Failure::usage)?,
    };
    let dev_keys = funded.iter().map(|account| account.key).collect();
    let data = data_dir.clone();
    let setup = Setup {
        spec,
        genesis,
        secret,
        slot_ms,
        options,
        data_dir: data,
        is_dev: true,
        devnet: Some(devnet.clone()),
        dev_keys,
    };
    let node = setup.start().await?;
    let banner = Banner {
        http: node.http(),
        chain_id: config.chain_id,
        network: (params.validators, params.cores),
        slot_ms,
        data_dir,
        accounts: funded,
        balance_wei: service::genesis::DEV_BALANCE_WEI,
        mnemonic: Some(flags.mnemonic).filter(|mnemonic| mnemonic != DEV_MNEMONIC),
    };
    print!("{banner}");
    println!("ready in {:.1} s\n", begun.elapsed().as_secs_f64());
    let result = setup::run_until_stopped(node).await;
    devnet.shutdown().await;
    result
}
