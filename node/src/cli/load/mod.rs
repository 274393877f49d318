//! `pectin load`: a load generator. Real keys, real signatures, real transactions; it measures from outside, as a client
//! would.
//!
//! ```text
//!   funder ──▶ senders (fresh keys) ── batches, at a rate ──▶ node
//!                     │                                        │ blocks, finality
//!                     └────────────── Ledger ◀── watcher ──────┘
//! ```

mod fund;
mod ledger;
mod report;
mod send;
mod token;
mod wait;
mod watch;

use super::{
    Failure,
    client::{Client, RpcArgs},
    progress::{Progress, bar},
    show::{self, Format},
};
use alloy_primitives::{Address, B256, hex, keccak256};
use clap::Args;
use ledger::Ledger;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

/// Senders at most: each is funded by a transaction.
const SENDERS_MAX: u32 = 10_000;
/// Calls in a batch that a node takes by default.
const BATCH_MAX: u32 = 1_000;
/// Clients that wait for receipts at most: each is a thread.
const WAITING_MAX: u32 = 256;
/// Threads that send, each on a connection of its own.
const THREADS_MAX: u32 = 4;

/// How much of what.
#[derive(Debug, Args)]
pub(super) struct LoadArgs {
    /// Accounts that send.
    #[arg(long, default_value_t = 20, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=i64::from(SENDERS_MAX)))]
    senders: u32,
    /// Clients besides, each with an account of its own, that send one transaction at a time and wait for its receipt.
    #[arg(long, default_value_t = 0, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=i64::from(WAITING_MAX)))]
    waiting: u32,
    /// Transactions per second, of all senders together; 0 is as fast as the node takes them.
    #[arg(long, default_value_t = 100, value_name = "COUNT")]
    rate: u32,
    /// How long to send.
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    seconds: u64,
    /// How many of a hundred transactions are ERC-20 transfers; the others are plain transfers.
    #[arg(long, default_value_t = 0, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    erc20: u32,
    /// Transactions in one JSON-RPC batch.
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(BATCH_MAX)))]
    batch: u32,
    /// A file with the private key of the account that funds the senders. [default: the first development account]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// How long to wait afterwards until everything is final.
    #[arg(long, default_value_t = 180, value_name = "SECONDS")]
    settle: u64,
    /// Where the senders' keys come from, to use the same ones again. [default: random]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    rpc: RpcArgs,
    #[command(flatten)]
    format: Format,
}

/// What all transactions have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    chain_id: u64,
    /// The most that is offered for each gas: the base fee may grow while it waits.
    max_fee_wei: u128,
    token: Option<Address>,
}

pub(super) fn run(args: &LoadArgs) -> Result<(), Failure> {
    let accounts = args.senders + args.waiting;
    if accounts == 0 {
        return Err(Failure::Usage("nobody sends: --senders or --waiting must be at least 1".to_owned()));
    }
    let client = args.rpc.client()?;
    let mut chain = chain(&client)?;
    let funder = fund::funder(args.key_file.as_deref())?;
    let mut senders = fund::senders(args.seed.map_or_else(random, Ok)?, accounts)?;
    let mut progress = Progress::in_lines();
    fund::fund(&client, &chain, &funder, &senders, |done| {
        progress.show(|| format!("{} funding the senders", bar(done, u64::from(accounts))));
    })?;
    if args.erc20 > 0 {
        let waiting = || progress.show(|| "deploying the token".to_owned());
        chain.token = Some(token::deploy(&client, &chain, &funder, waiting)?);
    }
    let ledger = Arc::new(Ledger::default());
    let done = Arc::new(AtomicBool::new(false));
    let watcher = watch::start(&args.rpc, &ledger, &done)?;
    let begun = Instant::now();
    let waiting = senders.split_off(args.senders as usize);
    let mut threads = send::start(args, chain, senders, &ledger)?;
    threads.extend(wait::start(args, chain, waiting, &ledger)?);
    let until = begun + Duration::from_secs(args.seconds) + Duration::from_secs(args.settle);
    follow(args, &ledger, &mut progress, begun, || threads.iter().all(|thread| thread.is_finished()));
    for thread in threads {
        thread.join().map_err(|_| Failure::runtime("a sending thread has ended"))??;
    }
    settle(until, &ledger, &mut progress, || watcher.is_finished());
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    watcher.join().map_err(|_| Failure::runtime("the watching thread has ended"))??;
    drop(progress);
    let report = report::of(&ledger);
    args.format.print(&report, report::words);
    let (open, unsent) = (ledger.open(), ledger.counts().unsent);
    if open == 0 && unsent == 0 {
        return Ok(());
    }
    let mut wrong = vec![];
    if open > 0 {
        wrong.push(format!("{open} accepted transactions are not final"));
    }
    if unsent > 0 {
        wrong.push(format!("{unsent} transactions were never accepted since the pool stayed full"));
    }
    Err(Failure::Runtime(format!("{} s after the last one: {}", args.settle, wrong.join(", "))))
}

fn random() -> Result<u64, Failure> {
    getrandom::u64().map_err(Failure::runtime)
}

fn chain(client: &Client) -> Result<Chain, Failure> {
    let chain_id = quantity(&client.call("eth_chainId", json!([]))?)?;
    let price = quantity(&client.call("eth_gasPrice", json!([]))?)?;
    // Under load the base fee may double a few times before a transaction's turn comes.
    Ok(Chain { chain_id, max_fee_wei: u128::from(price) * 10 + 2_000_000_000, token: None })
}

fn quantity(value: &Value) -> Result<u64, Failure> {
    show::number(value)
        .ok_or_else(|| Failure::Runtime(format!("the node answered {value} instead of a number")))
}

/// Shows how far it is until the senders have finished.
fn follow(
    args: &LoadArgs,
    ledger: &Ledger,
    progress: &mut Progress,
    begun: Instant,
    finished: impl Fn() -> bool,
) {
    while !finished() {
        progress.show(|| {
            let elapsed = begun.elapsed().as_millis() as u64;
            let counts = ledger.counts();
            format!(
                "{} {counts}{}",
                bar(elapsed, args.seconds * 1000),
                if counts.waiting > 0 { ", pool full" } else { "" }
            )
        });
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until everything that was accepted is final, or the time is over.
fn settle(until: Instant, ledger: &Ledger, progress: &mut Progress, gone: impl Fn() -> bool) {
    while ledger.open() > 0 && Instant::now() < until && !gone() {
        progress.show(|| {
            let counts = ledger.counts();
            format!("{} waiting for finality, {counts}", bar(counts.finalized, counts.accepted))
        });
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A key of the generator: anyone who knows the seed can make it.
fn key(seed: u64, index: u32) -> B256 {
    keccak256([&b"pectin load"[..], &seed.to_be_bytes(), &index.to_be_bytes()].concat())
}

/// Transactions as they are sent.
fn raw(tx: &types::Transaction) -> Value {
    json!([hex::encode_prefixed(tx.encoded())])
}
