//! The command line: every command against a real node, every file that is generated, every document and example.

mod commands;
mod config;
mod data;
mod deploy;
mod dev;
mod documents;
mod examples;
mod floor;
mod history;
mod https;
mod product;
mod release;
mod starts;
mod unit;
mod upgrade;

use harness::{http::Client, process::Pectin, product::binary};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A development network with quick slots, and where its RPC is.
struct Network {
    pectin: Pectin,
    url: String,
}

impl Network {
    fn start(arguments: &[&str]) -> Self {
        let common = ["dev", "--http-port", "0", "--slot-ms", "400"];
        let mut pectin = Pectin::start(common.iter().chain(arguments)).unwrap();
        let line = pectin.wait_for("RPC ").unwrap();
        let url = line.split_whitespace().nth(1).unwrap().to_owned();
        pectin.wait_for("ready in").unwrap();
        Self { pectin, url }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is made on the spot")]
    fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        harness::process::call(&mut Client::connect(&self.url).unwrap(), method, &params)
    }

    /// Runs a command that talks to this node.
    fn run(&self, arguments: &[&str]) -> Ran {
        run(&arguments.iter().copied().chain(["--rpc-url", &self.url]).collect::<Vec<_>>())
    }

    /// A transaction of the faucet's, as its hash.
    fn paid(&self, to: &str) -> String {
        self.call("dev_faucet", serde_json::json!([to])).unwrap().as_str().unwrap().to_owned()
    }

    /// Waits until every sealed block is final and no other follows: asked slot by slot, since nothing reports it.
    fn wait_until_idle(&self) {
        let status = || self.call("builder_status", serde_json::json!([])).unwrap();
        let mut before = Value::Null;
        loop {
            let now = status();
            let latest = now["latest"].clone();
            if latest == now["finalized"] && latest == before {
                return;
            }
            before = latest;
            std::thread::sleep(std::time::Duration::from_millis(800));
        }
    }

    fn stop(mut self) {
        self.pectin.terminate();
        assert!(self.pectin.wait().unwrap().success());
    }
}

/// How a command ended and what it said.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    /// It went well: what it said.
    #[track_caller]
    fn good(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// It went well: what it said, as JSON.
    #[track_caller]
    fn json(self) -> Value {
        serde_json::from_str(&self.good()).unwrap()
    }

    /// It failed like this, in one sentence.
    #[track_caller]
    fn refused(self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(words), "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
    }
}

/// Runs a command; nothing of the environment changes its settings.
fn run(arguments: &[&str]) -> Ran {
    run_with(arguments, &[])
}

fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(binary().unwrap());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PECTIN_")) {
        command.env_remove(name);
    }
    let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// The repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
