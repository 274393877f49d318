//! `pectin queue` and `pectin bundle`: what is on its way to the validators.

use super::{
    Failure,
    client::RpcArgs,
    show::{self, Format, seconds, table},
};
use clap::Args;
use serde_json::{Value, json};

/// Which node.
#[derive(Debug, Args)]
pub(super) struct QueueArgs {
    /// Show the last finished bundles too.
    #[arg(long)]
    finished: bool,
    #[command(flatten)]
    rpc: RpcArgs,
    #[command(flatten)]
    format: Format,
}

/// Which bundle.
#[derive(Debug, Args)]
pub(super) struct BundleArgs {
    /// The number of any of its blocks, or the bundle's name (B-7).
    #[arg(value_name = "NUMBER")]
    number: String,
    #[command(flatten)]
    rpc: RpcArgs,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run_queue(args: &QueueArgs) -> Result<(), Failure> {
    let client = args.rpc.client()?;
    let mut answers = client.calls(&[("builder_queue", json!([])), ("builder_status", json!([]))])?;
    let (status, queue) = (answers.pop(), answers.pop());
    let answer = |answer: Option<Result<Value, String>>| match answer {
        Some(Ok(value)) => Ok(value),
        Some(Err(why)) => Err(Failure::Runtime(why)),
        None => Err(Failure::runtime("no answer")),
    };
    let (queue, status) = (answer(queue)?, answer(status)?);
    let value = json!({ "status": status, "queue": queue });
    args.format.print(&value, |value| words(value, args.finished));
    Ok(())
}

pub(super) fn run_bundle(args: &BundleArgs) -> Result<(), Failure> {
    let number = args.number.strip_prefix("B-").unwrap_or(&args.number);
    let number = number.parse::<u64>();
    let number = number.map_err(|_| Failure::Usage(format!("{:?} is no block number", args.number)))?;
    let bundle = args.rpc.client()?.call("builder_bundle", json!([number]))?;
    if bundle.is_null() {
        return Err(Failure::Runtime(format!(
            "the queue does not remember a bundle with block {number}, or it is in none yet; `pectin queue --finished` shows what it \
             remembers"
        )));
    }
    args.format.print(&bundle, bundle_words);
    Ok(())
}

fn words(value: &Value, finished: bool) -> String {
    let (status, queue) = (&value["status"], &value["queue"]);
    let pool = &status["pool"];
    let mut out = format!(
        "latest     {}\nsafe       {}\nfinalized  {}\npool       {} pending, {} queued, {} in blocks\n",
        show::block(&status["latest"]),
        show::block(&status["safe"]),
        show::block(&status["finalized"]),
        pool["pending"],
        pool["queued"],
        pool["bundled"],
    );
    for reason in status["health"]["reasons"].as_array().into_iter().flatten() {
        let word = |name: &str| reason[name].as_str().unwrap_or_default().to_owned();
        out.push_str(&format!("{:<10} {} {}\n", word("level"), word("text"), word("action")));
    }
    let of = |name: &str| queue[name].as_array().cloned().unwrap_or_default();
    let mut bundles = of("bundles");
    if finished {
        bundles.splice(0..0, of("finished"));
    }
    out.push_str(&unbundled(&queue["unbundled"]));
    out.push('\n');
    if bundles.is_empty() {
        out.push_str("no bundle is on its way\n");
        return out;
    }
    let rows = bundles.iter().map(row).collect::<Vec<_>>();
    out.push_str(&table(["bundle", "blocks", "state", "version", "core", "txs", "sealed to final"], &rows));
    out
}

/// The blocks that are in no bundle yet.
fn unbundled(unbundled: &Value) -> String {
    let Some(blocks) = unbundled["blocks"].as_u64() else { return String::new() };
    let kilobytes = unbundled["bundleBytes"].as_u64().unwrap_or_default() / 1000;
    let first = show::number(&unbundled["first"]["number"]).unwrap_or_default();
    let why = unbundled["whySlow"].as_str().map_or_else(String::new, |why| format!("\n           {why}"));
    format!("sealed     {blocks} blocks from {first} on wait for a bundle, at most {kilobytes} kB{why}\n")
}

fn row(bundle: &Value) -> [String; 7] {
    let plain = |value: &Value| if value.is_null() { "-".to_owned() } else { value.to_string() };
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let times = &bundle["times"];
    let took = match (times["sealed"].as_u64(), times["finalized"].as_u64()) {
        (Some(sealed), Some(finalized)) => seconds(finalized.saturating_sub(sealed)),
        _ => "-".to_owned(),
    };
    [
        text(&bundle["name"]),
        plain(&bundle["blocks"]),
        text(&bundle["state"]),
        plain(&bundle["version"]),
        plain(&bundle["core"]),
        plain(&bundle["transactionCount"]),
        took,
    ]
}

fn bundle_words(bundle: &Value) -> String {
    let mut out = format!(
        "bundle       {}\nstate        {}\nblocks       {}\nfirst        {}\nlast         {}\nparent       {}\n",
        bundle["name"].as_str().unwrap_or("-"),
        bundle["state"].as_str().unwrap_or("-"),
        bundle["blocks"],
        show::block(&bundle["first"]),
        show::block(&bundle["last"]),
        show::block(&bundle["parent"]),
    );
    let times = &bundle["times"];
    let first = times["sealed"].as_u64().or_else(|| bundle["sealedAt"].as_u64()).unwrap_or_default();
    for step in ["submitted", "guaranteed", "accumulated", "finalized", "released"] {
        if let Some(at) = times[step].as_u64() {
            out.push_str(&format!("{step:<12} {} after it was sealed\n", seconds(at.saturating_sub(first))));
        }
    }
    if let Some(estimate) = bundle["refineGas"]["estimate"].as_u64() {
        let (used, max) = (&bundle["refineGas"]["used"], &bundle["refineGas"]["max"]);
        let percent = max.as_u64().map_or(0, |max| estimate.saturating_mul(100) / max.max(1));
        let used = used.as_u64().map_or_else(String::new, |used| format!(", {used} used"));
        out.push_str(&format!("refine gas   at most {estimate} of {max} ({percent} %){used}\n"));
    }
    if let Some(why) = bundle["whySlow"].as_str() {
        out.push_str(&format!("\nwhy it is slow\n  {why}\n"));
    }
    out.push_str(&versions(bundle));
    let hashes = bundle["transactions"].as_array().cloned().unwrap_or_default();
    out.push_str(&format!("\n{} transactions\n", hashes.len()));
    hashes.iter().filter_map(Value::as_str).for_each(|hash| out.push_str(&format!("  {hash}\n")));
    out
}

/// The versions of a bundle: each package that was made of it.
pub(super) fn versions(bundle: &Value) -> String {
    let versions = bundle["versions"].as_array().cloned().unwrap_or_default();
    if versions.is_empty() {
        return String::new();
    }
    let rows = versions.iter().map(|version| {
        let text = |name: &str| version[name].as_str().unwrap_or("-").to_owned();
        let plain = |name: &str| version[name].to_string();
        [plain("version"), plain("core"), plain("sends"), plain("taken"), text("packageHash"), text("anchor")]
    });
    let rows = rows.collect::<Vec<_>>();
    format!("\n{}", table(["version", "core", "sends", "taken", "package", "anchor"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_bundle_says_why() {
        let mut bundle = json!({ "name": "B-7", "state": "Queued", "transactions": [] });
        assert!(!bundle_words(&bundle).contains("slow"));
        bundle["whySlow"] = json!("Its core is busy.");
        let words = bundle_words(&bundle);
        assert!(words.contains("why it is slow\n  Its core is busy.\n"), "{words}");
    }
}
