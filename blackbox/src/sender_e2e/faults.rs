//! One fault after the other: a provider that has it, first in line in front of a good one, and whether everything that is
//! sent is confirmed all the same.

use super::{
    anvil::{self, Anvil},
    front::Front,
    judge::{Node, key_of, payload_of, receiver_of, senders, watch_all},
    proxy::{Faults, Proxy, Reply},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Requests of one run, and the accounts that they are of.
const REQUESTS: usize = 30;
const ACCOUNTS: usize = 3;
/// What is not confirmed in this time counts as not confirmed.
const PATIENCE: Duration = Duration::from_secs(90);

/// The faults by name: what the first provider answers to everything.
pub const FAULTS: &[(&str, Fault)] = &[
    ("none", Fault::None),
    ("denied", Fault::Error(-32600, "must be authenticated")),
    ("no-backend", Fault::Error(-32011, "no backend is currently healthy to serve traffic")),
    ("failing", Fault::Error(-32000, "internal error")),
    ("no-method", Fault::Error(-32601, "the method does not exist/is not available")),
    ("status-500", Fault::Status(500)),
    ("html", Fault::Html),
    ("null", Fault::Result(Value::Null)),
    ("zero", Fault::Zero),
    ("hang", Fault::Hang),
    ("pruned", Fault::Proxy(Faults { pruned: true, ..Faults::slow(0) })),
    ("limited", Fault::Proxy(Faults { calls_per_second: Some(20), ..Faults::slow(0) })),
    ("busy-by-chance", Fault::Proxy(Faults { busy: 30, ..Faults::slow(0) })),
    ("liar", Fault::Proxy(Faults { nonsense: 200, ..Faults::slow(0) })),
];

/// What a provider does.
#[derive(Clone, Debug)]
pub enum Fault {
    /// There is no such provider.
    None,
    /// It answers with this error.
    Error(i64, &'static str),
    /// It answers with this HTTP status.
    Status(u16),
    /// It is a web page.
    Html,
    /// It answers with this result.
    Result(Value),
    /// It answers "0x0".
    Zero,
    /// It takes connections and says nothing.
    Hang,
    /// It does this to what it passes on.
    Proxy(Faults),
}

impl Fault {
    async fn start(&self, upstream: &str) -> std::io::Result<Option<Proxy>> {
        let fixed = |reply: Reply| Proxy::start_fixed(reply);
        Ok(Some(match self {
            Self::None => return Ok(None),
            Self::Error(code, message) => {
                fixed(Reply::Body("error", json!({ "code": code, "message": message }))).await?
            }
            Self::Result(value) => fixed(Reply::Body("result", value.clone())).await?,
            Self::Zero => fixed(Reply::Body("result", json!("0x0"))).await?,
            Self::Status(status) => fixed(Reply::Status(*status)).await?,
            Self::Html => fixed(Reply::Html).await?,
            Self::Hang => fixed(Reply::Nothing).await?,
            Self::Proxy(faults) => Proxy::start(upstream.to_owned(), *faults, 1).await?,
        }))
    }
}

/// Runs every fault, or those that are named, on anvil with these arguments. Whether all requests of all runs were confirmed.
pub async fn run_faults(names: &[String], anvil: &[&str]) -> Result<bool, String> {
    let mut all_good = true;
    for (name, fault) in
        FAULTS.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|it| it == name))
    {
        all_good &= run_fault(name, fault, anvil).await?;
    }
    Ok(all_good)
}

async fn run_fault(name: &str, fault: &Fault, more: &[&str]) -> Result<bool, String> {
    let files = tempfile::tempdir().map_err(|why| why.to_string())?;
    let anvil = Anvil::start(anvil::CHAIN_ID, &[&["--slots-in-an-epoch", "1"], more].concat())?;
    let bad = fault.start(&anvil.url).await.map_err(|why| why.to_string())?;
    let good = Proxy::start(anvil.url.clone(), Faults::slow(0), 1).await.map_err(|why| why.to_string())?;
    let urls = bad.iter().chain([&good]).map(Proxy::url).collect::<Vec<_>>().join("|");
    let node = Node::start(files.path(), Some(format!("{}={urls}", anvil::CHAIN_ID)))?;
    let (front, begun) = (Front::new(node.url.clone()), Instant::now());
    let senders = senders(ACCOUNTS)?;
    for index in 0..REQUESTS {
        let (from, to) = (senders[index % ACCOUNTS], receiver_of(index));
        front.submit(&key_of(index), anvil::CHAIN_ID, from, to, &payload_of(index)).await?;
    }
    let is_over = |request: &Value| !request["completedAt"].is_null();
    let watching = watch_all(front.clone(), REQUESTS, is_over, Arc::new(Mutex::new(())));
    let seen = match tokio::time::timeout(PATIENCE, watching).await {
        Ok(seen) => seen?,
        Err(_) => Default::default(),
    };
    let took = begun.elapsed().as_secs_f64();
    let mut confirmed = 0;
    for index in 0..REQUESTS {
        let request = match seen.get(&index) {
            Some(request) => request.clone(),
            None => front.get(&key_of(index)).await.unwrap_or_default(),
        };
        confirmed += usize::from(request["status"] == "confirmed");
    }
    let calls: u64 = bad.iter().chain([&good]).map(|proxy| proxy.calls().0).sum();
    println!(
        "fault={name} confirmed={confirmed} of {REQUESTS} in {took:.1} s, {:.1} calls each",
        calls as f64 / REQUESTS as f64
    );
    if confirmed < REQUESTS {
        println!("  {}", front.health().await.unwrap_or_default());
    }
    Ok(confirmed == REQUESTS)
}
