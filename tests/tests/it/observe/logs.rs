//! The log at info: the queue's lines and nothing else, however much is going on.

use super::{dev, send};
use serde_json::Value;

/// Whether a line is one of the queue's.
fn is_of_the_queue(words: &str) -> bool {
    words.starts_with("Queue: ") || words.starts_with("Queue Runner: ")
}

#[test]
fn at_info_there_is_the_queue_and_nothing_else_under_load() {
    let (mut pectin, url) = dev(&["--log-format", "json", "--block-txs-max", "50"]);
    let before = pectin.log.len();
    send(&url, 0, 400);
    pectin.wait_for("Marked finalized bundleID=B-8").unwrap();
    let lines = pectin.log[before..].iter().filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("each line is an object"));
    let mut words = Vec::new();
    for line in lines {
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
        words.push(line["message"].as_str().unwrap().to_owned());
    }
    let others = words.iter().filter(|words| !is_of_the_queue(words)).collect::<Vec<_>>();
    assert!(others.is_empty(), "{others:#?}");
    for kind in ["Sealed", "Marked submitted", "Marked guaranteed", "Marked accumulated", "Marked finalized"]
    {
        assert!(
            words.iter().any(|words| words.starts_with(&format!("Queue: {kind} bundleID=B-1"))),
            "{kind}"
        );
    }
    assert!(words.iter().any(|words| words.starts_with("Queue Runner: In submission window queued=")));
}

#[test]
fn a_pretty_line_has_a_time_a_level_and_the_words() {
    let (mut pectin, url) = dev(&["--log-format", "pretty"]);
    send(&url, 0, 1);
    let line = pectin.wait_for("Marked submitted").unwrap();
    let mut parts = line.splitn(3, ' ');
    assert!(parts.next().is_some_and(|time| time.contains('T') && time.ends_with('Z')), "{line}");
    assert_eq!(parts.next(), Some("INFO"), "{line}");
    let words = parts.next().unwrap().trim_start();
    assert_eq!(
        words.split(" core=").next(),
        Some("Queue: Marked submitted bundleID=B-1 blockNumber=1 version=1")
    );
}
