//! What a run of blocks costs in the gas of JAM's virtual machine, by the service's code as validators run it.
//!
//! `gas --calibrate` measures blocks of all kinds and fits the weights by which builders estimate that gas; `gas --check N` compares the
//! estimate of N random blocks with what the program uses.
//!
//! One block of transfers from as many senders to random accounts, of ether or of a token; and a block without transactions.
//! The gas is the same on every machine.

mod bodies;
mod check;
mod fit;
mod inputs;
mod samples;
mod split;

pub use check::{Checked, check};
pub use fit::calibrate;

use super::block::{Kind, World, call, recipients, world};
use harness::blocks::MemoryChain;
use jam::{Params, WorkResult, codec::Encode};
use pvm::{EngineKind, Limits, Machines, RefineInput};
use service::{Config, accumulate::Claim};
use split::{Listener, Split};
use std::fmt;

/// Gas for a block that is measured.
const GAS_MAX: u64 = 1 << 40;

/// What the judge prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gas {
    /// Of a transfer of ether.
    pub transfer: u64,
    /// Of a transfer of a token.
    pub erc20: u64,
    /// Of a block, beside its transactions.
    pub block: u64,
    /// Transfers of ether that fit into a package of a tiny chain,
    pub package_tiny: u64,
    /// and of a full one.
    pub package_full: u64,
}

impl fmt::Display for Gas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transfer, erc20, block, package_tiny, package_full } = self;
        write!(
            f,
            "gas: transfer={transfer} erc20={erc20} block={block} package_tiny={package_tiny} package_full={package_full}"
        )
    }
}

impl Gas {
    /// Measures a block of so many transfers on a chain with so many accounts. `tell` hears where the gas goes.
    pub fn measure(accounts: u64, transfers: u64, tell: impl Fn(&str)) -> Result<Self, String> {
        let machines = Machines::new(EngineKind::Auto).map_err(|why| why.to_string())?;
        let mut world = world(accounts, transfers);
        package_without_limits(&mut world.chain);
        let empty = used(&machines, &world, None, accounts)?;
        tell(&format!("an empty block: {empty}"));
        let of = |kind, name: &str| {
            let each = used(&machines, &world, Some(kind), accounts)?.beyond(&empty, transfers);
            tell(&format!("each {name}: {each}"));
            Ok::<_, String>(each.total())
        };
        let (transfer, erc20) = (of(Kind::Ether, "transfer")?, of(Kind::Token, "transfer of a token")?);
        let block = empty.total();
        let fits = |params: &Params| params.refine_gas_max.saturating_sub(block) / transfer.max(1);
        let (package_tiny, package_full) = (fits(&Params::TINY), fits(&Params::FULL));
        Ok(Self { transfer, erc20, block, package_tiny, package_full })
    }
}

/// Lets blocks and packages of a chain have any amount of gas and transactions: what is measured may be more than fits.
pub(super) fn package_without_limits(chain: &mut MemoryChain) {
    let bundler = &mut chain.bundler;
    bundler.config = Config { gas_limit: GAS_MAX, ..bundler.config }.with_code_hash();
    bundler.params = Params { refine_gas_max: GAS_MAX, ..Params::FULL };
    bundler.limits = bundler::Limits::new(&bundler.config, &bundler.params);
    bundler.limits.transactions_max = usize::MAX;
    bundler.limits.refine_gas_max = u64::MAX;
}

/// The gas of a block with a transfer from each wallet, or with none.
fn used(machines: &Machines, world: &World, kind: Option<Kind>, accounts: u64) -> Result<Split, String> {
    let mut chain = world.chain.clone();
    let mut open = chain.open();
    if let Some(kind) = kind {
        for (wallet, to) in world.wallets.iter().zip(recipients(kind, accounts, 1)) {
            open.push(&wallet.eip1559(call(kind, to))).map_err(|why| format!("{why:?}"))?;
        }
    }
    let sealed = open.seal(&chain.secret).map_err(|why| why.to_string())?;
    split_of(machines, &chain, &chain.package(&sealed).1)
}

/// The gas of a block's package.
pub(super) fn refined(
    machines: &Machines,
    chain: &MemoryChain,
    sealed: &bundler::Sealed<harness::blocks::Values>,
) -> Result<u64, String> {
    gas_of(machines, chain, &chain.package(sealed).1)
}

/// The gas that the program uses for a bundle.
fn gas_of(machines: &Machines, chain: &MemoryChain, packaged: &bundler::Packaged) -> Result<u64, String> {
    Ok(split_of(machines, chain, packaged)?.total())
}

/// Where it goes.
fn split_of(machines: &Machines, chain: &MemoryChain, packaged: &bundler::Packaged) -> Result<Split, String> {
    let (config, params) = (chain.bundler.config, chain.bundler.params);
    let code = config.code();
    let input = RefineInput {
        params: &params,
        core: 0,
        package: &packaged.bundle.package,
        item: 0,
        trace: &[],
        extrinsics: std::slice::from_ref(&packaged.bundle.extrinsics),
        imports: &[vec![]],
        export_offset: 0,
        output_bytes_max: params.report_output_bytes_max as usize,
        lookup: &|service, hash| {
            (service == config.service && hash == config.code_hash).then(|| code.clone())
        },
        limits: Limits::NONE,
    };
    let gas = packaged.bundle.package.items[0].refine_gas;
    let mut listener = Listener::new(gas);
    let refined = machines.refine_logged(&input, &mut |left, name| listener.hear(left, name));
    let refined = refined.map_err(|why| why.to_string())?;
    match refined.result {
        WorkResult::Output(output) if Claim::decode(&output).is_some() => {
            Ok(listener.end(gas.saturating_sub(refined.gas_used)))
        }
        other => Err(format!("the service does not take its own block: {:02x?}", other.encode())),
    }
}
