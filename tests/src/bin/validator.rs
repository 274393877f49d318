//! A validator as a process of its own, for tests: `validator SPEC INDEX SLOT_MS [DATA_DIR]`. It listens where the
//! specification says, and stops when its standard input ends.
//!
//! It is a judge, too: `validator idle SECONDS` runs six idle validators at six seconds a slot and prints what they cost;
//! `validator straight BYTES SLOT_MS` sends bundles of that size through six validators until one is guaranteed in the
//! next block and accumulated in the one after.

use devnet::{
    Config, Devnet,
    execution::{Execution, SERVICES, Services},
    validator::{Options, run},
};
use harness::devnet::{Network, Setup};
use pvm::EngineKind;
use rustix::time::{ClockId, clock_gettime};
use std::{error::Error, process::ExitCode, time::Duration};

/// A busy machine may miss a slot.
const TRIES: u64 = 5;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let args = std::env::args().skip(1).collect::<Vec<_>>();
    let result = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(act(&args)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn act(args: &[String]) -> Result<(), Box<dyn Error>> {
    match args {
        [word, seconds] if word == "idle" => idle(seconds.parse()?).await,
        [word, bytes, slot_ms] if word == "straight" => {
            Box::pin(straight(bytes.parse()?, slot_ms.parse()?)).await
        }
        [spec, index, slot_ms, rest @ ..] => {
            let spec = jam::ChainSpec::from_json(&std::fs::read_to_string(spec)?)?;
            let index = index.parse::<u16>()?;
            let node =
                spec.bootnodes.get(usize::from(index)).ok_or("the specification has no such validator")?;
            let options = Options {
                index,
                listen: node.addr,
                data_dir: rest.first().map(Into::into),
                slot_ms: slot_ms.parse()?,
                finality_lag: 2,
                time: clock::SystemClock::default(),
                execution: Execution::new(EngineKind::Auto, SERVICES)?,
                spec,
            };
            let end = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
            run(options, async move { drop(end.await) }).await?;
            Ok(())
        }
        _ => {
            Err("usage: validator SPEC INDEX SLOT_MS [DATA_DIR] | idle SECONDS | straight BYTES SLOT_MS"
                .into())
        }
    }
}

/// What six idle validators cost, without their start.
async fn idle(seconds: u64) -> Result<(), Box<dyn Error>> {
    let devnet = Devnet::start(Setup::new().devnet(6000)).await?;
    let mut events = devnet.events();
    events.recv().await?;
    let cpu = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    let before = cpu();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let used = cpu() - before;
    let heights = devnet.status().iter().flatten().map(|status| status.best.height).collect::<Vec<_>>();
    let percent = 100.0 * used.as_secs_f64() / seconds as f64;
    println!("idle: six validators used {percent:.2} % of one core over {seconds} s (heights {heights:?})");
    devnet.shutdown().await;
    if percent < 5.0 { Ok(()) } else { Err("more than 5 % of one core".into()) }
}

/// A bundle of this size goes straight through, and all are applied exactly once. What is tried is its way and not the service's program, so
/// validators run the service natively: the gas of a tiny chain refines less than the largest bundle.
async fn straight(bytes: usize, slot_ms: u64) -> Result<(), Box<dyn Error>> {
    let mut network =
        Network::with(|config| Config { slot_ms, services: Services::Native, ..config }).await?;
    let straight = network.straight_through(bytes, TRIES).await;
    network.heals().await;
    println!("straight: {bytes} bytes at {slot_ms} ms: {straight}");
    if straight { Ok(()) } else { Err(format!("none of {TRIES} went straight through").into()) }
}
