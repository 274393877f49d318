//! Against typeberry, a JAM node that nobody here wrote: our follower on its dev chain, and our packages at its door.
//!
//! It is installed from npm into the target directory, once. If that cannot be done the tests say so and are counted as
//! skipped; if it is there, they must pass.

use super::process::Process;
use harness::{network::World, ports};
use jam::{
    ChainSpec, Ed25519Key, Ed25519Secret, Params,
    codec::Encode,
    follow::{Follower, Limits as Depth, Start},
    spec::Bootnode,
};
use network::{
    BlockId, ChainEvent, Config, Endpoint, Follow, FollowLimits, Handshake, Limits, Peers, Role, Silent,
    StateTrie, Submission, Taken, submit,
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

/// Our files for it, by name.
const FILES: [(&str, &str); 5] = [
    ("package.json", include_str!("../../../typeberry/package.json")),
    ("fjall/package.json", include_str!("../../../typeberry/fjall/package.json")),
    ("fjall/index.js", include_str!("../../../typeberry/fjall/index.js")),
    ("ticket-worker.mjs", include_str!("../../../typeberry/ticket-worker.mjs")),
    ("acceptor.mjs", include_str!("../../../typeberry/acceptor.mjs")),
];

/// How long the installation may take.
const INSTALL_MAX: Duration = Duration::from_secs(240);

/// Blocks that we want to see come in.
const BLOCKS: usize = 3;

/// Where typeberry is installed; `None`, said loudly, if it cannot be.
fn installed() -> Option<PathBuf> {
    match install(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("typeberry")) {
        Ok(dir) => Some(dir),
        Err(why) => {
            println!("skipped: typeberry cannot be installed here: {why}");
            None
        }
    }
}

fn install(dir: &Path) -> Result<PathBuf, String> {
    let said = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    fs::create_dir_all(dir.join("fjall")).map_err(said("no directory"))?;
    // Only one test at a time installs it; the lock goes with the file.
    let lock = File::create(dir.join("lock")).map_err(said("no lock"))?;
    lock.lock().map_err(said("no lock"))?;
    let wanted = FILES.map(|(name, text)| format!("{name}\n{text}")).concat();
    let stamp = dir.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(dir.into());
    }
    for (name, text) in FILES {
        fs::write(dir.join(name), text).map_err(said("a file cannot be written"))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-progress"]).current_dir(dir);
    let output = run(&mut npm, INSTALL_MAX)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().rfind(|line| line.contains("error")).unwrap_or("no reason given").to_owned();
        return Err(format!("npm: {last}"));
    }
    let jam = dir.join("node_modules/@typeberry/jam");
    fs::copy(dir.join("ticket-worker.mjs"), jam.join("bootstrap-ticket-generator.mjs"))
        .map_err(said("no worker for tickets"))?;
    let index = fs::read_to_string(jam.join("index.js")).map_err(said("no program"))?;
    // Its port is written into the program; take one that is free instead.
    let index = index.replace("return 12345 + idx;", "return Number(process.env.FIRST_PORT ?? 12345) + idx;");
    fs::write(jam.join("index.js"), index).map_err(said("the program cannot be written"))?;
    fs::write(stamp, wanted).map_err(said("a file cannot be written"))?;
    Ok(dir.into())
}

/// Runs a command to its end, but not for ever.
fn run(command: &mut Command, max: Duration) -> Result<Output, String> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return child.wait_with_output().map_err(|error| error.to_string()),
            Ok(None) if begin.elapsed() < max => std::thread::sleep(Duration::from_millis(100)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("not done after {} s", max.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn node(dir: &Path) -> tokio::process::Command {
    let mut command = tokio::process::Command::new("node");
    command.current_dir(dir).env("GP_VERSION", "0.7.2").stderr(Stdio::null());
    command
}

/// A file that it leaves behind when it is killed.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        // It may have cleaned up after all.
        let _ = fs::remove_file(&self.0);
    }
}

/// The chain that it begins with, from its own configuration.
fn chain_spec(dir: &Path) -> ChainSpec {
    let path = dir.join("node_modules/@typeberry/lib/packages/configs/typeberry-dev-tiny.json");
    let config: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut spec = config["chain_spec"].clone();
    spec["protocol_parameters"] = hex::encode(Params::TINY.encode()).into();
    ChainSpec::from_json(&spec.to_string()).unwrap()
}

#[tokio::test]
async fn our_follower_imports_the_blocks_of_its_dev_chain() {
    let Some(dir) = installed() else { return };
    let spec = chain_spec(&dir);
    let genesis = BlockId { hash: spec.genesis_hash(), slot: 0 };
    let port = ports::reserve().unwrap();
    let name = format!("judge-{}", std::process::id());
    let _socket = Leftover(std::env::temp_dir().join(format!("typeberry-jamnp-{name}-all")));
    let mut dev_chain = node(&dir);
    dev_chain.env("FIRST_PORT", (u32::from(port) + 1).to_string());
    dev_chain.args(["node_modules/@typeberry/jam/index.js", "--config=dev", "--name", &name, "dev", "all"]);
    let mut process = Process::start(&mut dev_chain);
    let line = process.line_with("Peer id: ** ").await;
    let peer = line.split(" ** ").nth(1).and_then(|peer| peer.parse::<Bootnode>().ok());
    let peer = peer.unwrap_or_else(|| panic!("who is it? {line}"));

    let status = Handshake { finalized: genesis, leaves: vec![genesis] };
    let (feed, mut chain) = Follow::start(status, FollowLimits::default());
    let endpoint = Endpoint::bind(&config(genesis, spec.params), feed).unwrap();
    let mut peers = Peers::new(endpoint.clone(), 11);
    peers.set([peer]);
    let start = Start::from_state(&spec.params, genesis.hash, &spec.genesis_state).unwrap();
    let mut follower = Follower::new(spec.params, start, Depth::default());
    let mut imported = vec![];
    while imported.len() < BLOCKS {
        let event = tokio::time::timeout(Duration::from_secs(120), chain.next()).await;
        let event = event.expect("something happens within two minutes").unwrap();
        let block = match &event {
            ChainEvent::Block { block, .. } => Some(block.clone()),
            _ => None,
        };
        let update = event.apply(&mut follower);
        assert_eq!(update.refused, vec![]);
        chain.want(follower.wanted());
        chain.tell(&follower);
        imported.extend(block.filter(|_| update.best_moved));
    }
    // The first block's header names the root of the first state, which we hash ourselves.
    let first = imported.iter().find(|block| block.header.parent == genesis.hash).expect("the chain begins");
    assert_eq!(first.header.prior_state_root, StateTrie::new(&spec.genesis_state).root());
    for block in &imported {
        let hash = block.header.hash();
        println!("typeberry: slot {} {hash}, {} bytes, believed", block.header.slot, block.encode().len());
        // Its own log must know the block by the hash that we computed.
        process.line_with(&hash.to_string()).await;
    }
    println!("typeberry: genesis {}, state root {}", genesis.hash, first.header.prior_state_root);
    endpoint.shutdown().await;
}

fn config(genesis: BlockId, params: Params) -> Config {
    Config {
        secret: Ed25519Secret::trivial(42),
        genesis: genesis.hash,
        params,
        role: Role::Builder,
        listen: None,
        limits: Limits::default(),
    }
}

#[tokio::test]
async fn its_library_understands_the_package_that_we_submit() {
    let Some(dir) = installed() else { return };
    let spec = chain_spec(&dir);
    let genesis = BlockId { hash: spec.genesis_hash(), slot: 0 };
    let port = ports::reserve().unwrap();
    let mut door = node(&dir);
    door.args(["acceptor.mjs", &port.to_string(), &genesis.hash.to_string()[2..10]]);
    let mut process = Process::start(&mut door);
    let line = process.line_with("listening ").await;
    let name = line.split(' ').nth(1).unwrap();
    let key = Ed25519Key::from_certificate_name(name).unwrap();
    let endpoint = Endpoint::bind(&config(genesis, spec.params), Arc::new(Silent)).unwrap();
    endpoint.dial(key, ([127, 0, 0, 1], port).into()).await.unwrap();
    let World { bundle, .. } = World::new();
    let submission = Submission::new(1, &bundle, &Default::default(), &spec.params).unwrap();
    let soon = tokio::time::Instant::now() + Duration::from_secs(60);
    let taken = submit(&endpoint, &[key], &submission, soon).await;
    let line = process.line_with("package ").await;
    let lengths = bundle.extrinsics.iter().map(|blob| blob.len().to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(line, format!("package {} core 1 extrinsics {lengths}", bundle.package.hash()));
    assert_eq!(taken, Ok(Taken { by: key, tried: 1 }));
    println!("typeberry: {line}");
    endpoint.shutdown().await;
}
