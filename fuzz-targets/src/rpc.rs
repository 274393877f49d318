//! The body of a JSON-RPC request: the answer is JSON-RPC too, and nothing that a client can send is the node's fault.

use alloy_primitives::{Address, Bytes, U256};
use harness::{
    blocks::{Call, Wallet, contracts},
    rpc_world::World,
};
use rpc::{Caller, Config, Limits};
use serde_json::{Value, json, value::RawValue};
use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

const TOKEN: Address = Address::repeat_byte(0x70);

/// One node for all bodies: starting one takes longer than a thousand answers. What stays of a body is bounded, as it is
/// in every node.
static WORLD: LazyLock<Mutex<World>> = LazyLock::new(|| Mutex::new(world()));

/// Blocks with a transfer, calls and a creation; one of them final, one open, and a transaction that waits.
fn world() -> World {
    let limits = Limits {
        call_gas_max: 300_000,
        call_timeout: Duration::from_secs(5),
        receipt_timeout: Duration::from_millis(2),
        receipt_timeout_max: Duration::from_millis(4),
        filters_max: 16,
        ..Limits::default()
    };
    let rich = |index| (Wallet::new(index).address(), U256::from(u128::MAX >> 8), Bytes::new());
    let code = |byte, code: Bytes| (Address::repeat_byte(byte), U256::ZERO, code);
    let accounts = [
        rich(0),
        rich(1),
        code(0x70, contracts::erc20()),
        code(0x71, contracts::LOG.into()),
        code(0x73, contracts::SPIN.into()),
    ];
    let mut world = World::new(Config { limits, ..Config::default() }, &accounts);
    let send = |nonce, call: Call| Wallet::new(0).eip1559(Call { nonce, gas_limit: 200_000, ..call });
    world.seal(&[send(0, Call::transfer(Address::repeat_byte(9), 0, 1))]);
    world.finalize();
    let token = Call { input: contracts::erc20_transfer(Address::ZERO, 5), ..Call::to(TOKEN, 0) };
    let log = Call { input: Bytes::from_static(b"log"), ..Call::to(Address::repeat_byte(0x71), 0) };
    world.seal(&[send(1, token), send(2, log), send(3, Call::create(contracts::deploy(contracts::LOG), 0))]);
    world.open(&[send(4, Call::transfer(Address::repeat_byte(9), 0, 2))]);
    world
}

/// This world has no accounts, and the method that signs typed data is not in it. What it reads is read all the same.
fn read_typed_data(bytes: &[u8]) {
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else { return };
    if body["method"] == "eth_signTypedData_v4"
        && let Ok(preimage) = node::sender::typed_data_preimage(body["params"][1].clone())
    {
        assert_eq!(preimage.len(), 66);
    }
}

pub(super) fn run(bytes: &[u8]) {
    read_typed_data(bytes);
    let world = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    let caller = Caller { operator: bytes.len() % 2 == 1, ..Caller::default() };
    let Some(answer) = world.runtime.block_on(world.api.answer(&caller, bytes)) else { return };
    if answer.starts_with(b"[") {
        let answers = serde_json::from_slice::<Vec<Answer<'_>>>(&answer).expect("answers are JSON");
        assert!(!answers.is_empty() && bytes.trim_ascii_start().starts_with(b"["));
        answers.iter().for_each(check);
    } else {
        check(&serde_json::from_slice(&answer).expect("an answer is JSON"));
    }
}

/// The members of an answer. Its id is what the client wrote, which may be a number that is larger than any that is read.
type Answer<'a> = BTreeMap<&'a str, &'a RawValue>;

fn check(answer: &Answer<'_>) {
    assert_eq!(answer.get("jsonrpc").map(|version| version.get()), Some("\"2.0\""));
    let id = answer.get("id").expect("an answer has an id").get();
    assert!(!id.starts_with(['{', '[', 't', 'f']), "{id} is no id");
    assert_eq!(answer.len(), 3);
    let Some(error) = answer.get("error") else {
        assert!(answer.contains_key("result"));
        return;
    };
    let error = serde_json::from_str::<Value>(error.get()).expect("an error can be read");
    let code = error["code"].as_i64().expect("an error has a code");
    assert_ne!(code, i64::from(rpc::error::INTERNAL), "{error}");
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let call =
        json!({"from": Wallet::new(0).address(), "to": TOKEN, "data": contracts::erc20_transfer(TOKEN, 1)});
    let tx = Wallet::new(1).eip1559(Call::transfer(TOKEN, 0, 1));
    let (account, hash, raw) = (Wallet::new(0).address(), tx.hash(), tx.encoded());
    let filter = json!({"fromBlock": "0x0", "toBlock": "latest", "address": TOKEN, "topics": [null, [hash]]});
    let over = json!({account.to_string(): {"balance": "0x1", "nonce": "0x7", "code": "0x5f5ff3",
        "stateDiff": {hash.to_string(): hash}}});
    let simulated = json!({"blockStateCalls": [{"blockOverrides": {"number": "0x9", "time": "0xffffffff"},
        "stateOverrides": over, "calls": [call, {"from": account, "input": "0x5f5ff3"}]}],
        "validation": false, "traceTransfers": true, "returnFullTransactions": true});
    let field = |name: &str, kind: &str| json!({"name": name, "type": kind});
    let typed = json!({"types": {"EIP712Domain": [field("name", "string"), field("chainId", "uint256")],
        "Leaf": [field("grid", "uint8[2][]"), field("who", "address")],
        "Order": [field("leaves", "Leaf[]"), field("note", "bytes"), field("id", "int64")]},
        "primaryType": "Order", "domain": {"name": "shop", "chainId": 732846},
        "message": {"leaves": [{"grid": [[1, 2]], "who": account}], "note": "0x00ff", "id": "-5"}});
    let calls = [
        ("eth_blockNumber", json!([])),
        ("eth_getBlockByNumber", json!(["latest", true])),
        ("eth_getBlockByHash", json!([hash, false])),
        ("eth_getHeaderByNumber", json!(["finalized"])),
        ("eth_getBlockReceipts", json!(["0x2"])),
        ("eth_getBlockTransactionCountByNumber", json!(["pending"])),
        ("eth_call", json!([call, "latest", over, {"baseFeePerGas": "0x0"}])),
        ("eth_estimateGas", json!([call, "0x1"])),
        ("eth_createAccessList", json!([call, {"blockHash": hash}])),
        ("eth_simulateV1", json!([simulated, "latest"])),
        ("eth_fillTransaction", json!([call])),
        ("eth_feeHistory", json!(["0x3", "latest", [1.5, 50, 99]])),
        ("eth_gasPrice", json!([])),
        ("eth_getLogs", json!([filter])),
        ("eth_newFilter", json!([filter])),
        ("eth_newBlockFilter", json!([])),
        ("eth_newPendingTransactionFilter", json!([true])),
        ("eth_getFilterChanges", json!(["0x1"])),
        ("eth_getFilterLogs", json!(["0x1"])),
        ("eth_uninstallFilter", json!(["0x1"])),
        ("eth_syncing", json!([])),
        ("eth_sendRawTransaction", json!([raw])),
        ("eth_sendRawTransactionSync", json!([raw, 1])),
        ("eth_getBalance", json!([account, "safe"])),
        ("eth_getTransactionCount", json!([account, "pending"])),
        ("eth_getCode", json!([TOKEN, "earliest"])),
        ("eth_getStorageAt", json!([TOKEN, "0x0", {"blockNumber": "0x1", "requireCanonical": true}])),
        ("eth_getProof", json!([TOKEN, ["0x0", hash], "latest"])),
        ("eth_getStorageValues", json!([{TOKEN.to_string(): [hash]}, "latest"])),
        ("eth_getTransactionByHash", json!([hash])),
        ("eth_getTransactionByBlockNumberAndIndex", json!(["0x2", "0x1"])),
        ("eth_getTransactionReceipt", json!([hash])),
        ("debug_getRawBlock", json!(["0x1"])),
        (
            "debug_traceTransaction",
            json!([hash, {"tracer": "prestateTracer", "tracerConfig": {"diffMode": true}}]),
        ),
        (
            "debug_traceBlockByNumber",
            json!(["0x2", {"tracer": "callTracer", "tracerConfig": {"withLog": true}}]),
        ),
        ("debug_traceCall", json!([call, "latest", {"stateOverrides": over, "disableStorage": true}])),
        ("trace_block", json!(["0x2"])),
        ("txpool_content", json!([])),
        ("txpool_contentFrom", json!([account])),
        ("txpool_inspect", json!([])),
        ("builder_status", json!([])),
        ("builder_queue", json!([])),
        ("builder_bundle", json!([1])),
        ("builder_transaction", json!([hash])),
        ("builder_release", json!([0])),
        ("builder_flushSender", json!([account])),
        ("web3_sha3", json!(["0x00"])),
        ("eth_signTypedData_v4", json!([account, typed])),
    ];
    let request = |(method, params): &(&str, Value)| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let name = |(method, _): &(&str, Value)| (*method).to_owned();
    let mut seeds =
        calls.iter().map(|one| (name(one), request(one).to_string().into_bytes())).collect::<Vec<_>>();
    let batch = Value::Array(calls[..3].iter().chain(&calls[21..22]).map(request).collect());
    seeds.push(("batch".into(), batch.to_string().into_bytes()));
    seeds
}
