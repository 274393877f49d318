//! Durable accepts over REST by 16 clients, with 1, 10 and 100 accounts at work, against what the store alone does in the same
//! run. More accounts must not make accepting slower.

use super::{
    front::Front,
    judge::{Node, key_of, payload_of, receiver_of, senders},
};
use alloy_primitives::{Address, B256};
use sender::store::{Embedded, EmbeddedOptions, Outcome, Store};
use sender_model::{AccountId, Commit, Config, Decision, Intent, NewRequest, RequestOptions, accept};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use types::Time;

/// Callers at once.
const CLIENTS: usize = 16;
/// Requests of each client: to warm up, and to be measured.
const WARM_UP: usize = 10;
const EACH: usize = 250;
/// How many accounts are at work.
const ACCOUNTS: [usize; 3] = [1, 10, 100];

/// The store's accepts per second over those of REST, at the worst number of accounts.
pub fn accept_cost() -> f64 {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    match runtime.block_on(run_accepts()) {
        Ok((ratio, _)) => 1.0 / ratio,
        Err(why) => {
            println!("skipped: {why}");
            f64::NAN
        }
    }
}

/// Prints the numbers. The smallest part of the store's accepts that REST came to, and the fewest accepts per second.
pub async fn run_accepts() -> Result<(f64, f64), String> {
    let (mut least, mut fewest) = (f64::MAX, f64::MAX);
    for accounts in ACCOUNTS {
        let before = store_accepts().await?;
        let (rest, confirmed) = rest_accepts(accounts).await?;
        let store = (before + store_accepts().await?) / 2.0;
        println!(
            "accepts: accounts={accounts} rest={rest:.0}/s store={store:.0}/s ratio={:.2}, {confirmed} confirmed meanwhile",
            rest / store
        );
        (least, fewest) = (least.min(rest / store), fewest.min(rest));
    }
    Ok((least, fewest))
}

/// The commit by which a request is accepted: a transfer, as REST makes it.
fn acceptance(name: &str) -> Result<Commit, String> {
    let new = NewRequest {
        id: name.parse().map_err(|why| format!("{why}"))?,
        account: AccountId { chain_id: 1, address: Address::repeat_byte(0xcc) },
        intent: Intent { to: Some(Address::repeat_byte(0xdd)), ..Intent::default() },
        body: B256::repeat_byte(1),
        expires_at: None,
        options: RequestOptions::default(),
    };
    match accept::decide(new, None, 0, &Config::default(), Time::from_millis(1)) {
        Ok(Decision::New(_, commit)) => Ok(commit),
        other => Err(format!("a new request is accepted, not {other:?}")),
    }
}

/// Accepts per second of the store alone.
async fn store_accepts() -> Result<f64, String> {
    let files = tempfile::tempdir().map_err(|why| why.to_string())?;
    let file = files.path().join("bench.redb");
    let store =
        Embedded::open(Path::new(&file), EmbeddedOptions::default()).map_err(|why| why.to_string())?;
    let (store, begun) = (Arc::new(store), Instant::now());
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let store = store.clone();
        clients.push(tokio::spawn(async move {
            for request in 0..EACH {
                let commit = acceptance(&format!("b{client}-{request}"))?;
                let outcome = store.commit(commit).await.map_err(|why| why.to_string())?;
                if outcome != Outcome::Committed {
                    return Err(format!("{outcome:?}"));
                }
            }
            Ok::<(), String>(())
        }));
    }
    for client in clients {
        client.await.map_err(|why| why.to_string())??;
    }
    Ok((CLIENTS * EACH) as f64 / begun.elapsed().as_secs_f64())
}

/// Accepts per second over REST, and how many of the requests were confirmed at the end of it.
async fn rest_accepts(accounts: usize) -> Result<(f64, u64), String> {
    let files = tempfile::tempdir().map_err(|why| why.to_string())?;
    let node = Node::start_with(files.path(), &["--accounts", &accounts.max(10).to_string()])?;
    let front = Front::new(node.url.clone());
    let senders = Arc::new(senders(accounts)?);
    submit_all(&front, &senders, 0, WARM_UP).await?;
    let begun = Instant::now();
    submit_all(&front, &senders, WARM_UP, EACH).await?;
    let rate = (CLIENTS * EACH) as f64 / begun.elapsed().as_secs_f64();
    Ok((rate, front.confirmed().await?))
}

async fn submit_all(
    front: &Front,
    senders: &Arc<Vec<Address>>,
    from: usize,
    each: usize,
) -> Result<(), String> {
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let (front, senders) = (front.clone(), senders.clone());
        clients.push(tokio::spawn(async move {
            for request in from..from + each {
                let index = request * CLIENTS + client;
                let sender = senders[index % senders.len()];
                let (key, data) = (key_of(index), payload_of(index));
                let sent = front.submit(&key, CHAIN_ID, sender, receiver_of(index), &data);
                tokio::time::timeout(TIMEOUT, sent).await.map_err(|why| why.to_string())??;
            }
            Ok::<(), String>(())
        }));
    }
    for client in clients {
        client.await.map_err(|why| why.to_string())??;
    }
    Ok(())
}

/// The development network's chain.
const CHAIN_ID: u64 = 732846;
/// How long one accept may take.
const TIMEOUT: Duration = Duration::from_secs(30);
