//! Providers that answer, refuse, and are not there.

use super::{CONFIRMATIONS, Evm, ProviderOptions};
use crate::target::Target;
use alloy_primitives::{Address, B256, Bytes, U256};
use sender_model::{Intent, ReceiptAnswer, SendClass, SendResponse, Simulation, classify};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What a stub answers: a status and a body, or nothing at all.
type Script = fn(&str, &Value) -> Option<(u16, Value)>;

/// A node that answers by a script; its address, and how often it was asked.
async fn stub(script: Script) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, script, count.clone()));
        }
    });
    (url, asked)
}

async fn serve(mut stream: TcpStream, script: Script, asked: Arc<AtomicUsize>) {
    let mut bytes = Vec::new();
    loop {
        let Some(body) = read_body(&mut stream, &mut bytes).await else { return };
        asked.fetch_add(1, Ordering::Relaxed);
        let call: Value = serde_json::from_slice(&body).unwrap();
        let Some((status, answer)) = script(call["method"].as_str().unwrap(), &call["params"]) else {
            return;
        };
        let answer = answer.to_string();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_body(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        let text = String::from_utf8_lossy(bytes).to_lowercase();
        if let Some(end) = text.find("\r\n\r\n") {
            let length =
                text.split("content-length: ").nth(1)?.split("\r\n").next()?.parse::<usize>().ok()?;
            if bytes.len() >= end + 4 + length {
                let rest = bytes.split_off(end + 4 + length);
                let body = bytes.split_off(end + 4);
                *bytes = rest;
                return Some(body);
            }
        }
        let mut some = [0; 4096];
        let read = stream.read(&mut some).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&some[..read]);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is nearly always made on the spot")]
fn result(value: Value) -> Option<(u16, Value)> {
    Some((200, json!({ "jsonrpc": "2.0", "id": 1, "result": value })))
}

#[expect(clippy::needless_pass_by_value, reason = "it is nearly always made on the spot")]
fn refusal(code: i64, message: &str, data: Value) -> Option<(u16, Value)> {
    Some((
        200,
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": message, "data": data } }),
    ))
}

fn block(number: u64) -> Value {
    json!({ "number": format!("{number:#x}"), "hash": B256::with_last_byte(number as u8), "baseFeePerGas": "0x8" })
}

/// A node at height 100 on which one transaction of everybody was mined in block 90; it knows no final block.
fn node(method: &str, params: &Value) -> Option<(u16, Value)> {
    let number =
        |value: &Value| u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    match method {
        "eth_chainId" => result(json!("0x7")),
        "eth_getBlockByNumber" if params[0] == "latest" => result(block(100)),
        "eth_getBlockByNumber" if params[0] == "finalized" => refusal(-39001, "unknown block", Value::Null),
        "eth_getBlockByNumber" => {
            let mut found = block(number(&params[0]));
            found["transactions"] =
                json!([{ "from": Address::ZERO, "nonce": "0x0", "hash": B256::repeat_byte(7) }]);
            result(found)
        }
        "eth_getTransactionCount" => result(json!(if number(&params[1]) >= 90 { "0x1" } else { "0x0" })),
        "eth_getBalance" => result(json!("0xde0b6b3a7640000")),
        "eth_maxPriorityFeePerGas" => result(json!("0x3")),
        "eth_estimateGas" => refusal(3, "execution reverted: no", json!("0x0102")),
        "eth_call" => result(json!("0x")),
        "eth_sendRawTransaction" => refusal(-32000, "nonce too low", Value::Null),
        "eth_getTransactionReceipt" => result(Value::Null),
        _ => refusal(-32601, "no such method", Value::Null),
    }
}

fn evm(urls: &[String]) -> Evm {
    Evm::new(7, urls, ProviderOptions { timeout: Duration::from_millis(500) })
}

#[tokio::test]
async fn one_node_is_asked_for_everything() {
    let (url, _) = stub(node).await;
    let evm = evm(&[url]);
    evm.check().await.unwrap();
    let view = evm.view(Address::ZERO).await.unwrap();
    assert_eq!((view.latest.number, view.latest_count), (100, 1));
    assert_eq!((view.finalized_number, view.finalized_count), (100 - CONFIRMATIONS, 0));
    assert_eq!(view.balance, U256::from(10).pow(U256::from(18)));
    assert_eq!((view.quote.base_fee_per_gas, view.quote.priority_fee_per_gas), (9, 3));
    let check = evm.check_block(90).await.unwrap();
    assert_eq!((check.hash, check.finalized_number), (Some(B256::with_last_byte(90)), 88));
    let receipts = evm.receipts(vec![B256::ZERO]).await;
    assert_eq!(receipts, [(B256::ZERO, ReceiptAnswer::NotFound)]);
    // Block 90 is not final yet, so nobody can say who used the nonce for good.
    assert_eq!(evm.identify(Address::ZERO, 0).await.unwrap(), None);
}

#[tokio::test]
async fn what_an_execution_came_to_is_told_apart_from_what_a_node_cannot_say() {
    let (url, _) = stub(node).await;
    let evm = evm(&[url]);
    let reverted = evm.simulate(Address::ZERO, &Intent::default()).await;
    let expected =
        Simulation::Reverted { reason: "execution reverted: no".into(), data: Bytes::from(vec![1, 2]) };
    assert_eq!(reverted, expected);
    let insists = Intent { gas: Some(50_000), ..Intent::default() };
    assert_eq!(evm.simulate(Address::ZERO, &insists).await, Simulation::Gas(50_000));
    let (confused, _) = stub(|_, _| refusal(-32000, "header not found", Value::Null)).await;
    assert_eq!(self::evm(&[confused]).simulate(Address::ZERO, &insists).await, Simulation::Error);
    let answer = evm.send(Bytes::new()).await;
    assert_eq!(classify(&answer), SendClass::NonceTooLow);
}

#[tokio::test]
async fn another_provider_answers_for_one_that_does_not() {
    let (busy, asked) = stub(|_, _| Some((503, json!("later")))).await;
    let (good, _) = stub(node).await;
    let evm = evm(&[busy, good]);
    assert_eq!(evm.view(Address::ZERO).await.unwrap().latest.number, 100);
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(evm.view(Address::ZERO).await.unwrap().latest.number, 100);
    assert_eq!(asked.load(Ordering::Relaxed), before, "it said that it is busy, so it is left alone");
    assert!(evm.trouble().is_some());
}

#[tokio::test]
async fn a_provider_of_another_chain_is_refused() {
    let (url, _) = stub(|_, _| result(json!("0x8"))).await;
    assert!(evm(&[url]).check().await.is_err());
}

#[tokio::test]
async fn a_lost_answer_proves_nothing_and_broken_connections_open_the_breaker() {
    let (url, asked) = stub(|_, _| None).await;
    let evm = evm(&[url]);
    for _ in 0..3 {
        let answer = evm.send(Bytes::new()).await;
        assert_eq!((classify(&answer), answer.is_connection_error()), (SendClass::Unknown, true));
    }
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(evm.send(Bytes::new()).await, SendResponse::Disconnected);
    assert_eq!(asked.load(Ordering::Relaxed), before, "the breaker is open");
    assert!(evm.view(Address::ZERO).await.is_err());
}

#[tokio::test]
async fn a_provider_that_was_away_is_asked_which_chain_it_is_of() {
    static CHAIN: AtomicUsize = AtomicUsize::new(0);
    let (url, asked) = stub(|method, params| match CHAIN.load(Ordering::Relaxed) {
        0 => None,
        8 if method == "eth_chainId" => result(json!("0x8")),
        _ => node(method, params),
    })
    .await;
    let evm = evm(&[url]);
    evm.check().await.unwrap();
    assert!(evm.view(Address::ZERO).await.is_err());
    CHAIN.store(8, Ordering::Relaxed);
    let before = asked.load(Ordering::Relaxed);
    assert!(evm.view(Address::ZERO).await.is_err());
    assert_eq!(asked.load(Ordering::Relaxed), before + 1, "nothing but its chain");
    assert!(evm.trouble().unwrap().contains("another chain"));
    assert_eq!(evm.send(Bytes::new()).await, SendResponse::Disconnected);
}

#[tokio::test]
async fn a_provider_whose_chain_began_otherwise_is_not_asked() {
    let (url, _) = stub(node).await;
    let evm = evm(&[url]);
    assert_eq!(evm.genesis().await.unwrap(), Some(B256::with_last_byte(0)));
    let (url, _) = stub(node).await;
    let evm = self::evm(&[url]);
    evm.expect_genesis(B256::repeat_byte(5));
    assert!(evm.view(Address::ZERO).await.is_err());
}
