//! The body of a JSON-RPC request: the answer is JSON-RPC too, and nothing that a client can send is the node's fault.

use alloy_primitives::{Address, B256, Bytes, U256};
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
use types::Transaction;

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
        && let Ok(preimage) = runtime::managed::typed_data_preimage(body["params"][1].clone())
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
        let answers = serde_json::from_slice::<Vec<Members<'_>>>(&answer).expect("answers are JSON");
        assert!(!answers.is_empty() && bytes.trim_ascii_start().starts_with(b"["));
        answers.iter().for_each(check);
    } else {
        check(&serde_json::from_slice(&answer).expect("an answer is JSON"));
    }
}

/// The members of an answer. Its id is what the client wrote, which may be a number that is larger than any that is read.
type Members<'a> = BTreeMap<&'a str, &'a RawValue>;

fn check(answer: &Members<'_>) {
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

/// What requests are about: an account, a call, a transaction that is in no block, and its hash.
struct Subjects {
    account: Address,
    call: Value,
    tx: Transaction,
    hash: B256,
}

impl Subjects {
    fn new() -> Self {
        let account = Wallet::new(0).address();
        let call = json!({"from": account, "to": TOKEN, "data": contracts::erc20_transfer(TOKEN, 1)});
        let tx = Wallet::new(1).eip1559(Call::transfer(TOKEN, 0, 1));
        Self { account, call, hash: tx.hash(), tx }
    }

    /// State overrides.
    fn overrides(&self) -> Value {
        json!({self.account.to_string(): {"balance": "0x1", "nonce": "0x7", "code": "0x5f5ff3",
            "stateDiff": {self.hash.to_string(): self.hash}}})
    }

    fn filter(&self) -> Value {
        json!({"fromBlock": "0x0", "toBlock": "latest", "address": TOKEN, "topics": [null, [self.hash]]})
    }

    fn simulation(&self) -> Value {
        json!({"blockStateCalls": [{"blockOverrides": {"number": "0x9", "time": "0xffffffff"},
            "stateOverrides": self.overrides(), "calls": [self.call, {"from": self.account, "input": "0x5f5ff3"}]}],
            "validation": false, "traceTransfers": true, "returnFullTransactions": true})
    }

    fn typed_data(&self) -> Value {
        let field = |name: &str, kind: &str| json!({"name": name, "type": kind});
        json!({"types": {"EIP712Domain": [field("name", "string"), field("chainId", "uint256")],
            "Leaf": [field("grid", "uint8[2][]"), field("who", "address")],
            "Order": [field("leaves", "Leaf[]"), field("note", "bytes"), field("id", "int64")]},
            "primaryType": "Order", "domain": {"name": "shop", "chainId": 732846},
            "message": {"leaves": [{"grid": [[1, 2]], "who": self.account}], "note": "0x00ff", "id": "-5"}})
    }
}

/// A method and its parameters.
type Request = (&'static str, Value);

/// Blocks, calls and filters.
fn block_requests(of: &Subjects) -> Vec<Request> {
    let (call, hash, over, filter) = (&of.call, of.hash, of.overrides(), of.filter());
    vec![
        ("eth_blockNumber", json!([])),
        ("eth_getBlockByNumber", json!(["latest", true])),
        ("eth_getBlockByHash", json!([hash, false])),
        ("eth_getHeaderByNumber", json!(["finalized"])),
        ("eth_getBlockReceipts", json!(["0x2"])),
        ("eth_getBlockTransactionCountByNumber", json!(["pending"])),
        ("eth_call", json!([call, "latest", over, {"baseFeePerGas": "0x0"}])),
        ("eth_estimateGas", json!([call, "0x1"])),
        ("eth_createAccessList", json!([call, {"blockHash": hash}])),
        ("eth_simulateV1", json!([of.simulation(), "latest"])),
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
    ]
}

/// Transactions, accounts, traces and the node itself.
fn other_requests(of: &Subjects) -> Vec<Request> {
    let (account, call, hash, over, raw) = (of.account, &of.call, of.hash, of.overrides(), of.tx.encoded());
    vec![
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
        ("eth_signTypedData_v4", json!([account, of.typed_data()])),
    ]
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let subjects = Subjects::new();
    let requests = [block_requests(&subjects), other_requests(&subjects)].concat();
    let body =
        |(method, params): &Request| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut seeds =
        requests.iter().map(|one| (one.0.to_owned(), body(one).to_string().into_bytes())).collect::<Vec<_>>();
    // Three that read and one that sends.
    let sends = requests.iter().filter(|(method, _)| *method == "eth_sendRawTransaction");
    let batch = Value::Array(requests[..3].iter().chain(sends).map(body).collect());
    seeds.push(("batch".into(), batch.to_string().into_bytes()));
    seeds
}
