//! The examples do what they say, against a real node.

use super::{Network, repository};
use harness::{http::Client, ports};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

/// Runs a program to its end; what it printed.
fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// What every client of ours shows: the way of one payment.
fn check_payment(network: &Network, said: &str, to: &str) {
    for word in ["accepted", "sealed", "finalized", "balance    1000000000 wei"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_eq!(network.call("eth_getBalance", json!([to, "finalized"])).unwrap(), "0x3b9aca00");
}

/// The example, built beside the tests.
fn alloy_client() -> PathBuf {
    let mut directory = std::env::current_exe().unwrap();
    directory.pop();
    directory.pop();
    let path = directory.join("examples/alloy-client");
    if !path.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--locked", "-p", "tests", "--example", "alloy-client"]);
        build.current_dir(repository()).env("CARGO_TARGET_DIR", directory.parent().unwrap());
        assert!(build.status().unwrap().success());
    }
    path
}

#[test]
fn a_rust_client_pays_and_waits_for_finality() {
    let network = Network::start(&[]);
    let said = output(Command::new(alloy_client()).arg(&network.url));
    check_payment(&network, &said, "0x00000000000000000000000000000000000000bb");
}

/// viem, installed where build products are; `None`, said loudly, if it cannot be had.
fn viem() -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example-viem");
    std::fs::create_dir_all(&directory).unwrap();
    for name in ["package.json", "send.mjs"] {
        std::fs::copy(repository().join("examples/viem").join(name), directory.join(name)).unwrap();
    }
    let install = ["install", "--no-audit", "--no-fund", "--no-progress"];
    let installed = Command::new("npm").args(install).current_dir(&directory).stdin(Stdio::null()).output();
    match installed {
        Ok(output) if output.status.success() => Some(directory),
        Ok(output) => {
            println!("skipped: viem cannot be installed: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        Err(why) => {
            println!("skipped: no npm: {why}");
            None
        }
    }
}

#[test]
fn a_viem_client_pays_and_waits_for_finality() {
    let Some(directory) = viem() else { return };
    let network = Network::start(&[]);
    let said = output(Command::new("node").arg("send.mjs").arg(&network.url).current_dir(directory));
    check_payment(&network, &said, "0x00000000000000000000000000000000000000cc");
}

/// HMAC with SHA-256, as in RFC 2104.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let hash = |pad: u8, message: &[u8]| {
        let key = block.map(|byte| byte ^ pad);
        <[u8; 32]>::from(Sha256::new().chain_update(key).chain_update(message).finalize())
    };
    hash(0x5c, &hash(0x36, message))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let chunk = |chunk: &[u8]| {
        let word =
            chunk.iter().chain([&0; 3]).take(3).fold(0_usize, |word, byte| word << 8 | usize::from(*byte));
        let digit =
            |at: usize| if at <= chunk.len() { DIGITS[word >> (18 - 6 * at) & 63] as char } else { '=' };
        [0, 1, 2, 3].map(digit)
    };
    bytes.chunks(3).flat_map(chunk).collect()
}

#[test]
fn a_webhook_receiver_believes_only_what_is_signed_fresh_and_new() {
    assert_eq!(base64(b"ab"), "YWI=");
    let directory = tempfile::tempdir().unwrap();
    let secret = [7; 24];
    let file = directory.path().join("secret");
    std::fs::write(&file, format!("whsec_{}\n", base64(&secret))).unwrap();
    let receiver = repository().join("examples/webhook/receiver.mjs");
    let started = Command::new("node").arg(receiver).arg(&file).arg("0").stdout(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        println!("skipped: no node");
        return;
    };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let port = lines.next().unwrap().rsplit_once(' ').unwrap().1.to_owned();
    let body = br#"{"type":"request.finalized","data":{"id":"r1"}}"#;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let post = |id: &str, at: u64, key: &[u8], body: &[u8]| {
        let signed = [format!("{id}.{at}.").as_bytes(), body].concat();
        // The old signature of a rotation stands first.
        let signature = format!("v1,{} v1,{}", base64(&[0; 32]), base64(&hmac(key, &signed)));
        let at = at.to_string();
        let headers = [("webhook-id", id), ("webhook-timestamp", &at), ("webhook-signature", &signature)];
        let mut client = Client::connect(&format!("http://127.0.0.1:{port}")).unwrap();
        client.request("POST", "/", &headers, body).unwrap().status
    };
    assert_eq!(post("m1", now, &secret, body), 200);
    assert_eq!(post("m1", now, &secret, body), 200, "the same again");
    assert_eq!(post("m2", now, &[8; 24], body), 401, "somebody else's");
    assert_eq!(post("m3", now - 3600, &secret, body), 400, "an hour old");
    assert_eq!(post("m4", now, &secret, b"no json"), 400);
    assert_eq!(post("m5", now, &secret, body), 200);
    assert_eq!(lines.next().unwrap(), r#"event m1 request.finalized {"id":"r1"}"#);
    assert!(lines.next().unwrap().starts_with("event m5 "), "each event once");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A real payment's webhooks, from the node to the example.
#[test]
fn a_webhook_receiver_takes_what_the_node_delivers() {
    if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: no node");
        return;
    }
    let network = Network::start(&["--sender-webhook-allow", "127.0.0.0/8"]);
    let port = ports::reserve().unwrap();
    let body = json!({ "url": format!("http://127.0.0.1:{port}/") }).to_string();
    let headers = [("content-type", "application/json")];
    let mut client = Client::connect(&network.url).unwrap();
    let made = client.request("POST", "/v1/webhooks", &headers, body.as_bytes()).unwrap();
    let made = serde_json::from_slice::<serde_json::Value>(&made.body).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    std::fs::write(&file, made["secret"].as_str().unwrap_or_else(|| panic!("{made}"))).unwrap();
    let receiver = repository().join("examples/webhook/receiver.mjs");
    let mut child = Command::new("node")
        .arg(receiver)
        .arg(&file)
        .arg(port.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().ends_with(&format!(" {port}")));
    let to = "0x00000000000000000000000000000000000000dd";
    network
        .run(&["send", "--to", to, "--value", "1", "--idempotency-key", "order-9", "--wait", "confirmed"])
        .good();
    // Each step once, in order, until nothing undoes it.
    let told = lines.find(|line| line.contains("confirmed")).expect("it is told until it is confirmed");
    assert!(told.starts_with("event ") && told.contains("order-9"), "{told}");
    child.kill().unwrap();
    child.wait().unwrap();
}
