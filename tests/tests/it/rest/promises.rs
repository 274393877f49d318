//! What callers may rely on: an error pays nothing later, a name pays once, a group is of its chain, a key that was made is
//! there after a restart.

use super::world::{ALICE, BOB, Caller, dev};
use alloy_primitives::{Address, hex};
use harness::process::Pectin;
use hyper::Method;
use sender::store::{Acquired, Embedded, EmbeddedOptions, LEASE_MS, Outcome, Store};
use sender_model::{Config, Request, key, retention};
use serde_json::{Value, json};
use std::path::Path;
use types::Time;

const ETHER: &str = "0xde0b6b3a7640000";

async fn balance(caller: &mut Caller, address: &str) -> Value {
    caller.call("eth_getBalance", json!([address, "latest"])).await["result"].clone()
}

/// Pays somebody from the first account, and waits until it is final.
async fn pay(caller: &mut Caller, key: &str, to: &str) {
    let body = json!({ "from": ALICE, "to": to, "value": ETHER });
    assert_eq!(caller.ask(Method::POST, "/v1/transactions", Some(key), body).await.status, 202);
    caller.until(key, &["confirmed"]).await;
}

fn stop(mut pectin: Pectin) {
    pectin.terminate();
    assert!(pectin.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_eth_send_transaction_is_followed_by_no_payment() {
    let (_pectin, mut caller) = dev(&[]);
    let poor = caller.post("/v1/accounts", Value::Null).await.body["address"].as_str().unwrap().to_owned();
    let receiver = Address::repeat_byte(0x77).to_string();
    let hundred = json!([{ "from": poor, "to": receiver, "value": "0x64" }]);
    for _ in 0..3 {
        let error = caller.call("eth_sendTransaction", hundred.clone()).await["error"].clone();
        assert_eq!((&error["code"], &error["data"]["held"]), (&json!(-32003), &json!("funds")), "{error}");
        let id = error["data"]["requestId"].as_str().unwrap();
        let ended = caller.get(&format!("/v1/transactions/{id}")).await.body;
        assert_eq!(ended["status"], "cancelled", "{ended}");
    }
    pay(&mut caller, "fund", &poor).await;
    // The balance came a moment ago, and counts.
    let hash = caller.call("eth_sendTransaction", hundred).await["result"].clone();
    let hash = hash.as_str().unwrap();
    let id = caller.get(&format!("/v1/transactions/by-hash/{hash}")).await.body["id"].clone();
    caller.until(id.as_str().unwrap(), &["confirmed"]).await;
    assert_eq!(
        balance(&mut caller, &receiver).await,
        "0x64",
        "one payment, of the one call that was answered"
    );
    let open = caller.get("/v1/transactions?state=accepted").await.body;
    assert_eq!(open["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_another_chain_is_refused() {
    let (_pectin, mut caller) = dev(&[]);
    let group = json!({ "name": "workers", "chainId": 732846, "members": [ALICE] });
    assert_eq!(caller.post("/v1/groups", group).await.status, 201);
    let transfer =
        |chain_id: Value| json!({ "group": "workers", "chainId": chain_id, "to": BOB, "value": "0x1" });
    let elsewhere = transfer(json!(31337));
    let refused = caller.ask(Method::POST, "/v1/transactions", Some("a"), elsewhere).await;
    let problem = &refused.body;
    assert_eq!((refused.status, &problem["error"]), (400, &json!("CHAIN_MISMATCH")), "{problem}");
    assert_eq!((&problem["groupChainId"], &problem["chainId"]), (&json!(732846), &json!(31337)));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("732846") && detail.contains("31337"), "{detail}");
    assert_eq!(caller.get("/v1/transactions/a").await.status, 404);
    // An account is on the chain that is named, or there is no such chain here.
    let from = json!({ "from": ALICE, "chainId": 31337, "to": BOB, "value": "0x1" });
    let refused = caller.ask(Method::POST, "/v1/transactions", Some("b"), from).await;
    assert_eq!(refused.status, 404);
    assert!(refused.body["detail"].as_str().unwrap().contains("31337"), "{}", refused.body);
    let right = transfer(json!(732846));
    assert_eq!(caller.ask(Method::POST, "/v1/transactions", Some("c"), right).await.status, 202);
    caller.until("c", &["confirmed"]).await;
}

/// Does what the housekeeping does when the retention time is over.
async fn forget(file: &Path, id: &str) {
    let store = Embedded::open(file, EmbeddedOptions::default()).unwrap();
    let row = store.get(vec![key::request(&id.parse().unwrap())]).await.unwrap().pop().flatten().unwrap();
    let request: Request = serde_json::from_slice(&row).unwrap();
    let lease = request.account.to_string();
    let Acquired::Taken { epoch, .. } = store.acquire(lease, "test".into(), LEASE_MS, true).await.unwrap()
    else {
        panic!("force takes it")
    };
    let config = Config { retention_ms: 0, ..Config::default() };
    let now = Time::from_millis(request.completed_at.unwrap().as_millis());
    let commit = retention::forget(&request, epoch, &config, now).unwrap().unwrap();
    assert_eq!(store.commit(commit).await, Ok(Outcome::Committed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_not_paid_twice_after_its_request_was_removed() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (pectin, mut caller) = dev(&["--data-dir", data.to_str().unwrap()]);
    caller.transfer("order", ALICE).await;
    let done = caller.until("order", &["confirmed"]).await;
    stop(pectin);
    forget(&data.join("sender.redb"), "order").await;
    let (_pectin, mut caller) = dev(&["--data-dir", data.to_str().unwrap()]);
    let before = balance(&mut caller, BOB).await;
    for answer in [caller.transfer("order", ALICE).await, caller.get("/v1/transactions/order").await] {
        let problem = answer.body;
        assert_eq!((answer.status, &problem["error"]), (410, &json!("REQUEST_FORGOTTEN")), "{problem}");
        assert_eq!((&problem["requestId"], &problem["outcome"]), (&json!("order"), &json!("confirmed")));
        assert_eq!((&problem["hash"], &problem["completedAt"]), (&done["hash"], &done["completedAt"]));
        assert_eq!(problem["shouldRetry"], false);
    }
    let other = json!({ "from": ALICE, "to": BOB, "value": "0x2" });
    assert_eq!(caller.ask(Method::POST, "/v1/transactions", Some("order"), other).await.status, 422);
    // Another name goes on, and pays by itself alone.
    caller.transfer("next", ALICE).await;
    caller.until("next", &["confirmed"]).await;
    let wei =
        |value: &Value| u128::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    assert_eq!(wei(&balance(&mut caller, BOB).await), wei(&before) + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_and_groups_that_were_made_over_the_api_sign_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (pectin, mut caller) = dev(&["--data-dir", data.to_str().unwrap()]);
    let alone = caller.post("/v1/accounts", Value::Null).await.body["address"].as_str().unwrap().to_owned();
    let group = json!({ "name": "workers", "chainId": 732846, "sizeMin": 2, "sizeMax": 2 });
    let made = caller.post("/v1/groups", group).await.body;
    let members =
        made["members"].as_array().unwrap().iter().map(|member| member.as_str().unwrap().to_owned());
    let members = members.collect::<Vec<_>>();
    assert_eq!(members.len(), 2);
    for (index, address) in members.iter().chain([&alone]).enumerate() {
        pay(&mut caller, &format!("fund-{index}"), address).await;
    }
    stop(pectin);
    let keys = std::fs::read_dir(data.join("dev-keys")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut keys = keys.map(|name| name.into_string().unwrap()).collect::<Vec<_>>();
    let mut expected: Vec<String> = members
        .iter()
        .chain([&alone])
        .map(|address| format!("{}.key", hex::encode(address.parse::<Address>().unwrap())))
        .collect();
    keys.sort();
    expected.sort();
    assert_eq!(keys, expected);
    let (_pectin, mut caller) = dev(&["--data-dir", data.to_str().unwrap()]);
    let again = caller.get("/v1/groups/workers").await.body;
    assert_eq!(again["members"], made["members"]);
    let accounts = caller.get("/v1/accounts").await.body;
    let first = accounts[0]["address"].as_str().unwrap().to_lowercase();
    assert_eq!(first, ALICE, "the first account is the one that everybody knows");
    for index in 0..2 {
        let (key, body) = (format!("work-{index}"), json!({ "group": "workers", "to": BOB, "value": "0x1" }));
        assert_eq!(caller.ask(Method::POST, "/v1/transactions", Some(&key), body).await.status, 202);
    }
    caller.transfer("alone", &alone).await;
    for key in ["work-0", "work-1", "alone"] {
        caller.until(key, &["confirmed"]).await;
    }
}
