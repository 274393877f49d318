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
    for line in ["http-port = 3\n", "log = \"debug\"\n", "seal-after-ms = 7\n"] {
        assert!(said.contains(line), "{line:?}: {said}");
    }
    let spec = directory.path().join("a.json");
    assert!(said.contains(&format!("chain-spec = {:?}\n", text(&spec))), "relative to the file: {said}");
    assert!(run(&show).good().contains("http-port = 1\n"));
    // The file may be named in the environment too, and flags may say no.
    let said = run_with(
        &["config", "show", "--dry-run=false"],
        &[("PECTIN_CONFIG", text(&file)), ("PECTIN_DRY_RUN", "true")],
    );
    let said = said.good();
    assert!(said.contains("http-port = 1\n") && said.contains("dry-run = false\n"), "{said}");
    assert!(run(&["config", "show", "--dry-run"]).good().contains("dry-run = true\n"));
}

#[test]
fn what_is_wrong_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pectin.toml");
    let cases = [
        ("htp-port = 1", "did you mean \"http-port\"?"),
        ("qeue-depth-max = 1", "did you mean \"queue-depth-max\"?"),
        ("something-else-entirely = 1", "pectin config print"),
        ("http-port = \"x\"", "invalid type"),
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
