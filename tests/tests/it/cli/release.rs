//! Blocks that are given up: every block that a transaction was in stays in its story.

use super::{Network, run, text};
use harness::http::Client;
use serde_json::{Value, json};
use std::path::Path;

const SOMEBODY: &str = "0x00000000000000000000000000000000000000aa";

/// What the operator's token allows.
fn order(network: &Network, data: &Path, method: &str, params: &Value) -> Value {
    let token = std::fs::read_to_string(data.join("admin-token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let headers = [("content-type", "application/json"), ("authorization", &*bearer)];
    let mut client = Client::connect(&network.url).unwrap();
    let answer = client.request("POST", "/", &headers, body.as_bytes()).unwrap();
    let answer = serde_json::from_slice::<Value>(&answer.body).unwrap();
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// The names of the episodes, with the number of the block and who gave it up.
fn episodes(way: &Value) -> Vec<String> {
    let episode = |episode: &Value| {
        let part = |value: &Value| value.as_str().map_or_else(String::new, |text| format!(" {text}"));
        let event = episode["event"].as_str().unwrap();
        format!("{event}{}{}", part(&episode["block"]["number"]), part(&episode["by"]))
    };
    way["story"].as_array().unwrap().iter().map(episode).collect()
}

/// The hashes of the blocks that a transaction was sealed in.
fn sealed_in(way: &Value) -> Vec<String> {
    let sealed = way["story"].as_array().unwrap().iter().filter(|episode| episode["event"] == "sealed");
    sealed.map(|episode| episode["block"]["hash"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_the_operator_releases_stays_in_the_story_and_blames_no_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    // Nothing is sent, so the block can be given up whenever the test gets to it.
    let mut network = Network::start(&["--data-dir", text(&data), "--dry-run", "--empty-blocks", "0"]);
    let hash = network.paid(SOMEBODY);
    network.pectin.wait_for("block sealed block=1:").unwrap();
    let before = network.run(&["tx", &hash, "--json"]).json();
    assert_eq!(episodes(&before), ["accepted", "sealed 0x1"]);
    assert_eq!(order(&network, &data, "builder_release", &json!([1])), json!(1));
    network.pectin.wait_for("block released block=1:").unwrap();
    network.pectin.wait_for("block sealed block=1:").unwrap();
    let way = network.run(&["tx", &hash, "--json"]).json();
    assert_eq!(episodes(&way), ["accepted", "sealed 0x1", "released 0x1 operator", "sealed 0x1"]);
    let blocks = sealed_in(&way);
    assert_eq!(json!(blocks[0]), before["block"]["hash"]);
    assert_ne!(blocks[0], blocks[1]);
    assert_eq!(json!(blocks[1]), way["block"]["hash"]);
    assert_eq!((&way["attempts"], &way["releases"]), (&json!(0), &json!(1)), "none is suspected: {way}");
    assert_eq!(way["story"][0]["at"], before["story"][0]["at"], "it was accepted once");
    assert_eq!(way["story"][1]["at"], before["times"]["sealed"], "the first block keeps its time");
    network.stop();

    // The same after a restart, up to the end and after it.
    let network = Network::start(&["--data-dir", text(&data), "--empty-blocks", "0"]);
    let words = network.run(&["tx", &hash, "--wait", "finalized"]).good();
    let released =
        words.lines().find(|line| line.starts_with("released")).unwrap_or_else(|| panic!("{words}"));
    assert!(released.contains(&blocks[0]) && released.ends_with("by the operator"), "{words}");
    assert_eq!(words.lines().filter(|line| line.starts_with("sealed")).count(), 2, "{words}");
    assert!(words.contains(&blocks[1]), "{words}");
    let finally = network.run(&["tx", &hash, "--json"]).json();
    assert_eq!(finally["story"].as_array().unwrap()[..4], way["story"].as_array().unwrap()[..4]);
    assert_eq!(episodes(&finally).last().unwrap(), "finalized 0x1");
    network.stop();
    let network = Network::start(&["--data-dir", text(&data)]);
    let later = network.run(&["tx", &hash, "--json"]).json();
    assert_eq!(sealed_in(&later), blocks);
    assert_eq!(later["since"], way["since"], "{later}");
    assert_eq!((&later["status"], &later["attempts"]), (&json!("finalized"), &json!(0)), "{later}");
    network.stop();
    assert!(run(&["db", "check", "--data-dir", text(&data)]).good().contains("is sound"));
}

#[test]
fn what_the_chain_gives_up_is_suspected_and_its_attempts_stay_known() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut network =
        Network::start(&["--data-dir", text(&data), "--retries-max", "1", "--empty-blocks", "0"]);
    let fault = |how: &Value| {
        let body = json!({ "fault": "submissions", "how": how }).to_string();
        let mut client = Client::connect(&network.url).unwrap();
        let answer = client.request("POST", "/dev/faults", &[("x-pectin-page", "1")], body.as_bytes());
        assert_eq!(answer.unwrap().status, 200);
    };
    fault(&json!("refused"));
    let hash = network.paid(SOMEBODY);
    network.pectin.wait_for("bundle abandoned bundle=1").unwrap();
    let why = network.run(&["bundle", "1"]).good();
    assert!(why.contains("why it is slow\n  It was given up after 1 failed versions"), "{why}");
    fault(&Value::Null);
    network.pectin.wait_for("block released block=1:").unwrap();
    network.run(&["tx", &hash, "--wait", "finalized"]).good();
    let way = network.run(&["tx", &hash, "--json"]).json();
    assert_eq!(way["attempts"], 1, "it stays known when it is final: {way}");
    let told = episodes(&way);
    assert!(told.contains(&"released 0x1 chain".to_owned()), "{told:?}");
    assert_eq!(sealed_in(&way).len(), 2, "{told:?}");
    network.stop();
    let network = Network::start(&["--data-dir", text(&data)]);
    assert_eq!(network.run(&["tx", &hash, "--json"]).json()["attempts"], 1);
    network.stop();
}
