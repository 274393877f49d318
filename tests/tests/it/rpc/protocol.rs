//! The layers below the methods: JSON-RPC, batches, HTTP, who may ask.

use super::{world, world_with};
use harness::{http::Response, rpc_world::World};
use rpc::{Config, Limits, Rate};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    time::Duration,
};

fn body(answer: &Response) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("no JSON: {answer:?}"))
}

fn raw(world: &World, text: &str) -> Value {
    let answer = world.client().post(text.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{text}");
    body(&answer)
}

#[test]
fn errors_have_the_shape_that_clients_know() {
    let world = world();
    let error = world.error("eth_doesNotExist", json!([]));
    assert_eq!(
        error,
        json!({ "code": -32601, "message": "the method eth_doesNotExist does not exist/is not available" })
    );
    let code = |text: &str| raw(&world, text)["error"]["code"].as_i64().unwrap_or_default();
    assert_eq!(code("{"), -32700);
    assert_eq!(code(""), -32700);
    assert_eq!(code("[1"), -32700);
    assert_eq!(code("\u{1}"), -32700);
    assert_eq!(code("[]"), -32600);
    assert_eq!(code("1"), -32600);
    assert_eq!(code(r#"{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}"#), -32600);
    assert_eq!(code(r#"{"jsonrpc":"2.0","id":1}"#), -32600);
    assert_eq!(code(r#"{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}"#), -32600);
    assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}"#), -32602);
    assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[1]}"#), -32602);
    assert_eq!(world.error("eth_getBalance", json!([]))["code"], -32602);
    assert_eq!(world.error("eth_getBalance", json!(["0x1"]))["code"], -32602);
    assert_eq!(world.error("eth_subscribe", json!(["newHeads"]))["code"], -32601);
}

#[test]
fn ids_come_back_as_they_were() {
    let world = world();
    for id in ["1", "\"a\"", "null", "1.5", "-7", "123456789012345678901234567890", "\"\\u0041\""] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_chainId"}}"#);
        let answer = world.client().post(text.as_bytes()).unwrap();
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"0xb2eae"}}"#));
    }
    let notification = world.post(&json!({ "jsonrpc": "2.0", "method": "eth_chainId" }));
    assert_eq!((notification.status, notification.body.len()), (200, 0));
}

#[test]
fn a_batch_is_answered_in_order_and_within_its_limits() {
    let limits = Limits { batch_calls_max: 4, response_bytes_max: 400, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let call = |id: u64, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
    let answers = body(&world.post(&json!([
        call(1, "eth_chainId"),
        7,
        call(2, "nope"),
        { "jsonrpc": "2.0", "method": "eth_chainId" },
    ])));
    let shown = answers.as_array().unwrap().iter().map(|answer| (&answer["id"], &answer["error"]["code"]));
    let null = Value::Null;
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [(&json!(1), &null), (&null, &json!(-32600)), (&json!(2), &json!(-32601))]
    );
    // As go-ethereum: one error in a list, for the first call.
    let many = (6..11).map(|id| call(id, "eth_chainId"));
    let many = [json!({ "jsonrpc": "2.0", "method": "eth_chainId" })].into_iter().chain(many);
    let too_large =
        json!([{ "jsonrpc": "2.0", "id": 6, "error": { "code": -32600, "message": "batch too large" } }]);
    assert_eq!(body(&world.post(&many.collect::<Value>())), too_large);
    let none = vec![json!(7); 5];
    let null =
        json!([{ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "batch too large" } }]);
    assert_eq!(body(&world.post(&json!(none))), null);
    assert_eq!(body(&world.post(&json!([])))["error"]["code"], -32600);
    // The answer to one call is limited, and what a batch may answer as well.
    let block = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "eth_getBlockByNumber", "params": ["0x0", false] });
    assert_eq!(body(&world.post(&block(1)))["error"]["code"], -32003);
    let notes = world.post(&json!([{ "jsonrpc": "2.0", "method": "eth_chainId" }]));
    assert_eq!((notes.status, notes.body.len()), (200, 0));
}

/// viem sends up to a thousand calls at once, and go-ethereum takes them.
#[test]
fn a_thousand_calls_are_a_batch() {
    let world = world();
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "eth_chainId" });
    let answers = body(&world.post(&(0..1_000).map(call).collect::<Value>()));
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 1_000);
    assert!(
        answers.iter().zip(0_u64..).all(|(answer, id)| answer["id"] == id && answer["result"] == "0xb2eae")
    );
    let more = body(&world.post(&(0..1_001).map(call).collect::<Value>()));
    assert_eq!(more[0]["error"]["message"], "batch too large");
}

#[test]
fn what_is_no_request_has_a_status_of_its_own() {
    let limits = Limits { body_bytes_max: 1000, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let send = |method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]| {
        world.client().request(method, path, headers, body).unwrap().status
    };
    let json = ("content-type", "application/json");
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
    assert_eq!(send("POST", "/", &[json], call), 200);
    assert_eq!(send("POST", "/", &[("content-type", "application/json; charset=utf-8")], call), 200);
    assert_eq!(send("POST", "/", &[json], &[b' '; 1001]), 413);
    assert_eq!(send("POST", "/", &[], call), 415);
    assert_eq!(send("POST", "/", &[("content-type", "text/plain")], call), 415);
    assert_eq!(send("GET", "/", &[], b""), 200);
    assert_eq!(send("PUT", "/", &[], b""), 405);
    assert_eq!(send("GET", "/elsewhere", &[], b""), 404);
}

#[test]
fn only_known_hosts_are_served() {
    let world = world_with(Config { hosts: ["node.example".to_owned()].into(), ..Config::default() });
    let status = |host: &str| {
        let headers = [("content-type", "application/json"), ("host", host)];
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
        world.client().request("POST", "/", &headers, call).unwrap().status
    };
    assert_eq!([status("localhost:1"), status("node.example"), status("127.0.0.1")], [200; 3]);
    assert_eq!(status("evil.example"), 403);
}

#[test]
fn each_client_has_its_rate() {
    let rate = Some(Rate { calls_per_second: 1, burst_calls: 3 });
    let limits = Limits { rate, rate_on_loopback: true, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId" });
    let statuses = (0..4).map(|_| world.post(&call).status).collect::<Vec<_>>();
    assert_eq!(statuses[..3], [200; 3]);
    let refused = world.post(&json!([call, call, call, call]));
    assert_eq!((refused.status, body(&refused)["error"]["code"].as_i64()), (429, Some(-32005)));
}

#[test]
fn connections_are_limited_and_come_free_again() {
    let never = Duration::from_secs(3600);
    let limits = Limits { connections_max: 2, evict_idle_after: never, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
    let (mut a, mut b) = (world.client(), world.client());
    assert_eq!((a.post(call).unwrap().status, b.post(call).unwrap().status), (200, 200));
    assert!(world.client().post(call).is_err(), "a third one is closed");
    drop(a);
    // Its place is free as soon as the server has seen it close.
    while world.client().post(call).is_err() {}
    assert_eq!(b.post(call).unwrap().status, 200);
}

/// Clients that connected and sent nothing, or half a request, kept everybody else out for a minute.
#[test]
fn who_lets_the_node_wait_gives_way_to_who_comes() {
    let limits = Limits { connections_max: 2, evict_idle_after: Duration::ZERO, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
    let mut silent = std::net::TcpStream::connect(world.url.trim_start_matches("http://")).unwrap();
    silent.write_all(b"POST / HTTP/1.1\r\nhost: ").unwrap();
    let mut kept = vec![];
    for _ in 0..10 {
        let mut client = world.client();
        assert_eq!(client.post(call).unwrap().status, 200);
        kept.push(client);
    }
    assert_eq!(silent.read(&mut [0]).unwrap(), 0, "it had to leave");
}

/// WebSockets are silent for good reason and never give way, so they must not take all places.
#[test]
fn websockets_leave_places_for_others() {
    let limits = Limits { connections_max: 3, websockets_max: 2, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let mut clients = [world.client(), world.client(), world.client()];
    let statuses = clients.each_mut().map(|client| client.request("GET", "/", &headers, b"").unwrap().status);
    assert_eq!(statuses, [101, 101, 429]);
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
    assert_eq!(clients[2].post(call).unwrap().status, 200, "the place is still good for requests");
}

/// A body that is too large by its own account is refused, also if it never comes.
#[test]
fn promises_of_too_much_are_not_waited_for() {
    let never = Duration::from_secs(3600);
    let limits = Limits { idle_timeout: never, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let mut client = std::net::TcpStream::connect(world.url.trim_start_matches("http://")).unwrap();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[test]
fn the_operators_methods_need_the_token() {
    let world = world_with(Config { token: Some("secret".to_owned()), ..Config::default() });
    let order = |method: &str, params: Value, token: &str| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let headers = [("content-type", "application/json"), ("authorization", token)];
        let answer = world.client().request("POST", "/", &headers, call.to_string().as_bytes()).unwrap();
        body(&answer)
    };
    for (method, params) in [
        ("builder_pause", json!([])),
        ("builder_resume", json!([])),
        ("builder_seal", json!([])),
        ("builder_release", json!(["0x7"])),
        ("builder_flushSender", json!(["0x00000000000000000000000000000000000000aa"])),
    ] {
        assert_eq!(order(method, params.clone(), "Bearer wrong")["error"]["code"], -32001, "{method}");
        assert_eq!(world.error(method, params.clone())["code"], -32001, "{method}");
        assert!(order(method, params, "Bearer secret").get("result").is_some(), "{method}");
    }
    assert_eq!(world.driver.orders().len(), 5);
    assert_eq!(order("builder_release", json!([0]), "Bearer secret")["error"]["code"], -32000);
    assert_eq!(order("builder_release", json!([]), "Bearer secret")["error"]["code"], -32602);
}

#[test]
fn pages_of_other_origins_read_nothing_unless_asked_for() {
    let answer_headers = |world: &World, method: &str| {
        use std::io::{Read, Write};
        let address = world.url.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
        write!(
            stream,
            "{method} / HTTP/1.1\r\nhost: localhost\r\norigin: https://page.example\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{call}",
            call.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    assert!(!answer_headers(&world(), "POST").contains("access-control"));
    assert!(!answer_headers(&world(), "OPTIONS").contains("access-control"));
    let open = world_with(Config { origins: ["*".to_owned()].into(), ..Config::default() });
    assert!(answer_headers(&open, "POST").contains("access-control-allow-origin: *"));
    assert!(answer_headers(&open, "OPTIONS").contains("access-control-allow-headers: content-type"));
}
