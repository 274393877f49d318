//! Transactions come in: one by one, in batches, and with a wait for the receipt.

use super::{alice, transfer, world, world_with};
use rpc::{Config, Limits};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn a_batch_of_transactions_is_answered_one_by_one() {
    let world = world();
    let send = |id: usize, raw: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "eth_sendRawTransaction", "params": [raw] });
    let mut calls = (0..40).map(|id| send(id, json!(transfer(id as u64).encoded()))).collect::<Vec<_>>();
    calls[7] = send(7, json!("0x1234"));
    calls[20] = send(20, json!(transfer(3).encoded()));
    calls[30] = json!({ "jsonrpc": "2.0", "id": 30, "method": "eth_getTransactionByHash", "params": [transfer(2).hash()] });
    calls[31] = json!({ "jsonrpc": "2.0", "id": 31, "method": "eth_sendRawTransaction", "params": {} });
    let answer = world.post(&json!(calls));
    let answers: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answers.len(), 40);
    for answer in &answers {
        let id = answer["id"].as_u64().unwrap();
        match id {
            7 => assert_eq!(answer["error"]["code"], -32000),
            20 => assert_eq!(answer["error"]["message"], "already known"),
            30 => assert_eq!(answer["result"]["nonce"], "0x2"),
            31 => assert_eq!(answer["error"]["code"], -32602),
            _ => assert_eq!(answer["result"], json!(transfer(id).hash()), "{answer}"),
        }
    }
    let content = world.ok("txpool_contentFrom", json!([alice().address()]));
    let waiting = ["pending", "queued"].map(|kind| content[kind].as_object().unwrap().len());
    assert_eq!(waiting.iter().sum::<usize>(), 40 - 4);
}

#[test]
fn sending_and_waiting_gives_the_receipt() {
    let mut world = world();
    let url = world.url.clone();
    let tx = transfer(0);
    let raw = tx.encoded().clone();
    let waiting = std::thread::spawn(move || {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransactionSync", "params": [raw, 60_000] });
        let mut client = harness::http::Client::connect(&url).unwrap();
        let answer = client.post(call.to_string().as_bytes()).unwrap();
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    });
    // Sealed once it waits in the pool.
    while world.pool.get(&tx.hash()).is_none() {
        std::thread::yield_now();
    }
    let block = world.seal(std::slice::from_ref(&tx));
    let answer = waiting.join().unwrap();
    assert_eq!(answer["result"]["blockHash"], json!(block.hash), "{answer}");
}

#[test]
fn waiting_ends_with_the_hash() {
    let limits = Limits { receipt_timeout: Duration::from_millis(1), ..Limits::default() };
    let world = world_with(Config { limits, ..Config::default() });
    for (nonce, timeout) in [(0, json!(null)), (1, json!(1)), (2, json!("0x1"))] {
        let tx = transfer(nonce);
        let error = world.error("eth_sendRawTransactionSync", json!([tx.encoded(), timeout]));
        assert_eq!((&error["code"], &error["data"]), (&json!(4), &json!(tx.hash())));
    }
    for wrong in [json!(0), json!("1"), json!(-1), json!("x")] {
        let error = world.error("eth_sendRawTransactionSync", json!([transfer(3).encoded(), wrong]));
        assert_eq!(error["code"], -32602);
    }
    assert!(world.pool.get(&transfer(3).hash()).is_none(), "a wrong timeout sends nothing");
}
