//! `pectin dev`: the whole way in one command.

use harness::{
    blocks::{Call, Wallet},
    http::Client,
    process::{Pectin, call},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const GWEI: u64 = 1_000_000_000;

/// Starts a network with quick slots; gives its RPC.
pub(super) fn dev(arguments: &[&str]) -> (Pectin, Client) {
    dev_at(GWEI, arguments)
}

/// The same, with this base fee in the first block.
fn dev_at(base_fee_wei: u64, arguments: &[&str]) -> (Pectin, Client) {
    let common = ["dev", "--http-port", "0", "--slot-ms", "400", "--genesis"];
    let genesis = genesis(base_fee_wei);
    let all = common.into_iter().chain([genesis.path().to_str().unwrap()]).chain(arguments.iter().copied());
    let mut pectin = Pectin::start(all).unwrap();
    let line = pectin.wait_for("RPC ").unwrap();
    let url = line.split_whitespace().nth(1).unwrap().to_owned();
    pectin.wait_for("ready in").unwrap();
    (pectin, Client::connect(&url).unwrap())
}

/// A genesis in which the wallets of the tests own something.
fn genesis(base_fee_wei: u64) -> tempfile::NamedTempFile {
    let alloc =
        (0..8).map(|n| (Wallet::new(n).address().to_string(), json!({ "balance": "0x21e19e0c9bab2400000" })));
    let alloc = alloc.collect::<serde_json::Map<_, _>>();
    let file = json!({
        "config": { "chainId": 732846 }, "gasLimit": "0x7270e00", "difficulty": "0x0",
        "baseFeePerGas": format!("{base_fee_wei:#x}"), "alloc": alloc,
    });
    let written = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(written.path(), file.to_string()).unwrap();
    written
}

fn send(client: &mut Client, tx: &types::Transaction) -> Value {
    call(client, "eth_sendRawTransaction", &json!([tx.encoded()])).unwrap()
}

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// Waits until the log shows that the bundle with a transaction is final; gives its block.
fn final_block(pectin: &mut Pectin, client: &mut Client, hash: &Value) -> u64 {
    loop {
        let way = call(client, "builder_transaction", &json!([hash])).unwrap();
        if way["status"] == "finalized" {
            return number(
                &call(client, "eth_getTransactionReceipt", &json!([hash])).unwrap()["blockNumber"],
            );
        }
        pectin.wait_for("bundle finalized").unwrap();
    }
}

#[test]
fn fifty_one_transactions_at_once_go_through_two_cores_in_blocks_of_five() {
    let (mut pectin, mut client) = dev(&["--block-txs-max", "5", "--queue-policy", "spec"]);
    let wallet = Wallet::new(1);
    let transfers = (0..51).map(|nonce| wallet.eip1559(Call::transfer(Wallet::new(2).address(), nonce, 1)));
    let hashes = transfers.map(|tx| send(&mut client, &tx)).collect::<Vec<_>>();
    let last = final_block(&mut pectin, &mut client, hashes.last().unwrap());
    assert!(last >= 11, "at most five in a block: {last}");
    let mut nonce = 0;
    for block in 1..=last {
        let block = call(&mut client, "eth_getBlockByNumber", &json!([format!("{block:#x}"), true])).unwrap();
        let transactions = block["transactions"].as_array().unwrap().clone();
        assert!(transactions.len() <= 5);
        for tx in transactions {
            assert_eq!(number(&tx["nonce"]), nonce);
            nonce += 1;
        }
    }
    assert_eq!(nonce, 51);
    // The lines that operators know, and both cores.
    let has = |text: &str| pectin.log.iter().any(|line| line.contains(text));
    for line in [
        "submission window open queued=",
        "bundle submitted bundle=1 blocks=1 version=1 core=",
        "bundle guaranteed bundle=1 blocks=1 version=1",
        "bundle accumulated bundle=1",
        "bundle finalized bundle=11",
    ] {
        assert!(has(line), "{line}: {:#?}", pectin.log);
    }
    let cores = pectin
        .log
        .iter()
        .filter_map(|line| line.split(" core=").nth(1)?.split(' ').next())
        .collect::<BTreeSet<_>>();
    assert_eq!(cores, BTreeSet::from(["0", "1"]));
}

/// A client that waits for each receipt gets it from a block of its own, long before the next slot; all of them travel in few
/// packages.
#[test]
fn blocks_have_a_pace_of_their_own_and_share_packages() {
    let (mut pectin, mut client) = dev(&[]);
    let wallet = Wallet::new(1);
    let mut last = Value::Null;
    for nonce in 0..20 {
        last = send(&mut client, &wallet.eip1559(Call::transfer(Wallet::new(2).address(), nonce, 1)));
        let begun = std::time::Instant::now();
        while call(&mut client, "eth_getTransactionReceipt", &json!([last])).unwrap().is_null() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(20), "no receipt of {last}");
        }
    }
    let newest = final_block(&mut pectin, &mut client, &last);
    assert!(newest >= 20, "a block for each: {newest}");
    let submitted = pectin.log.iter().filter(|line| line.contains("bundle submitted")).count();
    assert!(submitted < 20, "{submitted} submissions of {newest} blocks");
    let bundle = call(&mut client, "builder_bundle", &json!([newest])).unwrap();
    assert!(bundle["blocks"].as_u64().unwrap() >= 1, "{bundle}");
}

#[test]
fn a_restart_goes_on_where_it_was_and_a_stop_says_what_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let (mut pectin, mut client) = dev(&["--data-dir", data]);
    let (wallet, to) = (Wallet::new(1), Wallet::new(2).address());
    let first = send(&mut client, &wallet.eip1559(Call::transfer(to, 0, 1)));
    let block = final_block(&mut pectin, &mut client, &first);
    let before = call(&mut client, "eth_getBlockByNumber", &json!([format!("{block:#x}"), true])).unwrap();
    let waiting = send(&mut client, &wallet.eip1559(Call::transfer(to, 2, 1)));
    pectin.terminate();
    let line = pectin.wait_for("stopped; the journal is finished").unwrap();
    assert!(line.contains("1 transactions in the pool"), "{line}");
    assert!(pectin.wait().unwrap().success());

    let (mut pectin, mut client) = dev(&["--data-dir", data]);
    let after = call(&mut client, "eth_getBlockByNumber", &json!([format!("{block:#x}"), true])).unwrap();
    assert_eq!(before, after);
    let way = call(&mut client, "builder_transaction", &json!([waiting])).unwrap();
    assert_eq!(way["status"], "queued");
    send(&mut client, &wallet.eip1559(Call::transfer(to, 1, 1)));
    final_block(&mut pectin, &mut client, &waiting);
    let nonce =
        call(&mut client, "eth_getTransactionCount", &json!([wallet.address(), "finalized"])).unwrap();
    assert_eq!(number(&nonce), 3);

    // Killed without a word, it still goes on.
    let again = send(&mut client, &wallet.eip1559(Call::transfer(to, 3, 1)));
    pectin.kill().unwrap();
    let (mut pectin, mut client) = dev(&["--data-dir", data]);
    final_block(&mut pectin, &mut client, &again);
}

/// The base fee would have to fall for thirty blocks; what does not pay it waits, also through a restart, and is shown as
/// go-ethereum shows it.
#[test]
fn a_transaction_below_the_base_fee_is_accepted_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let (mut pectin, mut client) = dev_at(100 * GWEI, &["--data-dir", data]);
    let wallet = Wallet::new(1);
    let call_of =
        |nonce| Call { max_fee: 2 * u128::from(GWEI), ..Call::transfer(wallet.address(), nonce, 1) };
    let hashes = [0, 1].map(|nonce| send(&mut client, &wallet.eip1559(call_of(nonce))));
    let shown = |client: &mut Client| {
        let all = json!({ "pending": "0x2", "queued": "0x0" });
        // The numbers follow a moment later.
        while call(client, "txpool_status", &json!([])).unwrap() != all {}
        let content = call(client, "txpool_contentFrom", &json!([wallet.address()])).unwrap();
        assert_eq!(content["queued"], json!({}));
        for (nonce, hash) in ["0", "1"].into_iter().zip(&hashes) {
            assert_eq!(content["pending"][nonce]["hash"], *hash);
        }
        let nonce = call(client, "eth_getTransactionCount", &json!([wallet.address(), "pending"])).unwrap();
        assert_eq!(number(&nonce), 2);
    };
    shown(&mut client);
    pectin.terminate();
    assert!(pectin.wait().unwrap().success());
    let (_pectin, mut client) = dev_at(100 * GWEI, &["--data-dir", data]);
    shown(&mut client);
}
