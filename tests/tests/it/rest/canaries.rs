//! Keys and tokens of a real process: what opens nothing is refused, and no secret is ever seen where it should not be.

use super::world::{Caller, dev};
use hyper::Method;
use serde_json::{Value, json};
use std::{os::unix::fs::PermissionsExt, path::Path};
use tests::process::Pectin;

const KEY: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
const PASSWORD: &str = "canary-password-7f3a";
const TOKEN: &str = "canary-token-5b1e-0123456789";

/// Runs it to its end; gives the exit code and what it said.
fn run(arguments: &[&str]) -> (i32, String) {
    let mut pectin = Pectin::start(arguments).unwrap();
    let status = pectin.wait().unwrap();
    (status.code().unwrap(), pectin.log.join("\n"))
}

/// Files of one operator.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        for (name, text) in
            [("key", KEY), ("password", PASSWORD), ("token", TOKEN), ("wrong", "another password")]
        {
            std::fs::write(files.path(name), format!("{text}\n")).unwrap();
        }
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// A key of the operator, encrypted.
    fn import(&self) -> String {
        let (keystore, password) = (self.path("keystore"), self.path("password"));
        let import =
            ["account", "import", &self.path("key"), "--keystore", &keystore, "--password-file", &password];
        let (code, said) = run(&import);
        assert_eq!(code, 0, "{said}");
        assert!(!said.contains(PASSWORD) && !said.to_lowercase().contains(KEY), "{said}");
        said.split_whitespace().nth(1).unwrap().to_lowercase()
    }
}

#[test]
fn keys_are_made_imported_and_listed() {
    let files = Files::new();
    let (keystore, password) = (files.path("keystore"), files.path("password"));
    let place = ["--keystore", &keystore, "--password-file", &password];
    let address = files.import();
    let file = format!("{keystore}/{}.json", address.trim_start_matches("0x"));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"n\": 262144") && !text.contains(KEY));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let with = |command: &[&str], place: &[&str]| run(&[&["account"], command, place].concat());
    let (code, said) = with(&["import", &files.path("key")], &place);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("already"), "{said}");
    // A keystore is a key file too.
    let elsewhere = files.path("elsewhere");
    let again = ["import", &file, "--key-password-file", &password];
    let (code, said) = with(&again, &["--keystore", &elsewhere, "--password-file", &password]);
    assert_eq!(code, 0, "{said}");
    assert!(said.to_lowercase().contains(&address), "{said}");
    // Another password would make a directory that no node can open.
    let (code, said) = with(&["new"], &["--keystore", &keystore, "--password-file", &files.path("wrong")]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("the password is wrong"), "{said}");
    let (code, said) = with(&["import", &files.path("wrong")], &place);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("this is no private key") && !said.contains("another password"), "{said}");
    let (code, said) = with(&["new"], &["--keystore", &keystore]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("password file"), "{said}");
    let (code, said) = with(&["list"], &["--keystore", &keystore]);
    assert_eq!((code, said.lines().count()), (0, 1), "{said}");
    assert!(said.to_lowercase().contains(&address), "{said}");
}

#[test]
fn a_node_that_cannot_open_its_keys_does_not_start() {
    let files = Files::new();
    files.import();
    let (keystore, wrong) = (files.path("keystore"), files.path("wrong"));
    let start =
        |more: &[&str]| run(&[&["dev", "--http-port", "0", "--sender-keystore", &keystore], more].concat());
    let (code, said) = start(&["--sender-password-file", &wrong]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("the password is wrong"), "{said}");
    let (code, said) = start(&[]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("--sender-password-file"), "{said}");
    std::fs::write(Path::new(&keystore).join("bad.json"), "{ \"crypto\": 1 }").unwrap();
    let (code, said) = start(&["--sender-password-file", &files.path("password")]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("bad.json") && said.contains("not a keystore"), "{said}");
    let (code, said) = run(&["dev", "--http-port", "0", "--sender-web3signer", "http://127.0.0.1:1/hunter2"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("the remote signer"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

/// A builder that needs a token, with a key and a webhook. Its network does not run, which no caller notices here.
fn node(files: &Files) -> (Pectin, Caller) {
    let net = files.path("net");
    let (code, said) = run(&["chain-spec", "--out", &net]);
    assert_eq!(code, 0, "{said}");
    let path = |name: &str| format!("{net}/{name}");
    let mut pectin = Pectin::start([
        "node",
        "--chain-spec",
        &path("chain-spec.json"),
        "--genesis",
        &path("genesis.json"),
        "--builder-key",
        &path("builder.key"),
        "--http-port",
        "0",
        "--data-dir",
        &files.path("data"),
        "--token-file",
        &files.path("token"),
        "--sender-keystore",
        &files.path("keystore"),
        "--sender-password-file",
        &files.path("password"),
        "--sender-webhook-allow",
        "127.0.0.0/8",
        "--log",
        "trace",
        "--log-format",
        "json",
    ])
    .unwrap();
    let line = pectin.wait_for("RPC on http://").unwrap();
    let url = line.split("RPC on ").nth(1).unwrap();
    let url = url.split(['"', ' ']).next().unwrap().to_owned();
    (pectin, Caller::new(url, Some(TOKEN.to_owned())))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_seen_in_a_log_an_answer_or_a_file_and_nothing_is_open_without_the_token() {
    let files = Files::new();
    let address = files.import();
    let (mut pectin, mut caller) = node(&files);
    let accounts = caller.get("/v1/accounts").await.body;
    assert_eq!(accounts[0]["address"].as_str().unwrap().to_lowercase(), address);
    let hook = caller.post("/v1/webhooks", json!({ "url": "http://127.0.0.1:1/canary-path" })).await;
    let secret = hook.body["secret"].as_str().unwrap().to_owned();
    let shown = caller.heard.pop().unwrap();
    assert!(shown.contains(&secret), "this once it is shown");
    caller.transfer("one", &address).await;
    let signature =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "personal_sign", "params": ["0x00", address] });
    let headers = [("content-type", "application/json")];
    let signed = caller.raw(Method::POST, "/", &headers, signature.to_string()).await;
    let signed = serde_json::from_slice::<Value>(&signed.body).unwrap();
    assert!(signed["result"].is_string(), "{signed}");
    for path in ["/v1/webhooks", "/v1/deliveries", "/v1/health", "/v1/transactions", "/v1/docs", "/metrics"] {
        caller.raw(Method::GET, path, &[], "").await;
    }
    caller.raw(Method::POST, "/v1/transactions", &headers, format!("{{\"{KEY}\": 1, \"{PASSWORD}\": ")).await;
    caller.heard.pop();

    for token in [None, Some("x".to_owned()), Some(format!("{TOKEN}x"))] {
        caller.token = token;
        let refused = caller.get("/v1/accounts").await;
        assert_eq!((refused.status, &refused.body["error"]), (401, &json!("UNAUTHORIZED")));
        let refused = caller.raw(Method::POST, "/", &headers, signature.to_string()).await;
        assert!(String::from_utf8_lossy(&refused.body).contains("error"));
    }
    assert_eq!(caller.raw(Method::GET, "/v1/openapi.json", &[], "").await.status, 200);
    pectin.terminate();
    assert!(pectin.wait().unwrap().success());
    let seen = format!("{}\n{}", pectin.log.join("\n"), caller.heard.join("\n"));
    for canary in [KEY, PASSWORD, TOKEN, &secret, secret.trim_start_matches("whsec_")] {
        assert!(!seen.to_lowercase().contains(&canary.to_lowercase()), "{canary} was seen");
    }
    assert!(!pectin.log.join("\n").contains("panicked"));
    // The rows must hold the webhook's secret, so nobody else may read them.
    let mode = std::fs::metadata(files.path("data/sender.redb")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_document_needs_nothing_from_elsewhere() {
    let (_pectin, mut caller) = dev(&[]);
    let page = caller.raw(Method::GET, "/v1/docs", &[], "").await;
    assert_eq!(
        (page.status, &page.headers["content-type"]),
        (200, &"text/html; charset=utf-8".parse().unwrap())
    );
    let text = String::from_utf8_lossy(&page.body);
    for elsewhere in ["http://", "https://", "src=", "@import", "url(", "<script", "<link"] {
        assert!(!text.contains(elsewhere), "{elsewhere}");
    }
    for (path, methods) in node::rest::document()["paths"].as_object().unwrap() {
        assert!(text.contains(path.as_str()), "{path}");
        let methods = methods.as_object().unwrap().values();
        assert!(
            methods
                .map(|operation| operation["summary"].as_str().unwrap())
                .all(|summary| text.contains(summary))
        );
    }
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_sends_and_shows_the_way() {
    let (_pectin, caller) = dev(&[]);
    let to = ["--to", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"];
    let send = |more: &[&str]| run(&[&["send", "--rpc-url", &caller.url], &to[..], more].concat());
    let (code, said) = send(&["--value", "1.5ether", "--idempotency-key", "order-7", "--wait", "confirmed"]);
    assert_eq!(code, 0, "{said}");
    let states = said.lines().filter_map(|line| line.split_whitespace().next()).collect::<Vec<_>>();
    assert_eq!((states[0], states[states.len() - 1]), ("request", "confirmed"), "{said}");
    let (code, again) = send(&["--value", "1.5ether", "--idempotency-key", "order-7", "--wait", "confirmed"]);
    assert_eq!((code, again.lines().last()), (0, said.lines().last()), "{again}");
    let (code, said) = send(&["--value", "2ether", "--idempotency-key", "order-7"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("used with another body"), "{said}");
    let (code, said) = send(&["--from", "0x00000000000000000000000000000000000000aa"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("is not managed here"), "{said}");
}
