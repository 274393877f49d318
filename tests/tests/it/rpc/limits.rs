//! What one client asks for is bounded, however little it costs to ask.

use super::{COUNTER, LOGGER, alice, logged, world, world_with};
use alloy_primitives::{Address, Bytes, address};
use harness::{blocks::Call, rpc_world::World};
use rpc::{Body, Config, Limits, Server};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

/// Where contracts are pretended to be.
const PRETENDED: Address = address!("00000000000000000000000000000000000d0001");
const CALLEE: Address = address!("00000000000000000000000000000000000d0002");

/// Reads slot after slot for ever: i, JUMPDEST, DUP1, SLOAD, POP, PUSH1 1, ADD, PUSH1 1, JUMP.
const READ_ALL: &[u8] = &[0x5f, 0x5b, 0x80, 0x54, 0x50, 0x60, 1, 0x01, 0x60, 1, 0x56];
/// Reads slot 0 for ever.
const READ_ONE: &[u8] = &[0x5b, 0x5f, 0x54, 0x50, 0x5f, 0x56];
/// Returns 64 KiB of nothing.
const RETURN_MUCH: &[u8] = &[0x62, 1, 0, 0, 0x5f, 0xf3];

/// A world in which it is never the time that ends a trace, however slow the machine is.
fn patient() -> World {
    let limits = Limits { call_timeout: Duration::from_secs(600), ..Limits::default() };
    world_with(Config { limits, ..Config::default() })
}

/// Calls the callee for ever.
fn call_all() -> Bytes {
    let mut code = vec![0x5b, 0x5f, 0x5f, 0x5f, 0x5f, 0x5f, 0x73];
    code.extend(CALLEE);
    code.extend([0x5a, 0xf1, 0x50, 0x5f, 0x56]);
    code.into()
}

/// Traces a call of this code with so much gas.
fn trace(world: &World, code: &Bytes, gas: u64, mut options: Value) -> Result<Value, Value> {
    let callee = Bytes::from_static(RETURN_MUCH);
    options["stateOverrides"] =
        json!({ PRETENDED.to_string(): { "code": code }, CALLEE.to_string(): { "code": callee } });
    world.call("debug_traceCall", json!([{ "to": PRETENDED, "gas": format!("{gas:#x}") }, "latest", options]))
}

fn message(answer: Result<Value, Value>) -> (i64, String) {
    let error = answer.expect_err("there is an error");
    let text = error["message"].as_str().unwrap_or_default().to_owned();
    (error["code"].as_i64().unwrap_or_default(), text)
}

/// With every step that reads storage all that was read so far is shown, which grows with the square of the gas.
#[test]
fn a_trace_pays_for_the_storage_that_it_shows() {
    let world = patient();
    let (all, one) = (Bytes::from_static(READ_ALL), Bytes::from_static(READ_ONE));
    let much = message(trace(&world, &all, 6_000_000, json!({})));
    assert_eq!(much, (-32003, "the trace is too large".to_owned()));
    let little = trace(&world, &all, 400_000, json!({})).unwrap();
    let last =
        little["structLogs"].as_array().unwrap().iter().rev().find_map(|step| step["storage"].as_object());
    assert!(last.is_some_and(|slots| slots.len() > 100), "what fits is shown");
    assert!(trace(&world, &one, 400_000, json!({})).is_ok(), "the same slot is shown once");
    let without = trace(&world, &all, 6_000_000, json!({ "disableStorage": true }));
    assert!(without.is_ok(), "what is not shown costs nothing");
}

/// A few gas let a contract return very much.
#[test]
fn a_trace_pays_for_what_calls_return() {
    let world = patient();
    for tracer in ["callTracer", "flatCallTracer"] {
        let much = message(trace(&world, &call_all(), 49_000_000, json!({ "tracer": tracer })));
        assert_eq!(much, (-32003, "the trace is too large".to_owned()), "{tracer}");
        let little = trace(&world, &call_all(), 200_000, json!({ "tracer": tracer }));
        assert!(little.is_ok(), "{tracer}: {little:?}");
    }
}

/// It records the stack and the memory of every step, for an answer that shows next to nothing of them.
#[test]
fn a_tracer_that_keeps_everything_is_refused() {
    let world = world();
    let (code, why) = message(trace(
        &world,
        &Bytes::from_static(READ_ONE),
        1_000_000,
        json!({ "tracer": "erc7562Tracer" }),
    ));
    assert_eq!(code, -32602);
    assert!(why.contains("erc7562Tracer is not supported"), "{why}");
}

#[test]
fn only_the_steps_that_are_asked_for_are_paid_for() {
    let world = patient();
    let spin = Bytes::from_static(&[0x5b, 0x5f, 0x56]);
    let few = trace(&world, &spin, 3_000_000, json!({ "limit": 10 })).unwrap();
    assert_eq!(few["structLogs"].as_array().unwrap().len(), 10);
}

#[test]
fn a_call_is_traced_at_any_place_of_a_block() {
    let mut world = world();
    let count = |nonce| alice().eip1559(Call { gas_limit: 100_000, ..Call::to(COUNTER, nonce) });
    world.seal(&[count(0), count(1)]);
    let seen = |options: Value| {
        let trace = world.call("debug_traceCall", json!([{ "to": COUNTER }, "latest", options]));
        trace.map(|trace| trace["structLogs"][2]["stack"][0].clone())
    };
    assert_eq!(seen(json!({})), Ok(json!("0x2")), "after all");
    assert_eq!(seen(json!({ "txIndex": "0x0" })), Ok(json!("0x0")));
    assert_eq!(seen(json!({ "txIndex": "0x1" })), Ok(json!("0x1")));
    let (code, why) = message(seen(json!({ "txIndex": "0x2" })));
    assert!(code == -32000 && why.starts_with("transaction index 2 out of range for block 0x"), "{why}");
}

#[test]
fn a_trace_sees_precompiles_where_they_are_pretended_to_be() {
    let world = world();
    let identity = Address::with_last_byte(4);
    let moved = json!({ identity.to_string(): { "movePrecompileToAddress": PRETENDED } });
    let options = json!({ "tracer": "callTracer", "stateOverrides": moved });
    let call = json!([{ "to": PRETENDED, "data": "0x1234" }, "latest", options]);
    let answer =
        world.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "debug_traceCall", "params": call }));
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer["result"]["output"], "0x1234", "{answer}");
}

/// What a filter tells until there are so many logs, answer by answer.
fn polls(world: &World, filter: &Value, count: usize) -> Vec<usize> {
    let mut polls = vec![];
    while polls.iter().sum::<usize>() < count {
        let new = world.ok("eth_getFilterChanges", json!([filter]));
        // The hub follows the chain a moment later.
        polls.extend(Some(new.as_array().unwrap().len()).filter(|new| *new > 0));
    }
    polls
}

#[test]
fn a_filter_tells_much_in_several_answers() {
    for limits in [
        Limits { logs_max: 2, ..Limits::default() },
        Limits { response_bytes_max: 1600, ..Limits::default() },
    ] {
        let mut world = world_with(Config { limits, ..Config::default() });
        let filter = world.ok("eth_newFilter", json!([{ "address": LOGGER }]));
        let heads = world.ok("eth_newBlockFilter", json!([]));
        world.seal(&[logged(0), logged(1), logged(2)]);
        for nonce in 3..5 {
            world.seal(&[logged(nonce)]);
        }
        // All of it has happened when the last head is told.
        assert_eq!(polls(&world, &heads, 3).iter().sum::<usize>(), 3);
        assert_eq!(polls(&world, &filter, 5), [2, 2, 1]);
        assert_eq!(world.ok("eth_getFilterChanges", json!([filter])), json!([]));
    }
}

#[test]
fn filters_of_a_range_tell_of_no_other_blocks() {
    let mut world = world();
    let filter = |range: Value| world.ok("eth_newFilter", json!([range]));
    let some = filter(json!({ "fromBlock": "0x2", "toBlock": "0x3" }));
    let late = filter(json!({ "fromBlock": "0x4" }));
    let all = filter(json!({ "fromBlock": "earliest", "toBlock": "latest" }));
    let numbers = |world: &World, filter: &Value, count: usize| {
        let mut all = vec![];
        while all.len() < count {
            let new = world.ok("eth_getFilterChanges", json!([filter]));
            all.extend(new.as_array().unwrap().iter().map(|log| log["blockNumber"].clone()));
        }
        all
    };
    for nonce in 0..4 {
        world.seal(&[logged(nonce)]);
    }
    assert_eq!(numbers(&world, &all, 4), ["0x1", "0x2", "0x3", "0x4"]);
    assert_eq!(numbers(&world, &some, 2), ["0x2", "0x3"]);
    assert_eq!(numbers(&world, &late, 1), ["0x4"]);
    for wrong in [
        json!({ "fromBlock": "0x3", "toBlock": "0x2" }),
        json!({ "fromBlock": "latest", "toBlock": "0x2" }),
        json!({ "toBlock": "finalized" }),
    ] {
        let error = message(world.call("eth_newFilter", json!([wrong])));
        assert_eq!(error, (-32602, "invalid block range params".to_owned()), "{wrong}");
    }
}

#[test]
fn what_is_wrong_with_a_filter_is_named() {
    let world = world();
    for method in ["eth_getLogs", "eth_newFilter"] {
        for pending in [json!({ "fromBlock": "pending" }), json!({ "toBlock": "pending" })] {
            let error = message(world.call(method, json!([pending])));
            assert_eq!(error, (-32000, "pending logs are not supported".to_owned()), "{method}");
        }
        let many = message(world.call(method, json!([{ "topics": [null, null, null, null, null] }])));
        assert_eq!(many, (-32000, "exceed max topics".to_owned()));
        let address = format!("{LOGGER:#x}");
        for (wrong, why) in [
            (json!({ "address": 7 }), "address: invalid type: integer `7`, expected a hexadecimal string"),
            (json!({ "address": "0x12" }), "address: hex string has length 2, want 40 for common.Address"),
            (
                json!({ "address": [address, "0x12"] }),
                "address[1]: hex string has length 2, want 40 for common.Address",
            ),
            (json!({ "address": [null] }), "address[0]: null is no address"),
            (json!({ "topics": "0x12" }), "topics: a list is expected"),
            (
                json!({ "topics": [null, ["0x12"]] }),
                "topics[1][0]: hex string has length 2, want 64 for common.Hash",
            ),
            (json!({ "topics": [{}] }), "topics[0]: invalid type: map, expected a hexadecimal string"),
            (json!({ "fromBlock": "newest" }), "fromBlock: hex string without 0x prefix"),
            (json!({ "blockHash": "0x12" }), "blockHash: hex string has length 2, want 64 for common.Hash"),
        ] {
            let error = message(world.call(method, json!([wrong])));
            assert_eq!(error, (-32602, format!("invalid argument 0: {why}")), "{method} {wrong}");
        }
    }
}

/// Whoever looks at the page says nothing and reads; for others, who want its place, that looked like idleness.
#[test]
fn a_stream_keeps_its_place() {
    let limits = Limits { connections_max: 2, evict_idle_after: Duration::ZERO, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let routes: rpc::Routes = Arc::new(|_| {
        let frames = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok(hyper::body::Frame::data("data: still here\n\n".into())), ()))
        });
        let body: Body = http_body_util::BodyExt::boxed_unsync(http_body_util::StreamBody::new(frames));
        Box::pin(std::future::ready(hyper::Response::new(body)))
    });
    let server = world.runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        Server::start(listener, world.api.clone(), Some(routes)).unwrap()
    });
    let url = format!("http://{}", server.address());
    let mut page = TcpStream::connect(server.address()).unwrap();
    page.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    page.write_all(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut bytes = [0; 64];
    assert!(page.read(&mut bytes).unwrap() > 0);
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
    let mut kept = vec![];
    for _ in 0..20 {
        let mut client = harness::http::Client::connect(&url).unwrap();
        assert_eq!(client.post(call).unwrap().status, 200, "the others take turns with the other place");
        kept.push(client);
        assert!(page.read(&mut bytes).unwrap() > 0, "the stream goes on");
    }
}
