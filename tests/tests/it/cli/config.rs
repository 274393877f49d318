//! Settings: one reference that is true, and an order in which they win.

use super::{repository, run, run_with, text};

#[test]
fn the_reference_in_the_documents_is_the_one_that_is_printed() {
    let printed = run(&["config", "print"]).good();
    let path = repository().join("docs/pectin.toml");
    if std::env::var_os("PECTIN_BLESS").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written, printed, "PECTIN_BLESS=1 rewrites docs/pectin.toml");
    assert!(run(&["config", "check", text(&path)]).good().contains("can be used"));
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pectin.toml");
    std::fs::write(&file, "http-port = 1\nlog = \"warn\"\nseal-after-ms = 7\nchain-spec = \"a.json\"\n")
        .unwrap();
    let environment = [("PECTIN_HTTP_PORT", "2"), ("PECTIN_LOG", "debug")];
    let show = ["config", "show", "--config", text(&file)];
    let said = run_with(&[&show[..], &["--http-port", "3"]].concat(), &environment).good();
    has(&said, "http-port = 3", "flag");
    has(&said, "log = \"debug\"", "environment");
    has(&said, "seal-after-ms = 7", "file");
    let spec = directory.path().join("a.json");
    has(&said, &format!("chain-spec = {:?}", text(&spec)), "file");
    has(&run(&show).good(), "http-port = 1", "file");
    // The file may be named in the environment too, and flags may say no.
    let said = run_with(
        &["config", "show", "--dry-run=false"],
        &[("PECTIN_CONFIG", text(&file)), ("PECTIN_DRY_RUN", "true")],
    );
    let said = said.good();
    has(&said, "http-port = 1", "file");
    has(&said, "dry-run = false", "flag");
    has(&run(&["config", "show", "--dry-run"]).good(), "dry-run = true", "flag");
}

/// A line of `config show`: a setting, and where it comes from.
fn has(said: &str, setting: &str, source: &str) {
    let found = said.lines().any(|line| {
        line.strip_suffix(source).and_then(|line| line.strip_suffix("# ")).map(str::trim_end) == Some(setting)
    });
    assert!(found, "{setting} from {source}:\n{said}");
}

#[test]
fn every_setting_is_shown_with_its_source_and_no_secret_is() {
    let secret = "redis://user:hunter2@127.0.0.1/0";
    let said =
        run_with(&["config", "show", "--authorizer-token", "0xdecade"], &[("PECTIN_SENDER_STORE", secret)]);
    let said = said.good();
    let reference = run(&["config", "print"]).good();
    let keys = reference.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(" = "));
    let keys = keys.map(|(key, _)| key).filter(|key| !key.contains(' ')).collect::<Vec<_>>();
    assert!(keys.len() > 50, "{keys:?}");
    for key in &keys {
        let (value, words) = (format!("{key} = "), format!("# {key}: "));
        let is_shown = |line: &str| line.starts_with(&value) || line.starts_with(&words);
        assert_eq!(said.lines().filter(|line| is_shown(line)).count(), 1, "{key}:\n{said}");
    }
    assert_eq!(said.lines().count(), keys.len(), "{said}");
    has(&said, "http-port = 8545", "default");
    has(&said, "slot-ms = 6000", "default");
    has(&said, "# inflight-max: as many as cores", "default");
    has(&said, "# sender-store: set, not shown as it may hold a secret", "environment");
    has(&said, "# authorizer-token: set, not shown as it may hold a secret", "flag");
    assert!(!said.contains("hunter2") && !said.contains("decade"), "{said}");
    // It is a file that says the same.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pectin.toml");
    std::fs::write(&file, &said).unwrap();
    has(&run(&["config", "show", "--config", text(&file)]).good(), "http-port = 8545", "file");
}

#[test]
fn what_is_wrong_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pectin.toml");
    let cases = [
        ("htp-port = 1", "did you mean \"http-port\"?"),
        ("qeue-depth-max = 1", "did you mean \"queue-depth-max\"?"),
        ("something-else-entirely = 1", "pectin config print"),
        ("log = \"info\"\nhttp-port = \"x\"", "line 2: http-port: invalid type"),
        ("http-port = 1\nhttp-port = 2", "duplicate key"),
        ("[section]", "pectin config print"),
        ("http-port", "pectin.toml"),
    ];
    for (wrong, words) in cases {
        std::fs::write(&file, wrong).unwrap();
        run(&["config", "check", text(&file)]).refused(2, words);
        run(&["node", "--config", text(&file)]).refused(2, words);
    }
    run_with(&["config", "show"], &[("PECTIN_HTTP_PORT", "many")]).refused(2, "many");
    // A mistyped variable is not read by anything, which is said; what can be read is read.
    let said = run_with(&["config", "show"], &[("PECTIN_HTPP_PORT", "1"), ("PECTIN_HTTP_PORT", "2")]);
    assert!(
        said.err.contains("PECTIN_HTPP_PORT is not read by anything; did you mean PECTIN_HTTP_PORT?"),
        "{said:?}"
    );
    has(&said.good(), "http-port = 2", "environment");
    let dev = ["dev", "--http-port", "0"];
    let refused = |more: &[&str], words: &str| run(&[&dev[..], more].concat()).refused(2, words);
    refused(&["--window-opens-ms", "500", "--window-closes-ms", "900"], "--window-opens-ms");
    refused(&["--peers", "somebody"], "--peers");
    refused(&["--service-id", "77"], "service");
    let net = directory.path().join("net");
    let spec = ["chain-spec", "--out", text(&net), "--cores", "1"];
    run(&[&spec[..], &["--validator-addrs", "127.0.0.1:1,127.0.0.1:2"]].concat()).refused(2, "2 of 3");
    run(&[&spec[..], &["--validator-addrs", "127.0.0.1:1,127.0.0.2:2,127.0.0.3:3"]].concat()).good();
    let said = std::fs::read_to_string(net.join("chain-spec.json")).unwrap();
    assert!(said.contains("@127.0.0.3:3"), "{said}");
}

/// What `node` would refuse at its start, `config check` refuses before.
#[test]
fn a_file_that_passes_the_check_is_not_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let port = harness::ports::reserve().unwrap().to_string();
    run(&["chain-spec", "--out", text(&at("net")), "--cores", "1", "--validator-port", &port]).good();
    run(&["chain-spec", "--out", text(&at("other")), "--cores", "1"]).good();
    std::fs::write(at("short"), "1234\n").unwrap();
    let sound = "chain-spec = \"net/chain-spec.json\"\ngenesis = \"net/genesis.json\"\nbuilder-key = \"net/builder.key\"\n";
    let file = at("pectin.toml");
    let check = |more: &str| {
        std::fs::write(&file, format!("{sound}{more}\n")).unwrap();
        run(&["config", "check", text(&file)])
    };
    assert_eq!(check("data-dir = \"data\"").good(), format!("{} can be used\n", file.display()));
    assert!(!at("data").exists(), "nothing is made");
    let wrong = [
        ("window-opens-ms = 500\nwindow-closes-ms = 900", "--window-opens-ms"),
        ("slot-ms = 1000\nwindow-opens-ms = 3000", "--window-opens-ms"),
        ("peers = \"somebody\"", "--peers"),
        ("log = \"a=b=c\"", "--log"),
        ("service-id = 77", "service"),
        ("sender-chains = \"1\"", "--sender-chains"),
        ("sender-webhook-allow = \"everywhere\"", "--sender-webhook-allow"),
        ("sender-ca-file = \"nowhere.pem\"", "nowhere.pem"),
        ("sender-password-file = \"nowhere.txt\"", "nowhere.txt"),
        ("sender-keystore = \"nowhere\"", "nowhere"),
        ("token-file = \"no/where/token\"", "its directory is not there"),
        ("token-file = \"short\"", "at least 16 characters"),
        ("data-dir = \"short\"", "not a directory"),
    ];
    for (more, words) in wrong {
        check(more).refused(2, words);
    }
    let instead = |from: &str, to: &str| {
        std::fs::write(&file, sound.replace(from, to)).unwrap();
        run(&["config", "check", text(&file)])
    };
    instead("net/chain-spec.json", "nowhere.json").refused(2, "nowhere.json");
    instead("net/genesis.json", "nowhere.json").refused(2, "nowhere.json");
    instead("net/builder.key", "other/builder.key").refused(2, "the key given is that of");
    let said = instead("builder-key = \"net/builder.key\"\n", "").good();
    assert!(said.contains("can be used; builder-key must be given otherwise"), "{said}");
}

/// The base fee's first value and its floor are the chain's: validators and builder read them from one place.
#[test]
fn the_base_fee_and_its_floor_can_be_chosen() {
    let network = super::Network::start(&[
        "--base-fee-floor",
        "7000",
        "--initial-base-fee",
        "9000",
        "--min-gas-price",
        "1",
    ]);
    let block =
        |number: &str| network.call("eth_getBlockByNumber", serde_json::json!([number, false])).unwrap();
    assert_eq!(block("0x0")["baseFeePerGas"], "0x2328");
    let hash = network.paid("0x00000000000000000000000000000000000000aa");
    network.run(&["tx", &hash, "--wait", "finalized"]).good();
    for _ in 0..3 {
        network.call("evm_mine", serde_json::json!([])).unwrap();
    }
    // 9,000 falls by an eighth with each empty block, and stops at the floor.
    assert_eq!(block("latest")["baseFeePerGas"], "0x1b58");
    let refused =
        |more: &[&str], words: &str| run(&[&["dev", "--http-port", "0"], more].concat()).refused(2, words);
    refused(&["--base-fee-floor", "10", "--initial-base-fee", "9"], "--base-fee-floor");
    let directory = tempfile::tempdir().unwrap();
    let net = directory.path().join("net");
    run(&["chain-spec", "--out", text(&net), "--cores", "1", "--initial-base-fee", "2000000000"]).good();
    let genesis = net.join("genesis.json");
    assert!(std::fs::read_to_string(&genesis).unwrap().contains("\"baseFeePerGas\": \"0x77359400\""));
    refused(&["--genesis", text(&genesis), "--initial-base-fee", "2000000000"], "that file has it");
}
