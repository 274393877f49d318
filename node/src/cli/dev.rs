//! `pectin dev`: a whole network on this machine.

use super::{
    Failure, Options,
    chain_spec::{Chain, ChainArgs, Pace},
    execution::ExecutionArgs,
    file,
    scratch::Scratch,
    setup::{self, Setup},
    stop,
};
use crate::{
    accounts,
    banner::{Banner, Token},
};
use clap::Args;
use devnet::Devnet;
use jam::Ed25519Secret;
use runtime::{DevMethods, Faucet, Node, data, wallet::Wallet};
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
    execution: ExecutionArgs,
    /// Where to write addresses, keys and URLs as JSON, once everything is ready.
    #[arg(long, value_name = "FILE", help_heading = "Chain")]
    config_out: Option<PathBuf>,
    /// The configuration file. What it says of a network is not for this one.
    #[arg(long, env = "PECTIN_CONFIG", hide_env = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(mut args: DevArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    (_, args.options) = file::merged(args.config.as_deref(), Default::default(), args.options)?;
    Setup::start_logging(&args.options)?;
    let secret = Ed25519Secret::trivial(BUILDER);
    let Options { gas_limit, block_ms, .. } = &args.options;
    let pace = Pace { gas_limit: *gas_limit, block_ms: block_ms.unwrap_or(0), slot_ms: args.slot_ms };
    let chain = args.chain.chain(args.genesis.as_deref(), &pace, &secret)?;
    let scratch = if args.options.data_dir.is_none() { Some(Scratch::make()?) } else { None };
    stop::run(async move |mut stop| {
        let directory = scratch.as_ref().map(|scratch| scratch.path().to_path_buf());
        let Some((devnet, node)) =
            stop.unless(Box::pin(start(args, chain, secret, begun, directory))).await?
        else {
            return Ok(());
        };
        let result = setup::run_until_stopped(node, &mut stop).await;
        devnet.shutdown().await;
        result
    })
}

/// Starts validators and a builder, and says how to use them.
async fn start(
    args: DevArgs,
    chain: Chain,
    secret: Ed25519Secret,
    begun: Instant,
    scratch: Option<PathBuf>,
) -> Result<(Arc<Devnet>, Node), Failure> {
    let DevArgs {
        chain: flags,
        genesis: genesis_file,
        slot_ms,
        finality_lag,
        execution,
        config_out,
        options,
        ..
    } = args;
    let Chain { params, config, genesis, authorizer, .. } = chain;
    let data_dir = options.data_dir.clone();
    if let Some(directory) = &data_dir {
        // The validators' files beside it say less of why.
        let checked = store::check_format(directory.join(data::STORE));
        checked.map_err(|why| Failure::Data(why.to_string()))?;
    }
    let devnet = Devnet::start(devnet::Config {
        cores: params.cores,
        slot_ms,
        finality_lag,
        authorizer,
        services: execution.services(),
        engine: execution.engine(),
        data_dir: data_dir.as_ref().map(|directory| directory.join("validators")),
        ..devnet::Config::new(config, genesis.id())
    });
    let devnet = Arc::new(devnet.await.map_err(Failure::from)?);
    let spec = devnet.chain_spec().clone();
    let funded = match genesis_file {
        Some(_) => vec![],
        None => accounts::derive(&flags.mnemonic, flags.accounts).map_err(Failure::usage)?,
    };
    // The last account pays, so that the nonces of the first ones are whoever uses them.
    let faucet =
        funded.last().map(|account| Wallet::new(&account.key)).transpose().map_err(Failure::usage)?;
    let dev = Some(DevMethods { faucet: faucet.map(Faucet::new) });
    let data_dir_given = data_dir.clone();
    let dev_keys = funded.iter().map(|account| account.key).collect();
    let token_file = setup::token_path(&options, data_dir.as_deref());
    let token = if token_file.is_none() { Some(setup::fresh_token()?) } else { None };
    let setup = Setup {
        spec,
        genesis,
        secret,
        slot_ms,
        options,
        data_dir,
        scratch,
        is_dev: true,
        dev,
        dev_keys,
        token: token.clone(),
        devnet: Some(devnet.clone()),
    };
    let node = Box::pin(setup.start()).await?;
    let banner = Banner {
        http: node.http(),
        chain_id: config.chain_id,
        network: (params.validators, params.cores),
        slot_ms,
        data_dir: data_dir_given,
        token: token_file.map_or_else(|| Token::Is(token.unwrap_or_default()), Token::In),
        accounts: funded,
        balance_wei: service::genesis::DEV_BALANCE_WEI,
        mnemonic: flags.mnemonic,
    };
    if let Some(path) = config_out {
        let written = data::write_whole(&path, format!("{:#}\n", banner.as_json()).as_bytes());
        written.map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    }
    print!("{banner}");
    println!("ready in {:.1} s\n", begun.elapsed().as_secs_f64());
    Ok((devnet, node))
}
