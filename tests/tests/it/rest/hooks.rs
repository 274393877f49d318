//! Webhooks and live push of the real process, verified by a library that knows nothing of this project.

use super::{
    stub::{self, Asked},
    world::{ALICE, dev},
};
use futures_util::{SinkExt, StreamExt};
use hyper::{HeaderMap, Method};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_tungstenite::tungstenite::Message;

pub(super) type Hook = (HeaderMap, Vec<u8>);

/// Takes every webhook with 204.
async fn receiver() -> (SocketAddr, mpsc::UnboundedReceiver<Hook>) {
    receiver_with(Arc::new(AtomicU16::new(204))).await
}

/// Answers every webhook with this status, which may change.
pub(super) async fn receiver_with(status: Arc<AtomicU16>) -> (SocketAddr, mpsc::UnboundedReceiver<Hook>) {
    let (sender, hooks) = mpsc::unbounded_channel();
    let at = stub::serve(move |Asked { headers, body, .. }| {
        let _nobody_listens = sender.send((headers, body)).is_err();
        (status.load(Ordering::SeqCst), String::new())
    });
    (at.await, hooks)
}

/// Receives until the request is confirmed; gives all its events in order.
async fn until_confirmed(
    hooks: &mut mpsc::UnboundedReceiver<Hook>,
    id: &str,
) -> BTreeMap<u64, (Hook, Value)> {
    let mut events = BTreeMap::new();
    loop {
        let hook = hooks.recv().await.unwrap();
        let event = serde_json::from_slice::<Value>(&hook.1).unwrap();
        if event["subject"]["request"] != id {
            continue;
        }
        let last = event["type"] == "confirmed";
        events.insert(event["sequence"].as_u64().unwrap(), (hook, event));
        if last {
            return events;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_are_told_in_order_and_signatures_hold_through_a_rotation() {
    let (_pectin, mut caller) = dev(&["--sender-webhook-allow", "127.0.0.0/8"]);
    let (at, mut hooks) = receiver().await;
    let url = format!("http://{at}/hook");
    let made = caller.post("/v1/webhooks", json!({ "url": url, "legacySignature": true })).await;
    assert_eq!(made.status, 201);
    let (id, old) =
        (made.body["id"].as_str().unwrap().to_owned(), made.body["secret"].as_str().unwrap().to_owned());
    caller.transfer("one", ALICE).await;
    let events = until_confirmed(&mut hooks, "one").await;
    let kinds = events.values().map(|(_, event)| event["type"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("accepted", "confirmed"), "{kinds:?}");
    assert!(events.keys().copied().eq(1..=events.len() as u64), "no hole: {:?}", events.keys());
    for ((headers, body), event) in events.values() {
        // One form for all of them.
        let data = event["data"].as_object().unwrap();
        assert!(data.keys().eq(["attempts", "mined", "request"]), "{event}");
        assert_eq!((&data["request"]["id"], &data["request"]["events"]), (&json!("one"), &event["sequence"]));
        Webhook::new(&old).unwrap().verify(body, headers).unwrap();
        assert_eq!(headers["webhook-id"], event["id"].as_str().unwrap());
        assert_eq!(headers["x-signature-sha256"].len(), 64);
    }
    let confirmed = &events.values().last().unwrap().1;
    assert!(
        confirmed["data"]["request"]["state"]["confirmed"]["inclusion"]["receipt"].is_object(),
        "{confirmed}"
    );

    let rotated = caller.post(&format!("/v1/webhooks/{id}/rotate"), Value::Null).await;
    let new = rotated.body["secret"].as_str().unwrap();
    caller.transfer("two", ALICE).await;
    for ((headers, body), _) in until_confirmed(&mut hooks, "two").await.values() {
        for secret in [&*old, new] {
            Webhook::new(secret).unwrap().verify(body, headers).unwrap();
        }
    }
    let listed = caller.get("/v1/webhooks").await.body;
    assert!(listed[0]["rotatingUntil"].is_u64() && listed[0].get("secret").is_none());
    assert_eq!(
        caller.ask(Method::DELETE, &format!("/v1/webhooks/{id}"), None, Value::Null).await.status,
        204
    );
    assert_eq!(caller.get("/v1/webhooks").await.body, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_endpoint_does_not_take_waits_for_it() {
    let (_pectin, mut caller) = dev(&["--sender-webhook-allow", "127.0.0.0/8"]);
    // Nobody listens there.
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let made =
        caller.post("/v1/webhooks", json!({ "url": format!("http://{nobody}/"), "events": ["confirmed"] }));
    let id = made.await.body["id"].as_str().unwrap().to_owned();
    caller.transfer("one", ALICE).await;
    caller.until("one", &["confirmed"]).await;
    let waiting = loop {
        let page = caller.get(&format!("/v1/deliveries?endpoint={id}")).await.body;
        match page["items"].as_array().unwrap().iter().find(|item| item["tries"] != 0) {
            Some(item) => break item.clone(),
            None => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    };
    assert_eq!(waiting["subject"], json!({ "request": "one" }));
    assert_eq!(caller.get("/v1/dead-letters").await.body["items"], json!([]));
    let dead = format!("/v1/dead-letters/{}/replay", waiting["id"].as_str().unwrap());
    assert_eq!(caller.post(&dead, Value::Null).await.status, 404, "it is not dead");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_is_told_what_happens() {
    let (_pectin, mut caller) = dev(&[]);
    let address = caller.url.trim_start_matches("http://").to_owned();
    let stream = TcpStream::connect(&address).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(format!("ws://{address}/"), stream).await.unwrap();
    let ask = |id: u64, method: &str, params: Value| {
        Message::text(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
    };
    let wanted = json!([{ "request": "one", "events": ["accepted", "confirmed"] }]);
    socket.send(ask(1, "sender_subscribe", wanted)).await.unwrap();
    let mut next = async || loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            return serde_json::from_str::<Value>(&text).unwrap();
        }
    };
    let name = next().await["result"].clone();
    assert!(name.is_string());
    caller.transfer("two", ALICE).await;
    caller.transfer("one", ALICE).await;
    for kind in ["accepted", "confirmed"] {
        let told = next().await;
        assert_eq!(
            (&told["method"], &told["params"]["subscription"]),
            (&json!("sender_subscription"), &name)
        );
        assert_eq!(told["params"]["result"]["type"], kind);
        assert_eq!(told["params"]["result"]["subject"], json!({ "request": "one" }));
    }
    socket.send(ask(2, "sender_unsubscribe", json!([name]))).await.unwrap();
    let answer = loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            break serde_json::from_str::<Value>(&text).unwrap();
        }
    };
    assert_eq!(answer["result"], true);
}
