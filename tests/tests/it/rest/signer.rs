//! A node whose keys are elsewhere: behind a server that speaks web3signer's interface.

use super::{
    stub::{self, Asked},
    world::{ALICE, dev},
};
use alloy_primitives::{Address, hex, keccak256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use hyper::Method;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// One key, and whether the server says that it is busy.
async fn web3signer(busy: Arc<AtomicBool>) -> (String, Address) {
    let signer = PrivateKeySigner::random();
    let public = signer.credential().verifying_key().to_encoded_point(false);
    let (name, address) = (hex::encode_prefixed(&public.as_bytes()[1..]), signer.address());
    let at = stub::serve(move |Asked { line, body, .. }| {
        if line == "GET /canary/api/v1/eth1/publicKeys" {
            return (200, json!([name]).to_string());
        }
        if line != format!("POST /canary/api/v1/eth1/sign/{name}") {
            return (404, "unknown key".to_owned());
        }
        if busy.load(Ordering::SeqCst) {
            return (503, "later".to_owned());
        }
        let body = serde_json::from_slice::<Value>(&body).unwrap();
        let data = hex::decode(body["data"].as_str().unwrap()).unwrap();
        let signature = signer.sign_hash_sync(&keccak256(data)).unwrap();
        (200, hex::encode_prefixed(signature.as_bytes()))
    });
    (format!("http://{}/canary", at.await), address)
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_of_a_remote_signer_send_and_wait_while_it_is_busy() {
    let busy = Arc::new(AtomicBool::new(false));
    let (url, address) = web3signer(busy.clone()).await;
    let (mut pectin, mut caller) = dev(&["--sender-web3signer", &url, "--log", "debug"]);
    // Keys that not everybody knows are only for the operator, in a development network too.
    assert_eq!(caller.get("/v1/accounts").await.status, 401);
    let operator = pectin.log.iter().find(|line| line.contains("Operator")).unwrap();
    caller.token = operator.split_whitespace().last().map(str::to_owned);
    let address = address.to_string().to_lowercase();
    let accounts = caller.get("/v1/accounts").await.body;
    let known =
        accounts.as_array().unwrap().iter().map(|one| one["address"].as_str().unwrap().to_lowercase());
    assert!(known.collect::<Vec<_>>().contains(&address), "{accounts}");
    let paid = json!({ "from": ALICE, "to": address, "value": "0xde0b6b3a7640000" });
    caller.ask(Method::POST, "/v1/transactions", Some("pay"), paid).await;
    caller.until("pay", &["confirmed"]).await;
    busy.store(true, Ordering::SeqCst);
    caller.transfer("remote", &address).await;
    pectin.wait_for("Sender: not signed").unwrap();
    assert_eq!(caller.get("/v1/transactions/remote").await.body["status"], "accepted");
    busy.store(false, Ordering::SeqCst);
    let done = caller.until("remote", &["confirmed"]).await;
    assert_eq!(done["state"]["confirmed"]["nonce"], 0);
    let made = caller.post("/v1/accounts", Value::Null).await;
    assert_eq!(made.status, 201, "other keys are still made here");
    pectin.terminate();
    assert!(pectin.wait().unwrap().success());
    assert!(!pectin.log.join("\n").contains("canary"), "the signer's address may hold a secret");
}
