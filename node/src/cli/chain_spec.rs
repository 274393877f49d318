//! `pectin chain-spec`: the files that a network of separate processes starts from.

use super::{Failure, file, setup::BLOCK_MS};
use crate::accounts::{self, DevAccount};
use alloy_primitives::hex;
use clap::{Args, ValueEnum};
use devnet::{
    authorizer::Authorizer,
    genesis::{self as jam_genesis, SERVICE},
};
use jam::{Ed25519Secret, Params};
use serde_json::json;
use service::{
    Config,
    genesis::{DEV_BALANCE_WEI, Genesis},
};
use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

/// What a chain is like.
#[derive(Clone, Debug, Args)]
pub(super) struct ChainArgs {
    /// Validators; three for each core.
    #[arg(long, value_name = "COUNT", help_heading = "Chain")]
    pub(super) validators: Option<u16>,
    /// Cores.
    #[arg(long, value_name = "COUNT", help_heading = "Chain")]
    pub(super) cores: Option<u16>,
    /// The chain id that transactions are signed for. [default: the genesis file's, else 732846]
    #[arg(long, value_name = "ID", help_heading = "Chain")]
    pub(super) chain_id: Option<u64>,
    /// Accounts that own ten thousand ether each, if there is no genesis file.
    #[arg(long, default_value_t = 10, value_name = "COUNT", help_heading = "Chain")]
    pub(super) accounts: u32,
    /// The mnemonic that they come from.
    #[arg(long, default_value = accounts::DEV_MNEMONIC, value_name = "WORDS", help_heading = "Chain")]
    pub(super) mnemonic: String,
    /// Wei per gas below which the base fee never falls. Transactions must also offer --min-gas-price. It is part of the
    /// service's configuration, which the chain commits to: the builder and every validator read it there.
    #[arg(long, default_value_t = service::config::BASE_FEE_FLOOR_WEI, value_name = "WEI", help_heading = "Chain")]
    pub(super) base_fee_floor: u64,
    /// The base fee of the first EVM block, in wei per gas, if there is no genesis file. [default: the floor]
    #[arg(long, value_name = "WEI", help_heading = "Chain")]
    pub(super) initial_base_fee: Option<u64>,
    /// Who may use the cores: everybody (null), or the builder alone, whose signature every package then has.
    #[arg(long, value_enum, default_value_t = AuthorizerName::Builder, value_name = "WHO", help_heading = "Chain")]
    pub(super) authorizer: AuthorizerName,
}

/// The authorizers by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum AuthorizerName {
    Null,
    Builder,
}

impl From<AuthorizerName> for Authorizer {
    fn from(name: AuthorizerName) -> Self {
        match name {
            AuthorizerName::Null => Self::Null,
            AuthorizerName::Builder => Self::Builder,
        }
    }
}

/// Where the files go.
#[derive(Debug, Args)]
pub(super) struct ChainSpecArgs {
    #[command(flatten)]
    chain: ChainArgs,
    /// The first EVM block, as a genesis file (the format of geth).
    #[arg(long, value_name = "FILE")]
    genesis: Option<PathBuf>,
    /// Gas of a block. [default: what packages sustain at the pace of --block-ms, several times over]
    #[arg(long, value_name = "GAS")]
    gas_limit: Option<u64>,
    /// The pace of blocks that the gas of a block and its target are for, in milliseconds.
    #[arg(long, default_value_t = BLOCK_MS, value_name = "MS")]
    block_ms: u64,
    /// How long a slot of JAM lasts, in milliseconds. The service commits to it.
    #[arg(long, default_value_t = service::config::SLOT_MS, value_name = "MS")]
    slot_ms: u64,
    /// The address that validators listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "IP")]
    validator_addr: IpAddr,
    /// The UDP port of the first validator; the others follow.
    #[arg(long, default_value_t = 40_000, value_name = "PORT")]
    validator_port: u16,
    /// Where each validator listens, if not on one address: IP:PORT for each, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["validator_addr", "validator_port"])]
    validator_addrs: Vec<SocketAddr>,
    /// The directory for chain-spec.json, genesis.json and builder.key.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The directory for builder.key, if it is another one: validators need the other files, and nobody but the builder this.
    #[arg(long, value_name = "DIR")]
    key_out: Option<PathBuf>,
    /// If the files are there already, leave them as they are and be content.
    #[arg(long)]
    if_missing: bool,
}

/// Gas of the transfers that a package of 12 MB holds: about 7,500 of them.
const PACKAGE_GAS: u64 = 157_500_000;
/// How much more than its target a block may use.
const BURST: u64 = 4;
/// A block of more gas takes too long to execute for one that comes several times a second.
const GAS_LIMIT_MAX: u64 = 120_000_000;

/// The builder's key.
const KEY: &str = "builder.key";
/// The files, the secret first: it is the one that cannot be made again.
const FILES: [&str; 3] = [KEY, "chain-spec.json", "genesis.json"];

/// How fast blocks and slots come, from which the gas of a block follows.
pub(super) struct Pace {
    /// The gas limit, if the operator chose one.
    pub(super) gas_limit: Option<u64>,
    pub(super) block_ms: u64,
    pub(super) slot_ms: u64,
}

impl Pace {
    /// The gas limit and the gas target of a block. The target is what the packages of all cores sustain in the time of a block,
    /// so that the base fee rises when more is asked for; the limit leaves room for large transactions and bursts.
    fn gas(&self, cores: u16) -> (u64, u64) {
        let block_ms = if self.block_ms == 0 { BLOCK_MS } else { self.block_ms };
        let of_slot = PACKAGE_GAS.saturating_mul(cores.into());
        let target = of_slot.saturating_mul(block_ms) / self.slot_ms.max(1);
        let limit = target.saturating_mul(BURST).clamp(service::config::GAS_LIMIT, GAS_LIMIT_MAX);
        let limit = self.gas_limit.unwrap_or(limit);
        (limit, target.min(limit / 2).max(1))
    }
}

/// A chain: its parameters, its service, and its first EVM block.
pub(super) struct Chain {
    pub(super) params: Params,
    pub(super) config: Config,
    pub(super) genesis: Genesis,
    pub(super) genesis_json: String,
    pub(super) authorizer: Authorizer,
}

impl ChainArgs {
    /// The parameters for so many validators and cores.
    pub(super) fn params(&self) -> Result<Params, Failure> {
        let cores = match (self.cores, self.validators) {
            (Some(cores), None) => cores,
            (None, None) => Params::TINY.cores,
            (None, Some(validators)) if validators > 0 && validators.is_multiple_of(3) => validators / 3,
            (Some(cores), Some(validators)) if u32::from(cores) * 3 == u32::from(validators) => cores,
            _ => return Err(Failure::usage("--validators must be three for each of the --cores")),
        };
        if cores == 0 || cores > Params::FULL.cores {
            return Err(Failure::usage(format_args!("--cores must be from 1 to {}", Params::FULL.cores)));
        }
        Ok(jam_genesis::params(cores))
    }

    /// The chain that these flags describe, for a builder with this key.
    pub(super) fn chain(
        &self,
        genesis_file: Option<&Path>,
        pace: &Pace,
        builder: &Ed25519Secret,
    ) -> Result<Chain, Failure> {
        let given = genesis_file.map(|path| Ok::<_, Failure>((path, file::read(path, "the genesis file")?)));
        let given = given.transpose()?;
        let in_file = given.as_ref().and_then(|(_, json)| chain_id_in(json));
        let chain_id = self.chain_id.or(in_file).unwrap_or(service::config::CHAIN_ID);
        let base_fee_floor_wei = self.base_fee_floor;
        let (gas_limit, gas_target) = pace.gas(self.params()?.cores);
        let config = Config {
            chain_id,
            gas_limit,
            gas_target,
            base_fee_floor_wei,
            slot_ms: pace.slot_ms,
            ..Config::native(SERVICE, builder.public())
        };
        let config = config.with_code_hash();
        match self.initial_base_fee {
            Some(_) if given.is_some() => {
                let why =
                    "--initial-base-fee is for a chain without --genesis: that file has it (baseFeePerGas)";
                return Err(Failure::usage(why));
            }
            Some(fee) if fee < base_fee_floor_wei => {
                return Err(Failure::usage("--initial-base-fee must not be below --base-fee-floor"));
            }
            _ => {}
        }
        let genesis_json = match &given {
            Some((_, json)) => json.clone(),
            None => {
                let accounts = accounts::derive(&self.mnemonic, self.accounts).map_err(Failure::usage)?;
                funded(&config, self.initial_base_fee, &accounts)
            }
        };
        let named = given.map_or_else(|| "the genesis".to_owned(), |(path, _)| path.display().to_string());
        let genesis = Genesis::from_json(&genesis_json, &config);
        let genesis = genesis.map_err(|why| Failure::Usage(format!("{named}: {why}")))?;
        let authorizer = self.authorizer.into();
        Ok(Chain { params: self.params()?, config, genesis, genesis_json, authorizer })
    }
}

/// A genesis file in which these accounts own something.
fn funded(config: &Config, base_fee: Option<u64>, accounts: &[DevAccount]) -> String {
    let balance = format!("{DEV_BALANCE_WEI:#x}");
    let alloc = accounts.iter().map(|account| (account.address.to_string(), json!({ "balance": balance })));
    let alloc = alloc.collect::<serde_json::Map<_, _>>();
    let gas_limit = format!("{:#x}", config.gas_limit);
    let file = json!({
        "config": { "chainId": config.chain_id },
        "gasLimit": gas_limit,
        "baseFeePerGas": format!("{:#x}", base_fee.unwrap_or(config.base_fee_floor_wei)),
        "difficulty": "0x0",
        "alloc": alloc,
    });
    format!("{file:#}\n")
}

fn chain_id_in(json: &str) -> Option<u64> {
    let value = serde_json::from_str::<serde_json::Value>(json).ok()?;
    value.get("config")?.get("chainId")?.as_u64()
}

impl Chain {
    /// The JAM chain that begins with it.
    pub(super) fn jam(&self) -> jam_genesis::Genesis {
        let genesis = jam_genesis::Genesis::new(self.params, self.config, self.genesis.id());
        jam_genesis::Genesis { authorizer: self.authorizer, ..genesis }
    }
}

impl ChainSpecArgs {
    /// Where a file goes.
    fn directory(&self, name: &str) -> &Path {
        match &self.key_out {
            Some(directory) if name == KEY => directory,
            _ => &self.out,
        }
    }

    /// Where the validators listen.
    fn addresses(&self, validators: u16) -> Result<Vec<SocketAddr>, Failure> {
        if !self.validator_addrs.is_empty() {
            let given = self.validator_addrs.len();
            if given != usize::from(validators) {
                return Err(Failure::Usage(format!(
                    "--validator-addrs has {given} of {validators} addresses"
                )));
            }
            return Ok(self.validator_addrs.clone());
        }
        let address =
            |index| Some(SocketAddr::new(self.validator_addr, self.validator_port.checked_add(index)?));
        let addresses = (0..validators).map(address).collect::<Option<Vec<_>>>();
        addresses.ok_or_else(|| Failure::usage("there are not enough ports for the validators"))
    }
}

pub(super) fn run(args: &ChainSpecArgs) -> Result<(), Failure> {
    let there = FILES
        .map(|name| args.directory(name).join(name))
        .into_iter()
        .filter(|path| path.exists())
        .collect::<Vec<_>>();
    match there.first() {
        Some(_) if args.if_missing && there.len() == FILES.len() => {
            println!("there already: {}", args.out.display());
            Ok(())
        }
        Some(path) => {
            Err(Failure::Usage(format!("{} is there already; nothing is written over", path.display())))
        }
        None => make(args),
    }
}

fn make(args: &ChainSpecArgs) -> Result<(), Failure> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(Failure::runtime)?;
    let secret = Ed25519Secret::from_seed(&seed);
    let pace = Pace { gas_limit: args.gas_limit, block_ms: args.block_ms, slot_ms: args.slot_ms };
    let chain = args.chain.chain(args.genesis.as_deref(), &pace, &secret)?;
    let addresses = args.addresses(chain.params.validators)?;
    let mut jam = chain.jam();
    jam.fixed_addresses = Some(addresses.clone());
    let spec = jam.spec(&addresses);
    let directory = &args.out;
    let failed = |why: std::io::Error| Failure::Usage(format!("{}: {why}", directory.display()));
    std::fs::create_dir_all(directory).map_err(failed)?;
    let key = args.directory(KEY);
    let key_failed = |why: std::io::Error| Failure::Usage(format!("{}: {why}", key.display()));
    std::fs::create_dir_all(key).map_err(key_failed)?;
    write_secret(&key.join(KEY), &hex::encode(seed)).map_err(key_failed)?;
    std::fs::write(directory.join("chain-spec.json"), spec.to_json()).map_err(failed)?;
    std::fs::write(directory.join("genesis.json"), &chain.genesis_json).map_err(failed)?;
    println!("chain        {}", spec.genesis_hash());
    println!("first block  {}", chain.genesis.id());
    println!("service      {} builder {}", chain.config.service, chain.config.builder);
    println!(
        "wrote        chain-spec.json and genesis.json in {}, builder.key in {}",
        directory.display(),
        key.display()
    );
    Ok(())
}

/// Writes a secret that only its owner can read; never over another one.
pub(super) fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")
}
