//! What those who watch a node see: metrics, health, the log, and the rules for asking.

mod expressions;
mod health;
mod logs;
mod served;

use harness::{
    blocks::{Call, Wallet},
    http::{Client, Response},
    process::{Pectin, call},
};
use serde_json::json;

/// A node with quick slots in which wallet 1 owns something; gives its address.
fn dev(arguments: &[&str]) -> (Pectin, String) {
    let alloc = json!({ Wallet::new(1).address().to_string(): { "balance": "0x21e19e0c9bab2400000" } });
    let genesis = json!({
        "config": { "chainId": 732846 }, "gasLimit": "0x7270e00", "difficulty": "0x0", "alloc": alloc,
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), genesis.to_string()).unwrap();
    let common = ["dev", "--http-port", "0", "--slot-ms", "400", "--genesis", file.path().to_str().unwrap()];
    let mut pectin = Pectin::start(common.iter().chain(arguments)).unwrap();
    let line = pectin.wait_for("RPC ").unwrap();
    let url = line.split_whitespace().nth(1).unwrap().to_owned();
    pectin.wait_for("ready in").unwrap();
    (pectin, url)
}

fn get(url: &str, path: &str) -> Response {
    Client::connect(url).unwrap().request("GET", path, &[], b"").unwrap()
}

fn text(answer: &Response) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// Sends transfers of wallet 1, from this nonce on.
fn send(url: &str, nonce: u64, count: u64) {
    let mut client = Client::connect(url).unwrap();
    for nonce in nonce..nonce + count {
        let tx = Wallet::new(1).eip1559(Call::transfer(Wallet::new(2).address(), nonce, 1));
        call(&mut client, "eth_sendRawTransaction", &json!([tx.encoded()])).unwrap();
    }
}
