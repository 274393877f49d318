//! `pectin validator`: one validator of a development network, in a process of its own.

use super::{Failure, LogFormat, execution::ExecutionArgs, file, stop};
use crate::logging;
use clap::Args;
use devnet::{
    execution::Execution,
    validator::{Options, StartError},
};
use jam::ChainSpec;
use std::{net::SocketAddr, path::PathBuf};

/// Which validator, and where.
#[derive(Debug, Args)]
pub(super) struct ValidatorArgs {
    /// The chain specification.
    #[arg(long, value_name = "FILE")]
    chain_spec: PathBuf,
    /// Which of the validators, from 0. Its keys follow from the number: anyone can know them.
    #[arg(long, value_name = "INDEX")]
    index: u16,
    /// The address to listen on. [default: the one in the chain specification]
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Where to keep the chain. [default: nowhere]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// How long a slot lasts.
    #[arg(long, default_value_t = 6000, value_name = "MS")]
    slot_ms: u64,
    /// Blocks that finality lies behind.
    #[arg(long, default_value_t = 2, value_name = "BLOCKS")]
    finality_lag: u64,
    #[command(flatten)]
    execution: ExecutionArgs,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: LogFormat,
    /// Which log lines.
    #[arg(long, default_value = "info", value_name = "FILTER")]
    log: String,
}

pub(super) fn run(args: ValidatorArgs) -> Result<(), Failure> {
    logging::start(args.log_format, Some(&args.log)).map_err(Failure::Usage)?;
    let path = &args.chain_spec;
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    let spec =
        ChainSpec::from_json(&file::read(path, "the chain specification")?).map_err(|why| wrong(&why))?;
    // Before the address: that a validator which there is not listens nowhere helps no one.
    let count = spec.params.validators;
    if args.index >= count {
        let why = StartError::NoSuchValidator { index: args.index, count };
        return Err(Failure::Usage(format!("--index {}: {why}", args.index)));
    }
    let listed = spec.bootnodes.get(usize::from(args.index)).map(|node| node.addr);
    let listen = args.listen.or(listed);
    let listen = listen.ok_or_else(|| wrong(&"it says not where this validator listens; give --listen"))?;
    let execution = Execution::new(args.execution.engine(), args.execution.services());
    let execution = execution.map_err(|why| Failure::from(StartError::Engine(why)))?;
    let options = Options {
        spec,
        execution,
        index: args.index,
        listen,
        data_dir: args.data_dir,
        slot_ms: args.slot_ms,
        finality_lag: args.finality_lag,
        time: clock::SystemClock::default(),
    };
    stop::run(async move |mut stop| {
        devnet::validator::run(options, stop.asked()).await.map_err(Failure::from)
    })
}
