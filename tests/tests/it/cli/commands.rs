//! `pectin tx`, `queue`, `bundle`, `inspect`, `doctor`, `load`, `completions`.

use super::{Network, Ran, run, run_with, text};
use serde_json::{Value, json};
use state::{Blake2b, Witness};

const SOMEBODY: &str = "0x00000000000000000000000000000000000000aa";

#[test]
fn a_transactions_way_is_shown_to_its_end() {
    let network = Network::start(&[]);
    let hash = network.paid(SOMEBODY);
    let said = network.run(&["tx", &hash, "--wait", "finalized"]).good();
    for word in ["finalized in block", "guaranteed", "accumulated", "sealed", &hash, "package"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let way = network.run(&["tx", &hash, "--json"]).json();
    assert_eq!(way["status"], "finalized");
    assert_eq!(way["hash"], hash.as_str());
    let number = way["block"]["number"].as_str().unwrap();
    let number = u64::from_str_radix(&number[2..], 16).unwrap().to_string();

    let bundle = network.run(&["bundle", &number, "--json"]).json();
    assert_eq!(bundle["transactions"][0], hash.as_str());
    assert_eq!(network.run(&["bundle", &format!("B-{number}"), "--json"]).json()["name"], bundle["name"]);
    assert!(network.run(&["bundle", &number]).good().contains(&hash));
    let queue = network.run(&["queue", "--finished", "--json"]).json();
    let finished = queue["queue"]["finished"].as_array().unwrap();
    assert!(finished.iter().any(|one| one["name"] == bundle["name"]), "{queue}");
    assert!(network.run(&["queue", "--finished"]).good().contains(bundle["name"].as_str().unwrap()));
}

#[test]
fn what_is_not_there_is_said_in_one_sentence() {
    let network = Network::start(&[]);
    let unknown = format!("0x{}", "ab".repeat(32));
    network.run(&["tx", &unknown]).refused(1, "knows no transaction");
    network.run(&["tx", "0x12"]).refused(2, "0x12");
    network.run(&["bundle", "99"]).refused(1, "does not remember");
    network.run(&["bundle", "seven"]).refused(2, "no block number");
    let nowhere = |arguments: &[&str]| run(&[arguments, &["--rpc-url", "http://127.0.0.1:1"]].concat());
    nowhere(&["queue"]).refused(1, "is it running?");
    nowhere(&["tx", &unknown]).refused(1, "is it running?");
    run(&["queue", "--rpc-url", "https://127.0.0.1:1"]).refused(1, "is it running?");
    run(&["queue", "--rpc-url", "somewhere"]).refused(2, "a URL is expected");
}

/// The files of a bundle are what a validator gets: they decode, prove, and hang together.
fn check_bundle(directory: &std::path::Path, number: u64) -> Value {
    let read = |name: &str| std::fs::read(directory.join(name)).unwrap();
    let summary = serde_json::from_slice::<Value>(&read("bundle.json")).unwrap();
    let (first, last) = (&summary["first"]["number"], &summary["last"]["number"]);
    assert!(first.as_u64().unwrap() <= number && number <= last.as_u64().unwrap(), "{summary}");
    let pre_root = summary["preRoot"].as_str().unwrap().parse::<jam::Hash>().unwrap();
    Witness::decode(&read("witness.bin")).unwrap().verify::<Blake2b>(pre_root).unwrap();
    let decoded =
        |kind: &str, name: &str| run(&["inspect", kind, text(&directory.join(name)), "--json"]).json();
    let headers =
        service::payload::decode_headers(&read("headers.rlp"), summary["blocks"].as_u64().unwrap() as u32);
    let headers = headers.unwrap();
    let last = headers.last().unwrap();
    assert_eq!(summary["last"]["hash"], json!(last.hash_slow()));
    assert_eq!(summary["postRoot"], json!(last.state_root));
    let parent = decoded("header", "parent.rlp");
    assert_eq!(
        (&parent["hash"], &parent["stateRoot"]),
        (&json!(headers[0].parent_hash), &summary["preRoot"])
    );
    let package = decoded("package", "package.bin");
    assert_eq!(package["items"][0]["payload"]["last"], summary["last"]["hash"]);
    assert_eq!(package["withinLimits"], true);
    let bundle = decoded("bundle", "bundle.bin");
    assert_eq!((&bundle["package"], &bundle["extrinsicsMatch"]), (&package, &json!(true)));
    let lists = service::blobs::split(&read("transactions.bin").into()).unwrap();
    let transactions = lists.iter().map(|list| service::blobs::split(list).unwrap().len()).sum::<usize>();
    assert_eq!((lists.len(), &summary["transactions"]), (headers.len(), &json!(transactions)));
    assert_eq!(decoded("witness", "witness.bin")["proves"], true);
    summary
}

#[test]
fn a_bundle_is_made_again_from_a_running_and_from_a_stopped_node() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    // One block is the whole run: a stopped node does not know the runs of final blocks any more.
    let network = Network::start(&["--data-dir", text(&data), "--empty-blocks", "0"]);
    let hash = network.paid(SOMEBODY);
    network.run(&["tx", &hash, "--wait", "finalized"]).good();
    let [live, still] = ["live", "still"].map(|name| directory.path().join(name));
    let said = network.run(&["inspect", "bundle", "--block", "1", "--out", text(&live), "--json"]).json();
    let summary = check_bundle(&live, 1);
    assert_eq!(said, summary);
    let bundle = network.run(&["bundle", "1", "--json"]).json();
    let sent = bundle["versions"].as_array().unwrap().last().unwrap();
    assert_eq!(summary["version"]["packageHash"], sent["packageHash"], "the package that was really sent");
    let twice = network.run(&["inspect", "bundle", "--block", "1", "--out", text(&live)]);
    twice.refused(2, "nothing is written over");
    let missing = directory.path().join("missing");
    network.run(&["inspect", "bundle", "--block", "999", "--out", text(&missing)]).refused(1, "no block 999");
    let from_data = ["inspect", "bundle", "--block", "1", "--out", text(&still), "--data-dir", text(&data)];
    run(&from_data).refused(4, "another process");
    network.stop();
    run(&from_data).good();
    check_bundle(&still, 1);
    for name in ["witness.bin", "codes.bin", "transactions.bin", "headers.rlp", "hints.bin", "parent.rlp"] {
        let [one, other] = [&live, &still].map(|directory| std::fs::read(directory.join(name)).unwrap());
        assert_eq!(one, other, "{name}");
    }
}

#[test]
fn jam_blocks_and_reports_are_read_and_what_is_none_is_refused() {
    use jam::codec::Encode;
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let block = jam::Block {
        header: jam::Header::genesis(None),
        extrinsic: jam::Extrinsic { ..jam::Extrinsic::EMPTY },
    };
    let path = file("block.bin", &block.encode());
    let said = run(&["inspect", "block", text(&path), "--json"]).json();
    assert_eq!(said["headerHash"], json!(block.header.hash().0));
    let hexadecimal = file("block.hex", format!("0x{}\n", hex::encode(block.encode())).as_bytes());
    assert_eq!(run(&["inspect", "block", text(&hexadecimal), "--json"]).json(), said);
    let report = jam::WorkReport {
        spec: jam::report::AvailabilitySpec {
            package: Default::default(),
            bundle_len: 7,
            erasure_root: Default::default(),
            exports_root: Default::default(),
            exports_count: 0,
        },
        context: jam::RefineContext {
            anchor: Default::default(),
            state_root: Default::default(),
            beefy_root: Default::default(),
            lookup_anchor: Default::default(),
            lookup_anchor_slot: 3,
            prerequisites: Default::default(),
        },
        core: 1,
        authorizer: Default::default(),
        auth_gas_used: 0,
        auth_output: Default::default(),
        segment_roots: Default::default(),
        digests: vec![],
    };
    let path = file("report.bin", &report.encode());
    let said = run(&["inspect", "report", text(&path), "--json"]).json();
    assert_eq!((&said["core"], &said["reportHash"]), (&json!(1), &json!(report.hash().0)));
    let nonsense = file("nonsense", &[7; 100]);
    for kind in ["package", "bundle", "report", "block", "witness", "header"] {
        run(&["inspect", kind, text(&nonsense)]).refused(4, &format!("this is no {kind}"));
    }
    run(&["inspect", "witness", "/nowhere/at-all"]).refused(2, "/nowhere/at-all");
    run(&["inspect", "witness"]).refused(2, "FILE");
    run(&["inspect", "witness", "--block", "1", "--out", "x"]).refused(2, "inspect bundle --block");
}

#[test]
fn a_healthy_node_has_no_problem_and_a_sick_one_has() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let network = Network::start(&["--data-dir", text(&data)]);
    network.run(&["tx", &network.paid(SOMEBODY), "--wait", "finalized"]).good();
    let port = network.url.rsplit_once(':').unwrap().1.to_owned();
    let doctor = |more: &[&str]| -> Ran {
        run(&[&["doctor", "--data-dir", text(&data), "--http-port", &port], more].concat())
    };
    let findings = doctor(&["--slot-ms", "400", "--json"]).json();
    let of = |what: &str| {
        let found = findings.as_array().unwrap().iter().find(|finding| finding["what"] == what);
        found.unwrap_or_else(|| panic!("{what}: {findings}"))["verdict"].as_str().unwrap().to_owned()
    };
    for what in ["node", "JAM blocks", "peers", "RPC port", "data directory", "secrets"] {
        assert_eq!(of(what), "ok", "{what}: {findings}");
    }
    assert_eq!(of("clock"), "unknown");
    assert!(["ok", "warning"].contains(&&*of("disk sync")));
    assert!(doctor(&["--slot-ms", "400"]).good().contains("guarantors connected: core 0: 3 of 3"));
    // A slot length that is not the network's: by this clock its blocks are from another time.
    doctor(&[]).refused(1, "problems");
    std::fs::set_permissions(data.join("admin-token"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    let said = doctor(&["--slot-ms", "400"]);
    assert!(said.out.contains("can be read by others"), "{said:?}");
    said.refused(1, "1 problems");
}

#[test]
fn load_becomes_final_and_is_measured() {
    let network = Network::start(&[]);
    let arguments = [
        "load",
        "--senders",
        "6",
        "--rate",
        "60",
        "--seconds",
        "2",
        "--erc20",
        "50",
        "--batch",
        "4",
        "--json",
    ];
    let report = network.run(&arguments).json();
    let count = |step: &str| report[step]["count"].as_u64().unwrap();
    assert!(count("accepted") > 0);
    assert_eq!((count("accepted"), count("accepted")), (count("sealed"), count("final")), "{report}");
    for step in ["accepted", "sealed", "final"] {
        assert!(report[step]["p50Ms"].as_u64() <= report[step]["p99Ms"].as_u64(), "{report}");
        assert!(report[step]["perSecond"].as_f64().unwrap() > 0.0, "{report}");
    }
    // Half of them are token transfers, and each of those left its log.
    let filter = json!([{ "fromBlock": "0x0", "toBlock": "latest" }]);
    let logs = network.call("eth_getLogs", filter).unwrap().as_array().unwrap().len() as u64;
    assert!(logs.abs_diff(count("accepted") / 2) <= 4, "{logs} of {report}");
    let words = network.run(&["load", "--senders", "2", "--rate", "0", "--seconds", "1"]).good();
    assert!(words.contains("per second") && words.contains("final"), "{words}");
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("key");
    std::fs::write(&key, "12").unwrap();
    network.run(&["load", "--key-file", text(&key)]).refused(2, "64 hexadecimal digits");
    std::fs::write(&key, "11".repeat(32)).unwrap();
    network.run(&["load", "--key-file", text(&key)]).refused(1, "insufficient funds");
    network.run(&["load", "--senders", "0"]).refused(2, "--senders");
}

/// A pool that is much smaller than what is sent: all of it becomes final nevertheless.
#[test]
fn load_sends_again_what_a_full_pool_rejects() {
    let small = ["--pool-pending-max", "20", "--pool-queued-max", "20", "--queue-depth-max", "2"];
    let network = Network::start(&[&small[..], &["--block-txs-max", "10"]].concat());
    let arguments = ["load", "--senders", "4", "--rate", "0", "--seconds", "2", "--batch", "50", "--json"];
    let ran = network.run(&arguments);
    assert!(ran.err.contains("funding the senders"), "it says how far it is without a terminal: {ran:?}");
    let report = ran.json();
    let retried = report["retried"].as_object().unwrap();
    assert!(retried.values().map(|count| count.as_u64().unwrap()).sum::<u64>() > 0, "{report}");
    assert_eq!((&report["refused"], &report["unsent"]), (&json!({}), &json!(0)), "{report}");
    assert!(report["accepted"]["count"].as_u64().unwrap() > 40, "{report}");
    assert_eq!(report["accepted"]["count"], report["final"]["count"], "{report}");
}

#[test]
fn the_doctor_asks_the_node_that_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let network = Network::start(&[]);
    // Nothing listens where the settings say.
    let doctor =
        ["doctor", "--data-dir", text(directory.path()), "--http-port", "1", "--slot-ms", "400", "--json"];
    let asked = |ran: Ran| {
        let findings = serde_json::from_str::<Value>(&ran.out).unwrap();
        let node = findings.as_array().unwrap().iter().find(|finding| finding["what"] == "node").cloned();
        node.unwrap()["verdict"] != "unknown"
    };
    assert!(!asked(run(&doctor)));
    assert!(asked(run_with(&doctor, &[("PECTIN_RPC_URL", &network.url)])));
    assert!(asked(network.run(&doctor)));
    run_with(&doctor, &[("PECTIN_RPC_URL", "somewhere")]).refused(2, "a URL is expected");
}

#[test]
fn shells_can_complete() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).good();
        assert!(script.contains("inspect") && script.contains("slot-ms"), "{shell}");
    }
    run(&["completions", "nushell"]).refused(2, "nushell");
}
