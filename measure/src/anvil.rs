//! Sending transactions to a builder and to anvil, the node that most people would otherwise develop against.
//!
//! Both run as processes of their own, take the same signed transfers over the same number of connections, and make
//! blocks of them. What counts is all they spend until the last transfer is in a block. The validators that the builder
//! sends to are no part of the comparison.

use super::{
    Ratio,
    builder::{BALANCE, Builder, CHAIN_ID},
    median_of_pairs,
};
use alloy_primitives::Bytes;
use harness::{
    anvil::Anvil,
    blocks::Wallet,
    cpu::cpu_time_of,
    http::Client,
    load::{self, Transfers},
    process::call,
};
use serde_json::json;
use std::time::{Duration, Instant};

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "anvil-send", target: 0.4, measure: || compare(1, 2_048, 15) },
    Ratio { name: "anvil-send-batch", target: 0.25, measure: || compare(100, 4_096, 15) },
];

const CONNECTIONS: usize = 16;
const SENDERS: usize = 64;
/// So often it is looked whether all transfers are in blocks: seldom, since to answer costs the server something too,
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// and for so long.
const BLOCKS_TIMEOUT: Duration = Duration::from_secs(60);

fn compare(batch: usize, count: usize, pairs: usize) -> f64 {
    match try_compare(batch, count, pairs) {
        Ok(ratio) => ratio,
        Err(why) => {
            println!("skipped: no comparison with anvil: {why}");
            f64::NAN
        }
    }
}

fn try_compare(batch: usize, count: usize, pairs: usize) -> Result<f64, String> {
    let wallets = (0..SENDERS).map(|index| Wallet::new(index as u64 + 1)).collect::<Vec<_>>();
    let anvil = start_anvil(&wallets, false)?;
    let builder = Builder::start(&wallets, 1000)?;
    let signer = |nonce: &mut u64| {
        let each = count / SENDERS;
        let signed = wallets.iter().map(|wallet| {
            Transfers { wallet, nonce: *nonce, chain_id: CHAIN_ID, max_fee: 100_000_000_000 }.sign(each)
        });
        let signed = signed.collect::<Vec<_>>();
        *nonce += each as u64;
        let turns = (0..each).flat_map(|turn| signed.iter().map(move |all| all[turn].clone()));
        load::bodies(&turns.collect::<Vec<Bytes>>(), batch)
    };
    let (mut ours_nonce, mut theirs_nonce) = (0, 0);
    let spend = |url: &str, pid: u32, bodies: &[Vec<u8>], nonce: u64| -> Duration {
        let before = cpu_time_of(pid).expect("the server runs");
        let outcome = load::send(url, CONNECTIONS, bodies, None).expect("the server answers");
        assert_eq!(outcome.errors, 0, "{url}: {:?}", outcome.first_error);
        wait_for_blocks(url, &wallets, nonce).expect("the server makes blocks");
        cpu_time_of(pid).expect("the server runs").saturating_sub(before)
    };
    let each = |total: Duration| total.as_secs_f64() * 1e6 / (count / SENDERS * SENDERS) as f64;
    let (mut ours, mut theirs) = (vec![], vec![]);
    let ratio = median_of_pairs(
        pairs,
        || {
            let bodies = signer(&mut ours_nonce);
            let spent = spend(&builder.url, builder.pectin.id(), &bodies, ours_nonce);
            ours.push(each(spent));
            spent
        },
        || {
            let bodies = signer(&mut theirs_nonce);
            let spent = spend(&anvil.url, anvil.id(), &bodies, theirs_nonce);
            theirs.push(each(spent));
            spent
        },
    );
    for (name, costs) in [("pectin", &mut ours), ("anvil", &mut theirs)] {
        costs.sort_by(f64::total_cmp);
        println!("{name}: {:.0} µs CPU per transaction, {batch} per request", costs[costs.len() / 2]);
    }
    Ok(ratio)
}

/// Waits until all transactions of all wallets below this nonce are in blocks.
pub(super) fn wait_for_blocks(url: &str, wallets: &[Wallet], nonce: u64) -> Result<(), String> {
    let mut client = Client::connect(url).map_err(|why| why.to_string())?;
    let give_up = Instant::now() + BLOCKS_TIMEOUT;
    for wallet in wallets {
        while call(&mut client, "eth_getTransactionCount", &json!([wallet.address(), "latest"]))?
            != json!(format!("{nonce:#x}"))
        {
            if Instant::now() > give_up {
                return Err(format!("after {BLOCKS_TIMEOUT:?} not everything is in a block"));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
    Ok(())
}

/// anvil, with wallets that can pay.
pub(super) fn start_anvil(wallets: &[Wallet], mines_at_once: bool) -> Result<Anvil, String> {
    let anvil =
        if mines_at_once { Anvil::start_mining_at_once(CHAIN_ID)? } else { Anvil::start(CHAIN_ID, &[])? };
    let mut client = Client::connect(&anvil.url).map_err(|why| why.to_string())?;
    for wallet in wallets {
        call(&mut client, "anvil_setBalance", &json!([wallet.address(), BALANCE]))?;
    }
    Ok(anvil)
}
