//! What makes no sense gets a clear answer, and changes nothing.

use super::world::{ALICE, BOB, dev};
use hyper::Method;
use serde_json::{Value, json};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_in_words_and_nothing_is_lost() {
    let (_pectin, mut caller) = dev(&[]);
    caller.transfer("order", ALICE).await;
    let other = json!({ "from": ALICE, "to": BOB, "value": "0x2" });
    let other = caller.ask(Method::POST, "/v1/transactions", Some("order"), other).await;
    assert_eq!((other.status, &other.body["error"]), (422, &json!("IDEMPOTENCY_MISMATCH")));
    let other = caller.transfer("order", BOB).await;
    assert_eq!((other.status, &other.body["error"]), (422, &json!("IDEMPOTENCY_MISMATCH")));

    let stranger = "0x00000000000000000000000000000000000000aa";
    let unknown = caller.transfer("nobody", stranger).await;
    assert_eq!((unknown.status, &unknown.body["error"]), (404, &json!("UNKNOWN_ACCOUNT")));
    for path in ["health", "nonce/health"] {
        assert_eq!(caller.get(&format!("/v1/accounts/{stranger}/{path}")).await.status, 404);
    }
    let elsewhere = json!({ "from": ALICE, "to": BOB, "chainId": 5 });
    assert_eq!(caller.post("/v1/transactions", elsewhere).await.status, 404);

    let large = format!("0x{}", "00".repeat(200 * 1024));
    let large = caller.post("/v1/transactions", json!({ "from": ALICE, "to": BOB, "data": large })).await;
    assert_eq!((large.status, &large.body["error"]), (413, &json!("TOO_LARGE")));
    let larger = caller.raw(Method::POST, "/v1/transactions", &JSON, vec![b' '; 3 << 20]).await;
    assert_eq!(larger.status, 413);

    for wrong in [
        json!({}),
        json!({ "from": ALICE }),
        json!({ "from": ALICE, "group": "both", "to": BOB }),
        json!({ "from": "0x1", "to": BOB }),
        json!({ "from": ALICE, "to": BOB, "value": "much" }),
        json!({ "from": ALICE, "to": BOB, "vlaue": "0x1" }),
        json!({ "from": ALICE, "to": BOB, "maxFeePerGas": "0x1" }),
        json!({ "from": ALICE, "to": BOB, "maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x2" }),
        json!([]),
        json!("text"),
    ] {
        let answer = caller.post("/v1/transactions", wrong.clone()).await;
        assert_eq!((answer.status, &answer.body["error"]), (400, &json!("INVALID")), "{wrong}");
    }
    let expired = json!({ "from": ALICE, "to": BOB, "expiresAt": 1 });
    assert_eq!(caller.post("/v1/transactions", expired).await.status, 422);
    assert_eq!(caller.raw(Method::POST, "/v1/transactions", &JSON, "{\"from\": ").await.status, 400);
    assert_eq!(caller.raw(Method::POST, "/v1/transactions", &[], "{}").await.status, 415);
    let named = [JSON[0], ("idempotency-key", "a b/c")];
    assert_eq!(caller.raw(Method::POST, "/v1/transactions", &named, "{}").await.status, 400);
    for (path, status) in [
        ("/v1/transactions/none", 404),
        ("/v1/transactions/by-hash/0x12", 400),
        (&*format!("/v1/transactions/by-hash/0x{}", "0".repeat(64)), 404),
        ("/v1/transactions?state=lost", 400),
        ("/v1/transactions?limit=-1", 400),
        ("/v1/accounts/bob/health", 400),
        ("/v1/dead-letters?after=x", 400),
        ("/v1/fees?chainId=7", 404),
        ("/v1/nothing", 404),
    ] {
        assert_eq!(caller.get(path).await.status, status, "{path}");
    }
    let method = caller.raw(Method::PUT, "/v1/transactions", &JSON, "{}").await;
    assert_eq!((method.status, &method.headers["allow"]), (405, &"POST, GET".parse().unwrap()));
    assert_eq!(caller.post("/v1/dead-letters/x/replay", Value::Null).await.status, 400);
    assert_eq!(caller.ask(Method::DELETE, "/v1/webhooks/none", None, Value::Null).await.status, 404);
    // And what was accepted is done.
    let done = caller.until("order", &["confirmed"]).await;
    assert_eq!(done["state"]["confirmed"]["nonce"], 0);
    assert_eq!(caller.get("/v1/transactions").await.body["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_paid_is_held_and_the_others_go_on() {
    let (_pectin, mut caller) = dev(&[]);
    let body = json!({ "from": ALICE, "to": BOB, "value": format!("0x1{}", "0".repeat(30)) });
    let dear = caller.ask(Method::POST, "/v1/transactions", Some("dear"), body).await;
    assert_eq!(dear.status, 202);
    caller.transfer("cheap", ALICE).await;
    caller.until("cheap", &["confirmed"]).await;
    let dear = caller.get("/v1/transactions/dear").await.body;
    assert_eq!(dear["state"]["accepted"]["held"], "funds", "{dear}");
    let health = caller.get(&format!("/v1/accounts/{ALICE}/health")).await.body;
    assert_eq!(health["held"], 1);
    assert_eq!(caller.post("/v1/transactions/dear/cancel", Value::Null).await.body["result"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_do_not_lead_into_the_operators_network() {
    let (_pectin, mut caller) = dev(&[]);
    for url in [
        "http://127.0.0.1:1/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://0x7f000001/",
    ] {
        let refused = caller.post("/v1/webhooks", json!({ "url": url })).await;
        assert_eq!((refused.status, &refused.body["error"]), (422, &json!("WEBHOOK_ADDRESS")), "{url}");
    }
    for url in ["ftp://public.example/", "https://user:pass@public.example/", "no url"] {
        assert_eq!(caller.post("/v1/webhooks", json!({ "url": url })).await.status, 400, "{url}");
    }
    assert_eq!(caller.get("/v1/webhooks").await.body, json!([]));
}
