//! The log: at info the queue's events and nothing else, however much is going on; as text, as JSON, and in the words of
//! the queue specification; and requests with their spans.

use super::{dev, send};
use serde_json::Value;

/// The steps of a bundle, as the log has them.
const STEPS: [&str; 5] =
    ["block sealed", "bundle submitted", "bundle guaranteed", "bundle accumulated", "bundle finalized"];

fn objects(lines: &[String]) -> Vec<Value> {
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

#[test]
fn at_info_there_is_the_queue_and_nothing_else_under_load() {
    let (mut pectin, url) = dev(&["--log-format", "json", "--block-txs-max", "50"]);
    let before = pectin.log.len();
    send(&url, 0, 400);
    pectin.wait_for_line(|line| line.contains("bundle finalized") && line.contains("\"bundle\":1,")).unwrap();
    let lines = objects(&pectin.log[before..]);
    for line in &lines {
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
        assert_eq!(line["target"], "queue", "{line}");
        assert!(line["slot"].is_u64(), "{line}");
    }
    for step in STEPS {
        let first = lines.iter().find(|line| {
            line["message"] == step
                && (line["bundle"] == 1
                    || line["block"].as_str().is_some_and(|block| block.starts_with("1:")))
        });
        assert!(first.is_some(), "{step}: {lines:#?}");
    }
    let submitted = lines.iter().find(|line| line["message"] == "bundle submitted").unwrap();
    assert!(submitted["version"].is_u64() && submitted["core"].is_u64(), "{submitted}");
    assert!(lines.iter().any(|line| line["message"] == "submission window open" && line["queued"].is_u64()));
}

#[test]
fn a_text_line_has_a_time_a_level_a_message_and_fields() {
    let (mut pectin, url) = dev(&["--log-format", "text"]);
    send(&url, 0, 1);
    let line = pectin.wait_for("bundle submitted").unwrap();
    let mut parts = line.splitn(3, ' ');
    assert!(parts.next().is_some_and(|time| time.contains('T') && time.ends_with('Z')), "{line}");
    assert_eq!(parts.next(), Some("INFO"), "{line}");
    let words = parts.next().unwrap().trim_start();
    let fields = words.split(' ').skip(2).filter_map(|field| field.split('=').next()).collect::<Vec<_>>();
    assert_eq!(fields[..4], ["bundle", "blocks", "version", "core"], "{line}");
    assert!(words.starts_with("bundle submitted bundle=1 blocks="), "{line}");
    assert!(words.contains(" slot="), "{line}");
}

#[test]
fn the_words_of_the_specification_are_there_for_those_who_ask() {
    let (mut pectin, url) = dev(&["--log-format", "spec"]);
    send(&url, 0, 1);
    for line in [
        "Queue Runner: In submission window queued=",
        "Queue: Marked submitted bundleID=B-1 blockNumber=1 version=1 core=",
        "Queue: Marked guaranteed bundleID=B-1 version=1 (core now free!)",
        "Queue: Marked accumulated bundleID=B-1 (cleanup)",
        "Queue: Marked finalized bundleID=B-1",
    ] {
        pectin.wait_for(line).unwrap();
    }
}

/// One request: it is handed to the driver, becomes durable and is answered in the span that it began.
#[test]
fn a_request_has_a_span_from_rpc_to_the_answer() {
    let (mut pectin, url) = dev(&["--log-format", "json", "--log", "info,rpc=debug,pool=debug"]);
    let before = pectin.log.len();
    send(&url, 0, 1);
    pectin
        .wait_for_line(|line| line.contains("request answered") && line.contains("eth_sendRawTransaction"))
        .unwrap();
    let lines = objects(&pectin.log[before..]);
    let of_request = lines.iter().filter(|line| line["span"]["method"] == "eth_sendRawTransaction");
    let connection = |line: &Value| line["span"]["connection"].clone();
    let of_request = of_request.map(|line| (line["message"].clone(), connection(line))).collect::<Vec<_>>();
    let messages = of_request.iter().map(|(message, _)| message.as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(messages, ["handed to the driver", "durable", "request answered"]);
    assert!(of_request.iter().all(|(_, connection)| connection.is_u64()), "{lines:#?}");
    let added = lines.iter().find(|line| line["message"] == "transaction added").unwrap();
    assert!(added["tx"].is_string() && added["sender"].is_string() && added["pending"] == true, "{added}");
}
