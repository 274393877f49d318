//! `pectin service`: the service's code as a file, and the owner's orders about it.

use super::{
    Failure,
    client::{RpcArgs, TokenArgs},
    file,
    setup::{read_key, read_token},
    show::{self, Format},
};
use alloy_primitives::{B256, hex};
use clap::{Args, Subcommand, ValueEnum};
use devnet::genesis::service_of;
use jam::{
    ChainSpec, Ed25519Key,
    codec::{Decode, Encode},
    hash::blake2b,
    state::{ServiceInfo, preimage_key, request_key, service_key},
};
use runtime::data;
use serde_json::{Value, json};
use service::{
    Config,
    code::{PROGRAM, PROGRAM_INFO},
    order::{Action, Order, is_order},
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// What to do with the service.
#[derive(Debug, Args)]
pub(super) struct ServiceArgs {
    #[command(subcommand)]
    command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
enum ServiceCommand {
    /// Writes the service's code: this version's program with a chain's configuration, changed as the flags say.
    #[command(
        after_help = "Examples:\n  pectin service export service.code --chain-spec net/chain-spec.json\n  pectin service export next.code --from service.code --builder 0x22351e22105a19aabb42589162ad7f1ea0df1c25cebf0e4a9fcd261301274862"
    )]
    Export(ExportArgs),
    /// Signs an order of the service's owner: to request another code from the chain, or to upgrade to it.
    #[command(
        after_help = "Example:\n  pectin service order request next.code --current service.code --number 1 --owner-key owner.key --out request.order"
    )]
    Order(OrderArgs),
    /// Has a running node submit a signed order, again and again until the finalized chain has obeyed it.
    #[command(
        after_help = "Example:\n  pectin service submit request.order --token-file pectin-data/admin-token"
    )]
    Submit(SubmitArgs),
    /// The service's code on the chain, as a running node sees it.
    #[command(after_help = "Example:\n  pectin service status")]
    Status(StatusArgs),
    /// Adds a code as a preimage of the service to the chain specification of a network that has not begun.
    #[command(after_help = "Example:\n  pectin service provide next.code --chain-spec net/chain-spec.json")]
    Provide(ProvideArgs),
}

/// Where a configuration comes from.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Origin {
    /// The chain whose service it is.
    #[arg(long, value_name = "FILE")]
    chain_spec: Option<PathBuf>,
    /// A code of the service.
    #[arg(long, value_name = "CODE")]
    from: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// The file to write; it must not be there.
    #[arg(value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    origin: Origin,
    /// The public key of another builder.
    #[arg(long, value_name = "KEY")]
    builder: Option<B256>,
    /// The public key of another owner, whose orders the service obeys.
    #[arg(long, value_name = "KEY")]
    owner: Option<B256>,
    /// Another gas limit of blocks. Blocks that are not on the chain when the code changes go back to the pool.
    #[arg(long, value_name = "GAS")]
    gas_limit: Option<u64>,
    /// Another gas target of blocks; see --gas-limit.
    #[arg(long, value_name = "GAS")]
    gas_target: Option<u64>,
    #[command(flatten)]
    format: Format,
}

/// What an order orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Does {
    /// The chain is asked for the code.
    Request,
    /// The code runs from the next block on.
    Upgrade,
}

#[derive(Debug, Args)]
struct OrderArgs {
    /// What it orders.
    #[arg(value_enum, value_name = "ACTION")]
    action: Does,
    /// The new code.
    #[arg(value_name = "CODE")]
    code: PathBuf,
    /// The code that the service has now: an order is for one code and no other.
    #[arg(long, value_name = "CODE")]
    current: PathBuf,
    /// The order's number: above that of the last one that was obeyed.
    #[arg(long, value_name = "NUMBER")]
    number: u64,
    /// The service's number.
    #[arg(long, default_value_t = devnet::genesis::SERVICE, value_name = "NUMBER")]
    service_id: u32,
    /// A file with the owner's key: 64 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    owner_key: PathBuf,
    /// Where the payload of the work item goes; it must not be there.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Args)]
struct SubmitArgs {
    /// The file that `pectin service order` wrote.
    #[arg(value_name = "FILE")]
    order: PathBuf,
    /// Seconds to wait at most.
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    timeout: u64,
    #[command(flatten)]
    rpc: RpcArgs,
    #[command(flatten)]
    token: TokenArgs,
}

#[derive(Debug, Args)]
struct StatusArgs {
    #[command(flatten)]
    rpc: RpcArgs,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Args)]
struct ProvideArgs {
    /// The code.
    #[arg(value_name = "CODE")]
    code: PathBuf,
    /// The chain specification, which is changed.
    #[arg(long, value_name = "FILE")]
    chain_spec: PathBuf,
}

pub(super) fn run(args: &ServiceArgs) -> Result<(), Failure> {
    match &args.command {
        ServiceCommand::Export(args) => export(args),
        ServiceCommand::Order(args) => order(args),
        ServiceCommand::Submit(args) => submit(args),
        ServiceCommand::Status(args) => {
            let status = args.rpc.client()?.call("builder_service", json!([]))?;
            args.format.print(&status, show::lines);
            Ok(())
        }
        ServiceCommand::Provide(args) => provide(args),
    }
}

fn export(args: &ExportArgs) -> Result<(), Failure> {
    let mut config = match (&args.origin.chain_spec, &args.origin.from) {
        (Some(path), _) => {
            let text = file::read(path, "the chain specification")?;
            let named = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
            let spec = ChainSpec::from_json(&text).map_err(|why| named(why.to_string()))?;
            service_of(&spec).map_err(|why| named(why.to_string()))?.0
        }
        (None, Some(path)) => read(path, 0)?.0,
        (None, None) => return Err(Failure::usage("--chain-spec or --from is needed")),
    };
    let key = |key: Option<B256>, now: Ed25519Key| key.map_or(now, Ed25519Key);
    config.builder = key(args.builder, config.builder);
    config.owner = key(args.owner, config.owner);
    config.gas_limit = args.gas_limit.unwrap_or(config.gas_limit);
    config.gas_target = args.gas_target.unwrap_or(config.gas_target);
    let code = config.code();
    write_new(&args.out, &code)?;
    args.format.print(&describe(&code).map_err(Failure::Runtime)?, show::lines);
    Ok(())
}

fn order(args: &OrderArgs) -> Result<(), Failure> {
    let (current, _) = read(&args.current, args.service_id)?;
    let (next, code_len) = read(&args.code, args.service_id)?;
    if (next.chain_id, next.genesis) != (current.chain_id, current.genesis) {
        return Err(Failure::Usage(format!(
            "{} is for chain id {} with genesis {}, the service has {} and {}: validators would refuse it; make it with `pectin service \
             export --from {}`",
            args.code.display(),
            next.chain_id,
            next.genesis,
            current.chain_id,
            current.genesis,
            args.current.display()
        )));
    }
    let owner = read_key(&args.owner_key)?;
    if owner.public() != current.owner {
        return Err(Failure::Usage(format!(
            "{} is the key of {}, the service obeys {}",
            args.owner_key.display(),
            owner.public(),
            current.owner
        )));
    }
    let action = match args.action {
        Does::Request => Action::Request,
        Does::Upgrade => Action::Upgrade,
    };
    let order = Order { number: args.number, action, code_hash: next.code_hash, code_len };
    let payload = order.payload(&owner, &current);
    write_new(&args.out, &payload)?;
    let value = json!({
        "number": order.number,
        "codeHash": order.code_hash,
        "codeBytes": order.code_len,
        "forCode": current.code_hash,
        "payload": hex::encode_prefixed(&payload),
    });
    args.format.print(&value, show::lines);
    Ok(())
}

/// A package that is lost, or comes when its core is busy, is sent again after so long.
const RESUBMIT_EVERY: Duration = Duration::from_secs(24);
const LOOK_EVERY: Duration = Duration::from_secs(2);

fn submit(args: &SubmitArgs) -> Result<(), Failure> {
    let payload = std::fs::read(&args.order)
        .map_err(|why| Failure::Usage(format!("{}: {why}", args.order.display())))?;
    let order = payload.get(1..=Order::BYTES).and_then(Order::decode).filter(|_| is_order(&payload));
    let order = order.ok_or_else(|| Failure::Usage(format!("{} is no order", args.order.display())))?;
    let file =
        args.token.token_file.clone().unwrap_or_else(|| PathBuf::from("pectin-data").join(data::TOKEN));
    let client = args.rpc.client()?.with_token(Some(&read_token(&file)?))?;
    let until = Instant::now() + Duration::from_secs(args.timeout);
    let mut sent_at = None::<Instant>;
    loop {
        let status = client.call("builder_service", json!([]))?;
        let last = |at: &str| status[at]["lastOrder"].as_u64().unwrap_or_default();
        if last("finalized") >= order.number {
            show::print(&format!("order {} is obeyed and final\n", last("finalized")));
            check_obeyed(&status["finalized"], &order)?;
            return Ok(());
        }
        if Instant::now() > until {
            return Err(Failure::Runtime(format!(
                "the chain has not obeyed order {} in {} s. An order is skipped if its number is not above {}, a request if the service's balance \
                 does not pay for the preimage, an upgrade if the code was not requested or its preimage is not there yet; refine refuses an \
                 order that is not signed for the current code",
                order.number,
                args.timeout,
                last("finalized")
            )));
        }
        let is_due = sent_at.is_none_or(|at| at.elapsed() >= RESUBMIT_EVERY);
        if last("best") < order.number && is_due {
            match client.call("builder_serviceOrder", json!([hex::encode_prefixed(&payload)])) {
                Ok(taken) => {
                    sent_at = Some(Instant::now());
                    show::print(&format!("package {} is with core {}\n", taken["package"], taken["core"]));
                }
                Err(why) => eprintln!("pectin: {why}"),
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Another order may have been obeyed under the number.
fn check_obeyed(code: &Value, order: &Order) -> Result<(), Failure> {
    let is_code = |value: &Value| *value == json!(order.code_hash);
    let is_this = match order.action {
        Action::Request => is_code(&code["requested"]["codeHash"]) || is_code(&code["codeHash"]),
        Action::Upgrade => is_code(&code["codeHash"]),
    };
    let why = "the service obeyed another order with this number or a later one; see `pectin service status`";
    is_this.then_some(()).ok_or_else(|| Failure::runtime(why))
}

fn provide(args: &ProvideArgs) -> Result<(), Failure> {
    let named = |why: String| Failure::Usage(format!("{}: {why}", args.chain_spec.display()));
    let text = file::read(&args.chain_spec, "the chain specification")?;
    let mut spec = ChainSpec::from_json(&text).map_err(|why| named(why.to_string()))?;
    let (config, _) = service_of(&spec).map_err(|why| named(why.to_string()))?;
    let id = config.service;
    let (next, len) = read(&args.code, id)?;
    let code = std::fs::read(&args.code).map_err(Failure::runtime)?;
    let info = spec
        .genesis_state
        .get(&service_key(id))
        .and_then(|info| ServiceInfo::decode(info, &spec.params).ok());
    let mut info = info.ok_or_else(|| named("the service's account cannot be read".to_owned()))?;
    if spec.genesis_state.insert(preimage_key(id, next.code_hash), code.into()).is_some() {
        return Err(named(format!("the code {} is there already", next.code_hash)));
    }
    // Asked for and there since slot 0.
    spec.genesis_state.insert(request_key(id, next.code_hash, len), vec![0_u32].encode().into());
    info.items += 2;
    info.bytes += 81 + u64::from(len);
    spec.genesis_state.insert(service_key(id), info.encode().into());
    std::fs::write(&args.chain_spec, spec.to_json()).map_err(|why| named(why.to_string()))?;
    show::print(&format!("the service {id} has the code {} from the beginning\n", next.code_hash));
    Ok(())
}

/// The configuration in a code, and its length.
pub(super) fn read(path: &Path, service: u32) -> Result<(Config, u32), Failure> {
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let code = std::fs::read(path).map_err(|why| wrong(why.to_string()))?;
    let config = Config::from_code(service, &code).ok_or_else(|| wrong(NO_CODE.to_owned()))?;
    Ok((config, u32::try_from(code.len()).map_err(|_| wrong("it is longer than 4 GB".to_owned()))?))
}

const NO_CODE: &str =
    "it is no code of this service with a configuration; `pectin service export` writes one";

/// What a code is: its program, its parts and its configuration.
pub(super) fn describe(code: &[u8]) -> Result<Value, String> {
    let config = Config::from_code(0, code).ok_or_else(|| NO_CODE.to_owned())?;
    let layout = pvm::Layout::read(code).map_err(|why| why.to_string())?;
    let is_ours = Config::has_this_program(code);
    let compiler = PROGRAM_INFO.lines().find_map(|line| line.strip_prefix("compiler = "));
    let compiler = compiler.filter(|_| is_ours).map(|compiler| compiler.trim_matches('"'));
    Ok(json!({
        "codeHash": config.code_hash,
        "bytes": code.len(),
        "program": {
            "isThisVersions": is_ours,
            "thisVersionsHash": blake2b(&[PROGRAM]),
            "compiler": compiler,
            "entryPoints": { "refine": 0, "accumulate": 5 },
            "codeBytes": layout.code.len(),
            "readOnlyBytes": layout.read_only.len(),
            "readWriteBytes": layout.read_write.len(),
            "stackBytes": layout.stack_bytes,
        },
        "configuration": {
            "builder": config.builder.0,
            "owner": config.owner.0,
            "chainId": config.chain_id,
            "gasLimit": config.gas_limit,
            "gasTarget": config.gas_target,
            "baseFeeFloorWei": config.base_fee_floor_wei,
            "slotMs": config.slot_ms,
            "genesis": { "number": config.genesis.number, "hash": config.genesis.hash },
        },
    }))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, bytes));
    written.map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::Ed25519Secret;

    #[test]
    fn a_code_says_what_it_is() {
        let config = Config::native(7, Ed25519Secret::trivial(3).public());
        let value = describe(&config.code()).unwrap();
        assert_eq!(value["codeHash"], json!(config.code_hash));
        assert_eq!(value["program"]["isThisVersions"], true);
        assert_eq!(value["configuration"]["chainId"], config.chain_id);
        assert!(describe(PROGRAM).unwrap_err().contains("no code of this service"));
    }
}
