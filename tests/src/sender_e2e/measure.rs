//! What it costs: accepts per second whatever the chain's latency, and how much is mined per second.

use super::{
    anvil::{self, Anvil},
    front::Front,
    judge::{Node, key_of, payload_of, receiver_of, senders, watch_all},
    proxy::{Faults, Proxy},
};
use parking_lot::Mutex;
use std::{sync::Arc, time::Instant};

/// Requests for one measurement of accepts.
const ACCEPTS: usize = 1_000;
/// Callers at once.
const CALLERS: usize = 8;
/// Requests for one measurement of mining.
const MINED: usize = 500;

/// Prints the numbers; the ratio of accepts without and with latency is the answer.
pub async fn measure() -> Result<f64, String> {
    let (fast, slow) = accepts().await?;
    let ratio = fast / slow;
    println!("accepts per second: {fast:.0} without latency, {slow:.0} with 20 ms; ratio {ratio:.2}");
    for accounts in [1, 10] {
        println!("mined per second with {accounts} accounts: {:.0}", mined_per_second(accounts).await?);
    }
    Ok(ratio)
}

/// Accepts per second without latency over those with 20 ms; not a number without anvil.
pub fn accept_ratio() -> f64 {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    match runtime.block_on(accepts()) {
        Ok((fast, slow)) => fast / slow,
        Err(why) => {
            println!("skipped: {why}");
            f64::NAN
        }
    }
}

/// Accepts per second, without and with 20 ms of latency on the chain's side: the better of two runs each, taken in
/// turns, because a machine that does something else for a moment would otherwise be taken for latency.
async fn accepts() -> Result<(f64, f64), String> {
    let (mut fast, mut slow) = (0.0_f64, 0.0_f64);
    for _ in 0..2 {
        fast = fast.max(accepts_with(0).await?);
        slow = slow.max(accepts_with(20).await?);
    }
    Ok((fast, slow))
}

async fn accepts_with(latency_ms: u64) -> Result<f64, String> {
    let files = tempfile::tempdir().map_err(|why| why.to_string())?;
    let anvil = Anvil::start()?;
    let proxy = Proxy::start(anvil.url.clone(), Faults::slow(latency_ms), 1).await;
    let proxy = proxy.map_err(|why| why.to_string())?;
    let node = Node::start(files.path(), Some(format!("{}={}", anvil::CHAIN_ID, proxy.url())))?;
    let front = Front::new(node.url.clone());
    let begun = Instant::now();
    submit(&front, anvil::CHAIN_ID, ACCEPTS, 10).await?;
    Ok(ACCEPTS as f64 / begun.elapsed().as_secs_f64())
}

async fn mined_per_second(accounts: usize) -> Result<f64, String> {
    let files = tempfile::tempdir().map_err(|why| why.to_string())?;
    let node = Node::start(files.path(), None)?;
    let front = Front::new(node.url.clone());
    let begun = Instant::now();
    submit(&front, 1337, MINED, accounts).await?;
    let ended = watch_all(front, MINED, Arc::new(Mutex::new(()))).await?;
    if ended.len() != MINED || ended.values().any(|request| request["completedAt"].is_null()) {
        return Err("not all were confirmed".to_owned());
    }
    // The last ones wait for finality; what counts is how soon all of them were in blocks.
    let mined = ended.values().filter_map(|request| request["minedAt"].as_u64()).max();
    let accepted = ended.values().filter_map(|request| request["acceptedAt"].as_u64()).min();
    let seconds = match (accepted, mined) {
        (Some(accepted), Some(mined)) if mined > accepted => (mined - accepted) as f64 / 1e3,
        _ => begun.elapsed().as_secs_f64(),
    };
    Ok(MINED as f64 / seconds)
}

async fn submit(front: &Front, chain_id: u64, requests: usize, accounts: usize) -> Result<(), String> {
    let senders = Arc::new(senders(accounts)?);
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        let (front, senders) = (front.clone(), senders.clone());
        callers.push(tokio::spawn(async move {
            for index in (caller..requests).step_by(CALLERS) {
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
