//! What a node needs around it: validators in this process, files, and a wire to cut.

use super::{child::Recipe, fake_clock::FakeClock, wire::Wires};
use alloy_primitives::{Address, U256, hex};
use devnet::{Devnet, authorizer::Authorizer, execution::SERVICES, genesis::SERVICE};
use harness::{blocks::Wallet, devnet::Setup};
use jam::Ed25519Secret;
use serde_json::json;
use service::{accumulate::ServiceState, genesis::Genesis};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use types::BlockId;

/// Who gets the fees.
pub(super) const FEES: Address = Address::repeat_byte(0xfe);
/// What each account begins with, in wei.
pub(super) const FUNDS_WEI: u128 = 10_u128.pow(21);
/// The builder's key.
const SEED: [u8; 32] = [0x70; 32];

/// The validators, and the files that tell a node of them.
pub(super) struct World {
    /// The validators.
    pub(super) devnet: Devnet,
    /// The wires to them.
    pub(super) wires: Wires,
    /// The EVM chain's beginning.
    pub(super) setup: Setup,
    /// How long a slot lasts.
    pub(super) slot_ms: u64,
    runtime: tokio::runtime::Runtime,
    /// Datagrams shall not wait for validators at work.
    _wiring: tokio::runtime::Runtime,
    directory: tempfile::TempDir,
}

impl World {
    /// Starts the validators of a chain on which these accounts have funds.
    pub(super) fn start(slot_ms: u64, accounts: &[Wallet]) -> Result<Self, String> {
        let text = |why: &dyn std::fmt::Display| why.to_string();
        let directory = tempfile::tempdir().map_err(|why| text(&why))?;
        let threads = |count| {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(count).enable_all().build();
            runtime.map_err(|why| text(&why))
        };
        let (runtime, wiring) = (threads(4)?, threads(1)?);
        let secret = Ed25519Secret::from_seed(&SEED);
        let service = service::Config::native(SERVICE, secret.public()).with_code_hash();
        let genesis_json = genesis_json(&service, accounts);
        let genesis = Genesis::from_json(&genesis_json, &service).map_err(|why| text(&why))?;
        let setup = Setup { service, genesis, secret, authorizer: Authorizer::Builder, services: SERVICES };
        let config = devnet::Config {
            slot_ms,
            authorizer: setup.authorizer,
            data_dir: Some(directory.path().join("validators")),
            ..devnet::Config::new(service, setup.genesis.id())
        };
        let wires = Wires::default();
        let devnet = runtime.block_on(Devnet::start(config)).map_err(|why| text(&why))?;
        let mut spec = devnet.chain_spec().clone();
        for node in &mut spec.bootnodes {
            node.addr = wiring.block_on(wires.lay(node.addr)).map_err(|why| text(&why))?;
        }
        let write = |name: &str, content: &str| {
            fs::write(directory.path().join(name), content).map_err(|why| format!("{name}: {why}"))
        };
        write("chain-spec.json", &spec.to_json())?;
        write("genesis.json", &genesis_json)?;
        write("builder.key", &hex::encode(SEED))?;
        Ok(Self { devnet, wires, setup, slot_ms, runtime, _wiring: wiring, directory })
    }

    /// Where files of this run are.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// How to start a node for it.
    pub(super) fn recipe(&self, binary: PathBuf, more: &[&str]) -> Recipe {
        let path = |name: &str| self.directory().join(name).display().to_string();
        let (spec, genesis, key) = (path("chain-spec.json"), path("genesis.json"), path("builder.key"));
        let (slot_ms, fees) = (self.slot_ms.to_string(), FEES.to_string());
        let mut arguments = ["node", "--chain-spec", &spec, "--genesis", &genesis, "--builder-key", &key]
            .map(str::to_owned)
            .to_vec();
        let rest = ["--slot-ms", &slot_ms, "--fee-recipient", &fees, "--http-port", "0"];
        arguments.extend(rest.into_iter().chain(more.iter().copied()).map(str::to_owned));
        Recipe {
            binary,
            arguments,
            data_dir: self.directory().join("data"),
            log: self.directory().join("node.log"),
            clock: FakeClock::find(self.directory()),
        }
    }

    /// So many slots.
    pub(super) const fn slots(&self, count: u64) -> Duration {
        Duration::from_millis(self.slot_ms * count)
    }

    /// The slot that it is now.
    pub(super) fn slot(&self) -> u32 {
        self.devnet.clock().slot_at(self.devnet.time().now())
    }

    /// Waits for a slot to begin.
    pub(super) fn wait_for_slot(&self, slot: u32) {
        let start = self.devnet.clock().start_of(slot);
        std::thread::sleep(start.since(self.devnet.time().now()));
    }

    /// Takes all validators down.
    pub(super) fn validators_down(&self) {
        for index in 0..self.setup_validators() {
            self.runtime.block_on(self.devnet.stop_validator(index));
        }
    }

    /// Starts all validators again.
    pub(super) fn validators_up(&self) -> Result<(), String> {
        for index in 0..self.setup_validators() {
            self.runtime.block_on(self.devnet.start_validator(index)).map_err(|why| why.to_string())?;
        }
        Ok(())
    }

    fn setup_validators(&self) -> u16 {
        self.devnet.chain_spec().params.validators
    }

    /// The head of the service in each validator's finalized state.
    pub(super) fn service_heads(&self) -> Vec<Option<BlockId>> {
        let head = |index| {
            self.devnet.with_tree(index, |tree| {
                let entries = &tree.finalized().entries;
                let entry = |key: &_| entries.get(key).map(|value| &value[..]);
                ServiceState::from_storage(SERVICE, entry).ok().map(|state| state.head())
            })
        };
        (0..self.setup_validators()).map(|index| head(index).flatten()).collect()
    }

    /// Keeps the files, and says where.
    pub(super) fn keep(self) -> PathBuf {
        self.directory.keep()
    }
}

/// A genesis file in which these accounts have funds.
fn genesis_json(service: &service::Config, accounts: &[Wallet]) -> String {
    let balance = format!("{:#x}", U256::from(FUNDS_WEI));
    let alloc = accounts.iter().map(|wallet| (wallet.address().to_string(), json!({ "balance": balance })));
    let file = json!({
        "config": { "chainId": service.chain_id },
        "gasLimit": format!("{:#x}", service.gas_limit),
        "difficulty": "0x0",
        "alloc": alloc.collect::<serde_json::Map<_, _>>(),
    });
    format!("{file:#}\n")
}
