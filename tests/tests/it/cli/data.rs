//! `pectin db`: backups can be started from, nothing is written over, and damage is found.

use super::{Network, run, text};
use serde_json::json;

const SOMEBODY: &str = "0x00000000000000000000000000000000000000aa";

#[test]
fn a_backup_of_a_running_node_is_restored_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let [data, backup, again] = ["data", "backup", "again"].map(|name| directory.path().join(name));
    let network = Network::start(&["--data-dir", text(&data)]);
    let hash = network.paid(SOMEBODY);
    network.run(&["tx", &hash, "--wait", "finalized"]).good();
    // Empty blocks follow; a chain that applied one of them after the backup would refuse the backup.
    network.wait_until_idle();
    let make = ["db", "backup", "--data-dir", text(&data), "--to", text(&backup)];
    assert!(network.run(&make).good().contains("final to block"));
    network.run(&make).refused(1, "nothing is written over");
    // What needs the file for itself says so.
    for what in ["stat", "check", "compact"] {
        run(&["db", what, "--data-dir", text(&data)]).refused(4, "stop the node first");
    }
    let status = network.call("builder_status", json!([])).unwrap();
    network.stop();

    let stat = run(&["db", "stat", "--data-dir", text(&data), "--json"]).json();
    assert!(stat["finalized"]["number"].as_u64().unwrap() >= 1, "{stat} {status}");
    assert!(run(&["db", "stat", "--data-dir", text(&data)]).good().contains("headers"));
    assert!(run(&["db", "check", "--data-dir", text(&data)]).good().contains("is sound"));
    assert!(run(&["db", "compact", "--data-dir", text(&data)]).good().contains("bytes before"));
    assert!(run(&["db", "check", "--data-dir", text(&data)]).good().contains("is sound"));

    let restore = ["db", "restore", "--from", text(&backup), "--data-dir", text(&again)];
    run(&["db", "restore", "--from", text(&backup), "--data-dir", text(&data)])
        .refused(2, "is there already");
    run(&restore).good();
    run(&restore).refused(2, "is there already");
    assert!(run(&["db", "check", "--data-dir", text(&again)]).good().contains("is sound"));
    // The validators' chain belongs to the network, not to the builder's data.
    std::fs::rename(data.join("validators"), again.join("validators")).unwrap();
    let network = Network::start(&["--data-dir", text(&again)]);
    assert_eq!(network.run(&["tx", &hash, "--json"]).json()["status"], "finalized");
    network.run(&["tx", &network.paid(SOMEBODY), "--wait", "finalized"]).good();
    // A stopped node's data is copied by the command itself.
    network.stop();
    let second = directory.path().join("second");
    run(&["db", "backup", "--data-dir", text(&again), "--to", text(&second)]).good();
    assert!(run(&["db", "check", "--data-dir", text(&second)]).good().contains("is sound"));
}

/// The sender's requests are part of a backup: whoever repeats a name after a restore does not pay twice.
#[test]
fn a_name_that_was_used_before_the_backup_sends_nothing_after_the_restore() {
    let directory = tempfile::tempdir().unwrap();
    let [data, backup, again, still] =
        ["data", "backup", "again", "still"].map(|name| directory.path().join(name));
    let network = Network::start(&["--data-dir", text(&data)]);
    let pay =
        ["send", "--to", SOMEBODY, "--value", "7", "--idempotency-key", "order-7", "--wait", "confirmed"];
    let line = |said: &str, word: &str| {
        let line = said.lines().find(|line| line.starts_with(word));
        line.unwrap_or_else(|| panic!("{word}: {said}")).to_owned()
    };
    let first = line(&network.run(&pay).good(), "confirmed");
    network.wait_until_idle();
    let said = network.run(&["db", "backup", "--data-dir", text(&data), "--to", text(&backup)]).good();
    assert!(said.contains("with the sender's requests"), "{said}");
    use std::os::unix::fs::PermissionsExt;
    for name in ["pectin.redb", "sender.redb"] {
        let mode = std::fs::metadata(backup.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}: endpoints of webhooks have secrets");
    }
    assert!(!backup.join("admin-token").exists() && !backup.join("keystore").exists());
    network.stop();

    run(&["db", "restore", "--from", text(&backup), "--data-dir", text(&again)]).good();
    std::fs::rename(data.join("validators"), again.join("validators")).unwrap();
    let network = Network::start(&["--data-dir", text(&again)]);
    assert_eq!(line(&network.run(&pay).good(), "confirmed"), first, "the same transaction");
    let balance = |network: &Network| network.call("eth_getBalance", json!([SOMEBODY, "latest"])).unwrap();
    assert_eq!(balance(&network), "0x7", "paid once");
    let other =
        ["send", "--to", SOMEBODY, "--value", "1", "--idempotency-key", "order-8", "--wait", "confirmed"];
    network.run(&other).good();
    assert_eq!(balance(&network), "0x8", "it goes on");
    network.stop();

    // The same without a node, and what else there is to do with the file.
    let data_dir = ["--data-dir", text(&again)];
    let with = |words: &[&str]| run(&[words, &data_dir[..]].concat());
    assert!(with(&["db", "backup", "--to", text(&still)]).good().contains("with the sender's requests"));
    let stat = run(&["db", "stat", "--data-dir", text(&still), "--json"]).json();
    assert!(stat["sender"]["rows"].as_u64().unwrap() > 2, "{stat}");
    assert!(with(&["db", "stat"]).good().contains("sender "));
    assert!(with(&["db", "compact"]).good().contains("the sender's: "));
    assert!(with(&["db", "check"]).good().contains("the sender's file too"));
    // Damage of it is found, and nothing of such a backup is restored.
    let file = still.join("sender.redb");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[4096..].fill(0xa5);
    std::fs::write(&file, &bytes).unwrap();
    run(&["db", "check", "--data-dir", text(&still)]).refused(4, "sender.redb");
    let to = directory.path().join("to");
    run(&["db", "restore", "--from", text(&still), "--data-dir", text(&to)]).refused(4, "sender.redb");
    assert!(!to.exists(), "nothing was restored");
    // A backup that cannot be finished leaves nothing that looks like one.
    let half = directory.path().join("half");
    std::fs::create_dir(&half).unwrap();
    std::fs::write(half.join("sender.redb.unfinished"), b"another one's").unwrap();
    with(&["db", "backup", "--to", text(&half)]).refused(4, "another copy is being made there");
    let left = std::fs::read_dir(&half).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(left, ["sender.redb.unfinished"]);
}

#[test]
fn damage_is_found_and_nothing_is_made_where_nothing_was() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    run(&["db", "stat", "--data-dir", text(&data)]).refused(4, "chain-spec.json");
    assert!(!data.exists());
    let network = Network::start(&["--data-dir", text(&data)]);
    network.run(&["tx", &network.paid(SOMEBODY), "--wait", "finalized"]).good();
    network.stop();
    let file = data.join("pectin.redb");
    let sound = std::fs::read(&file).unwrap();
    let mut damaged = sound.clone();
    // Behind the log, in which nothing stands any more.
    let tables = 1 << 20;
    let half = (tables + damaged.len()) / 2;
    damaged[tables + 4096..half].fill(0xa5);
    std::fs::write(&file, &damaged).unwrap();
    run(&["db", "check", "--data-dir", text(&data)]).refused(4, "pectin.redb");
    run(&["db", "restore", "--from", text(&data), "--data-dir", text(&directory.path().join("to"))])
        .refused(4, "pectin.redb");
    assert!(!directory.path().join("to").exists(), "nothing was restored");
    std::fs::write(&file, &sound[..100]).unwrap();
    run(&["db", "stat", "--data-dir", text(&data)]).refused(4, "pectin.redb");
    std::fs::write(&file, &sound).unwrap();
    run(&["db", "check", "--data-dir", text(&data)]).good();
}
