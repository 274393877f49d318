//! What makes a development network comfortable, and what another one does not have.

use super::{Network, run, text};
use harness::process::Pectin;
use serde_json::{Value, json};

const SOMEBODY: &str = "0x00000000000000000000000000000000000000aa";

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn a_block_is_mined_when_asked_for() {
    let network = Network::start(&["--block-ms", "3600000"]);
    let height = || number(&network.call("eth_blockNumber", json!([])).unwrap());
    assert_eq!(height(), 0);
    assert_eq!(network.call("evm_mine", json!([])).unwrap(), "0x0");
    assert_eq!(height(), 1, "it can be seen when the call returns");
    let hash = network.paid(SOMEBODY);
    assert_eq!(network.call("evm_mine", json!([])).unwrap(), "0x0");
    let receipt = network.call("eth_getTransactionReceipt", json!([hash])).unwrap();
    assert_eq!(number(&receipt["blockNumber"]), 2);
    // The block goes the way of every other.
    network.run(&["tx", &hash, "--wait", "finalized"]).good();
    assert!(network.call("evm_mine", json!([1])).unwrap_err().contains("cannot be chosen"));
    assert!(network.call("evm_increaseTime", json!([1])).unwrap_err().contains("does not exist"));
}

#[test]
fn the_faucet_pays_with_real_transactions() {
    let network = Network::start(&[]);
    let paid = (0..5).map(|_| network.paid(SOMEBODY)).collect::<Vec<_>>();
    let two_gwei = network.call("dev_faucet", json!([SOMEBODY, "0x77359400"])).unwrap();
    network.run(&["tx", two_gwei.as_str().unwrap(), "--wait", "finalized"]).good();
    let balance = network.call("eth_getBalance", json!([SOMEBODY, "finalized"])).unwrap();
    assert_eq!(balance, format!("{:#x}", 5 * 10_u128.pow(18) + 2 * 10_u128.pow(9)));
    assert_eq!(paid.iter().collect::<std::collections::BTreeSet<_>>().len(), 5);
    assert!(network.call("dev_faucet", json!(["0x12"])).unwrap_err().contains("invalid argument 0"));
    assert!(network.call("dev_faucet", json!([])).unwrap_err().contains("missing value"));
    let all = format!("{:#x}", 10_u128.pow(30));
    assert!(network.call("dev_faucet", json!([SOMEBODY, all])).unwrap_err().contains("insufficient funds"));
}

#[test]
fn accounts_are_written_for_programs() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dev.json");
    let network = Network::start(&["--config-out", text(&file), "--accounts", "3"]);
    let config = serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(config["rpcUrl"], network.url.as_str());
    assert_eq!(config["chainId"], 732846);
    let accounts = config["accounts"].as_array().unwrap();
    assert_eq!(accounts.len(), 3);
    assert_eq!(accounts[0]["address"], "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266");
    for account in accounts {
        let balance = network.call("eth_getBalance", json!([account["address"], "latest"])).unwrap();
        assert_eq!(
            balance.as_str().unwrap(),
            format!("{:#x}", config["balanceWei"].as_str().unwrap().parse::<u128>().unwrap())
        );
    }
    let nowhere = directory.path().join("no/such/directory.json");
    run(&["dev", "--http-port", "0", "--config-out", text(&nowhere)]).refused(2, "directory.json");
}

#[test]
fn a_dry_run_builds_and_never_submits() {
    let mut network = Network::start(&["--dry-run"]);
    let hash = network.paid(SOMEBODY);
    network.run(&["tx", &hash, "--wait", "sealed"]).good();
    // Several windows pass; the block is built and stays where it is.
    let height = |network: &Network| network.call("builder_status", json!([])).unwrap()["bestSlot"].as_u64();
    let first = height(&network).unwrap_or_default();
    while height(&network).unwrap_or_default() < first + 5 {
        std::thread::yield_now();
    }
    let status = network.call("builder_status", json!([])).unwrap();
    assert_eq!(
        (&status["totals"]["packages"], &status["totals"]["sends"]),
        (&json!(0), &json!(0)),
        "{status}"
    );
    assert_eq!(network.run(&["tx", &hash, "--json"]).json()["status"], "bundled");
    network.pectin.terminate();
    assert!(network.pectin.wait().unwrap().success());
    assert!(!network.pectin.log.iter().any(|line| line.contains("bundle submitted")));
}

/// A network of separate processes: what only a development network has is not there, and orders need the token.
#[test]
fn a_builder_has_no_faucet_and_keeps_its_tools_to_the_operator() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| text(&directory.path().join(name)).to_owned();
    let port = harness::ports::reserve().unwrap().to_string();
    run(&["chain-spec", "--out", &path("net"), "--cores", "1", "--validator-port", &port]).good();
    let (spec, genesis, key) =
        (path("net/chain-spec.json"), path("net/genesis.json"), path("net/builder.key"));
    let arguments = [
        "node",
        "--chain-spec",
        &spec,
        "--genesis",
        &genesis,
        "--builder-key",
        &key,
        "--data-dir",
        &path("data"),
        "--http-port",
        "0",
    ];
    let mut pectin = Pectin::start(arguments).unwrap();
    let line = pectin.wait_for("RPC on").unwrap();
    let url = line.split_whitespace().last().unwrap().to_owned();
    let network = Network { pectin, url };
    for method in ["evm_mine", "dev_faucet"] {
        assert!(network.call(method, json!([])).unwrap_err().contains("does not exist"), "{method}");
    }
    for (method, params) in
        [("builder_backup", json!([path("x")])), ("builder_bundleFile", json!([1, "bundle.json"]))]
    {
        assert!(network.call(method, params).unwrap_err().contains("only for the operator"), "{method}");
    }
    let backup = path("backup");
    network.run(&["db", "backup", "--data-dir", &path("data"), "--to", &backup]).good();
    network.stop();
    assert!(run(&["db", "check", "--data-dir", &backup]).good().contains("is sound"));
}
