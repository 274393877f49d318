//! Keys and tokens of a real process: what opens nothing is refused, and no secret is ever seen where it should not be.

use super::{
    stub,
    world::{ALICE, BOB, Caller, dev},
};
use futures_util::{SinkExt, StreamExt};
use harness::{process::Pectin, redis_server::RedisServer};
use hyper::Method;
use sender::{
    endpoint::Secret,
    http::{Client, Request, Rules},
    keys::{Password, SecretKey},
    store::RedisOptions,
};
use serde_json::{Value, json};
use std::{
    fs::Permissions,
    io::Read,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Mutex},
};
use tokio_tungstenite::tungstenite::Message;

const KEY: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
const PASSWORD: &str = "canary-password-7f3a";
const TOKEN: &str = "canary-token-5b1e-0123456789";
const PROVIDER_KEY: &str = "canary-provider-91c2";
const REDIS_PASSWORD: &str = "canary-redis-44d0";

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
            std::fs::set_permissions(files.path(name), Permissions::from_mode(0o600)).unwrap();
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

/// Whoever has no token learns of no account, and has nothing signed or told.
async fn refused_by_wallet_methods(caller: &mut Caller, address: &str) {
    assert_eq!(caller.call("eth_accounts", json!([])).await["result"], json!([]));
    let transfer = json!({ "from": address, "to": address, "gas": "0x5208", "nonce": "0x0",
        "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1" });
    let typed =
        json!({ "types": { "EIP712Domain": [], "M": [] }, "primaryType": "M", "domain": {}, "message": {} });
    for (method, params) in [
        ("eth_sendTransaction", json!([transfer])),
        ("eth_signTransaction", json!([transfer])),
        ("personal_sign", json!(["0x00", address])),
        ("eth_signTypedData_v4", json!([address, typed])),
    ] {
        let refused = caller.call(method, params).await;
        let why = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(why.contains("only for the operator"), "{method}: {refused}");
    }
    let host = caller.url.trim_start_matches("http://").to_owned();
    let stream = tokio::net::TcpStream::connect(&host).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(format!("ws://{host}/"), stream).await.unwrap();
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "sender_subscribe", "params": [] });
    socket.send(Message::text(ask.to_string())).await.unwrap();
    let answer = loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            break serde_json::from_str::<Value>(&text).unwrap();
        }
    };
    assert!(answer["error"]["message"].as_str().unwrap().contains("only for the operator"), "{answer}");
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
        refused_by_wallet_methods(&mut caller, &address).await;
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
    for (path, methods) in rest::document()["paths"].as_object().unwrap() {
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

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_hold_secrets_are_repeated_nowhere() {
    let files = Files::new();
    // A provider that says which chain it is, and nothing that makes sense after that.
    let provider = stub::serve(|_| (200, r#"{"jsonrpc":"2.0","id":1,"result":"0x5"}"#.to_owned())).await;
    let chains = format!("5=http://{provider}/{PROVIDER_KEY}");
    let mut arguments = vec!["--sender-chains", &*chains, "--log", "trace"];
    let redis = RedisServer::is_installed().then(|| {
        let password = ["--requirepass", REDIS_PASSWORD];
        RedisServer::start_with(files.0.path(), Some("always"), &password)
    });
    let url = redis.as_ref().map(|redis| redis.url_with(REDIS_PASSWORD));
    arguments.extend(url.iter().flat_map(|url| ["--sender-store", url.as_str()]));
    let (mut pectin, mut caller) = dev(&arguments);
    let elsewhere = json!({ "from": ALICE, "to": BOB, "value": "0x1", "chainId": 5 });
    let taken = caller.ask(Method::POST, "/v1/transactions", Some("elsewhere"), elsewhere).await;
    assert_eq!(taken.status, 202);
    caller.transfer("home", ALICE).await;
    caller.until("home", &["confirmed"]).await;
    caller.get("/v1/health").await;
    caller.raw(Method::GET, "/metrics", &[], "").await;
    // Neither is a server that goes away a reason to say more.
    drop(redis);
    caller.raw(Method::GET, "/v1/transactions/home", &[], "").await;
    pectin.kill().unwrap();
    let mut seen = format!("{}\n{}", pectin.log.join("\n"), caller.heard.join("\n"));
    for wrong in [
        ["--sender-store", &format!("redis://:{REDIS_PASSWORD}@127.0.0.1:1/0")],
        ["--sender-store", &format!("redis://:{REDIS_PASSWORD}@no such host/")],
        ["--sender-chains", &format!("5=ftp://127.0.0.1/{PROVIDER_KEY}")],
    ] {
        let (code, said) = run(&[&["dev", "--http-port", "0", "--log", "trace"], &wrong[..]].concat());
        assert_ne!(code, 0, "{said}");
        seen.push_str(&said);
    }
    // A provider that nobody can reach keeps no node from starting.
    let nobody = format!("5=http://127.0.0.1:1/{PROVIDER_KEY}");
    let (mut pectin, mut caller) = dev(&["--sender-chains", &nobody, "--log", "trace"]);
    caller.get("/v1/health").await;
    pectin.terminate();
    assert!(pectin.wait().unwrap().success());
    seen.push_str(&pectin.log.join("\n"));
    seen.push_str(&caller.heard.join("\n"));
    for canary in [PROVIDER_KEY, REDIS_PASSWORD] {
        let line = seen.lines().find(|line| line.contains(canary));
        assert_eq!(line, None);
    }
}

#[test]
fn a_panic_shows_no_secret() {
    let said = Arc::<Mutex<String>>::default();
    let heard = said.clone();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| heard.lock().unwrap().push_str(&panic.to_string())));
    let url = |canary: &str| format!("http://user:{canary}@127.0.0.1:1/{canary}");
    let options = node::cli::Options {
        sender_store: Some(url(REDIS_PASSWORD)),
        sender_chains: Some(format!("5={}", url(PROVIDER_KEY))),
        sender_web3signer: Some(url(PROVIDER_KEY)),
        ..Default::default()
    };
    let request = Request {
        method: Method::POST,
        url: url(PROVIDER_KEY),
        headers: [(hyper::header::AUTHORIZATION, TOKEN.parse().unwrap())].into_iter().collect(),
        body: PASSWORD.into(),
        timeout: std::time::Duration::from_secs(1),
    };
    let asked = request.clone();
    let unanswered = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Client::new(Rules::anywhere()).send(asked)).map(drop).expect("nobody is there");
    };
    let redis = RedisOptions { url: url(REDIS_PASSWORD), namespace: "ours".into(), answer_ms: 1 };
    let config = rpc::Config { token: Some(TOKEN.into()), ..Default::default() };
    let place = runtime::managed::StoreLocation::Redis(url(REDIS_PASSWORD), "ours".into());
    let (key, password) = (SecretKey::parse(KEY).unwrap(), Password::new(PASSWORD.into()).unwrap());
    let secret = Secret::new(TOKEN.into());
    let mishaps: Vec<Box<dyn FnOnce() + Send>> = vec![
        Box::new(unanswered),
        Box::new(move || panic!("settings {options:?} {place:?} {redis:?} {config:?}")),
        Box::new(move || panic!("question {request:?}")),
        Box::new(move || panic!("keys {key:?} {password:?} {secret:?}")),
        Box::new(|| drop(SecretKey::parse(&format!("{KEY}z")).expect("it is a key"))),
    ];
    let count = mishaps.len();
    let ended = mishaps.into_iter().map(|mishap| std::thread::spawn(mishap).join());
    assert_eq!(ended.filter(Result::is_err).count(), count);
    std::panic::set_hook(before);
    let said = said.lock().unwrap().clone();
    for word in ["nobody is there", "settings", "question", "keys", "it is a key"] {
        assert!(said.contains(word), "{said}");
    }
    for canary in [KEY, PASSWORD, TOKEN, PROVIDER_KEY, REDIS_PASSWORD] {
        assert!(!said.to_lowercase().contains(canary), "{canary}: {said}");
    }
}

#[test]
fn a_password_that_others_can_read_is_warned_about() {
    let files = Files::new();
    let list = |said: &str| said.lines().filter(|line| line.contains("can be read by others")).count();
    let new =
        ["account", "new", "--keystore", &files.path("keystore"), "--password-file", &files.path("password")];
    let (code, said) = run(&new);
    assert_eq!((code, list(&said)), (0, 0), "{said}");
    std::fs::set_permissions(files.path("password"), Permissions::from_mode(0o640)).unwrap();
    let (code, said) = run(&new);
    assert_eq!((code, list(&said)), (0, 1), "{said}");
    assert!(said.contains("mode 640") && !said.contains(PASSWORD), "{said}");
}

#[test]
fn a_lost_answer_leaves_the_name_with_which_to_ask_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (give, given) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let (mut stream, mut bytes) = (stream.unwrap(), vec![0; 64 * 1024]);
            let length = stream.read(&mut bytes).unwrap();
            // The question has arrived, and the connection breaks before the answer.
            give.send(String::from_utf8_lossy(&bytes[..length]).into_owned()).unwrap();
        }
    });
    let send = || run(&["send", "--rpc-url", &url, "--from", ALICE, "--to", BOB, "--value", "1"]);
    let mut names = Vec::new();
    for _ in 0..2 {
        let (code, said) = send();
        assert_eq!(code, 1, "{said}");
        let name = said.lines().find_map(|line| line.strip_prefix("request")).unwrap().trim().to_owned();
        assert!(said.contains(&format!("--idempotency-key {name} ")), "{said}");
        assert!(given.recv().unwrap().contains(&name), "the name was sent with it");
        names.push(name);
    }
    assert_ne!(names[0], names[1]);
    server.join().unwrap();
}
