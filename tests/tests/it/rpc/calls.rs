//! Calls, estimates and access lists.

use super::{COUNTER, LOGGER, REVERTER, SPINNER, alice, transfer, world, world_with};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Bytes, U256};
use harness::blocks::{Call, contracts};
use rpc::{Config, Limits};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn calls_see_what_is_pretended() {
    let world = world();
    // Returns slot 0: SLOAD, MSTORE, RETURN.
    let code = Bytes::from_static(&[0x5f, 0x54, 0x5f, 0x52, 0x60, 32, 0x5f, 0xf3]);
    let at = Address::repeat_byte(0x77);
    let call = |account: Value, block: Value| {
        world.ok("eth_call", json!([{ "to": at }, "latest", { at.to_string(): account }, block]))
    };
    assert_eq!(call(json!({ "code": code }), json!(null)), json!(B256::ZERO));
    let nine = B256::with_last_byte(9);
    assert_eq!(
        call(json!({ "code": code, "state": { B256::ZERO.to_string(): nine } }), json!(null)),
        json!(nine)
    );
    assert_eq!(
        call(json!({ "code": code, "stateDiff": { B256::ZERO.to_string(): nine } }), json!(null)),
        json!(nine)
    );
    // Returns the number and the base fee.
    let code = Bytes::from_static(&[0x43, 0x5f, 0x52, 0x48, 0x60, 32, 0x52, 0x60, 64, 0x5f, 0xf3]);
    let seen = call(json!({ "code": code }), json!({ "number": "0x99", "baseFeePerGas": "0x5" }));
    assert!(seen.as_str().unwrap()[2..66].ends_with("99"), "{seen}");
    let both = json!([{ "to": at }, "latest", { at.to_string(): { "state": {}, "stateDiff": {} } }]);
    assert_eq!(world.error("eth_call", both)["code"], -32000);
    // Nothing of it stays.
    assert_eq!(world.ok("eth_getCode", json!([at])), "0x");
}

#[test]
fn failed_calls_say_why() {
    let limits = Limits { call_timeout: Duration::from_secs(1), call_gas_max: 1 << 40, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let error = world.error("eth_call", json!([{ "to": REVERTER }]));
    assert_eq!(error, json!({ "code": 3, "message": "execution reverted", "data": "0x" }));
    assert_eq!(world.error("eth_estimateGas", json!([{ "to": REVERTER }]))["code"], 3);
    let error = world.error("eth_call", json!([{ "to": SPINNER, "gas": "0x186a0" }]));
    assert_eq!((&error["code"], &error["message"]), (&json!(-32000), &json!("out of gas")));
    let error = world.error("eth_call", json!([{ "to": SPINNER }]));
    assert_eq!((&error["code"], &error["message"]), (&json!(-32002), &json!("execution aborted (timeout)")));
    let poor = json!([{ "from": Address::repeat_byte(0x99), "to": LOGGER, "value": "0x1" }]);
    assert!(world.error("eth_call", poor)["message"].as_str().unwrap().starts_with("insufficient funds"));
    let cheap = json!([{ "from": alice().address(), "to": LOGGER, "gasPrice": "0x1", "gas": "0x186a0" }]);
    assert!(world.error("eth_call", cheap)["message"].as_str().unwrap().starts_with("max fee per gas less"));
    for wrong in [
        json!([{ "to": LOGGER, "gasPrice": "0x1", "maxFeePerGas": "0x1" }]),
        json!([{ "to": LOGGER, "chainId": "0x1" }]),
        json!([{ "to": LOGGER, "gas": "0x1" }]),
    ] {
        assert_eq!(world.error("eth_call", wrong)["code"], -32000);
    }
    for wrong in [
        json!([]),
        json!([{ "to": "0x1" }]),
        json!([{ "to": LOGGER, "data": "0x1" }]),
        json!([{ "to": LOGGER }, "latest", { LOGGER.to_string(): { "state": { "0x0": B256::ZERO } } }]),
        json!([{ "to": LOGGER }, "newest"]),
        json!([{ "to": LOGGER }, "latest", {}, {}, {}]),
    ] {
        assert_eq!(world.error("eth_call", wrong.clone())["code"], -32602, "{wrong}");
    }
}

#[test]
fn an_estimate_is_enough_and_not_much_more() {
    let mut world = world();
    for (nonce, (to, input)) in [
        (Some(Address::repeat_byte(0x22)), Bytes::new()),
        (Some(COUNTER), Bytes::new()),
        (Some(LOGGER), Bytes::from_static(&[9; 100])),
        (None, contracts::deploy(contracts::COUNT)),
    ]
    .into_iter()
    .enumerate()
    {
        let nonce = nonce as u64;
        let request = json!({ "from": alice().address(), "to": to, "input": input });
        let estimate = world.ok("eth_estimateGas", json!([request]));
        let gas = u64::from_str_radix(&estimate.as_str().unwrap()[2..], 16).unwrap();
        let call = match to {
            Some(to) => Call { input, gas_limit: gas, ..Call::to(to, nonce) },
            None => Call { gas_limit: gas, ..Call::create(input, nonce) },
        };
        world.seal(&[alice().eip1559(call)]);
        let receipt = &world.latest().block.receipts[0];
        assert!(receipt.status(), "{gas} is enough");
        let used = receipt.cumulative_gas_used();
        assert!(gas <= used * 12 / 10, "{gas} for {used}");
    }
}

/// Under the same conditions a simulated block comes to the same state, receipts and gas as a real one.
#[test]
fn a_simulated_block_is_like_a_real_one() {
    let mut world = world();
    world.seal(&[transfer(0), alice().eip1559(Call { gas_limit: 100_000, ..Call::to(COUNTER, 1) })]);
    let real = world.ok("eth_getBlockByNumber", json!(["latest", true]));
    let calls = real["transactions"].as_array().unwrap().iter().map(|tx| {
        let fields = ["from", "to", "value", "input", "gas", "nonce", "maxFeePerGas", "maxPriorityFeePerGas"];
        fields
            .iter()
            .map(|field| ((*field).to_owned(), tx[*field].clone()))
            .collect::<serde_json::Map<_, _>>()
    });
    let conditions = json!({
        "time": real["timestamp"], "feeRecipient": real["miner"], "prevRandao": real["mixHash"],
        "gasLimit": real["gasLimit"], "baseFeePerGas": real["baseFeePerGas"],
    });
    let block = json!({ "blockOverrides": conditions, "calls": calls.collect::<Vec<_>>() });
    let simulated =
        world.ok("eth_simulateV1", json!([{ "blockStateCalls": [block], "validation": true }, "0x0"]));
    for field in ["stateRoot", "receiptsRoot", "gasUsed", "logsBloom", "parentHash", "number"] {
        assert_eq!(simulated[0][field], real[field], "{field}");
    }
    assert_eq!(simulated[0]["calls"][1]["status"], "0x1");
    for (code, wrong) in [
        (-38020, json!([{ "blockOverrides": { "number": "0x1" } }])),
        (-38021, json!([{ "blockOverrides": { "time": "0x0" } }])),
        (-38026, json!([{ "blockOverrides": { "number": "0xffffffffffffffffff" } }])),
        (-38014, json!([{ "calls": [{ "from": Address::repeat_byte(9), "to": LOGGER, "value": "0x1" }] }])),
    ] {
        let error = world.error("eth_simulateV1", json!([{ "blockStateCalls": wrong }]));
        assert_eq!(error["code"], code, "{error}");
    }
}

/// What go-ethereum looks at in a simulated transaction, in its order: nonce, fees, money, and only then the gas.
#[test]
fn simulated_transactions_are_refused_for_the_first_reason() {
    let world = world();
    let poor = Address::repeat_byte(9);
    let call = |fields: Value| {
        let mut call = json!({ "from": poor, "to": LOGGER });
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        call
    };
    let expensive = json!({ "baseFeePerGas": "0x14" });
    for (code, block) in [
        (-38014, json!({ "calls": [call(json!({ "gas": "0x0", "value": "0x1" }))] })),
        (-38013, json!({ "calls": [call(json!({ "gas": "0x0" }))] })),
        (-32602, json!({ "calls": [call(json!({ "maxPriorityFeePerGas": "0x1" }))] })),
        (-38012, json!({ "blockOverrides": expensive, "calls": [call(json!({ "maxFeePerGas": "0xa" }))] })),
        (-38012, json!({ "blockOverrides": expensive, "calls": [call(json!({ "gasPrice": "0x5" }))] })),
        (-38021, json!({ "blockOverrides": { "time": "0xffffffffffffffff" } })),
    ] {
        let error = match code {
            // The block after it has no time left.
            -38021 => {
                let after = json!({ "blockOverrides": { "number": "0x4" } });
                world.error("eth_simulateV1", json!([{ "blockStateCalls": [block, after] }]))
            }
            _ => world.error("eth_simulateV1", json!([{ "blockStateCalls": [block] }])),
        };
        assert_eq!(error["code"], code, "{error}");
    }
    // Who pays nothing need not pay the base fee, and who is a contract can send even where all else is checked.
    let free = json!({ "blockOverrides": expensive, "calls": [call(json!({}))] });
    assert_eq!(
        world.ok("eth_simulateV1", json!([{ "blockStateCalls": [free] }]))[0]["calls"][0]["status"],
        "0x1"
    );
    let contract = json!({
        "blockOverrides": { "baseFeePerGas": "0x0" },
        "calls": [{ "from": COUNTER, "to": LOGGER, "nonce": "0x1" }],
    });
    let sent = world.ok("eth_simulateV1", json!([{ "blockStateCalls": [contract], "validation": true }]));
    assert_eq!(sent[0]["calls"][0]["status"], "0x1");
}

#[test]
fn simulated_nonces_begin_again_and_withdrawals_are_credited() {
    let world = world();
    let (poor, other) = (Address::repeat_byte(9), Address::repeat_byte(8));
    let call = json!({ "from": poor, "to": LOGGER });
    let last = json!({
        "stateOverrides": { poor.to_string(): { "nonce": "0xffffffffffffffff" } },
        "calls": [call, call],
    });
    let options = json!([{ "blockStateCalls": [last], "returnFullTransactions": true }]);
    let transactions = world.ok("eth_simulateV1", options)[0]["transactions"].clone();
    assert_eq!(transactions[0]["nonce"], "0xffffffffffffffff");
    assert_eq!(transactions[1]["nonce"], "0x0");
    let withdrawal = json!({ "index": "0x0", "validatorIndex": "0x1", "address": other, "amount": "0x2" });
    let blocks = json!([
        { "blockOverrides": { "withdrawals": [withdrawal] } },
        { "calls": [{ "from": other, "to": poor, "value": "0x77359400" }] },
    ]);
    let simulated = world.ok("eth_simulateV1", json!([{ "blockStateCalls": blocks }]));
    assert_eq!(simulated[0]["withdrawals"], json!([withdrawal]));
    assert_ne!(simulated[0]["withdrawalsRoot"], simulated[1]["withdrawalsRoot"]);
    assert_eq!(simulated[1]["calls"][0]["status"], "0x1", "two gwei can be spent");
    for (field, value) in [("withdrawals", json!([])), ("beaconRoot", json!(B256::ZERO))] {
        let error = world.error("eth_call", json!([call, "latest", {}, { field: value }]));
        assert!(error["message"].as_str().unwrap().contains(field), "{error}");
    }
}

/// Clients that only want to know what a call does give its sender more money than there is.
#[test]
fn simulated_accounts_may_be_richer_than_possible() {
    let world = world();
    let rich = Address::repeat_byte(9);
    let block = json!({
        "stateOverrides": { rich.to_string(): { "balance": U256::MAX } },
        "calls": [{ "from": rich, "to": LOGGER, "value": "0x1" }],
    });
    let simulated = world.ok("eth_simulateV1", json!([{ "blockStateCalls": [block] }]));
    assert_eq!(simulated[0]["calls"][0]["status"], "0x1");
}

#[test]
fn calls_take_what_go_ethereum_takes() {
    let world = world();
    let none = world.error("eth_call", json!([{ "to": COUNTER, "gas": "0x0" }]));
    assert_eq!(none["message"], "intrinsic gas too low: have 0, want 21000");
    world.ok("eth_call", json!([{ "to": COUNTER, "gas": "0xffff", "nonce": "0xffffffffffffffff" }]));
    let both = json!([{ "from": alice().address(), "to": COUNTER, "input": "0x01", "data": "0x02" }]);
    world.ok("eth_call", both.clone());
    assert_eq!(world.error("eth_fillTransaction", both)["code"], -32000);
    let plain = json!([{ "from": alice().address(), "to": Address::repeat_byte(8), "accessList": [] }]);
    assert_eq!(world.ok("eth_estimateGas", plain), "0x5208");
    // BLOBBASEFEE, and what it is pretended to be.
    let code = "0x4a5f5260205ff3";
    let asked = |block: Value| {
        let state = json!({ LOGGER.to_string(): { "code": code } });
        world.ok("eth_call", json!([{ "to": LOGGER }, "latest", state, block]))
    };
    assert_eq!(asked(json!({})), json!(B256::with_last_byte(1)));
    assert_eq!(asked(json!({ "blobBaseFee": "0x7" })), json!(B256::with_last_byte(7)));
}

#[test]
fn traces_show_how_it_was_executed() {
    let mut world = world();
    let counted = alice().eip1559(Call { gas_limit: 100_000, ..Call::to(COUNTER, 1) });
    world.seal(&[transfer(0), counted.clone()]);
    let trace = |options: Value| world.ok("debug_traceTransaction", json!([counted.hash(), options]));
    let steps = trace(json!({}));
    let names = steps["structLogs"].as_array().unwrap().iter().map(|step| step["op"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["PUSH0", "SLOAD", "PUSH1", "ADD", "PUSH0", "SSTORE", "STOP"]);
    let raw = |method: &str, params: Value| {
        let answer = world.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        serde_json::from_slice::<Value>(&answer.body).unwrap()["result"].clone()
    };
    let calls = raw("debug_traceTransaction", json!([counted.hash(), { "tracer": "callTracer" }]));
    assert_eq!((&calls["type"], &calls["to"]), (&json!("CALL"), &json!(COUNTER)));
    let before = raw("debug_traceTransaction", json!([counted.hash(), { "tracer": "prestateTracer" }]));
    assert_eq!(before[format!("{:#x}", alice().address())]["nonce"], 1);
    for tracer in ["4byteTracer", "flatCallTracer"] {
        assert!(!raw("debug_traceTransaction", json!([counted.hash(), { "tracer": tracer }])).is_null());
    }
    assert_eq!(world.ok("debug_traceBlockByNumber", json!(["latest"])).as_array().unwrap().len(), 2);
    assert_eq!(world.ok("trace_block", json!(["latest"])).as_array().unwrap().len(), 2);
    assert_eq!(world.ok("trace_transaction", json!([counted.hash()]))[0]["action"]["to"], json!(COUNTER));
    let pretended = json!([{ "to": COUNTER }, "latest", { "tracer": "callTracer" }]);
    assert_eq!(raw("debug_traceCall", pretended)["to"], json!(COUNTER));
    let unknown = json!([counted.hash(), { "tracer": "{step: function() {}}" }]);
    assert_eq!(world.error("debug_traceTransaction", unknown)["code"], -32602);
    let spin = world.error("debug_traceCall", json!([{ "to": SPINNER }, "latest", {}]));
    assert!([-32003, -32002].contains(&spin["code"].as_i64().unwrap()), "{spin}");
}

#[test]
fn access_lists_and_filled_transactions() {
    let world = world();
    let list = world.ok("eth_createAccessList", json!([{ "from": alice().address(), "to": COUNTER }]));
    assert_eq!(list["accessList"], json!([{ "address": COUNTER, "storageKeys": [B256::ZERO] }]));
    let failed = world.ok("eth_createAccessList", json!([{ "to": REVERTER }]));
    assert_eq!(failed["error"], "execution reverted");
    let filled = world.ok("eth_fillTransaction", json!([{ "from": alice().address(), "to": COUNTER }]));
    let tx = &filled["tx"];
    assert_eq!(
        (&tx["type"], &tx["nonce"], &tx["chainId"]),
        (&json!("0x2"), &json!("0x0"), &json!("0xb2eae"))
    );
    let legacy =
        json!([{ "from": alice().address(), "to": COUNTER, "gasPrice": "0x77359400", "gas": "0x5208" }]);
    let legacy = world.ok("eth_fillTransaction", legacy)["tx"].clone();
    assert_eq!((&legacy["gas"], &legacy["type"]), (&json!("0x5208"), &json!("0x0")));
    assert_eq!((legacy.get("maxFeePerGas"), &legacy["chainId"]), (None, &json!("0xb2eae")));
    assert!(tx["maxFeePerGas"].is_string() && tx.get("v").is_none());
    world.ok("eth_sendRawTransaction", json!([transfer(0).encoded()]));
    let next = world.ok("eth_fillTransaction", json!([{ "from": alice().address(), "to": COUNTER }]));
    assert_eq!(next["tx"]["nonce"], "0x1", "after what waits");
    assert_eq!(world.error("eth_fillTransaction", json!([{}]))["code"], -32000);
    assert_eq!(transfer(0).value(), U256::from(5));
}

#[test]
fn an_estimate_says_what_no_package_can_carry() {
    let limits = Limits { refine_gas_max: 100_000, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let hashes = Bytes::from_static(&[0x61, 0x0f, 0xff, 0x5f, 0x20, 0x00]);
    let at = Address::repeat_byte(0x77);
    let request = json!([{ "to": at }, "latest", { at.to_string(): { "code": hashes } }]);
    let error = world.error("eth_estimateGas", request);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("no package can carry it: ") && message.ends_with("a package has 100000"),
        "{message}"
    );
    world.ok("eth_estimateGas", json!([{ "to": COUNTER }]));
}
