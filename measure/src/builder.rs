//! A builder to measure: a process of its own, with validators in this one, so that what they cost is not counted.

use alloy_primitives::hex;
use devnet::{Devnet, genesis::SERVICE};
use harness::{blocks::Wallet, process::Pectin};
use jam::{Ed25519Secret, keys::trivial_seed};
use serde_json::json;
use service::genesis::Genesis;

pub(super) const CHAIN_ID: u64 = 732846;
/// Ten thousand ether.
pub(super) const BALANCE: &str = "0x21e19e0c9bab2400000";
/// The header with the operator's token, for what only the operator may ask.
pub(super) const OPERATOR: (&str, &str) = ("authorization", "Bearer the-token-of-a-builder-0123456789");
const BUILDER: u32 = 99;

/// A builder with validators in this process.
pub(super) struct Builder {
    pub(super) pectin: Pectin,
    pub(super) url: String,
    _network: (Devnet, tokio::runtime::Runtime),
    _files: tempfile::TempDir,
}

impl Builder {
    pub(super) fn start(wallets: &[Wallet], slot_ms: u64) -> Result<Self, String> {
        let text = |why: &dyn std::fmt::Display| why.to_string();
        let secret = Ed25519Secret::trivial(BUILDER);
        let service = service::Config::native(SERVICE, secret.public());
        let alloc =
            wallets.iter().map(|wallet| (wallet.address().to_string(), json!({ "balance": BALANCE })));
        let alloc = alloc.collect::<serde_json::Map<_, _>>();
        let genesis_json = json!({ "config": { "chainId": CHAIN_ID }, "gasLimit": "0x7270e00", "difficulty": "0x0", "alloc": alloc });
        let genesis = Genesis::from_json(&genesis_json.to_string(), &service).map_err(|why| text(&why))?;
        let runtime = tokio::runtime::Runtime::new().map_err(|why| text(&why))?;
        let config = devnet::Config { slot_ms, ..devnet::Config::new(service, genesis.id()) };
        let devnet = runtime.block_on(Devnet::start(config)).map_err(|why| text(&why))?;
        let files = tempfile::tempdir().map_err(|why| text(&why))?;
        let write = |name: &str, content: &str| {
            let path = files.path().join(name);
            std::fs::write(&path, content).map(|()| path.display().to_string()).map_err(|why| why.to_string())
        };
        let spec = write("chain-spec.json", &devnet.chain_spec().to_json())?;
        let genesis = write("genesis.json", &genesis_json.to_string())?;
        let key = write("builder.key", &hex::encode(trivial_seed(BUILDER)))?;
        let token = write("token", OPERATOR.1.trim_start_matches("Bearer "))?;
        let password = write("password", "of accounts that a ratio makes")?;
        let data = files.path().join("data").display().to_string();
        let mut arguments = vec!["node", "--chain-spec", &spec, "--genesis", &genesis, "--builder-key", &key];
        let slot_ms = slot_ms.to_string();
        arguments.extend(["--slot-ms", &slot_ms, "--data-dir", &data, "--http-port", "0"]);
        arguments.extend(["--pool-pending-max", "1000000", "--pool-queued-max", "1000000"]);
        arguments.extend(["--pool-sender-max", "1000000"]);
        arguments.extend(["--token-file", &token, "--sender-password-file", &password]);
        let mut pectin = Pectin::start(arguments).map_err(|why| text(&why))?;
        let ready = pectin.wait_for("RPC on http://")?;
        let url = ready.split("RPC on ").nth(1).unwrap_or_default().trim().to_owned();
        Ok(Self { pectin, url, _network: (devnet, runtime), _files: files })
    }
}
