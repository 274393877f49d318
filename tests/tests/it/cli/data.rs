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
    let half = damaged.len() / 2;
    damaged[4096..half].fill(0xa5);
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
