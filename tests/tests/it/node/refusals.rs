//! What cannot be used is refused in one sentence, with an exit code, and nothing else happens.

use harness::process::Pectin;
use std::net::TcpListener;

/// Runs it to its end; gives the exit code and what it said.
fn run(arguments: &[&str]) -> (i32, String) {
    let mut pectin = Pectin::start(arguments).unwrap();
    let status = pectin.wait().unwrap();
    (status.code().unwrap(), pectin.log.join("\n"))
}

fn refused(arguments: &[&str], code: i32, words: &str) {
    let (found, said) = run(arguments);
    assert_eq!(found, code, "{arguments:?}: {said}");
    assert!(said.contains(words), "{arguments:?}: {said}");
    assert!(!said.contains("panicked") && !said.contains("RUST_BACKTRACE"), "{said}");
}

#[test]
fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(&["dev", "--http-port", &port], 3, "is another program using the port?");
}

#[test]
fn files_that_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let port = ["--http-port", "0"];
    let with = |more: &[&str]| -> Vec<String> { more.iter().chain(&port).map(|s| (*s).to_owned()).collect() };
    let check = |arguments: Vec<String>, code, words: &str| {
        refused(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), code, words);
    };
    check(with(&["dev", "--genesis", "/nowhere/genesis.json"]), 2, "the genesis file /nowhere/genesis.json");
    let broken = path("genesis.json", "{ \"alloc\": 7 }");
    check(with(&["dev", "--genesis", &broken]), 2, "genesis.json: ");
    let config = path("pectin.toml", "http-prot = 1\n");
    refused(&["node", "--config", &config], 2, "did you mean \"http-port\"?");
    let config = path("empty.toml", "");
    refused(&["node", "--config", &config], 2, "--chain-spec is needed");
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("pectin.redb"), "this is something else").unwrap();
    check(with(&["dev", "--data-dir", data.to_str().unwrap()]), 4, "is not a data file of Pectin");
    check(with(&["dev", "--validators", "5"]), 2, "three for each");
    check(with(&["dev", "--slot-ms", "1"]), 2, "too short");
    check(with(&["dev", "--log", "=x=,"]), 2, "--log");
}

#[test]
fn another_chains_data() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let arguments = ["dev", "--http-port", "0", "--slot-ms", "400", "--data-dir", data];
    let mut pectin = Pectin::start(arguments).unwrap();
    pectin.wait_for("ready in").unwrap();
    // While it runs nobody else may use the data.
    let (code, said) = run(&arguments);
    assert_eq!(code, 4, "{said}");
    pectin.terminate();
    assert!(pectin.wait().unwrap().success());
    let other = arguments.into_iter().chain(["--chain-id", "5"]).collect::<Vec<_>>();
    let (code, said) = run(&other);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("another chain") || said.contains("other chain"), "{said}");
}
