//! A browser wallet: what MetaMask sends when a network is added and a transaction is sent, header by header.
//!
//! It asks from an extension of the browser, which has an origin of its own but may read what any host answers. So it
//! needs nothing to be allowed; pages and WebSockets of other origins do.

use super::Network;
use harness::{
    http::{Client, Response},
    openrpc::Schemas,
    process::Pectin,
};
use serde_json::{Value, json};

const HEADERS: &str = include_str!("../../../clients/metamask/headers.txt");
const REQUESTS: &str = include_str!("../../../clients/metamask/requests.io");
/// What a page asks before it may send JSON to a node on the user's machine.
const PREFLIGHT: [(&str, &str); 4] = [
    ("origin", "https://wallet.example"),
    ("access-control-request-method", "POST"),
    ("access-control-request-headers", "content-type"),
    ("access-control-request-private-network", "true"),
];

fn headers() -> Vec<(&'static str, &'static str)> {
    HEADERS.lines().filter_map(|line| line.split_once(": ")).collect()
}

/// Requests with the answers that are expected.
fn exchanges() -> Vec<(&'static str, Value)> {
    let lines =
        REQUESTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>();
    let pair = |pair: &[&'static str]| {
        let (request, answer) = (pair[0].strip_prefix(">> ").unwrap(), pair[1].strip_prefix("<< ").unwrap());
        (request, serde_json::from_str(answer).unwrap())
    };
    lines.chunks(2).map(pair).collect()
}

/// Whether an answer has everything that is expected.
fn fits(expected: &Value, answer: &Value) -> bool {
    match (expected, answer) {
        (Value::String(any), answer) if any == "*" => !answer.is_null(),
        (Value::Object(expected), Value::Object(answer)) => {
            expected.iter().all(|(key, value)| answer.get(key).is_some_and(|found| fits(value, found)))
        }
        (Value::Array(expected), Value::Array(answer)) => {
            expected.len() == answer.len() && expected.iter().zip(answer).all(|(a, b)| fits(a, b))
        }
        (expected, answer) => expected == answer,
    }
}

fn post(client: &mut Client, body: &str) -> Response {
    client.request("POST", "/", &headers(), body.as_bytes()).unwrap()
}

/// Asks; a receipt that is not there yet is asked for again after the next block.
fn ask(client: &mut Client, pectin: &mut Pectin, request: &str) -> Value {
    loop {
        let answer = post(client, request);
        assert_eq!(answer.status, 200, "{request}");
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        if !request.contains("eth_getTransactionReceipt") || !answer["result"].is_null() {
            return answer;
        }
        pectin.wait_for("block sealed").unwrap();
    }
}

#[test]
fn metamask() {
    let mut network = Network::start();
    let folder = harness::fixtures::folder("rpc-compat");
    let schemas = folder.map(|folder| Schemas::read(&folder.join("openrpc.json")).unwrap());
    let mut client = Client::connect(&network.http()).unwrap();
    for (request, expected) in exchanges() {
        let answer = ask(&mut client, &mut network.pectin, request);
        assert!(fits(&expected, &answer), "{request}\n{answer}\nis not\n{expected}");
        let method = serde_json::from_str::<Value>(request).unwrap()["method"].clone();
        // The specification does not know transactions that wait; every node says where they are with nulls.
        let waits = method == "eth_getTransactionByHash" && answer["result"]["blockHash"].is_null();
        if let (Some(schemas), Some(result), false) = (&schemas, answer.get("result"), waits) {
            assert_eq!(schemas.refuse(method.as_str().unwrap(), result), None, "{request}\n{answer}");
        }
    }
    network.conclude("metamask");
}

/// A node that lets no page read: a wallet can be used with it all the same, since it needs no permission.
#[test]
fn a_wallet_needs_nothing_to_be_allowed() {
    let mut pectin =
        Pectin::start(["dev", "--http-port", "0", "--cors-origins", "https://page.example"]).unwrap();
    let line = pectin.wait_for("RPC ").unwrap();
    let url = line.split_whitespace().nth(1).unwrap();
    let chain_id = json!({ "id": "1763316000123", "jsonrpc": "2.0", "method": "eth_chainId", "params": [] });
    let answer = post(&mut Client::connect(url).unwrap(), &chain_id.to_string());
    let expected = json!({ "id": "1763316000123", "jsonrpc": "2.0", "result": "0xb2eae" });
    assert_eq!((answer.status, serde_json::from_slice::<Value>(&answer.body).unwrap()), (200, expected));
    let mut upgrade = headers();
    upgrade.retain(|(name, _)| *name != "Connection");
    upgrade.extend([("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")]);
    upgrade.push(("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="));
    let refused = Client::connect(url).unwrap().request("GET", "/", &upgrade, b"").unwrap();
    assert_eq!(refused.status, 403, "a WebSocket could be any page's");
}

/// In a network for development every page may ask, also one from elsewhere.
#[test]
fn a_page_may_use_a_network_for_development() {
    let network = Network::start();
    let answer = Client::connect(&network.http()).unwrap().request("OPTIONS", "/", &PREFLIGHT, b"").unwrap();
    let has = |name: &str, value: &str| answer.headers.iter().any(|(n, v)| n == name && v.contains(value));
    assert_eq!(answer.status, 204);
    for (name, value) in [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", "POST"),
        ("access-control-allow-headers", "content-type"),
        ("access-control-allow-private-network", "true"),
    ] {
        assert!(has(name, value), "{name}: {:?}", answer.headers);
    }
}
