//! What makes no sense gets a clear answer, and changes nothing.

use super::world::{ALICE, BOB, dev};
use hyper::Method;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

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
async fn literals_of_paths_are_names_too_and_escapes_are_read() {
    let (_pectin, mut caller) = dev(&[]);
    for name in ["raw", "by-key", "by-hash", "cancel", "a:b"] {
        assert_eq!(caller.transfer(name, ALICE).await.status, 202);
    }
    for (path, id) in [
        ("/v1/transactions/raw", "raw"),
        ("/v1/transactions/%72aw?x=y", "raw"),
        ("/v1/transactions/by-key", "by-key"),
        ("/v1/transactions/by-hash", "by-hash"),
        ("/v1/transactions/by-key/raw", "raw"),
        ("/v1/transactions/by-key/cancel", "cancel"),
        ("/v1/transactions/a%3Ab", "a:b"),
    ] {
        let found = caller.raw(Method::GET, path, &[], "").await;
        let body = serde_json::from_slice::<Value>(&found.body).unwrap();
        assert_eq!((found.status, &body["id"]), (200, &json!(id)), "{path}: {body}");
    }
    for id in ["raw", "by-key", "by-hash"] {
        let path = format!("/v1/transactions/{id}/cancel");
        let cancelled = caller.raw(Method::POST, &path, &JSON, "").await;
        let body = serde_json::from_slice::<Value>(&cancelled.body).unwrap();
        assert!(cancelled.status == 200 && body["result"].is_string(), "{path}: {body}");
    }
    for (path, detail) in [
        ("/v1/groups/%zz", "the URL is not written as URLs are"),
        ("/v1/groups/%ff", "the URL is not written as URLs are"),
        ("/v1/transactions?state=%zz", "the URL is not written as URLs are"),
        ("/v1/transactions?state=lost", "state: there is no state \"lost\""),
        ("/v1/transactions?limit=x", "limit: invalid digit found in string"),
    ] {
        let refused = caller.get(path).await;
        assert_eq!((refused.status, &refused.body["detail"]), (400, &json!(detail)), "{path}");
    }
    // The last value of a name counts, and names that mean nothing are ignored.
    let page = caller.get("/v1/transactions?limit=x&limit=1&nothing=x").await;
    assert_eq!(page.body["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_found_before_its_method_and_its_method_before_its_body() {
    let (_pectin, mut caller) = dev(&[]);
    for method in [Method::HEAD, Method::PUT, Method::TRACE] {
        let refused = caller.raw(method.clone(), "/v1/accounts", &[], "").await;
        assert_eq!(
            (refused.status, &refused.headers["allow"]),
            (405, &"GET, POST".parse().unwrap()),
            "{method}"
        );
        assert_eq!(refused.headers["cache-control"], "no-store");
    }
    let detail = caller.ask(Method::PATCH, "/v1/accounts", None, Value::Null).await.body["detail"].clone();
    assert_eq!(detail, "this path takes GET, POST");
    let large = vec![b' '; 3 << 20];
    assert_eq!(caller.raw(Method::GET, "/v1/accounts", &[], large).await.status, 413);
    for (method, path, status) in [
        ("POST", "/v1/nothing", 404),
        ("POST", "/v1/accounts/", 404),
        ("POST", "/v1/docs", 404),
        ("PUT", "/v1/accounts", 405),
        ("POST", "/v1/transactions/one/cancel", 415),
    ] {
        let line = answer_to_head(&caller.url, method, path, 3 << 20);
        assert!(line.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {line}");
    }
}

/// The first line of the answer to a request whose body is announced and never comes.
fn answer_to_head(url: &str, method: &str, path: &str, length: usize) -> String {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
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
