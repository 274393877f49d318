//! The usual ways: sending, finding, lending, grouping.

use super::world::{ALICE, BOB, dev};
use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::Encodable2718;
use alloy_primitives::{TxKind, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use hyper::Method;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_handed_over_once_and_found_in_every_way() {
    let (_pectin, mut caller) = dev(&[]);
    let accounts = caller.get("/v1/accounts").await;
    assert_eq!(accounts.body.as_array().unwrap().len(), 10);
    let first = caller.transfer("order-1", ALICE).await;
    assert_eq!((first.status, &first.body["status"]), (202, &json!("accepted")));
    assert!(!first.headers.contains_key("idempotency-replayed"));
    // The same again, written in another way: the same transaction, in every state.
    let again = format!(r#"{{ "value":"0x01", "to":"{BOB}",  "from":"{ALICE}" }}"#);
    let headers = [("content-type", "application/json"), ("idempotency-key", "order-1")];
    let replayed = caller.raw(Method::POST, "/v1/transactions", &headers, again).await;
    assert_eq!((replayed.status, &replayed.headers["idempotency-replayed"]), (200, &"true".parse().unwrap()));
    let confirmed = caller.until("order-1", &["confirmed"]).await;
    let replayed = caller.transfer("order-1", ALICE).await;
    assert_eq!((replayed.status, &replayed.body), (200, &confirmed));
    assert_eq!(replayed.headers["idempotency-replayed"], "true");

    let hash = confirmed["hash"].as_str().unwrap().to_owned();
    assert_eq!(confirmed["state"]["confirmed"]["inclusion"]["success"], true);
    for path in [format!("/v1/transactions/by-hash/{hash}"), "/v1/transactions/by-key/order-1".to_owned()] {
        assert_eq!(caller.get(&path).await.body, confirmed);
    }
    for n in 2..=4 {
        caller.transfer(&format!("order-{n}"), ALICE).await;
    }
    let mut seen = vec![];
    let mut after = String::new();
    loop {
        let page = caller.get(&format!("/v1/transactions?address={ALICE}&limit=2{after}")).await.body;
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, ["order-1", "order-2", "order-3", "order-4"]);
    caller.until("order-4", &["confirmed"]).await;
    let page = caller.get("/v1/transactions?state=confirmed").await.body;
    assert_eq!(page["items"].as_array().unwrap().len(), 4);
    let health = caller.get(&format!("/v1/accounts/{ALICE}/nonce/health")).await.body;
    assert_eq!((&health["trackedNonce"], &health["gapCount"]), (&json!(4), &json!(0)));
    assert_eq!(caller.get(&format!("/v1/accounts/{ALICE}/health")).await.body["paused"], false);
    assert!(caller.get("/v1/fees").await.body["quote"]["baseFeePerGas"].is_string());
    assert_eq!(caller.get("/v1/health").await.body["status"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_is_held_cancelled_is_never_mined_and_others_go_on() {
    let (_pectin, mut caller) = dev(&[]);
    let account = format!("/v1/accounts/{ALICE}");
    assert_eq!(caller.post(&format!("{account}/pause"), Value::Null).await.body["result"], "done");
    caller.transfer("held", ALICE).await;
    caller.transfer("free", BOB).await;
    caller.until("free", &["confirmed"]).await;
    let held = caller.get("/v1/transactions/held").await.body;
    assert_eq!(held["status"], "accepted", "{held}");
    assert_eq!(caller.post("/v1/transactions/held/cancel", Value::Null).await.body["result"], "cancelled");
    assert_eq!(caller.post(&format!("{account}/resume"), Value::Null).await.body["result"], "done");
    caller.transfer("next", ALICE).await;
    let next = caller.until("next", &["confirmed"]).await;
    assert_eq!(next["state"]["confirmed"]["nonce"], 0, "the cancelled one has used no nonce");
    assert_eq!(caller.get("/v1/transactions/held").await.body["status"], "cancelled");
    assert_eq!(caller.post("/v1/transactions/next/cancel", Value::Null).await.body["result"], "tooLate");
    assert_eq!(caller.post("/v1/transactions/next/replace", json!({})).await.status, 409);
}

/// Signs a transfer as somebody who holds the key elsewhere.
fn signed(nonce: u64) -> String {
    let key = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    let key = key.parse::<PrivateKeySigner>().unwrap();
    let tx = TxEip1559 {
        chain_id: 732846,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 20_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(BOB.parse().unwrap()),
        value: U256::from(1),
        ..TxEip1559::default()
    };
    let signature = key.sign_hash_sync(&tx.signature_hash()).unwrap();
    hex::encode_prefixed(TxEnvelope::from(tx.into_signed(signature)).encoded_2718())
}

#[tokio::test(flavor = "multi_thread")]
async fn nonces_are_lent_and_a_wrong_one_is_told_what_is_right() {
    let (_pectin, mut caller) = dev(&[]);
    let nonce = format!("/v1/accounts/{ALICE}/nonce");
    let first = caller.post(&format!("{nonce}/reserve"), json!({ "ttlMs": 60_000 })).await;
    assert_eq!((first.status, &first.body["nonce"]), (201, &json!(0)));
    let second = caller.post(&format!("{nonce}/reserve"), json!({})).await.body;
    assert_eq!(second["nonce"], 1);
    let wrong = json!({ "rawTransaction": signed(5), "token": first.body["token"] });
    let wrong = caller.post("/v1/transactions/raw", wrong).await;
    assert_eq!(wrong.status, 409);
    assert_eq!(
        (
            &wrong.body["error"],
            &wrong.body["currentNonce"],
            &wrong.body["attemptedNonce"],
            &wrong.body["shouldRetry"]
        ),
        (&json!("NONCE_CONFLICT"), &json!(2), &json!(5), &json!(true))
    );
    let taken = json!({ "rawTransaction": signed(0), "token": first.body["token"] });
    let taken = caller.ask(Method::POST, "/v1/transactions/raw", Some("outside"), taken).await;
    assert_eq!(taken.status, 202, "{}", taken.body);
    caller.until("outside", &["confirmed"]).await;
    let back = json!({ "nonce": 1, "token": second["token"] });
    assert_eq!(caller.post(&format!("{nonce}/release"), back.clone()).await.status, 204);
    assert_eq!(caller.post(&format!("{nonce}/release"), back).await.body["error"], "NONCE_CONFLICT");
    assert_eq!(caller.post(&format!("{nonce}/reset"), Value::Null).await.status, 200);
    caller.transfer("ours", ALICE).await;
    let ours = caller.until("ours", &["confirmed"]).await;
    assert_eq!(ours["state"]["confirmed"]["nonce"], 1, "what came back is used first");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_made_funded_and_sends() {
    let (_pectin, mut caller) = dev(&[]);
    let ether = "0xde0b6b3a7640000";
    let funding = json!({ "owner": ALICE, "threshold": ether, "amount": ether });
    let new = json!({ "name": "workers", "chainId": 732846, "sizeMin": 2, "sizeMax": 3, "funding": funding });
    let made = caller.post("/v1/groups", new.clone()).await;
    assert_eq!((made.status, made.body["members"].as_array().unwrap().len()), (201, 2));
    assert_eq!(caller.post("/v1/groups", new).await.status, 201);
    let grown = caller.post("/v1/groups/workers/grow", json!({ "accounts": 5 })).await.body;
    assert_eq!(grown["members"].as_array().unwrap().len(), 3, "it never grows above its greatest size");
    let body = json!({ "group": "workers", "to": BOB, "value": "0x1" });
    let sent = caller.ask(Method::POST, "/v1/transactions", Some("g"), body.clone()).await;
    assert_eq!(sent.status, 202);
    assert_eq!(caller.ask(Method::POST, "/v1/transactions", Some("g"), body).await.status, 200);
    caller.until("g", &["confirmed"]).await;
    assert_eq!(caller.get("/v1/groups").await.body.as_array().unwrap().len(), 1);
    assert_eq!(caller.get("/v1/groups/workers").await.status, 200);
    assert_eq!(caller.get("/v1/groups/others").await.status, 404);
    let made = caller.post("/v1/accounts", Value::Null).await;
    assert_eq!(made.status, 201);
    assert_eq!(caller.get("/v1/accounts").await.body.as_array().unwrap().len(), 10 + 3 + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_one_is_found_by_every_hash_and_a_cancelled_one_is_never_mined() {
    let (_pectin, mut caller) = dev(&[]);
    let nonce = format!("/v1/accounts/{ALICE}/nonce");
    // Behind a nonce on loan nothing can be mined, so there is time for a change of mind.
    let loan = caller.post(&format!("{nonce}/reserve"), json!({ "ttlMs": 600_000 })).await.body;
    for id in ["dearer", "unwanted"] {
        caller.transfer(id, ALICE).await;
        caller.until(id, &["submitted"]).await;
    }
    let first = caller.get("/v1/transactions/dearer").await.body["hash"].clone();
    let cancel = "/v1/transactions/unwanted/cancel";
    assert_eq!(caller.post(cancel, Value::Null).await.body["result"], "cancelling");
    loop {
        let replaced = caller.post("/v1/transactions/dearer/replace", json!({})).await;
        if replaced.status == 200 {
            assert_eq!(replaced.body["result"], "done");
            break;
        }
        assert_eq!((replaced.status, &replaced.body["shouldRetry"]), (409, &json!(true)), "it is too soon");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    for (id, kind) in [("dearer", "payload"), ("unwanted", "noop")] {
        loop {
            let attempts = caller.get(&format!("/v1/transactions/{id}")).await.body["attempts"].clone();
            if attempts[1]["status"] == "sent" {
                assert_eq!(attempts[1]["kind"], kind);
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
    let back = json!({ "nonce": loan["nonce"], "token": loan["token"] });
    assert_eq!(caller.post(&format!("{nonce}/release"), back).await.status, 204);
    caller.transfer("gap", ALICE).await;
    let mined = caller.until("dearer", &["confirmed"]).await["hash"].clone();
    caller.until("unwanted", &["cancelled"]).await;
    assert_eq!(caller.post(cancel, Value::Null).await.body["result"], "cancelled");
    assert_ne!(mined, first);
    for hash in [&first, &mined] {
        for (method, field) in
            [("eth_getTransactionByHash", "hash"), ("eth_getTransactionReceipt", "transactionHash")]
        {
            let found = caller.call(method, json!([hash])).await;
            assert_eq!(found["result"][field], mined, "{method} {found}");
        }
        let path = format!("/v1/transactions/by-hash/{}", hash.as_str().unwrap());
        assert_eq!(caller.get(&path).await.body["id"], "dearer");
    }
    let count = caller.call("eth_getTransactionCount", json!([BOB, "latest"])).await;
    assert_eq!(count["result"], "0x0");
}
