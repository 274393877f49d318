//! The operator's page in headless Chromium, against the real binary.
//!
//! What is checked stands in `tests/browser/*.mjs`; here the node is run for it. playwright-core and axe-core are
//! installed from npm into the target directory, once; Chromium is the system's. Without them the tests say so and are
//! counted as skipped; if they are there, they must pass.

use harness::{
    blocks::{Call, Wallet},
    process::Pectin,
};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Our files for it, by name.
const FILES: [(&str, &str); 12] = [
    ("package.json", include_str!("../../../browser/package.json")),
    ("page.mjs", include_str!("../../../browser/page.mjs")),
    ("accounts.mjs", include_str!("../../../browser/accounts.mjs")),
    ("health.mjs", include_str!("../../../browser/health.mjs")),
    ("lanes.mjs", include_str!("../../../browser/lanes.mjs")),
    ("rebuild.mjs", include_str!("../../../browser/rebuild.mjs")),
    ("release.mjs", include_str!("../../../browser/release.mjs")),
    ("restart.mjs", include_str!("../../../browser/restart.mjs")),
    ("odd.mjs", include_str!("../../../browser/odd.mjs")),
    ("operator.mjs", include_str!("../../../browser/operator.mjs")),
    ("chaos.mjs", include_str!("../../../browser/chaos.mjs")),
    ("screenshots.mjs", include_str!("../../../browser/screenshots.mjs")),
];
const CHROMIUM: &str = "/usr/bin/chromium";
/// Stands for the file with the genesis.
const GENESIS: &str = "GENESIS";
/// The operator's token of a builder.
const TOKEN: &str = "the-token-of-the-page-0123456789";
const SENDERS: u64 = 8;
const TRANSACTIONS_EACH: u64 = 128;

/// Where the scripts and their packages are.
fn installed() -> Result<PathBuf, String> {
    let said = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    if !Path::new(CHROMIUM).exists() {
        return Err(format!("there is no {CHROMIUM}"));
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    fs::create_dir_all(&dir).map_err(said("no directory"))?;
    // Only one test at a time installs it; the lock goes with the file.
    let lock = File::create(dir.join("lock")).map_err(said("no lock"))?;
    lock.lock().map_err(said("no lock"))?;
    for (name, text) in FILES {
        if fs::read_to_string(dir.join(name)).ok().as_deref() != Some(text) {
            fs::write(dir.join(name), text).map_err(said("a file cannot be written"))?;
        }
    }
    let stamp = dir.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == FILES[0].1) {
        return Ok(dir);
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-progress"]).current_dir(&dir).stdin(Stdio::null());
    let output = npm.output().map_err(said("npm"))?;
    if !output.status.success() {
        return Err(format!("npm: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    fs::write(stamp, FILES[0].1).map_err(said("a file cannot be written"))?;
    Ok(dir)
}

/// A node for the page, with a genesis in which the wallets of the tests own something.
struct Node {
    pectin: Pectin,
    url: String,
    directory: tempfile::TempDir,
    arguments: Vec<String>,
}

impl Node {
    /// A builder as an operator runs it, with room for managed accounts and none yet. Its network does not run, which the
    /// page must bear.
    fn builder() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let spec = Pectin::start(["chain-spec", "--out", &path("net")]).unwrap().wait().unwrap();
        assert!(spec.success(), "a chain specification can be made");
        for (name, text) in [("token", TOKEN), ("password", "of the keystores"), ("transactions.json", "[]")]
        {
            fs::write(path(name), text).unwrap();
        }
        let places = [
            ("--chain-spec", "net/chain-spec.json"),
            ("--genesis", "net/genesis.json"),
            ("--builder-key", "net/builder.key"),
            ("--data-dir", "data"),
            ("--token-file", "token"),
            ("--sender-password-file", "password"),
        ];
        let places = places.iter().flat_map(|(flag, name)| [(*flag).to_owned(), path(name)]);
        let arguments = std::iter::once("node".to_owned()).chain(places).collect::<Vec<_>>();
        let (pectin, url) = run(&arguments, "0");
        Self { pectin, url, directory, arguments }
    }

    fn dev(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let alloc = (1..=SENDERS).map(|n| {
            let balance = serde_json::json!({ "balance": "0x21e19e0c9bab2400000" });
            (Wallet::new(n).address().to_string(), balance)
        });
        let genesis = serde_json::json!({
            "config": { "chainId": 732846 }, "gasLimit": "0x7270e00", "difficulty": "0x0",
            "alloc": alloc.collect::<serde_json::Map<_, _>>(),
        });
        fs::write(path("genesis.json"), genesis.to_string()).unwrap();
        fs::write(path("transactions.json"), serde_json::to_string(&signed()).unwrap()).unwrap();
        let genesis =
            |argument: &str| if argument == GENESIS { path("genesis.json") } else { argument.to_owned() };
        let common = ["dev".to_owned(), "--data-dir".to_owned(), path("data")];
        let more = arguments.iter().map(|&argument| genesis(argument));
        let arguments = common.into_iter().chain(more).collect::<Vec<_>>();
        let (pectin, url) = run(&arguments, "0");
        Self { pectin, url, directory, arguments }
    }

    /// Kills the node and starts it again, on the same port and data.
    fn restart(&mut self) {
        let port = self.url.rsplit(':').next().unwrap().to_owned();
        self.pectin.kill().unwrap();
        (self.pectin, _) = run(&self.arguments, &port);
    }
}

fn run(arguments: &[String], port: &str) -> (Pectin, String) {
    let port = ["--http-port".to_owned(), port.to_owned()];
    let mut pectin = Pectin::start(arguments.iter().chain(&port)).unwrap();
    let line = pectin.wait_for("RPC ").unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    if arguments[0] == "dev" {
        pectin.wait_for("ready in").unwrap();
    }
    (pectin, url)
}

/// Transfers of each sender, in order.
fn signed() -> Vec<Vec<String>> {
    let transfers = |sender: u64| {
        let (wallet, to) = (Wallet::new(sender), Wallet::new(99).address());
        let nonces = 0..TRANSACTIONS_EACH;
        nonces.map(|nonce| wallet.eip1559(Call::transfer(to, nonce, 1)).encoded().to_string()).collect()
    };
    (1..=SENDERS).map(transfers).collect()
}

/// Runs a scenario against a development network.
fn scenario(name: &str, arguments: &[&str], screenshots: Option<&Path>) {
    against(name, || Node::dev(arguments), screenshots);
}

/// Runs a scenario against a node.
fn against(name: &str, start: impl FnOnce() -> Node, screenshots: Option<&Path>) {
    let dir = match installed() {
        Ok(dir) => dir,
        Err(why) => {
            println!("skipped: no browser here: {why}");
            return;
        }
    };
    let mut node = start();
    let mut script = Command::new("node");
    script.arg(format!("{name}.mjs")).current_dir(&dir).stdin(Stdio::null()).stdout(Stdio::piped());
    script.env("URL_OF_NODE", &node.url).env("CHROMIUM", CHROMIUM).env("TOKEN", TOKEN);
    script.env("TRANSACTIONS", node.directory.path().join("transactions.json"));
    script.envs(screenshots.map(|path| ("SCREENSHOTS", path)));
    let mut script = script.spawn().expect("node.js is there: npm was");
    let mut said = Vec::new();
    for line in BufReader::new(script.stdout.take().unwrap()).lines().map_while(Result::ok) {
        if line == "ask restart" {
            node.restart();
        }
        said.push(line);
    }
    let status = script.wait().unwrap();
    assert!(status.success(), "{name}: {said:#?}\n{:#?}", node.pectin.log);
}

#[test]
fn a_transaction_goes_through_all_lanes_and_the_page_is_usable_by_everybody() {
    scenario("lanes", &["--genesis", GENESIS, "--slot-ms", "1000"], None);
}

#[test]
fn a_timeout_and_a_rebuild_are_explained() {
    scenario("rebuild", &["--genesis", GENESIS, "--slot-ms", "1000", "--retries-max", "50"], None);
}

#[test]
fn a_release_is_shown_and_nothing_is_lost() {
    // A bundle of several blocks would be sent again in parts.
    let alone = ["--genesis", GENESIS, "--slot-ms", "1000", "--retries-max", "1", "--empty-blocks", "0"];
    scenario("release", &alone, None);
}

#[test]
fn the_page_says_how_healthy_the_node_is_and_can_be_read_at_any_width() {
    scenario("health", &["--genesis", GENESIS, "--slot-ms", "1000", "--retries-max", "50"], None);
}

#[test]
fn the_page_survives_a_restart_of_the_node() {
    scenario("restart", &["--genesis", GENESIS, "--slot-ms", "1000"], None);
}

#[test]
fn managed_accounts_are_shown_with_what_they_do() {
    scenario("accounts", &["--slot-ms", "1000"], None);
}

#[test]
fn odd_addresses_browsers_chains_and_crowds_leave_no_page_dead() {
    scenario("odd", &["--genesis", GENESIS, "--slot-ms", "1000"], None);
}

#[test]
fn an_operator_sees_the_accounts_of_a_builder_and_nobody_is_asked_in_vain() {
    against("operator", Node::builder, None);
}

#[test]
fn chaos_on_demand_heals() {
    scenario("chaos", &["--genesis", GENESIS, "--slot-ms", "1000", "--retries-max", "50"], None);
}

/// Makes the pictures of the documentation: `just screenshots`.
#[test]
#[ignore = "it writes docs/screenshots"]
fn screenshots() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/screenshots"));
    fs::create_dir_all(path).unwrap();
    scenario("screenshots", &["--genesis", GENESIS, "--slot-ms", "3000"], Some(path));
}
