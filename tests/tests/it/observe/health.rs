//! The node's health: `/readyz`, `builder_status`, `/metrics` and `pectin doctor` say the same, because one function judges.

use super::{dev, get, send, served::value, text};
use harness::{
    http::Client,
    process::{Pectin, call},
    product::binary,
};
use serde_json::{Value, json};
use std::process::Command;

/// A node, its address and its data directory.
fn started(arguments: &[&str]) -> (Pectin, String, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let place = ["--data-dir", data.to_str().unwrap()];
    let (pectin, url) = dev(&[&place, arguments].concat());
    (pectin, url, directory)
}

/// What `/readyz` answers.
pub(super) fn ready(url: &str) -> (u16, Value) {
    let answer = get(url, "/readyz");
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

pub(super) fn fault(url: &str, fault: &Value) {
    let body = fault.to_string();
    let mut client = Client::connect(url).unwrap();
    let answer = client.request("POST", "/dev/faults", &[("x-pectin-page", "1")], body.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{}", text(&answer));
}

/// The reason with this code, if it is one.
fn reason(health: &Value, code: &str) -> Option<Value> {
    health["reasons"].as_array().unwrap().iter().find(|reason| reason["code"] == code).cloned()
}

/// Waits until this is a reason; gives the status and the reason.
pub(super) fn until_because(url: &str, code: &str) -> (u16, Value) {
    loop {
        let (status, health) = ready(url);
        if let Some(reason) = reason(&health, code) {
            return (status, reason);
        }
    }
}

fn until_healthy(url: &str) {
    while ready(url) != (200, json!({ "ready": true, "level": "ok", "reasons": [] })) {}
}

/// JSON-RPC and metrics give this reason too.
fn is_agreed(url: &str, code: &str, is_ready: bool) {
    let status = call(&mut Client::connect(url).unwrap(), "builder_status", &json!([])).unwrap();
    assert!(reason(&status["health"], code).is_some(), "{status}");
    assert_eq!(status["health"]["ready"], is_ready);
    let scrape = text(&get(url, "/metrics"));
    assert_eq!(value(&scrape, &format!("pectin_health_reason{{reason=\"{code}\"}}")), 1.0);
    assert_eq!(value(&scrape, "pectin_ready"), f64::from(u8::from(is_ready)));
}

/// What `pectin doctor` finds about the node, and how it ends.
fn doctor(url: &str, directory: &tempfile::TempDir) -> (i32, Vec<(String, String)>) {
    let port = url.rsplit_once(':').unwrap().1;
    let mut command = Command::new(binary().unwrap());
    command.args(["doctor", "--json", "--slot-ms", "400", "--http-port", port, "--data-dir"]);
    let output = command.arg(directory.path().join("data")).output().unwrap();
    let findings = serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap();
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let node = findings.iter().filter(|finding| finding["what"] == "node");
    let node = node.map(|finding| (word(finding, "verdict"), word(finding, "text"))).collect();
    (output.status.code().unwrap(), node)
}

#[test]
fn a_node_without_validators_is_not_ready_and_all_say_why() {
    let (_pectin, url, directory) = started(&[]);
    until_healthy(&url);
    let (_, found) = doctor(&url, &directory);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "ok");
    for index in 0..6 {
        fault(&url, &json!({ "fault": "validator", "index": index, "down": true }));
    }
    let (status, reason) = until_because(&url, "no_validators");
    assert_eq!((status, &reason["level"]), (503, &json!("unready")));
    assert!(reason["text"].as_str().unwrap().starts_with("None of 6 validators is connected"), "{reason}");
    assert!(reason["action"].as_str().unwrap().contains("firewall"), "{reason}");
    is_agreed(&url, "no_validators", false);
    let (code, found) = doctor(&url, &directory);
    assert_eq!(code, 1);
    let is_it =
        |(verdict, text): &(String, String)| verdict == "problem" && text.starts_with("None of 6 validators");
    assert!(found.iter().any(is_it), "{found:?}");
    assert_eq!(get(&url, "/healthz").status, 200);
    fault(&url, &json!({ "fault": "heal" }));
    until_healthy(&url);
}

#[test]
fn a_node_whose_blocks_are_abandoned_is_not_ready_until_they_are_released() {
    let (mut pectin, url, directory) = started(&["--retries-max", "1"]);
    until_healthy(&url);
    fault(&url, &json!({ "fault": "submissions", "how": "silent" }));
    send(&url, 0, 1);
    pectin.wait_for("bundle abandoned bundle=1").unwrap();
    let (status, reason) = until_because(&url, "blocks_abandoned");
    assert_eq!((status, &reason["level"]), (503, &json!("unready")));
    assert!(reason["text"].as_str().unwrap().starts_with("Block 1 was abandoned"), "{reason}");
    is_agreed(&url, "blocks_abandoned", false);
    let (code, found) = doctor(&url, &directory);
    assert_eq!(code, 1);
    assert!(found.iter().any(|(_, text)| text.starts_with("Block 1 was abandoned")), "{found:?}");
    fault(&url, &json!({ "fault": "heal" }));
    until_healthy(&url);
}

#[test]
fn a_paused_node_is_ready_and_says_that_it_is_paused() {
    let (_pectin, url, directory) = started(&[]);
    until_healthy(&url);
    let token = std::fs::read_to_string(directory.path().join("data/admin-token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let order = |method: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": [] }).to_string();
        let headers = [("authorization", &*bearer), ("content-type", "application/json")];
        let answer = Client::connect(&url).unwrap().request("POST", "/", &headers, body.as_bytes()).unwrap();
        assert!(text(&answer).contains("\"result\""), "{}", text(&answer));
    };
    order("builder_pause");
    let (status, reason) = until_because(&url, "paused");
    assert_eq!((status, &reason["level"]), (200, &json!("degraded")));
    is_agreed(&url, "paused", true);
    order("builder_resume");
    until_healthy(&url);
}
