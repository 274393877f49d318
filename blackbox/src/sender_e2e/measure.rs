//! What it costs: accepts per second whatever the chain's latency, and how much is mined per second.

use super::{
    anvil::{self, Anvil},
    front::Front,
    judge::{Node, key_of, payload_of, receiver_of, senders, watch_all},
    proxy::{Faults, Proxy},
};
use parking_lot::Mutex;
use serde_json::Value;
use std::{ops::Range, sync::Arc, time::Instant};

/// Requests of one turn, and turns of each side.
const TURN: usize = 64;
const TURNS: usize = 15;
/// Callers at once.
const CALLERS: usize = 16;
/// Requests for one measurement of mining.
const MINED: usize = 500;

/// Prints the numbers; the ratio of accepts without and with latency is the answer.
pub async fn measure() -> Result<f64, String> {
    let ratio = accepts().await?;
    for accounts in [1, 10] {
        println!("mined per second with {accounts} accounts: {:.0}", mined_per_second(accounts).await?);
    }
    Ok(ratio)
}

/// Accepts per second without latency over those with 20 ms; not a number without anvil.
pub fn accept_ratio() -> f64 {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    match runtime.block_on(accepts()) {
        Ok(ratio) => ratio,
        Err(why) => {
            println!("skipped: {why}");
            f64::NAN
        }
    }
}

/// A node that sends to anvil over a proxy that takes its time.
struct Side {
    node: Node,
    front: Front,
    requests: usize,
    _chain: (Anvil, Proxy, tempfile::TempDir),
}

impl Side {
    async fn start(latency_ms: u64) -> Result<Self, String> {
        let files = tempfile::tempdir().map_err(|why| why.to_string())?;
        let anvil = anvil::start()?;
        let proxy = Proxy::start(anvil.url.clone(), Faults::slow(latency_ms), 1).await;
        let proxy = proxy.map_err(|why| why.to_string())?;
        let node = Node::start(files.path(), Some(format!("{}={}", anvil::CHAIN_ID, proxy.url())))?;
        let front = Front::new(node.url.clone());
        Ok(Self { node, front, requests: 0, _chain: (anvil, proxy, files) })
    }

    /// How long one turn of requests takes, in seconds.
    async fn turn(&mut self) -> Result<f64, String> {
        let from = self.requests;
        self.requests += TURN;
        let begun = Instant::now();
        submit(&self.front, anvil::CHAIN_ID, from..self.requests, 10).await?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// How much longer a turn of requests takes with 20 ms of latency than without: the median over pairs, because both sides
/// run at once and whatever else the machine does hits both alike.
async fn accepts() -> Result<f64, String> {
    let (mut fast, mut slow) = (Side::start(0).await?, Side::start(20).await?);
    let (mut quick, mut late, mut ratios) = (vec![], vec![], vec![]);
    for turn in 0..=TURNS {
        let (with, without) = match turn % 2 {
            0 => (slow.turn().await?, fast.turn().await?),
            _ => {
                let without = fast.turn().await?;
                (slow.turn().await?, without)
            }
        };
        // The first turn wakes the accounts.
        if turn > 0 {
            quick.push(TURN as f64 / without);
            late.push(TURN as f64 / with);
            ratios.push(with / without);
        }
    }
    let ratio = median(&mut ratios);
    let (without, with) = (median(&mut quick), median(&mut late));
    println!("accepts per second: {without:.0} without latency, {with:.0} with 20 ms; ratio {ratio:.2}");
    drop((fast.node, slow.node));
    Ok(ratio)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn mined_per_second(accounts: usize) -> Result<f64, String> {
    let files = tempfile::tempdir().map_err(|why| why.to_string())?;
    let node = Node::start(files.path(), None)?;
    let front = Front::new(node.url.clone());
    let begun = Instant::now();
    submit(&front, 732846, 0..MINED, accounts).await?;
    let mined = |request: &Value| request["status"] == "mined" || request["status"] == "confirmed";
    let seen = watch_all(front, MINED, mined, Arc::new(Mutex::new(()))).await?;
    if seen.len() != MINED || !seen.values().all(mined) {
        return Err("not all were mined".to_owned());
    }
    Ok(MINED as f64 / begun.elapsed().as_secs_f64())
}

async fn submit(front: &Front, chain_id: u64, requests: Range<usize>, accounts: usize) -> Result<(), String> {
    let senders = Arc::new(senders(accounts)?);
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        let (front, senders) = (front.clone(), senders.clone());
        let mine = requests.clone().skip(caller).step_by(CALLERS);
        callers.push(tokio::spawn(async move {
            for index in mine {
                let from = senders[index % senders.len()];
                front.submit(&key_of(index), chain_id, from, receiver_of(index), &payload_of(index)).await?;
            }
            Ok::<(), String>(())
        }));
    }
    for caller in callers {
        caller.await.map_err(|why| why.to_string())??;
    }
    Ok(())
}
