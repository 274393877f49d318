//! States of the past, asked of a real node: the same answers when the blocks are new, when they have left memory, and after a
//! restart; and what is said when they are not kept.

use super::{Network, text};
use serde_json::{Value, json};

const PAID: &str = "0x00000000000000000000000000000000000000f1";
/// Blocks that are made.
const BLOCKS: u64 = 9;

/// Pays in a block of its own; the transaction's hash.
fn pay(network: &Network) -> String {
    let hash = network.paid(PAID);
    // The node may have sealed it by itself.
    while network.call("eth_getTransactionReceipt", json!([hash])).unwrap().is_null() {
        let _ = network.call("evm_mine", json!([]));
    }
    hash
}

/// Everything that can be asked about the state after a block, and of the transaction in it.
fn seen(network: &Network, hash: &str) -> Value {
    let receipt = network.call("eth_getTransactionReceipt", json!([hash])).unwrap();
    let (block, faucet) = (&receipt["blockNumber"], &receipt["from"]);
    let call = json!({ "from": faucet, "to": PAID, "value": "0x1" });
    // ADDRESS BALANCE PUSH0 MSTORE PUSH1 32 PUSH0 RETURN: code that is only there for this call.
    let overridden = json!({ PAID: { "code": "0x30315f5260205ff3" } });
    let ask = |method: &str, params: Value| network.call(method, params).unwrap();
    let simulated = ask("eth_simulateV1", json!([{ "blockStateCalls": [{ "calls": [call] }] }, block]));
    json!({
        "receipt": receipt,
        "block": ask("eth_getBlockByHash", json!([receipt["blockHash"], true])),
        "transaction": ask("eth_getTransactionByHash", json!([hash])),
        "balance": ask("eth_getBalance", json!([PAID, block])),
        "by hash": ask("eth_getBalance", json!([PAID, { "blockHash": receipt["blockHash"] }])),
        "nonce": ask("eth_getTransactionCount", json!([faucet, block])),
        "code": ask("eth_getCode", json!([PAID, block])),
        "slot": ask("eth_getStorageAt", json!([PAID, "0x0", block])),
        "call": ask("eth_call", json!([{ "to": PAID }, block, overridden])),
        "access list": ask("eth_createAccessList", json!([call, block])),
        "simulated": simulated[0]["calls"],
        "debug": ask("debug_traceTransaction", json!([hash, { "tracer": "callTracer" }])),
        "trace": ask("trace_transaction", json!([hash])),
    })
}

fn number(seen: &Value) -> u64 {
    u64::from_str_radix(seen["receipt"]["blockNumber"].as_str().unwrap().trim_start_matches("0x"), 16)
        .unwrap()
}

#[test]
fn the_state_of_any_block_can_be_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let start = |more: &[&str]| {
        let usual = ["--data-dir", text(&data), "--empty-blocks", "0", "--proof-window", "2"];
        Network::start(&[&usual[..], more].concat())
    };
    let network = start(&[]);
    let mut asked = Vec::new();
    for _ in 0..BLOCKS {
        let hash = pay(&network);
        asked.push((hash.clone(), seen(&network, &hash)));
    }
    let ether = 10_u128.pow(18);
    for (count, (_, seen)) in (1..).zip(&asked) {
        let balance = format!("{:#x}", count * ether);
        assert_eq!((&seen["balance"], &seen["by hash"]), (&json!(balance), &json!(balance)));
        let word = seen["call"].as_str().unwrap().trim_start_matches("0x");
        assert_eq!(u128::from_str_radix(&word[32..], 16).unwrap(), count * ether, "{word}");
    }
    let compare = |network: &Network| {
        for (hash, before) in &asked {
            assert_eq!(seen(network, hash), *before, "block {}", number(before));
        }
    };
    compare(&network);
    network.call("eth_getProof", json!([PAID, [], "latest"])).unwrap();
    let error = network.call("eth_getProof", json!([PAID, [], "0x1"])).unwrap_err();
    assert!(error.contains("--proof-window") && error.contains("do not make a tree"), "{error}");
    network.run(&["tx", &asked.last().unwrap().0, "--wait", "finalized"]).good();
    network.stop();
    let network = start(&[]);
    compare(&network);
    network.stop();
    // With a shorter history the old states go, and nothing else does.
    let network = start(&["--history", "3"]);
    let last = pay(&network);
    network.run(&["tx", &last, "--wait", "finalized"]).good();
    pay(&network);
    let error = network.call("eth_getBalance", json!([PAID, "0x1"])).unwrap_err();
    assert!(error.contains("the state of block 1 is not kept") && error.contains("--history"), "{error}");
    let block = network.call("eth_getBlockByNumber", json!(["0x1", false])).unwrap();
    assert_eq!(block["hash"], asked[0].1["receipt"]["blockHash"]);
    network.stop();
}
