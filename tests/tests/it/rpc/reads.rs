//! Reads: blocks, transactions, states, logs, filters, on blocks that come, go and become final.

use super::{COUNTER, LOGGER, alice, logged, transfer, world, world_with};
use alloy_primitives::{Address, B256, Bytes, U256, hex};
use harness::blocks::Call;
use rpc::{Config, Limits};
use serde_json::{Value, json};
use state::{AccountKeys, BasicData, Blake2b, PartialTree, Witness};
use std::time::Duration;

#[test]
fn tags_name_the_blocks_they_should() {
    let mut world = world();
    world.seal(&[transfer(0)]);
    world.finalize();
    world.seal(&[transfer(1)]);
    world.open(&[transfer(2)]);
    let number = |tag: &str| world.ok("eth_getBlockByNumber", json!([tag, false]))["number"].clone();
    assert_eq!(["earliest", "finalized", "safe", "latest"].map(number), ["0x0", "0x1", "0x1", "0x2"]);
    let pending = world
        .client()
        .post(br#"{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["pending",true]}"#);
    let pending: Value = serde_json::from_slice(&pending.unwrap().body).unwrap();
    let pending = &pending["result"];
    assert_eq!(
        (&pending["number"], &pending["hash"], &pending["nonce"]),
        (&json!("0x3"), &Value::Null, &Value::Null)
    );
    assert_eq!(pending["transactions"][0]["hash"], json!(transfer(2).hash()));
    assert_eq!(world.ok("eth_blockNumber", json!([])), "0x2");
    assert_eq!(world.ok("eth_getBlockByNumber", json!(["0x4", true])), Value::Null);
    // An omitted block is the latest.
    let nonce = |params: Value| world.ok("eth_getTransactionCount", params);
    assert_eq!(nonce(json!([alice().address()])), "0x2");
    assert_eq!(nonce(json!([alice().address(), "pending"])), "0x3");
    assert_eq!(nonce(json!([alice().address(), "finalized"])), "0x1");
    assert_eq!(nonce(json!([alice().address(), { "blockNumber": "0x0" }])), "0x0");
    let hash = world.latest().id().hash;
    assert_eq!(nonce(json!([alice().address(), { "blockHash": hash, "requireCanonical": true }])), "0x2");
    assert_eq!(world.error("eth_getBalance", json!([alice().address(), "0x9"]))["code"], -32000);
}

#[test]
fn blocks_are_the_same_in_memory_and_in_the_archive() {
    let mut world = world();
    let id = world.seal(&[transfer(0), logged(1)]);
    let seen = |world: &harness::rpc_world::World| {
        let hash = transfer(0).hash();
        [
            world.ok("eth_getBlockByHash", json!([id.hash, true])),
            world.ok("eth_getBlockByNumber", json!(["0x1", false])),
            world.ok("eth_getBlockReceipts", json!(["0x1"])),
            world.ok("eth_getTransactionByHash", json!([hash])),
            world.ok("eth_getTransactionReceipt", json!([hash])),
            world.ok("eth_getTransactionByBlockHashAndIndex", json!([id.hash, "0x1"])),
            world.ok("eth_getTransactionByBlockNumberAndIndex", json!(["0x1", "0x1"])),
            world.ok("eth_getBlockTransactionCountByNumber", json!(["0x1"])),
            world.ok("eth_getBlockTransactionCountByHash", json!([id.hash])),
            world.ok("eth_getUncleCountByBlockNumber", json!(["0x1"])),
            world.ok("eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": "0x1" }])),
            world.ok("eth_getLogs", json!([{ "blockHash": id.hash }])),
            world.ok("debug_getRawBlock", json!(["0x1"])),
            world.ok("debug_getRawHeader", json!([id.hash])),
            world.ok("debug_getRawReceipts", json!(["0x1"])),
            world.ok("debug_getRawTransaction", json!([hash])),
        ]
    };
    let before = seen(&world);
    assert_eq!(before[10], before[11]);
    assert_eq!(before[10][0]["address"], json!(LOGGER));
    let raw = hex::decode(before[12].as_str().unwrap()).unwrap();
    assert_eq!(
        before[0]["size"],
        json!(format!("{:#x}", raw.len())),
        "the size is that of the encoded block"
    );
    world.finalize();
    world.keep_states(1);
    world.seal(&[]);
    world.finalize();
    assert!(world.is_archived(1) && world.feed.snapshot().by_number(1).is_none());
    assert_eq!(seen(&world), before);
    let error = world.error("eth_getBalance", json!([alice().address(), "0x0"]));
    assert_eq!(error["message"], "the state of block 0 is not kept; the oldest is that of block 2");
}

#[test]
fn a_transaction_is_found_while_it_waits() {
    let mut world = world();
    let tx = transfer(0);
    let receipt =
        |world: &harness::rpc_world::World| world.ok("eth_getTransactionReceipt", json!([tx.hash()]));
    let raw = json!([tx.encoded()]);
    assert_eq!(world.ok("eth_getTransactionByHash", json!([tx.hash()])), Value::Null);
    assert_eq!(world.ok("eth_sendRawTransaction", raw.clone()), json!(tx.hash()));
    let found = world.ok("eth_getTransactionByHash", json!([tx.hash()]));
    assert_eq!((&found["hash"], &found["blockHash"]), (&json!(tx.hash()), &Value::Null));
    assert_eq!(receipt(&world), Value::Null);
    assert_eq!(world.ok("eth_getTransactionCount", json!([alice().address(), "pending"])), "0x1");
    assert_eq!(world.ok("eth_getTransactionCount", json!([alice().address(), "latest"])), "0x0");
    assert_eq!(world.ok("builder_transaction", json!([tx.hash()]))["status"], "pending");
    assert_eq!(world.error("eth_sendRawTransaction", raw)["message"], "already known");
    world.seal(std::slice::from_ref(&tx));
    assert_eq!(receipt(&world)["status"], "0x1");
    assert_eq!(world.ok("builder_transaction", json!([tx.hash()]))["status"], "bundled");
    world.finalize();
    let way = world.ok("builder_transaction", json!([tx.hash()]));
    assert_eq!((&way["status"], &way["times"]["sealed"]), (&json!("finalized"), &json!(1)));
    assert_eq!(world.ok("builder_transaction", json!([B256::ZERO])), Value::Null);
}

#[test]
fn proofs_prove_what_they_show() {
    let mut world = world();
    world.seal(&[alice().eip1559(Call { gas_limit: 100_000, ..Call::to(COUNTER, 0) })]);
    let header = world.latest().header().clone();
    let proof = world.ok("eth_getProof", json!([COUNTER, ["0x0", B256::with_last_byte(9)], "latest"]));
    let open = |proof: &Value| {
        let [bytes] = proof.as_array().unwrap().as_slice() else { panic!("one element: {proof}") };
        let witness = Witness::decode(&hex::decode(bytes.as_str().unwrap()).unwrap()).unwrap();
        witness.verify::<Blake2b>(header.state_root).unwrap()
    };
    let keys = AccountKeys::<Blake2b>::new(COUNTER);
    let account: PartialTree = open(&proof["accountProof"]);
    let basic = BasicData::decode(&account.get(&keys.basic_data()).unwrap().unwrap()).unwrap();
    assert_eq!(
        (format!("{:#x}", basic.nonce), format!("{:#x}", basic.balance)),
        ("0x1".to_owned(), "0x0".to_owned())
    );
    assert_eq!(proof["codeHash"], json!(account.get(&keys.code_hash()).unwrap().unwrap()));
    let slots = proof["storageProof"].as_array().unwrap();
    assert_eq!((&slots[0]["key"], &slots[0]["value"]), (&json!("0x0"), &json!("0x1")));
    let slot = open(&slots[0]["proof"]).get(&keys.slot(U256::ZERO)).unwrap();
    assert_eq!(slot, Some(B256::with_last_byte(1)));
    assert_eq!(open(&slots[1]["proof"]).get(&keys.slot(U256::from(9))).unwrap(), None);
    assert_eq!((&slots[1]["key"], &slots[1]["value"]), (&json!(B256::with_last_byte(9)), &json!("0x0")));
}

#[test]
fn filters_tell_what_is_new_and_what_was_given_up() {
    let mut world = world();
    let logs = world.ok("eth_newFilter", json!([{ "address": LOGGER }]));
    let other = world.ok("eth_newFilter", json!([{ "address": COUNTER }]));
    let heads = world.ok("eth_newBlockFilter", json!([]));
    let waiting = world.ok("eth_newPendingTransactionFilter", json!([]));
    let tx = logged(0);
    world.ok("eth_sendRawTransaction", json!([tx.encoded()]));
    let first = world.seal(std::slice::from_ref(&tx));
    let until = |world: &harness::rpc_world::World, filter: &Value, count: usize| {
        let mut all = vec![];
        while all.len() < count {
            let new = world.ok("eth_getFilterChanges", json!([filter]));
            all.extend(new.as_array().unwrap().iter().cloned());
        }
        all
    };
    assert_eq!(until(&world, &heads, 1), [json!(first.hash)]);
    assert_eq!(until(&world, &waiting, 1), [json!(tx.hash())]);
    let new = until(&world, &logs, 1);
    assert_eq!((&new[0]["blockHash"], &new[0]["removed"]), (&json!(first.hash), &json!(false)));
    world.release(1);
    let again = world.seal(std::slice::from_ref(&tx));
    assert_ne!(first.hash, again.hash);
    let new = until(&world, &logs, 2);
    assert_eq!((&new[0]["blockHash"], &new[0]["removed"]), (&json!(first.hash), &json!(true)));
    assert_eq!((&new[1]["blockHash"], &new[1]["removed"]), (&json!(again.hash), &json!(false)));
    assert_eq!(until(&world, &heads, 1), [json!(again.hash)]);
    assert_eq!(world.ok("eth_getFilterChanges", json!([other])), json!([]));
    assert_eq!(world.ok("eth_getFilterLogs", json!([logs])).as_array().unwrap().len(), 1);
    assert_eq!(world.error("eth_getFilterLogs", json!([heads]))["message"], "filter not found");
    assert_eq!(world.ok("eth_uninstallFilter", json!([logs])), true);
    assert_eq!(world.ok("eth_uninstallFilter", json!([logs])), false);
    assert_eq!(world.error("eth_getFilterChanges", json!([logs]))["message"], "filter not found");
}

#[test]
fn filters_expire_and_are_limited() {
    let limits = Limits { filter_ttl: Duration::ZERO, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let filter = world.ok("eth_newBlockFilter", json!([]));
    assert_eq!(world.error("eth_getFilterChanges", json!([filter]))["message"], "filter not found");
    let limits = Limits { filters_max: 2, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let used = world.ok("eth_newBlockFilter", json!([]));
    let changes = |filter: &Value| world.call("eth_getFilterChanges", json!([filter]));
    assert_eq!(changes(&used), Ok(json!([])));
    let unused = world.ok("eth_newBlockFilter", json!([]));
    let newest = world.ok("eth_newBlockFilter", json!([]));
    assert_eq!(changes(&unused).unwrap_err()["message"], "filter not found", "it gave way");
    assert_eq!((changes(&used), changes(&newest)), (Ok(json!([])), Ok(json!([]))), "what is used stays");
}

#[test]
fn logs_are_bounded() {
    let limits = Limits { logs_max: 2, log_blocks_max: 3, filter_items_max: 2, ..Limits::default() };
    let mut world = world_with(Config { limits, ..Config::default() });
    for nonce in 0..4 {
        world.seal(&[logged(nonce)]);
    }
    let logs = |from: &str, to: &str| json!([{ "fromBlock": from, "toBlock": to }]);
    assert_eq!(world.ok("eth_getLogs", logs("0x1", "0x2")).as_array().unwrap().len(), 2);
    assert_eq!(world.error("eth_getLogs", logs("0x1", "0x3"))["code"], -32005);
    assert_eq!(world.error("eth_getLogs", logs("0x1", "0x4"))["code"], -32602);
    assert_eq!(world.error("eth_getLogs", logs("0x1", "0x5"))["code"], -32602);
    assert_eq!(world.error("eth_getLogs", logs("0x2", "0x1"))["code"], -32602);
    let three = [Address::ZERO; 3];
    assert_eq!(world.error("eth_getLogs", json!([{ "address": three }]))["code"], -32000);
    assert_eq!(world.error("eth_getLogs", json!([{ "topics": [[], [], [], [], []] }]))["code"], -32000);
    assert_eq!(world.error("eth_getLogs", json!([{ "blockHash": B256::ZERO }]))["code"], -32000);
    let both = json!([{ "blockHash": B256::ZERO, "fromBlock": "0x1" }]);
    assert_eq!(world.error("eth_getLogs", both)["code"], -32602);
}

#[test]
fn what_does_not_exist_is_shown_as_go_ethereum_shows_it() {
    let world = world();
    let nobody = world.ok("eth_getProof", json!([Address::repeat_byte(9), [], "latest"]));
    assert_eq!((&nobody["codeHash"], &nobody["storageHash"]), (&json!(B256::ZERO), &json!(B256::ZERO)));
    let raw = |method: &str, at: Value| {
        let answer = world.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": [at] }));
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    assert_eq!(raw("debug_getRawHeader", json!("0x99"))["result"], "0x");
    assert_eq!(raw("debug_getRawBlock", json!("0x99"))["result"], "0x");
    assert_eq!(raw("debug_getRawBlock", json!(B256::ZERO))["error"]["code"], -32000);
    assert_eq!(raw("debug_getRawReceipts", json!("0x99"))["result"], Value::Null);
    assert_eq!(raw("debug_getRawReceipts", json!(B256::ZERO))["result"], json!([]));
    assert_eq!(raw("eth_getHeaderByNumber", json!("0x8000000000000000"))["error"]["code"], -32602);
    let many = (0..1_025).map(|slot| B256::from(U256::from(slot))).collect::<Vec<_>>();
    let error = world.error("eth_getStorageValues", json!([{ COUNTER.to_string(): many }]));
    assert_eq!(error["code"], -38026);
}

#[test]
fn the_rest_answers_too() {
    let mut world = world();
    world.seal(&[transfer(0), transfer(1)]);
    let tip = world.ok("eth_maxPriorityFeePerGas", json!([]));
    assert_eq!(tip, "0x3b9aca00", "what the others paid");
    let base = world.ok("eth_baseFee", json!([]));
    assert_eq!(base, "0x3b9aca00");
    assert_eq!(world.ok("eth_gasPrice", json!([])), "0x77359400");
    assert_eq!(world.ok("eth_blobBaseFee", json!([])), "0x1");
    let history = world.ok("eth_feeHistory", json!(["0x5", "latest", [0, 50, 100]]));
    assert_eq!(
        (&history["oldestBlock"], history["baseFeePerGas"].as_array().unwrap().len()),
        (&json!("0x0"), 3)
    );
    assert_eq!(history["reward"][1], json!(["0x3b9aca00", "0x3b9aca00", "0x3b9aca00"]));
    assert_eq!(history["blobGasUsedRatio"], json!([0, 0]), "nothing is a whole number");
    assert_eq!(world.ok("eth_feeHistory", json!(["1", "latest", []]))["oldestBlock"], "0x1");
    let nothing = world.post(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_feeHistory", "params": [0, "latest", [2, 1]] }),
    );
    let nothing = serde_json::from_slice::<Value>(&nothing.body).unwrap()["result"].clone();
    assert_eq!(nothing, json!({ "oldestBlock": "0x0", "gasUsedRatio": null }));
    assert_eq!(world.error("eth_feeHistory", json!(["0x1", "latest", [2, 1]]))["code"], -32000);
    assert_eq!(world.error("eth_feeHistory", json!(["0x1", "0x9", []]))["code"], -32000);
    assert_eq!(world.ok("eth_chainId", json!([])), "0xb2eae");
    assert_eq!(world.ok("net_version", json!([])), "732846");
    assert_eq!(world.ok("eth_syncing", json!([])), false);
    assert_eq!(world.ok("eth_accounts", json!([])), json!([]));
    let hash = world.ok("web3_sha3", json!([Bytes::new()]));
    assert_eq!(hash, "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
    for method in [
        "eth_config",
        "eth_capabilities",
        "eth_coinbase",
        "net_listening",
        "net_peerCount",
        "rpc_modules",
        "web3_clientVersion",
        "txpool_status",
        "txpool_content",
        "txpool_inspect",
        "builder_status",
        "builder_queue",
        "debug_getBadBlocks",
        "eth_mining",
        "eth_hashrate",
    ] {
        assert_ne!(world.ok(method, json!([])), Value::Null, "{method}");
    }
    assert_eq!(world.ok("builder_bundle", json!(["B-7"])), Value::Null);
    let values = json!([{ COUNTER.to_string(): ["0x0"] }, "latest"]);
    assert_eq!(world.ok("eth_getStorageValues", values)[format!("{COUNTER:#x}")], json!([B256::ZERO]));
}
