//! WebSockets and subscriptions.

use super::{COUNTER, LOGGER, SPINNER, logged, transfer, world, world_with};
use futures_util::{SinkExt, StreamExt};
use harness::rpc_world::World;
use rpc::{Config, Limits};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

/// Nothing here takes long; what does not come is a failed test, not a hanging one.
const PATIENCE: Duration = Duration::from_secs(60);

struct Socket<'a> {
    world: &'a World,
    stream: WebSocketStream<TcpStream>,
    /// Notifications that came while an answer was waited for.
    early: Vec<Value>,
}

async fn connect(url: &str, origin: Option<&str>) -> Result<WebSocketStream<TcpStream>, String> {
    let address = url.trim_start_matches("http://");
    let tcp = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let mut request = format!("ws://{address}/").into_client_request().unwrap();
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    client_async(request, tcp).await.map(|(stream, _)| stream).map_err(|error| error.to_string())
}

impl<'a> Socket<'a> {
    fn new(world: &'a World) -> Self {
        let stream = world.runtime.block_on(connect(&world.url, None)).unwrap();
        Self { world, stream, early: vec![] }
    }

    fn next(&mut self) -> Option<Value> {
        let next = async {
            loop {
                match self.stream.next().await {
                    Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    _ => return None,
                }
            }
        };
        let next = async { tokio::time::timeout(PATIENCE, next).await };
        self.world.runtime.block_on(next).expect("something comes")
    }

    fn send(&mut self, text: &str) {
        self.world.runtime.block_on(self.stream.send(Message::text(text))).unwrap();
    }

    #[allow(clippy::needless_pass_by_value, reason = "a test writes its parameters where it calls")]
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": params }).to_string());
        loop {
            let message = self.next().expect("an answer comes");
            if message.get("id").is_some() {
                return message;
            }
            self.early.push(message);
        }
    }

    fn subscribe(&mut self, space: &str, params: Value) -> String {
        let answer = self.call(&format!("{space}_subscribe"), params);
        let id = answer["result"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        assert!(id.starts_with("0x") && id.len() == 34, "{id}");
        id
    }

    /// The next notification of a subscription.
    fn told(&mut self, space: &str, id: &str) -> Value {
        loop {
            let found = self.early.iter().position(|message| message["params"]["subscription"] == id);
            if let Some(found) = found {
                let message = self.early.remove(found);
                assert_eq!(message["method"], format!("{space}_subscription"));
                return message["params"]["result"].clone();
            }
            let message = self.next().expect("a notification comes");
            self.early.push(message);
        }
    }
}

#[test]
fn the_same_calls_as_over_http() {
    let world = world();
    let mut socket = Socket::new(&world);
    assert_eq!(socket.call("eth_chainId", json!([]))["result"], "0xb2eae");
    assert_eq!(socket.call("nope", json!([]))["error"]["code"], -32601);
    socket.send("{");
    assert_eq!(socket.next().unwrap()["error"]["code"], -32700);
    socket.send(r#"[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","id":2,"method":"net_version"}]"#);
    assert_eq!(socket.next().unwrap().as_array().unwrap().len(), 2);
}

#[test]
fn heads_and_logs_follow_the_chain_also_backwards() {
    let mut world = world();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stream = runtime.block_on(connect(&world.url, None)).unwrap();
    // The socket needs the world while blocks are sealed, so it has a runtime of its own.
    let mut stream = stream;
    let mut call = |params: Value| {
        let text =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params }).to_string();
        runtime.block_on(stream.send(Message::text(text))).unwrap();
        let answer = runtime.block_on(stream.next()).unwrap().unwrap();
        let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
        answer["result"].as_str().unwrap().to_owned()
    };
    let heads = call(json!(["newHeads"]));
    let logs = call(json!(["logs", { "address": LOGGER }]));
    // Of blocks that it does not ask for nobody hears.
    call(json!(["logs", { "fromBlock": "0x9" }]));
    let first = world.seal(&[logged(0)]);
    world.release(1);
    let again = world.seal(&[logged(0)]);
    let last = world.seal(&[transfer(1)]);
    let (mut seen_heads, mut seen_logs) = (vec![], vec![]);
    // A snapshot may be skipped, a block that stays may not.
    let last_log = (json!(again.hash), json!(false));
    while seen_heads.last() != Some(&json!(last.hash)) || seen_logs.last() != Some(&last_log) {
        let next = async { tokio::time::timeout(PATIENCE, stream.next()).await };
        let message = runtime.block_on(next).unwrap().unwrap().unwrap();
        let Message::Text(text) = message else { continue };
        let message: Value = serde_json::from_str(&text).unwrap();
        let result = message["params"]["result"].clone();
        match message["params"]["subscription"].as_str() {
            Some(id) if id == heads => seen_heads.push(result["hash"].clone()),
            Some(id) if id == logs => {
                seen_logs.push((result["blockHash"].clone(), result["removed"].clone()))
            }
            _ => panic!("{message}"),
        }
    }
    let (first, again) = (json!(first.hash), json!(again.hash));
    let removed =
        [(first.clone(), json!(false)), (first.clone(), json!(true)), (again.clone(), json!(false))];
    let skipped = [(again.clone(), json!(false))];
    assert!(seen_logs == removed || seen_logs == skipped, "{seen_logs:?}");
    assert_eq!(seen_heads.contains(&first), seen_logs.len() == 3);
    assert!(seen_heads.contains(&again));
}

#[test]
fn transactions_the_open_block_and_events_are_told() {
    let mut world = world();
    let tx = transfer(0);
    {
        let mut socket = Socket::new(&world);
        let hashes = socket.subscribe("eth", json!(["newPendingTransactions"]));
        let whole = socket.subscribe("eth", json!(["newPendingTransactions", true]));
        let events = socket.subscribe("builder", json!([]));
        let sent = socket.call("eth_sendRawTransaction", json!([tx.encoded()]));
        assert_eq!(sent["result"], json!(tx.hash()));
        assert_eq!(socket.told("eth", &hashes), json!(tx.hash()));
        assert_eq!(socket.told("eth", &whole)["hash"], json!(tx.hash()));
        assert_eq!(socket.told("builder", &events)["event"]["kind"], "added");
        assert_eq!(socket.call("eth_unsubscribe", json!([hashes]))["result"], true);
        assert_eq!(
            socket.call("eth_unsubscribe", json!([hashes]))["error"]["message"],
            "subscription not found"
        );
        assert_eq!(socket.call("eth_subscribe", json!(["nope"]))["error"]["code"], -32601);
        let syncing = socket.subscribe("eth", json!(["syncing"]));
        assert_eq!(socket.told("eth", &syncing), false);
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut stream = runtime.block_on(connect(&world.url, None)).unwrap();
    let subscribe = r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["pendingBlock"]}"#;
    runtime.block_on(stream.send(Message::text(subscribe))).unwrap();
    let id = runtime.block_on(stream.next()).unwrap().unwrap();
    assert!(id.to_text().unwrap().contains("result"));
    world.open(&[tx]);
    let told = runtime.block_on(async { tokio::time::timeout(PATIENCE, stream.next()).await });
    let told: Value = serde_json::from_str(told.unwrap().unwrap().unwrap().to_text().unwrap()).unwrap();
    assert_eq!(told["params"]["result"]["transactions"], json!([transfer(0).hash()]));
}

#[test]
fn subscriptions_and_messages_are_limited() {
    let limits = Limits { subscriptions_max: 2, body_bytes_max: 1000, ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    let mut socket = Socket::new(&world);
    (0..2).for_each(|_| drop(socket.subscribe("eth", json!(["newHeads"]))));
    assert_eq!(socket.call("eth_subscribe", json!(["newHeads"]))["error"]["code"], -32005);
    let reversed = json!(["logs", { "fromBlock": "0x2", "toBlock": "0x1" }]);
    assert_eq!(socket.call("eth_subscribe", reversed)["error"]["code"], -32602);
    socket.send(&" ".repeat(1001));
    assert_eq!(socket.next(), None, "too long a message ends the connection");
}

#[test]
fn pages_of_other_origins_do_not_connect() {
    let world = world();
    let own = world.url.clone();
    let status = |origin: &str| world.runtime.block_on(connect(&world.url, Some(origin))).map(drop);
    assert_eq!(status(&own), Ok(()));
    assert!(status("https://page.example").unwrap_err().contains("403"));
    let open =
        world_with(Config { origins: ["https://page.example".to_owned()].into(), ..Config::default() });
    let allowed = open.runtime.block_on(connect(&open.url, Some("https://page.example")));
    assert!(allowed.is_ok());
}

#[test]
fn what_a_client_wanted_to_know_that_is_gone_is_not_worked_on() {
    let limits = Limits {
        calls_running_max: 1,
        calls_waiting_max: 1,
        call_gas_max: 1 << 60,
        call_timeout: Duration::from_secs(3600),
        ..Limits::default()
    };
    let world = world_with(Config { limits, ..Config::default() });
    let mut socket = Socket::new(&world);
    let spin = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [{ "to": SPINNER }] });
    // One that runs for ever, and one that waits for it.
    socket.send(&spin.to_string());
    socket.send(&spin.to_string());
    drop(socket);
    let given_up = || {
        let methods = world.api.stats().methods();
        methods.iter().find(|(name, _)| *name == "eth_call").map_or(0, |(_, stats)| stats.errors())
    };
    let until = std::time::Instant::now() + PATIENCE;
    while given_up() < 2 {
        assert!(std::time::Instant::now() < until, "calls of nobody are waited for");
        std::thread::yield_now();
    }
    // There is room again.
    world.ok("eth_call", json!([{ "to": COUNTER }]));
}
