//! Webhooks that nobody took until the last try.

use super::{
    hooks::receiver_with,
    world::{ALICE, Caller, dev},
};
use hyper::Method;
use sender::store::{Acquired, Embedded, EmbeddedOptions, LEASE_MS, Outcome, Store};
use sender_model::{Authority, Commit, Delivery, Fence, Write, delivery::TRIES_MAX};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};
use types::Time;

/// Asks until the first of a list is as wanted.
async fn first(caller: &mut Caller, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..1_200 {
        let page = caller.get(path).await.body;
        if let Some(item) = page["items"].as_array().unwrap().first().filter(|item| wanted(item)) {
            return item.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nothing of {path} is as it should be");
}

/// Lets an hour pass for a delivery, in the file of a node that is stopped: only its last try is left.
async fn only_the_last_try(file: &Path) {
    let store = Embedded::open(file, EmbeddedOptions::default()).unwrap();
    let mut rows = store.scan("d/".into(), None, 10).await.unwrap();
    let (key, row) = rows.pop().unwrap();
    assert!(rows.is_empty());
    let delivery = serde_json::from_slice::<Delivery>(&row).unwrap();
    let lease = delivery.account.to_string();
    let acquired = store.acquire(lease, "test".into(), LEASE_MS, true).await.unwrap();
    let Acquired::Taken { epoch, .. } = acquired else { panic!("force takes it") };
    let fence = Fence::of(delivery.account, epoch);
    let last = Delivery { tries: TRIES_MAX - 1, next_at: Time::from_millis(1), ..delivery };
    let writes = vec![Write::Put(key, serde_json::to_vec(&last).unwrap())];
    let authority = Authority::Holder(fence.clone());
    let commit = Commit { authority, preconditions: vec![], writes };
    assert_eq!(store.commit(commit).await, Ok(Outcome::Committed));
    assert_eq!(store.release(fence).await, Ok(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_is_listed_counted_and_told_when_it_is_replayed() {
    let files = tempfile::tempdir().unwrap();
    let data = files.path().join("data");
    let status = Arc::new(AtomicU16::new(500));
    let (at, mut hooks) = receiver_with(status.clone()).await;
    let arguments = ["--sender-webhook-allow", "127.0.0.0/8", "--data-dir", data.to_str().unwrap()];
    let (mut pectin, mut caller) = dev(&arguments);
    let new = json!({ "url": format!("http://{at}/"), "events": ["confirmed"] });
    let endpoint = caller.post("/v1/webhooks", new).await.body["id"].clone();
    caller.transfer("one", ALICE).await;
    caller.until("one", &["confirmed"]).await;
    let tried = first(&mut caller, "/v1/deliveries", |item| item["tries"] != 0).await;
    pectin.terminate();
    assert!(pectin.wait().unwrap().success());
    only_the_last_try(&data.join("sender.redb")).await;

    let (mut pectin, mut caller) = dev(&arguments);
    let dead = first(&mut caller, "/v1/dead-letters", |_| true).await;
    assert_eq!((&dead["tries"], &dead["endpoint"]), (&json!(TRIES_MAX), &endpoint));
    assert_eq!((&dead["eventId"], &dead["subject"]), (&tried["eventId"], &json!({ "request": "one" })));
    assert_eq!(caller.get("/v1/deliveries").await.body["items"], json!([]));
    // It may have been quicker than the words with which the node begins.
    let given_up = "a webhook is given up";
    if !pectin.log.iter().any(|line| line.contains(given_up)) {
        pectin.wait_for(given_up).unwrap();
    }
    let scrape = caller.raw(Method::GET, "/metrics", &[], "").await;
    let counted = "pectin_sender_events_total{event=\"webhooks_dead\"} 1\n";
    assert!(String::from_utf8_lossy(&scrape.body).contains(counted));

    while hooks.try_recv().is_ok() {}
    status.store(204, Ordering::SeqCst);
    let replay = format!("/v1/dead-letters/{}/replay", dead["id"].as_str().unwrap());
    assert_eq!(caller.post(&replay, Value::Null).await.status, 204);
    let (headers, body) = hooks.recv().await.unwrap();
    let event = serde_json::from_slice::<Value>(&body).unwrap();
    assert_eq!(headers["webhook-id"], dead["eventId"].as_str().unwrap());
    assert_eq!((&event["type"], &event["subject"]["request"]), (&json!("confirmed"), &json!("one")));
    assert_eq!(caller.get("/v1/dead-letters").await.body["items"], json!([]));
    assert_eq!(caller.post(&replay, Value::Null).await.status, 404, "it is not dead any more");
}
