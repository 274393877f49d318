//! A data directory of an earlier Pectin is taken over, or refused with advice.
//!
//! `tests/fixtures/data-FORMAT` has one for each format there was, packed ([`tests::packed`]) beside the service's program, with what
//! was in it. Whatever
//! changes the format must keep these tests passing, and adds a fixture of the new one:
//!
//! ```text
//!   cargo test -p tests --test it -- --ignored cli::floor::make_a_fixture
//! ```

use super::{Network, repository, run, text};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tests::packed::{pack, unpack};

/// The format that this version writes.
const FORMAT: u32 = 7;
/// The oldest format that is taken over. Earlier chains have a service that takes other bundles (of one block up to format 5, without hints
/// up to 6), which this version does not make: they are refused.
const TAKEN_OVER: u32 = 7;
/// What a fixture takes in the repository at most.
const FIXTURE_BYTES_MAX: u64 = 200_000;
/// The service's program in a fixture.
const PROGRAM: &str = "program.jam";
/// Whom the fixture's transactions pay.
const PAID: &str = "0x00000000000000000000000000000000000000f1";
const SENT: &str = "0x00000000000000000000000000000000000000f2";

fn fixtures() -> PathBuf {
    repository().join("tests/fixtures")
}

/// Every file below a directory, as paths from there.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![directory.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(directory).unwrap().to_path_buf()),
            }
        }
    }
    found.sort();
    found
}

/// What the chain says of one transaction, its block and the balance of whom it paid.
fn facts(network: &Network, hash: &str, to: &str) -> Value {
    let receipt = network.call("eth_getTransactionReceipt", json!([hash])).unwrap();
    let block = network.call("eth_getBlockByNumber", json!([receipt["blockNumber"], true])).unwrap();
    let transaction = network.call("eth_getTransactionByHash", json!([hash])).unwrap();
    let balance = network.call("eth_getBalance", json!([to, receipt["blockNumber"]])).unwrap();
    json!({ "receipt": receipt, "block": block, "transaction": transaction, "balance": balance })
}

/// A payment through a managed account, by its name: what it says when it is confirmed.
fn send(network: &Network) -> String {
    let pay = ["send", "--to", SENT, "--value", "7", "--idempotency-key", "floor-1", "--wait", "confirmed"];
    let said = network.run(&pay).good();
    let confirmed =
        said.lines().find(|line| line.starts_with("confirmed")).unwrap_or_else(|| panic!("{said}"));
    confirmed.to_owned()
}

#[test]
#[ignore = "it makes the fixture of this version's format"]
fn make_a_fixture() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let network = Network::start(&["--data-dir", text(&data), "--empty-blocks", "0"]);
    let paid = network.paid(PAID);
    network.run(&["tx", &paid, "--wait", "finalized"]).good();
    let confirmed = send(&network);
    let expected = json!({ "paid": facts(&network, &paid, PAID), "confirmed": confirmed });
    network.stop();
    run(&["db", "compact", "--data-dir", text(&data)]).good();
    let fixture = fixtures().join(format!("data-{FORMAT}"));
    let _ = fs::remove_dir_all(&fixture);
    fs::create_dir_all(&fixture).unwrap();
    fs::write(fixture.join(PROGRAM), service::code::PROGRAM).unwrap();
    let known = known(&fixture);
    // The operator's token belongs to one machine; another one is made at the start.
    for file in files(&data).into_iter().filter(|file| file != Path::new("admin-token")) {
        let packed = fixture.join("packed").join(&file);
        fs::create_dir_all(packed.parent().unwrap()).unwrap();
        fs::write(packed, pack(&known, &fs::read(data.join(&file)).unwrap())).unwrap();
    }
    fs::write(fixture.join("expected.json"), format!("{expected:#}\n")).unwrap();
}

/// What the files of a fixture need not repeat: the service's program, which their chain has as bytes and as hexadecimal digits.
fn known(fixture: &Path) -> Vec<u8> {
    let program = fs::read(fixture.join(PROGRAM)).unwrap_or_default();
    [&program[..], alloy_primitives::hex::encode(&program).as_bytes()].concat()
}

/// A copy of a fixture that can be started from, and what is in it.
fn copy(fixture: &Path, data: &Path) -> Value {
    let (packed, known) = (fixture.join("packed"), known(fixture));
    for file in files(&packed) {
        let to = data.join(&file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, unpack(&known, &fs::read(packed.join(&file)).unwrap()).unwrap()).unwrap();
    }
    serde_json::from_str(&fs::read_to_string(fixture.join("expected.json")).unwrap()).unwrap()
}

/// The formats there are fixtures of, with the fixtures.
fn all() -> Vec<(u32, PathBuf)> {
    let all = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
    let format = |path: &Path| path.file_name()?.to_str()?.strip_prefix("data-")?.parse().ok();
    let all = all.filter_map(|path| Some((format(&path)?, path))).collect::<Vec<_>>();
    assert!(all.iter().any(|(format, _)| *format == FORMAT), "this version's: {all:?}");
    all
}

#[test]
fn data_of_a_format_that_is_too_old_is_refused_with_advice_and_stays_as_it_is() {
    let old = all().into_iter().filter(|(format, _)| *format < TAKEN_OVER).collect::<Vec<_>>();
    assert!(!old.is_empty());
    for (format, fixture) in old {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        copy(&fixture, &data);
        let before = fs::read(data.join("pectin.redb")).unwrap();
        let ran = run(&["dev", "--http-port", "0", "--data-dir", text(&data)]);
        assert_eq!(ran.code, 4, "{ran:?}");
        let advice = format!("was written by an older Pectin (format {format})");
        assert!(ran.err.contains(&advice) && ran.err.contains("name another --data-dir"), "{ran:?}");
        assert!(fs::read(data.join("pectin.redb")).unwrap() == before, "nothing is changed");
    }
}

#[test]
fn data_of_every_earlier_format_is_taken_over() {
    for (_, fixture) in all().into_iter().filter(|(format, _)| *format >= TAKEN_OVER) {
        // The program is as large as it is, and the same file as the product's until that changes.
        let size = files(&fixture).into_iter().filter(|file| file != Path::new(PROGRAM));
        let size = size.map(|file| fs::metadata(fixture.join(file)).unwrap().len());
        assert!(size.sum::<u64>() <= FIXTURE_BYTES_MAX, "{}", fixture.display());
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let expected = copy(&fixture, &data);
        assert!(run(&["db", "check", "--data-dir", text(&data)]).good().contains("is sound"));
        let network = Network::start(&["--data-dir", text(&data), "--empty-blocks", "0"]);
        let hash = expected["paid"]["transaction"]["hash"].as_str().unwrap();
        assert_eq!(facts(&network, hash, PAID), expected["paid"], "{}", fixture.display());
        // The sender remembers the name: nothing is paid a second time.
        assert_eq!(send(&network), expected["confirmed"].as_str().unwrap());
        assert_eq!(network.call("eth_getBalance", json!([SENT, "latest"])).unwrap(), "0x7");
        // And the chain goes on.
        network.run(&["tx", &network.paid(PAID), "--wait", "finalized"]).good();
        network.stop();
        assert!(run(&["db", "check", "--data-dir", text(&data)]).good().contains("is sound"));
    }
}

/// A directory belongs to one chain: with another chain's id it is refused, and told what to do.
#[test]
fn data_of_another_chain_id_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    Network::start(&["--data-dir", text(&data), "--chain-id", "1337"]).stop();
    let ran = run(&["dev", "--http-port", "0", "--data-dir", text(&data)]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("another chain") && ran.err.contains("--data-dir"), "{ran:?}");
}
