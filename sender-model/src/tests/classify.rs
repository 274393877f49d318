//! The table against a corpus of answers that nodes and providers give.

use crate::{SendClass, SendResponse, classify};
use alloy_primitives::B256;
use std::collections::{BTreeMap, BTreeSet};

#[derive(serde::Deserialize)]
struct Line {
    client: String,
    code: i64,
    message: String,
    class: String,
}

fn name(class: &SendClass) -> &'static str {
    match class {
        SendClass::Taken => "taken",
        SendClass::NonceTooLow => "nonceTooLow",
        SendClass::Underpriced => "underpriced",
        SendClass::Funds => "funds",
        SendClass::NonceGap => "nonceGap",
        SendClass::Busy => "busy",
        SendClass::TypeRefused => "typeRefused",
        SendClass::Rejected(_) => "rejected",
        SendClass::Unknown => "unknown",
    }
}

fn error(http_status: Option<u16>, code: Option<i64>, message: &str) -> SendResponse {
    SendResponse::Error { http_status, code, message: message.into() }
}

#[test]
fn every_answer_of_the_corpus_is_understood() {
    let corpus: Vec<Line> = serde_json::from_str(include_str!("../../corpus/send-answers.json")).unwrap();
    let mut clients = BTreeMap::<String, BTreeSet<&str>>::new();
    for line in &corpus {
        let class = classify(&error(Some(200), Some(line.code), &line.message), B256::ZERO);
        assert_eq!(name(&class), line.class, "{}: {}", line.client, line.message);
        clients.entry(line.client.clone()).or_default().insert(name(&class));
    }
    for client in ["geth", "reth", "nethermind", "besu", "erigon", "anvil"] {
        let classes = &clients[client];
        for class in ["taken", "nonceTooLow", "underpriced", "funds", "rejected"] {
            assert!(classes.contains(class), "{client} has no answer that means {class}");
        }
    }
}

#[test]
fn what_nobody_knows_is_unknown() {
    assert_eq!(classify(&SendResponse::TimedOut, B256::ZERO), SendClass::Unknown);
    assert_eq!(classify(&SendResponse::Disconnected, B256::ZERO), SendClass::Unknown);
    assert_eq!(classify(&error(Some(503), None, "nonce too low"), B256::ZERO), SendClass::Unknown);
    assert_eq!(classify(&error(Some(200), Some(-1), ""), B256::ZERO), SendClass::Unknown);
    assert_eq!(classify(&error(Some(429), None, ""), B256::ZERO), SendClass::Busy);
    assert_eq!(classify(&SendResponse::Hash(B256::ZERO), B256::ZERO), SendClass::Taken);
}

#[test]
fn only_the_connection_speaks_against_a_node() {
    assert!(SendResponse::Disconnected.is_connection_error());
    assert!(SendResponse::TimedOut.is_connection_error());
    assert!(error(Some(502), None, "bad gateway").is_connection_error());
    assert!(!error(Some(200), Some(-32000), "nonce too low").is_connection_error());
    assert!(!error(Some(429), None, "slow down").is_connection_error());
    assert!(!error(Some(500), Some(-32000), "insufficient funds").is_connection_error());
}
