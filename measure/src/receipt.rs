//! How long a client waits for a receipt, on a development network with slots of six seconds and on anvil, which mines each
//! transaction at once.
//!
//! These two ratios compare time and not CPU time, since waiting is what a client sees. Both servers run all the while and are
//! asked turn by turn. `dev-receipt-busy` has the same load beside the client on either side: half of what the development network
//! took in a burst before, with validators that run the service natively.

use super::{
    Ratio,
    anvil::{start_anvil, wait_for_blocks},
    builder::{BALANCE, CHAIN_ID},
};
use alloy_primitives::{B256, Bytes, keccak256};
use harness::{
    blocks::Wallet,
    http::Client,
    load::{self, Transfers},
    process::{Pectin, call},
};
use serde_json::json;
use std::time::{Duration, Instant};

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "dev-receipt", target: 2.5, measure: || compare(false) },
    Ratio { name: "dev-receipt-busy", target: 2.5, measure: || compare(true) },
];

/// Turns on each side.
const TURNS: usize = 5;
/// Receipts in a turn.
const RECEIPTS: usize = 100;
const CONNECTIONS: usize = 16;
const SENDERS: usize = 64;
/// Transactions of the burst.
const BURST: usize = 4_096;
/// Transactions of each wallet that are sent beside the client in a turn at most.
const BESIDE: usize = 200;
const MAX_FEE: u128 = 100_000_000_000;
/// A receipt is asked for this often.
const ASK_EVERY: Duration = Duration::from_millis(1);

/// One of the two servers, with the next nonces of those who send to it.
struct Side {
    name: &'static str,
    url: String,
    load_nonce: u64,
    client_nonce: u64,
    waits: Vec<Duration>,
}

fn compare(is_busy: bool) -> f64 {
    match try_compare(is_busy) {
        Ok(ratio) => ratio,
        Err(why) => {
            println!("skipped: no comparison with anvil: {why}");
            f64::NAN
        }
    }
}

fn try_compare(is_busy: bool) -> Result<f64, String> {
    let wallets = (0..=SENDERS).map(|index| Wallet::new(index as u64 + 1)).collect::<Vec<_>>();
    let anvil = start_anvil(&wallets, true)?;
    let (_dev, url, _files) = start_dev(&wallets, is_busy)?;
    let side = |name, url| Side { name, url, load_nonce: 0, client_nonce: 0, waits: vec![] };
    let (mut ours, mut theirs) = (side("pectin dev", url), side("anvil", anvil.url.clone()));
    let (senders, client) = (&wallets[..SENDERS], &wallets[SENDERS]);
    let rate = if is_busy { Some(burst(&mut ours, senders)? / 2.0) } else { None };
    for _ in 0..TURNS {
        for side in [&mut ours, &mut theirs] {
            turn(side, client, senders, rate)?;
        }
    }
    if let Some(rate) = rate {
        println!("{rate:.0} transactions per second beside the client");
    }
    let [ours, theirs] = [ours, theirs].map(|side| {
        let mut waits = side.waits;
        waits.sort_unstable();
        let at = |percent: usize| waits[(waits.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        println!("{}: a receipt after {:.1} ms (p50), {:.1} ms (p99)", side.name, at(50), at(99));
        at(50)
    });
    Ok(ours / theirs)
}

/// Sends a burst; transactions per second until all are in blocks.
fn burst(side: &mut Side, senders: &[Wallet]) -> Result<f64, String> {
    let bodies = next_bodies(side, senders, BURST / SENDERS);
    let start = Instant::now();
    let outcome = load::send(&side.url, CONNECTIONS, &bodies, None).map_err(|why| why.to_string())?;
    if let Some(why) = outcome.first_error {
        return Err(why);
    }
    wait_for_blocks(&side.url, senders, side.load_nonce)?;
    Ok(BURST as f64 / start.elapsed().as_secs_f64())
}

/// Requests with so many more transactions of each sender, in turns.
fn next_bodies(side: &mut Side, senders: &[Wallet], each: usize) -> Vec<Vec<u8>> {
    let sign = |wallet| {
        Transfers { wallet, nonce: side.load_nonce, chain_id: CHAIN_ID, max_fee: MAX_FEE }.sign(each)
    };
    let signed = senders.iter().map(sign).collect::<Vec<_>>();
    side.load_nonce += each as u64;
    let turns = (0..each).flat_map(|turn| signed.iter().map(move |all| all[turn].clone()));
    load::bodies(&turns.collect::<Vec<Bytes>>(), 1)
}

/// One client sends and waits for each receipt, with or without others beside it.
fn turn(side: &mut Side, client: &Wallet, senders: &[Wallet], rate: Option<f64>) -> Result<(), String> {
    let Some(rate) = rate else { return wait_for_receipts(side, client) };
    // Enough for twice the time that the receipts take at this pace; what is left over is sent before the next turn.
    let each = BESIDE.min((rate * 2.0) as usize / SENDERS + 1);
    let bodies = next_bodies(side, senders, each);
    let url = side.url.clone();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| load::send(&url, CONNECTIONS, &bodies, Some(rate)));
        wait_for_receipts(side, client)?;
        let outcome = load.join().map_err(|_| "the load panicked".to_owned())?;
        match outcome.map_err(|why| why.to_string())?.first_error {
            Some(why) => Err(why),
            None => Ok(()),
        }
    })?;
    wait_for_blocks(&side.url, senders, side.load_nonce)
}

fn wait_for_receipts(side: &mut Side, wallet: &Wallet) -> Result<(), String> {
    let transfers = Transfers { wallet, nonce: side.client_nonce, chain_id: CHAIN_ID, max_fee: MAX_FEE };
    let signed = transfers.sign(RECEIPTS);
    side.client_nonce += RECEIPTS as u64;
    let mut client = Client::connect(&side.url).map_err(|why| why.to_string())?;
    for tx in &signed {
        let hash: B256 = keccak256(tx);
        let sent = Instant::now();
        call(&mut client, "eth_sendRawTransaction", &json!([tx]))?;
        while call(&mut client, "eth_getTransactionReceipt", &json!([hash]))?.is_null() {
            std::thread::sleep(ASK_EVERY);
        }
        side.waits.push(sent.elapsed());
    }
    Ok(())
}

/// A development network as it is by default, but for who owns what. For a load its validators run the service natively: by its program they
/// take a tenth of what a burst brings, and the pool would be full.
fn start_dev(wallets: &[Wallet], is_native: bool) -> Result<(Pectin, String, tempfile::TempDir), String> {
    let text = |why: std::io::Error| why.to_string();
    let alloc = wallets.iter().map(|wallet| (wallet.address().to_string(), json!({ "balance": BALANCE })));
    let alloc = alloc.collect::<serde_json::Map<_, _>>();
    let genesis = json!({ "config": { "chainId": CHAIN_ID }, "difficulty": "0x0", "gasLimit": "0x2255100", "alloc": alloc });
    let files = tempfile::tempdir().map_err(text)?;
    let path = files.path().join("genesis.json");
    std::fs::write(&path, genesis.to_string()).map_err(text)?;
    let path = path.display().to_string();
    let refine = if is_native { "native" } else { "code" };
    let mut dev =
        Pectin::start(["dev", "--genesis", &path, "--http-port", "0", "--refine", refine]).map_err(text)?;
    let line = dev.wait_for("  RPC ")?;
    let url = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    dev.wait_for("ready in")?;
    Ok((dev, url, files))
}
