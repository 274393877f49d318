//! Providers that answer, refuse, and are not there.

use super::{CONFIRMATIONS, Evm, ProviderOptions};
use crate::target::Target;
use alloy_primitives::{Address, B256, Bytes, U256};
use sender_model::{ChainSettings, Intent, Quote, ReceiptAnswer, SendClass, Simulation, classify};
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
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let Some((status, answer)) = answer(script, &asked) else { return };
        let answer = answer.to_string();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The answer to a call, or to each of several. What is not well is the answer to all of them.
fn answer(script: Script, asked: &Value) -> Option<(u16, Value)> {
    let one = |call: &Value| {
        let (status, mut answer) = script(call["method"].as_str().unwrap(), &call["params"])?;
        if answer.is_object() {
            answer["id"] = call["id"].clone();
        }
        Some((status, answer))
    };
    let Some(calls) = asked.as_array() else { return one(asked) };
    let answers = calls.iter().map(one).collect::<Option<Vec<_>>>()?;
    let bad = answers.iter().find(|(status, answer)| *status != 200 || !answer.is_object());
    Some(bad.cloned().unwrap_or_else(|| (200, answers.into_iter().map(|(_, answer)| answer).collect())))
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
    let hash = |number: u64| B256::with_last_byte(number as u8);
    json!({
        "number": format!("{number:#x}"),
        "hash": hash(number),
        "parentHash": hash(number.wrapping_sub(1)),
        "timestamp": format!("{:#x}", number * 12),
        "baseFeePerGas": "0x8",
        "transactions": [],
    })
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
    Evm::new(7, urls, OPTIONS)
}

const OPTIONS: ProviderOptions = ProviderOptions {
    timeout: Duration::from_millis(500),
    confirmations: CONFIRMATIONS,
    finality_depth: None,
    calls_per_second: None,
    poll: Some(Duration::from_millis(20)),
};

/// Whatever the count is, it is not looked at twice.
const ANY: Option<(u64, u64)> = Some((0, u64::MAX));

#[tokio::test]
async fn one_node_is_asked_for_everything() {
    let (url, _) = stub(node).await;
    let evm = evm(&[url]);
    let view = evm.view(Address::ZERO, ANY).await.unwrap();
    assert_eq!((view.latest.number, view.latest_count), (100, 1));
    assert_eq!((view.finalized_number, view.finalized_count), (100 - CONFIRMATIONS, None));
    assert_eq!(view.balance, U256::from(10).pow(U256::from(18)));
    assert_eq!(view.quote, Quote::dynamic(9, 3));
    let check = evm.check_block(90).await.unwrap();
    assert_eq!((check.hash, check.finalized_number), (Some(B256::with_last_byte(90)), 88));
    let receipts = evm.receipts(vec![B256::ZERO]).await;
    assert_eq!(receipts, [(B256::ZERO, ReceiptAnswer::NotFound)]);
    assert!(evm.trouble().is_none());
}

#[tokio::test]
async fn a_chain_without_base_fees_has_gas_prices() {
    let (url, _) = stub(|method, params| match method {
        "eth_getBlockByNumber" if params[0] == "latest" => {
            let mut block = block(100);
            block.as_object_mut().unwrap().remove("baseFeePerGas");
            result(block)
        }
        "eth_gasPrice" => result(json!("0x64")),
        _ => node(method, params),
    })
    .await;
    let evm = evm(&[url]);
    assert_eq!(evm.view(Address::ZERO, ANY).await.unwrap().quote, Quote::gas_price(100));
    assert_eq!(evm.quote().await.unwrap(), Quote::gas_price(100));
}

#[tokio::test]
async fn what_is_set_for_a_chain_is_followed_at_once() {
    let (url, _) = stub(node).await;
    let evm = evm(&[url]);
    let view = evm.view(Address::ZERO, ANY).await.unwrap();
    let by_tag = view.finalized_number;
    let settings = ChainSettings { finality_depth: Some(1), calls_per_second: Some(7), ..Default::default() };
    evm.configure(&settings);
    let view = evm.view(Address::ZERO, ANY).await.unwrap();
    assert_eq!(view.finalized_number, view.latest.number - 1);
    assert_eq!(
        evm.check_block(view.latest.number - 1).await.unwrap().finalized_number,
        view.latest.number - 1
    );
    assert_eq!(evm.providers()[0].calls_per_second_max, Some(7));
    evm.configure(&ChainSettings::default());
    assert_eq!(evm.view(Address::ZERO, ANY).await.unwrap().finalized_number, by_tag);
    assert_eq!(evm.providers()[0].calls_per_second_max, None);
}

#[tokio::test]
async fn what_needs_another_is_simulated_on_top_of_it_where_the_provider_can() {
    let call = Intent { to: Some(Address::ZERO), ..Intent::default() };
    let before = [call.clone()];
    let (able, _) = stub(|method, params| match method {
        "eth_simulateV1" => {
            let calls = params[0]["blockStateCalls"][0]["calls"].as_array().unwrap().len();
            let done = json!({ "status": "0x1", "gasUsed": "0xc350", "returnData": "0x" });
            result(json!([{ "calls": vec![done; calls] }]))
        }
        _ => node(method, params),
    })
    .await;
    let able = evm(&[able]);
    assert_eq!(able.simulate(Address::ZERO, &call, &before).await, Simulation::Gas(75_000));
    let (reverting, _) = stub(|method, params| match method {
        "eth_simulateV1" => {
            let done = json!({ "status": "0x1", "gasUsed": "0xc350" });
            let error = json!({ "code": 3, "message": "execution reverted: no allowance", "data": "0x0102" });
            result(json!([{ "calls": [done, { "status": "0x0", "gasUsed": "0xc350", "error": error }] }]))
        }
        _ => node(method, params),
    })
    .await;
    let expected = Simulation::Reverted {
        reason: "execution reverted: no allowance".into(),
        data: Bytes::from(vec![1, 2]),
        on_top: true,
    };
    assert_eq!(evm(&[reverting]).simulate(Address::ZERO, &call, &before).await, expected);
    // Where it cannot, what the newest state comes to is the answer, and says so; it is not asked for that again.
    let (unable, asked) = stub(|method, params| match method {
        "eth_simulateV1" => refusal(-32601, "the method does not exist/is not available", Value::Null),
        _ => node(method, params),
    })
    .await;
    let unable = evm(&[unable]);
    for calls in [3, 4] {
        let simulated = unable.simulate(Address::ZERO, &call, &before).await;
        assert!(matches!(simulated, Simulation::Reverted { on_top: false, .. }), "{simulated:?}");
        assert_eq!(asked.load(Ordering::Relaxed), calls);
    }
}

#[tokio::test]
async fn what_an_execution_came_to_is_told_apart_from_what_a_node_cannot_say() {
    let (url, _) = stub(node).await;
    let evm = evm(&[url]);
    let call = Intent { to: Some(Address::ZERO), ..Intent::default() };
    let reverted = evm.simulate(Address::ZERO, &call, &[]).await;
    let expected = Simulation::Reverted {
        reason: "execution reverted: no".into(),
        data: Bytes::from(vec![1, 2]),
        on_top: false,
    };
    assert_eq!(reverted, expected);
    let insists = Intent { gas: Some(50_000), ..call };
    assert_eq!(evm.simulate(Address::ZERO, &insists, &[]).await, Simulation::Gas(50_000));
    let (confused, _) = stub(|method, params| match method {
        "eth_chainId" => node(method, params),
        _ => refusal(-32000, "header not found", Value::Null),
    })
    .await;
    assert_eq!(self::evm(&[confused]).simulate(Address::ZERO, &insists, &[]).await, Simulation::Error);
    assert_eq!(send(&evm).await, SendClass::NonceTooLow);
}

async fn send(evm: &Evm) -> SendClass {
    let hash = B256::repeat_byte(9);
    classify(&evm.send(Address::ZERO, hash, Bytes::new()).await, hash)
}

/// Every kind of trouble that a provider can be in, with the name that health has for it.
const TROUBLES: [(&str, Script); 9] = [
    ("httpStatus", |_, _| Some((500, json!("later")))),
    ("rateLimited", |_, _| Some((429, json!("later")))),
    ("denied", |_, _| refusal(-32600, "must be authenticated!", Value::Null)),
    ("failing", |_, _| refusal(-32011, "no backend is currently healthy to serve traffic", Value::Null)),
    ("failing", |_, _| refusal(-32000, "unexpected", Value::Null)),
    ("garbage", |_, _| Some((200, json!("<html>upgrade</html>")))),
    ("disconnected", |_, _| None),
    ("otherChain", |_, _| result(json!("0x0"))),
    ("otherChain", |_, _| result(Value::Null)),
];

#[tokio::test]
async fn whatever_is_wrong_with_one_provider_another_answers_and_health_says_why() {
    for (name, script) in TROUBLES {
        let (bad, _) = stub(script).await;
        let (good, _) = stub(node).await;
        let evm = evm(&[bad, good]);
        let view = evm.view(Address::ZERO, ANY).await;
        assert_eq!(view.map(|view| view.latest.number), Ok(100), "{name}");
        assert_eq!(send(&evm).await, SendClass::NonceTooLow, "{name}");
        let health = evm.providers();
        assert_eq!(health[0].trouble, Some(name), "{:?}", health[0]);
        assert_eq!(health[1].trouble, None, "{:?}", health[1]);
        assert!(evm.trouble().unwrap().contains("provider 0"), "{name}");
    }
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_left_for_another() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hangs = format!("http://{}", listener.local_addr().unwrap());
    let (good, _) = stub(node).await;
    let evm = Evm::new(7, &[hangs, good], ProviderOptions { timeout: Duration::from_millis(50), ..OPTIONS });
    assert_eq!(evm.view(Address::ZERO, ANY).await.unwrap().latest.number, 100);
    assert_eq!(evm.providers()[0].trouble, Some("timeout"));
}

#[tokio::test]
async fn a_provider_that_lacks_a_method_is_left_for_another_but_is_in_no_trouble() {
    let (lacking, _) = stub(|method, params| match method {
        "eth_sendRawTransaction" => {
            refusal(-32601, "the method does not exist/is not available", Value::Null)
        }
        _ => node(method, params),
    })
    .await;
    let (good, asked) = stub(node).await;
    let evm = evm(&[lacking, good]);
    assert_eq!(send(&evm).await, SendClass::NonceTooLow);
    assert!(asked.load(Ordering::Relaxed) > 0);
    let health = evm.providers().remove(0);
    assert!(health.trouble.is_none() && health.lacks.unwrap().contains("-32601"));
}

/// A node that answers "0x0" to everything but which chain it is of.
fn nonsense(method: &str, params: &Value) -> Option<(u16, Value)> {
    if method == "eth_chainId" { node(method, params) } else { result(json!("0x0")) }
}

#[tokio::test]
async fn nonsense_is_neither_a_block_nor_gas_nor_our_hash() {
    let (liar, _) = stub(nonsense).await;
    let alone = evm(std::slice::from_ref(&liar));
    assert!(alone.view(Address::ZERO, ANY).await.is_err());
    let call = Intent { to: Some(Address::ZERO), ..Intent::default() };
    assert_eq!(alone.simulate(Address::ZERO, &call, &[]).await, Simulation::Error);
    assert_eq!(send(&evm(std::slice::from_ref(&liar))).await, SendClass::Unknown);
    let health = alone.providers().remove(0);
    assert_eq!(health.trouble, Some("implausible"), "{health:?}");
    let (good, _) = stub(node).await;
    let both = evm(&[liar, good]);
    assert_eq!(both.view(Address::ZERO, ANY).await.unwrap().latest_count, 1);
    assert_eq!(send(&both).await, SendClass::NonceTooLow);
}

#[tokio::test]
async fn a_count_that_nobody_expects_needs_a_second_word() {
    let (liar, _) = stub(|method, params| match method {
        "eth_getTransactionCount" => result(json!("0x32")),
        _ => node(method, params),
    })
    .await;
    let (good, _) = stub(node).await;
    let evm = evm(&[liar, good]);
    assert_eq!(evm.view(Address::ZERO, Some((0, 1))).await.unwrap().latest_count, 1);
    assert!(evm.view(Address::ZERO, None).await.is_err(), "an account does not begin where two differ");
}

#[tokio::test]
async fn what_is_said_to_be_final_needs_a_second_word() {
    let (liar, _) = stub(|method, params| match (method, params[0].as_str()) {
        ("eth_getBlockByNumber", Some("finalized")) => result(block(100)),
        _ => node(method, params),
    })
    .await;
    let (good, _) = stub(node).await;
    let evm = evm(&[liar, good]);
    let check = evm.check_block(90).await.unwrap();
    assert_eq!((check.hash, check.finalized_number), (Some(B256::with_last_byte(90)), 88));
}

#[tokio::test]
async fn a_lost_answer_proves_nothing_and_broken_connections_make_a_provider_rest() {
    let (url, asked) = stub(|_, _| None).await;
    let evm = evm(&[url]);
    for _ in 0..3 {
        assert_eq!(send(&evm).await, SendClass::Unknown);
    }
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(send(&evm).await, SendClass::Unknown);
    assert_eq!(asked.load(Ordering::Relaxed), before, "it rests");
    assert!(evm.view(Address::ZERO, ANY).await.is_err());
}

#[tokio::test]
async fn a_provider_whose_chain_began_otherwise_is_not_asked() {
    let (url, _) = stub(node).await;
    let evm = evm(&[url]);
    assert_eq!(evm.genesis().await.unwrap(), Some(B256::with_last_byte(0)));
    let (url, _) = stub(node).await;
    let evm = self::evm(&[url]);
    evm.expect_genesis(B256::repeat_byte(5));
    assert!(evm.view(Address::ZERO, ANY).await.is_err());
    assert_eq!(evm.providers()[0].trouble, Some("otherChain"));
}

#[tokio::test]
async fn a_provider_that_takes_one_call_at_a_time_is_asked_so() {
    static BATCHES: AtomicUsize = AtomicUsize::new(0);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                while let Some(body) = read_body(&mut stream, &mut bytes).await {
                    let asked: Value = serde_json::from_slice(&body).unwrap();
                    let (_, said) = match asked.is_array() {
                        true => {
                            BATCHES.fetch_add(1, Ordering::Relaxed);
                            refusal(-32600, "batches are not allowed", Value::Null).unwrap()
                        }
                        false => answer(node, &asked).unwrap(),
                    };
                    let said = said.to_string();
                    let head = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n{said}", said.len());
                    stream.write_all(head.as_bytes()).await.unwrap();
                }
            });
        }
    });
    let evm = evm(&[url]);
    for _ in 0..3 {
        assert_eq!(evm.view(Address::ZERO, ANY).await.unwrap().latest_count, 1);
    }
    assert_eq!(BATCHES.load(Ordering::Relaxed), 1, "it is not tried again");
}

#[tokio::test]
async fn many_accounts_share_what_one_has_seen() {
    let (url, asked) = stub(node).await;
    let evm = Evm::new(7, &[url], ProviderOptions { poll: Some(Duration::from_secs(60)), ..OPTIONS });
    evm.view(Address::ZERO, ANY).await.unwrap();
    let before = asked.load(Ordering::Relaxed);
    let calls = evm.providers()[0].calls;
    for account in 1..=20 {
        evm.view(Address::with_last_byte(account), ANY).await.unwrap();
    }
    assert_eq!(asked.load(Ordering::Relaxed) - before, 20, "one request for each account");
    assert_eq!(evm.providers()[0].calls - calls, 40, "for its count and its balance");
}
