//! Being asked to stop: heard from the first line on, finished in peace, and not waited for when asked twice.
//!
//! A node that was asked right when it said that it was ready once went on for ever: the signal's handler was there, but
//! nobody behind it yet.

use super::dev::dev;
use harness::{
    blocks::{Call, Wallet},
    http::Client,
    process::{Pectin, call},
};
use serde_json::json;
use std::{net::TcpStream, thread};

const FINISHED: &str = "stopped; the journal is finished";

fn has(pectin: &Pectin, text: &str) -> bool {
    pectin.log.iter().any(|line| line.contains(text))
}

#[test]
fn who_is_ready_can_be_stopped() {
    let mut pectin = Pectin::start(["dev", "--http-port", "0", "--slot-ms", "400"]).unwrap();
    pectin.wait_for("ready in").unwrap();
    pectin.terminate();
    assert!(pectin.wait().unwrap().success(), "{:#?}", pectin.log);
    assert!(has(&pectin, FINISHED), "{:#?}", pectin.log);
}

#[test]
fn who_is_not_ready_yet_can_be_stopped_too() {
    let mut pectin = Pectin::start(["dev", "--http-port", "0", "--slot-ms", "400"]).unwrap();
    pectin.wait_for("signature recovery ready").unwrap();
    pectin.terminate();
    assert!(pectin.wait().unwrap().success(), "{:#?}", pectin.log);
    assert!(has(&pectin, "stopped before it was ready") || has(&pectin, FINISHED), "{:#?}", pectin.log);
}

#[test]
fn who_is_asked_twice_waits_for_nobody() {
    let (mut pectin, mut client) = dev(&[]);
    // A call that a stop would wait for: its transaction cannot be executed before another one comes.
    let gapped = Wallet::new(1).eip1559(Call::transfer(Wallet::new(2).address(), 1, 1));
    let (mut other, raw) = (Client::connect(client.host()).unwrap(), json!([gapped.encoded(), "0x7530"]));
    let waiting = thread::spawn(move || call(&mut other, "eth_sendRawTransactionSync", &raw));
    while call(&mut client, "eth_getTransactionByHash", &json!([gapped.hash()])).unwrap().is_null() {}
    pectin.terminate();
    // The signal has been heard when nobody is let in any more.
    while TcpStream::connect(client.host()).is_ok() {}
    pectin.terminate();
    assert_eq!(pectin.wait().unwrap().code(), Some(1), "{:#?}", pectin.log);
    assert!(has(&pectin, "asked to stop a second time") && !has(&pectin, FINISHED), "{:#?}", pectin.log);
    assert!(waiting.join().unwrap().is_err());
}
