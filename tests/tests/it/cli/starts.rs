//! What `pectin node` and `pectin validator` say when they start, and when peers come and go.

use super::{run, text};
use harness::process::Pectin;
use std::{net::UdpSocket, path::Path};

/// Ports that nothing else uses at the moment.
fn free_addresses(count: usize) -> Vec<String> {
    let sockets = (0..count).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect::<Vec<_>>();
    sockets.iter().map(|socket| socket.local_addr().unwrap().to_string()).collect()
}

/// The files of a network of three validators.
fn network(directory: &Path) -> String {
    let net = directory.join("net");
    let addresses = free_addresses(3).join(",");
    run(&["chain-spec", "--out", text(&net), "--cores", "1", "--validator-addrs", &addresses]).good();
    text(&net).to_owned()
}

fn validator(net: &str, index: &str) -> Pectin {
    let spec = format!("{net}/chain-spec.json");
    let data = format!("{net}/validator-{index}");
    let arguments =
        ["validator", "--chain-spec", &spec, "--index", index, "--slot-ms", "400", "--data-dir", &data];
    Pectin::start(arguments).unwrap()
}

fn builder(net: &str) -> Pectin {
    let (spec, genesis) = (format!("{net}/chain-spec.json"), format!("{net}/genesis.json"));
    let (key, data) = (format!("{net}/builder.key"), format!("{net}/data"));
    let arguments = [
        "node",
        "--chain-spec",
        &spec,
        "--genesis",
        &genesis,
        "--builder-key",
        &key,
        "--data-dir",
        &data,
        "--http-port",
        "0",
        "--slot-ms",
        "400",
    ];
    Pectin::start(arguments).unwrap()
}

#[track_caller]
fn has(line: &str, fields: &[&str]) {
    for field in fields {
        assert!(line.contains(&format!(" {field}")), "{field}: {line}");
    }
}

#[test]
fn a_start_says_who_and_where_and_peers_are_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let net = network(directory.path());
    let mut first = validator(&net, "0");
    let line = first.wait_for(" chain ").unwrap();
    has(&line, &["chain=", "chain_id=", "service=", "jam_genesis=0x", "slot_ms=400"]);
    let line = first.wait_for("validator listens").unwrap();
    let data = format!("data_dir={net}/validator-0");
    has(&line, &["index=0", "of=3", "key=0x", "peer=e", "addr=127.0.0.1:", "bootnodes=3", &data]);
    has(&first.wait_for(" recovered ").unwrap(), &["best=0", "finalized=0", "best_block=0x"]);

    let mut node = builder(&net);
    has(&node.wait_for(" chain ").unwrap(), &["chain_id=", "service=", "jam_genesis=0x", "evm_genesis=0x"]);
    let line = node.wait_for(" builder ").unwrap();
    let data = format!("data_dir={net}/data");
    has(&line, &["key=0x", "peer=e", "http=127.0.0.1:", "p2p=127.0.0.1:", "bootnodes=3", "peers=3", &data]);
    let line = node.wait_for(" recovered ").unwrap();
    has(&line, &["newest=0", "finalized=0", "unfinished=0", "queued=0", "pooled=0"]);
    node.wait_for("RPC on").unwrap();
    let line = node.wait_for("peer connected").unwrap();
    has(&line, &["peer=e", "addr=127.0.0.1:", "connected=1", "of=3"]);
    // To a validator the builder is a peer that it did not ask for.
    has(&first.wait_for("peer connected").unwrap(), &["builder=true", "connected=0", "of=2"]);

    let mut second = validator(&net, "1");
    has(&node.wait_for("peer connected").unwrap(), &["connected=2", "of=3"]);
    has(&second.wait_for("peer connected").unwrap(), &["of=2"]);
    second.terminate();
    assert!(second.wait().unwrap().success());
    has(
        &node.wait_for("peer disconnected").unwrap(),
        &["peer=e", "addr=127.0.0.1:", "reason=", "connected=1", "of=3"],
    );
    first.terminate();
    has(&node.wait_for("peer disconnected").unwrap(), &["connected=0", "of=3"]);
    node.terminate();
    assert!(node.wait().unwrap().success());
}

#[test]
fn a_validator_that_there_is_not_is_told_which_there_are() {
    let directory = tempfile::tempdir().unwrap();
    let net = network(directory.path());
    let spec = format!("{net}/chain-spec.json");
    run(&["validator", "--chain-spec", &spec, "--index", "3"])
        .refused(2, "--index 3: there is no validator 3: the chain has 3, whose indices are 0 to 2");
}
