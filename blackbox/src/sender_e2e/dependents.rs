//! Requests that need each other, handed over at once: a contract is made, then *approve* lets *use* work. On the node's own chain, on
//! anvil, and on anvil behind a provider that cannot simulate one call on top of others.

use super::{
    anvil,
    front::Front,
    judge::{Node, senders},
    proxy::{Faults, Proxy},
};
use alloy_primitives::Address;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A contract that reverts a call without data until a call with data was made.
const CONTRACT: &str = "0x6018600c60003960186000f336601157600054600f5760006000fd5b005b600160005500";
/// What is not there in this time does not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs all three, and prints how the requests ended. Whether all ended as they must.
pub async fn run_dependents() -> Result<bool, String> {
    let mut good = true;
    for (name, faults) in [
        ("pectin", None),
        ("anvil", Some(Faults::slow(0))),
        ("anvil-without-eth_simulateV1", Some(Faults { no_simulations: true, ..Faults::slow(0) })),
    ] {
        good &= run_on(name, faults).await?;
    }
    Ok(good)
}

async fn run_on(name: &str, faults: Option<Faults>) -> Result<bool, String> {
    let files = tempfile::tempdir().map_err(|why| why.to_string())?;
    let mut chain = None;
    if let Some(faults) = faults {
        let anvil = anvil::start()?;
        let proxy = Proxy::start(anvil.url.clone(), faults, 1).await.map_err(|why| why.to_string())?;
        chain = Some((anvil, proxy));
    }
    let chains = chain.as_ref().map(|(_, proxy)| format!("{}={}", anvil::CHAIN_ID, proxy.url()));
    let chain_id = if chain.is_some() { anvil::CHAIN_ID } else { 732846 };
    let node = Node::start(files.path(), chains)?;
    let (front, from) = (Front::new(node.url.clone()), senders(1)?[0]);
    let send = async |key: &str, to: Option<Address>, data: &str, simulate: Value| {
        let body = json!({ "chainId": chain_id, "from": from, "to": to, "data": data, "gas": 100_000, "simulate": simulate });
        front.submit_body(key, body).await
    };
    let usual = || json!(true);
    let contract = from.create(0);
    send("make", None, CONTRACT, usual()).await?;
    let mut ends = vec![ended(&front, "make").await?];
    // With nothing before it, it fails.
    send("early", Some(contract), "0x", usual()).await?;
    ends.push(ended(&front, "early").await?);
    // At once: each needs the one before it, which is not mined.
    send("approve", Some(contract), "0x01", usual()).await?;
    send("use", Some(contract), "0x", usual()).await?;
    send("after", Some(contract), "0x", json!("after-parent")).await?;
    for key in ["approve", "use", "after"] {
        ends.push(ended(&front, key).await?);
    }
    let seen = ends.iter().map(|(status, on)| format!("{status}{on}")).collect::<Vec<_>>().join(" ");
    println!("dependents: chain={name} make, early, approve, use, after: {seen}");
    let confirmed = |index: usize| ends[index].0 == "confirmed";
    Ok([0, 2, 3, 4].into_iter().all(confirmed) && ends[1].0 == "failed" && ends[1].1 == "(newest)")
}

/// How a request ended, and on which state it was simulated if it failed for that.
async fn ended(front: &Front, key: &str) -> Result<(String, String), String> {
    let begun = Instant::now();
    loop {
        let request = front.get(key).await?;
        let status = request["status"].as_str().unwrap_or_default().to_owned();
        if !request["completedAt"].is_null() {
            let on = request["state"]["failed"]["simulation"]["on"].as_str();
            return Ok((status, on.map(|on| format!("({on})")).unwrap_or_default()));
        }
        if begun.elapsed() > PATIENCE {
            return Ok((format!("{status} {}", request["state"]), String::new()));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
