//! `pectin tx`: a transaction's whole way, from the pool to finality.

use super::{
    Failure,
    client::{Client, RpcArgs},
    show::{self, Format, seconds},
};
use alloy_primitives::B256;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How often a node is asked whether a transaction has got on.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// How far a transaction is waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
enum Until {
    /// It is in a block that is on disk.
    Sealed,
    /// Validators vouch for the block.
    Guaranteed,
    /// The service on JAM has applied it.
    Accumulated,
    /// Nothing undoes it.
    Finalized,
}

/// Which transaction.
#[derive(Debug, Args)]
pub(super) struct TxArgs {
    /// The transaction's hash.
    #[arg(value_name = "HASH")]
    hash: B256,
    /// Wait until it is so far, and show each step as it happens.
    #[arg(long, value_name = "STEP", value_enum)]
    wait: Option<Until>,
    /// Seconds to wait at most.
    #[arg(long, default_value_t = 300, value_name = "SECONDS", requires = "wait")]
    timeout: u64,
    #[command(flatten)]
    rpc: RpcArgs,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &TxArgs) -> Result<(), Failure> {
    let client = args.rpc.client()?;
    let way = match args.wait {
        None => ask(&client, args)?,
        Some(until) => wait(&client, args, until)?,
    };
    args.format.print(&way, words);
    Ok(())
}

fn ask(client: &Client, args: &TxArgs) -> Result<Value, Failure> {
    let way = client.call("builder_transaction", json!([args.hash]))?;
    match way {
        Value::Null => Err(Failure::Runtime(format!("the node knows no transaction {}", args.hash))),
        way => Ok(way),
    }
}

/// Asks until the transaction is far enough. Each new step is shown, unless only JSON is wanted.
fn wait(client: &Client, args: &TxArgs, until: Until) -> Result<Value, Failure> {
    let begun = Instant::now();
    let mut told = String::new();
    loop {
        let way = ask(client, args)?;
        let step = step(&way);
        if !args.format.json && step != told {
            show::print(&format!("{:>8}  {step}\n", seconds(begun.elapsed().as_millis() as u64)));
            told = step;
        }
        if let Some(why) = way["ended"]["reason"].as_str() {
            return Err(Failure::Runtime(format!("the transaction has ended: {why}")));
        }
        if reached(&way).is_some_and(|reached| reached >= until) {
            return Ok(way);
        }
        if begun.elapsed() > Duration::from_secs(args.timeout) {
            let step = self::step(&way);
            let trouble = trouble(client);
            return Err(Failure::Runtime(format!(
                "after {} s the transaction is {step}{trouble}",
                args.timeout
            )));
        }
        std::thread::sleep(ASK_EVERY);
    }
}

/// What the node says is wrong with itself, to be read after what it did not do.
fn trouble(client: &Client) -> String {
    let Ok(status) = client.call("builder_status", json!([])) else { return String::new() };
    let reasons = status["health"]["reasons"].as_array().into_iter().flatten();
    reasons.filter_map(|reason| reason["text"].as_str()).map(|reason| format!("; {reason}")).collect()
}

/// How far a transaction is, of what can be waited for.
fn reached(way: &Value) -> Option<Until> {
    match (way["status"].as_str()?, way["bundle"]["state"].as_str()) {
        ("finalized", _) => Some(Until::Finalized),
        ("applied", _) | ("bundled", Some("Accumulated")) => Some(Until::Accumulated),
        ("bundled", Some("Guaranteed")) => Some(Until::Guaranteed),
        ("bundled", _) => Some(Until::Sealed),
        _ => None,
    }
}

/// Where a transaction is, in a few words.
fn step(way: &Value) -> String {
    let block = show::number(&way["block"]["number"]).unwrap_or_default();
    match (way["status"].as_str().unwrap_or_default(), way["bundle"]["state"].as_str()) {
        ("pending", _) => "in the pool, ready for the next block".to_owned(),
        ("queued", _) => "in the pool, waiting for an earlier nonce".to_owned(),
        ("open", _) => "executed in the open block".to_owned(),
        ("bundled", Some("Submitted")) => {
            format!("sealed in block {block}, sent to the guarantors of a core")
        }
        ("bundled", Some("Guaranteed")) => format!("guaranteed: validators vouch for block {block}"),
        ("bundled" | "applied", Some("Accumulated")) | ("applied", _) => {
            format!("accumulated: the service has applied block {block}")
        }
        ("bundled", Some("Abandoned")) => {
            format!("in block {block}, which was given up; it will come back to the pool")
        }
        ("bundled", _) => format!("sealed in block {block}, waiting to be submitted"),
        ("finalized", _) => format!("finalized in block {block}: nothing undoes it"),
        ("ended", _) => format!("ended: {}", way["ended"]["reason"].as_str().unwrap_or("no reason is known")),
        (other, _) => other.to_owned(),
    }
}

fn words(way: &Value) -> String {
    let mut out =
        format!("transaction  {}\nstatus       {}\n", way["hash"].as_str().unwrap_or("-"), step(way));
    if !way["block"].is_null() {
        out.push_str(&format!("block        {}, index {}\n", show::block(&way["block"]), way["index"]));
    }
    if let Some(attempts) = way["attempts"].as_u64().filter(|attempts| *attempts > 0) {
        out.push_str(&format!("attempts     {attempts} blocks failed with it\n"));
    }
    out.push_str(&story(way));
    out.push_str(&super::queue::versions(&way["bundle"]));
    out
}

/// What happened to a transaction, one line each, from the moment at which it was accepted.
fn story(way: &Value) -> String {
    let episodes = way["story"].as_array().cloned().unwrap_or_default();
    let first = episodes.iter().find_map(|episode| episode["at"].as_u64()).unwrap_or_default();
    let mut out = String::new();
    let told = episodes.iter().filter(|episode| episode["event"] == "released").count() as u64;
    if let Some(more) =
        way["releases"].as_u64().and_then(|all| all.checked_sub(told)).filter(|more| *more > 0)
    {
        out.push_str(&format!("released     {more} times more before, too long ago to be shown\n"));
    }
    let mut last = &Value::Null;
    for episode in &episodes {
        let (name, block) = (episode["event"].as_str().unwrap_or("-"), &episode["block"]);
        let when = episode["at"].as_u64().map(|at| seconds(at.saturating_sub(first)));
        let what = match name {
            "released" => {
                format!("  block {} by the {}", show::block(block), episode["by"].as_str().unwrap_or("-"))
            }
            "ended" => format!("  {}", episode["reason"].as_str().unwrap_or("-")),
            _ if block.is_null() || block == last => String::new(),
            _ => format!("  in block {}", show::block(block)),
        };
        last = block;
        let line = format!("{name:<12} + {:<8}{what}", when.as_deref().unwrap_or("-"));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_said_in_words_and_known_to_be_so_far() {
        let way = |status: &str, state: Option<&str>| json!({ "status": status, "block": { "number": "0x7" }, "bundle": state.map(|s| json!({ "state": s })) });
        let cases = [
            ("pending", None, None, "ready"),
            ("queued", None, None, "earlier nonce"),
            ("open", None, None, "open block"),
            ("bundled", Some("Queued"), Some(Until::Sealed), "block 7"),
            ("bundled", Some("Submitted"), Some(Until::Sealed), "guarantors"),
            ("bundled", Some("Guaranteed"), Some(Until::Guaranteed), "vouch"),
            ("bundled", Some("Abandoned"), Some(Until::Sealed), "given up"),
            ("applied", Some("Accumulated"), Some(Until::Accumulated), "applied"),
            ("finalized", None, Some(Until::Finalized), "nothing undoes"),
            ("ended", None, None, "no reason"),
        ];
        for (status, state, until, text) in cases {
            let way = way(status, state);
            assert_eq!(reached(&way), until, "{status}");
            assert!(step(&way).contains(text), "{status}: {}", step(&way));
        }
    }
}
