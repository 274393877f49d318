//! The run: requests in, kills in between, and then the count.

use super::{
    Options, PATIENCE, Target, anvil,
    front::Front,
    hook::Hook,
    proxy::{Faults, Proxy},
};
use alloy_primitives::{Address, hex, keccak256};
use harness::{ports, process::Pectin, rng::Rng};
use node::accounts::{self, DEV_MNEMONIC};
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// How the requests fared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Where they were sent to.
    pub target: &'static str,
    /// How many there were.
    pub requests: usize,
    /// How often the node was killed.
    pub kills: usize,
    /// Payloads that are on the chain.
    pub mined: usize,
    /// Requests in a terminal state.
    pub terminal: usize,
    /// Payloads that are on the chain more than once.
    pub duplicated: usize,
    /// Requests that were acknowledged and are unknown, have not ended well, or whose payload is nowhere.
    pub lost: usize,
    /// Requests of whose events the receiver has missed some or heard them in the wrong order.
    pub holes: usize,
    /// Webhooks that could not be verified, and other surprises.
    pub wrong: Vec<String>,
}

impl Report {
    /// Whether everything was as it must be.
    pub fn is_good(&self) -> bool {
        let bad = self.duplicated + self.lost + self.holes + self.wrong.len();
        bad == 0 && self.mined == self.requests && self.terminal == self.requests
    }

    /// The closing line.
    pub fn line(&self) -> String {
        format!(
            "sender-e2e: target={} requests={} kills={} mined={} terminal={} duplicated={} lost={} holes={}",
            self.target,
            self.requests,
            self.kills,
            self.mined,
            self.terminal,
            self.duplicated,
            self.lost,
            self.holes
        )
    }
}

/// The node under test, on a port that stays the same.
pub(super) struct Node {
    arguments: Vec<String>,
    pectin: Pectin,
    pub url: String,
}

impl Node {
    pub(super) fn start(data: &Path, chains: Option<String>) -> Result<Self, String> {
        match chains {
            Some(chains) => Self::start_with(data, &["--sender-chains", &chains]),
            None => Self::start_with(data, &[]),
        }
    }

    pub(super) fn start_with(data: &Path, more: &[&str]) -> Result<Self, String> {
        let port = ports::reserve().map_err(|why| why.to_string())?;
        let data = data.display().to_string();
        let mut arguments: Vec<String> =
            ["dev", "--slot-ms", "1000", "--data-dir", &data, "--http-port", &port.to_string()]
                .map(str::to_owned)
                .into();
        arguments.extend(["--sender-webhook-allow", "127.0.0.0/8", "--log", "warn"].map(str::to_owned));
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let pectin = launch(&arguments)?;
        Ok(Self { arguments, pectin, url: format!("http://127.0.0.1:{port}") })
    }

    /// Ends it at once and starts it again.
    fn kill(&mut self) -> Result<(), String> {
        self.pectin.kill().map_err(|why| why.to_string())?;
        self.pectin = launch(&self.arguments)?;
        Ok(())
    }
}

fn launch(arguments: &[String]) -> Result<Pectin, String> {
    let mut pectin = Pectin::start(arguments).map_err(|why| why.to_string())?;
    pectin.wait_for("ready in")?;
    Ok(pectin)
}

/// A request, as the judge remembers it.
pub(super) fn key_of(index: usize) -> String {
    format!("e2e-{index:06}")
}

/// What a request's transaction carries, so that it can be found on the chain.
pub(super) fn payload_of(index: usize) -> String {
    hex::encode_prefixed(key_of(index))
}

pub(super) fn receiver_of(index: usize) -> Address {
    Address::from_word(keccak256(key_of(index)))
}

pub(super) fn senders(count: usize) -> Result<Vec<Address>, String> {
    let accounts = accounts::derive(DEV_MNEMONIC, u32::try_from(count).unwrap_or(u32::MAX));
    Ok(accounts.map_err(|why| why.to_string())?.into_iter().map(|account| account.address).collect())
}

/// How far things are, for the one who kills.
#[derive(Default)]
struct Progress {
    acknowledged: usize,
    ended: usize,
}

/// Runs the judge.
pub async fn run(options: Options) -> Result<Report, String> {
    let files = tempfile::tempdir().map_err(|why| why.to_string())?;
    let hook = Hook::start(options.seed).await.map_err(|why| why.to_string())?;
    // The provider that lies comes first, so that it is asked first.
    let mut proxies = Vec::new();
    let chain = match options.target {
        Target::Pectin => None,
        Target::Anvil => {
            let anvil = anvil::start()?;
            let second = if options.is_second_good { Faults::slow(20) } else { Faults::HARSH };
            for faults in [Faults::LYING, second] {
                let proxy = Proxy::start(anvil.url.clone(), faults, options.seed).await;
                proxies.push(proxy.map_err(|why| why.to_string())?);
            }
            Some(anvil)
        }
    };
    let urls = proxies.iter().map(Proxy::url).collect::<Vec<_>>().join("|");
    let chains = (!proxies.is_empty()).then(|| format!("{}={urls}", anvil::CHAIN_ID));
    let mut node = Node::start(files.path(), chains)?;
    let front = Front::new(node.url.clone());
    hook.set_secret(front.hook(&hook.url()).await?);

    let progress = Arc::new(Mutex::new(Progress::default()));
    let submitting = tokio::spawn(submit_all(front.clone(), options, progress.clone()));
    let watching = tokio::spawn(watch_all(front.clone(), options.requests, has_ended, progress.clone()));
    let killed = kill_often(&mut node, &options, &progress).await?;
    submitting.await.map_err(|why| why.to_string())??;
    let ended = watching.await.map_err(|why| why.to_string())??;
    for (index, proxy) in proxies.iter().enumerate() {
        let ((lost, refused), (calls, lies)) = (proxy.faults(), proxy.calls());
        println!(
            "provider {index}: {calls} calls, {lies} answers made up, {refused} refused, {lost} answers to sends lost"
        );
    }
    let calls: u64 = proxies.iter().map(|proxy| proxy.calls().0).sum();
    if calls > 0 {
        println!("{:.1} calls for each request", calls as f64 / options.requests.max(1) as f64);
    }
    wait_for_hooks(&hook, &ended).await;
    let payloads = match &chain {
        Some(anvil) => Front::new(anvil.url.clone()).payloads().await?,
        None => front.payloads().await?,
    };
    Ok(count(&options, killed, &ended, &payloads, &hook))
}

fn chain_id(target: Target) -> u64 {
    match target {
        Target::Pectin => 732846,
        Target::Anvil => anvil::CHAIN_ID,
    }
}

/// Hands everything over, from a few callers at once. What is not acknowledged is repeated with the same key.
async fn submit_all(front: Front, options: Options, progress: Arc<Mutex<Progress>>) -> Result<(), String> {
    const CALLERS: usize = 4;
    let senders = Arc::new(senders(options.accounts)?);
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        let (front, senders, progress) = (front.clone(), senders.clone(), progress.clone());
        callers.push(tokio::spawn(async move {
            let begun = Instant::now();
            for index in (caller..options.requests).step_by(CALLERS) {
                let (key, from) = (key_of(index), senders[index % senders.len()]);
                let data = payload_of(index);
                while let Err(why) =
                    front.submit(&key, chain_id(options.target), from, receiver_of(index), &data).await
                {
                    if begun.elapsed() > PATIENCE {
                        return Err(format!("{key} is not acknowledged: {why}"));
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                progress.lock().acknowledged += 1;
                // Spread over the kills.
                if options.kills > 0 {
                    tokio::time::sleep(Duration::from_millis(60)).await;
                }
            }
            Ok(())
        }));
    }
    for caller in callers {
        caller.await.map_err(|why| why.to_string())??;
    }
    Ok(())
}

/// Looks after all requests until they are where they shall be, or the time is over. What was seen last of each.
pub(super) async fn watch_all(
    front: Front,
    requests: usize,
    is_there: fn(&Value) -> bool,
    progress: Arc<Mutex<impl Counts>>,
) -> Result<BTreeMap<usize, Value>, String> {
    let begun = Instant::now();
    let mut open: BTreeSet<usize> = (0..requests).collect();
    let mut seen = BTreeMap::new();
    while !open.is_empty() && begun.elapsed() < PATIENCE {
        for index in open.clone() {
            let Ok(request) = front.get(&key_of(index)).await else {
                // Not handed over yet, or the node is being started again.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            if is_there(&request) {
                open.remove(&index);
            }
            seen.insert(index, request);
            progress.lock().set_ended(requests - open.len());
        }
    }
    Ok(seen)
}

/// Whether a request is in a terminal state.
fn has_ended(request: &Value) -> bool {
    !request["completedAt"].is_null()
}

/// Whoever wants to know how many have ended.
pub(super) trait Counts: Send {
    fn set_ended(&mut self, ended: usize);
}

impl Counts for Progress {
    fn set_ended(&mut self, ended: usize) {
        self.ended = ended;
    }
}

impl Counts for () {
    fn set_ended(&mut self, _: usize) {}
}

/// Kills the node, spread over the way of all requests, at moments that only the seed knows.
async fn kill_often(node: &mut Node, options: &Options, progress: &Mutex<Progress>) -> Result<usize, String> {
    let mut rng = Rng::new(options.seed);
    let begun = Instant::now();
    for kill in 0..options.kills {
        let wanted = 2 * options.requests * (kill + 1) / (options.kills + 2);
        let reached = || {
            let progress = progress.lock();
            progress.acknowledged + progress.ended >= wanted
        };
        // Restarts slow everything down; what was not reached in time is killed all the same.
        let due = begun.elapsed() + Duration::from_secs(8);
        while !reached() && begun.elapsed() < due {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(rng.below(300))).await;
        tokio::task::block_in_place(|| node.kill())?;
    }
    Ok(options.kills)
}

/// How many events a request says it has told.
fn told(request: &Value) -> u64 {
    request["events"].as_u64().unwrap_or_default()
}

async fn wait_for_hooks(hook: &Hook, ended: &BTreeMap<usize, Value>) {
    let begun = Instant::now();
    let complete = || {
        let heard = hook.heard.lock();
        ended.iter().all(|(index, request)| {
            heard.sequences.get(&key_of(*index)).is_some_and(|heard| heard.len() as u64 >= told(request))
        })
    };
    while !complete() && begun.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn count(
    options: &Options,
    kills: usize,
    ended: &BTreeMap<usize, Value>,
    payloads: &[String],
    hook: &Hook,
) -> Report {
    let mut on_chain: BTreeMap<&str, usize> = BTreeMap::new();
    for payload in payloads {
        *on_chain.entry(payload).or_default() += 1;
    }
    let heard = hook.heard.lock();
    let mut report = Report {
        target: options.target.name(),
        requests: options.requests,
        kills,
        wrong: heard.wrong.clone(),
        ..Report::default()
    };
    for index in 0..options.requests {
        let times = on_chain.get(payload_of(index).as_str()).copied().unwrap_or_default();
        report.mined += usize::from(times > 0);
        report.duplicated += usize::from(times > 1);
        let request = ended.get(&index).cloned().unwrap_or_default();
        let terminal = has_ended(&request);
        report.terminal += usize::from(terminal);
        let confirmed = request["state"].get("confirmed").is_some() || request["status"] == "confirmed";
        report.lost += usize::from(!terminal || !confirmed || times == 0);
        let expected: Vec<u64> = (1..=told(&request)).collect();
        let heard = heard.sequences.get(&key_of(index));
        report.holes += usize::from(heard != Some(&expected));
    }
    println!("{} webhooks, {} of them repeated", heard.names.len(), heard.repeated);
    report
}
