//! A live service gets another code, with another builder's key, while transactions come: by the commands, on validators that are
//! processes of their own and run the service by the code on chain.

use super::{run, text};
use harness::process::Pectin;
use serde_json::Value;
use std::{net::UdpSocket, path::Path};

const SLOT_MS: &str = "1500";

/// Files of a network of three validators whose service is going to get another code.
struct Files {
    directory: String,
}

impl Files {
    fn make(directory: &Path) -> Self {
        let sockets = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect::<Vec<_>>();
        let addresses = sockets.iter().map(|socket| socket.local_addr().unwrap().to_string());
        let addresses = addresses.collect::<Vec<_>>().join(",");
        let files = Self { directory: text(directory).to_owned() };
        let (net, other) = (files.path("net"), files.path("other"));
        let network = ["--cores", "1", "--slot-ms", SLOT_MS, "--validator-addrs", &addresses];
        run(&[&["chain-spec", "--out", &net][..], &network].concat()).good();
        // Only for another builder's key.
        run(&["chain-spec", "--out", &other]).good();
        let (spec, other_spec) = (files.path("net/chain-spec.json"), files.path("other/chain-spec.json"));
        let (code, next) = (files.path("service.code"), files.path("next.code"));
        run(&["service", "export", &code, "--chain-spec", &spec]).good();
        let other_code = files.path("other.code");
        run(&["service", "export", &other_code, "--chain-spec", &other_spec]).good();
        let key = described(&other_code)["configuration"]["builder"].as_str().unwrap().to_owned();
        run(&["service", "export", &next, "--from", &code, "--builder", &key]).good();
        run(&["service", "provide", &next, "--chain-spec", &spec]).good();
        for (number, action) in [("1", "request"), ("2", "upgrade")] {
            let (owner, out) = (files.path("net/builder.key"), files.path(action));
            let order = ["service", "order", action, &next, "--current", &code, "--number", number];
            run(&[&order[..], &["--owner-key", &owner, "--out", &out]].concat()).good();
        }
        files
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    fn validator(&self, index: usize) -> Pectin {
        let (spec, index) = (self.path("net/chain-spec.json"), index.to_string());
        let arguments = ["--chain-spec", &spec, "--index", &index, "--slot-ms", SLOT_MS, "--refine", "code"];
        Pectin::start([&["validator"][..], &arguments].concat()).unwrap()
    }

    fn builder(&self) -> Pectin {
        let paths = [
            ("--chain-spec", "net/chain-spec.json"),
            ("--genesis", "net/genesis.json"),
            ("--builder-key", "net/builder.key"),
            ("--data-dir", "data"),
            ("--service-codes", "next.code"),
            ("--builder-keys", "other/builder.key"),
        ];
        let paths = paths.iter().flat_map(|(flag, name)| [(*flag).to_owned(), self.path(name)]);
        let rest = ["node", "--http-port", "0", "--slot-ms", SLOT_MS].map(str::to_owned);
        Pectin::start(rest.into_iter().chain(paths)).unwrap()
    }
}

fn described(code: &str) -> Value {
    serde_json::from_str(&run(&["inspect", "service", code, "--json"]).good()).unwrap()
}

#[test]
fn a_live_service_is_upgraded_under_load() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::make(directory.path());
    let mut validators = (0..3).map(|index| files.validator(index)).collect::<Vec<_>>();
    validators.iter_mut().for_each(|validator| drop(validator.wait_for("validator listens").unwrap()));
    let mut node = files.builder();
    let line = node.wait_for("RPC on").unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    let load = ["load", "--rpc-url", &url, "--rate", "5", "--seconds", "40", "--settle", "120"];
    let mut load = Pectin::start(load).unwrap();
    let token = files.path("data/admin-token");
    for action in ["request", "upgrade"] {
        let order = files.path(action);
        run(&["service", "submit", &order, "--rpc-url", &url, "--token-file", &token]).good();
    }
    node.wait_for("service code changed").unwrap();
    let status = run(&["service", "status", "--rpc-url", &url, "--json"]).good();
    let status = serde_json::from_str::<Value>(&status).unwrap();
    let next = described(&files.path("next.code"));
    assert_eq!(status["isKnown"], true);
    assert_eq!(status["finalized"]["codeHash"], next["codeHash"]);
    // It ends well only if every transaction became final, each once.
    assert!(load.wait().unwrap().success());
    node.terminate();
    assert!(node.wait().unwrap().success());
}
