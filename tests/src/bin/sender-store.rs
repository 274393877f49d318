//! `sender-store bench [--clients N] [--each N]`: durable accepts with and without group commit.
//!
//! Two more modes are for tests that kill or stop a process: `accept FILE` accepts requests for ever and prints each name
//! once it is durable; `hold URL NAMESPACE TTL_MS` takes a lease, prints its epoch, and for every line that comes in tries
//! to write and prints how that went.

use sender::store::{Acquired, Embedded, EmbeddedOptions, Redis, RedisOptions, Store, StoreError};
use sender_model::{Authority, Commit, Fence, Write};
use std::{io::Write as _, path::Path, process::ExitCode, sync::Arc};
use tests::sender_store::{acceptance, account, bench};

const USAGE: &str =
    "usage: sender-store bench [--clients N] [--each N] | accept FILE | hold URL NAMESPACE TTL_MS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = match (runtime, words.as_slice()) {
        (Err(error), _) => Err(error.to_string()),
        (Ok(runtime), ["bench", rest @ ..]) => runtime.block_on(run_bench(rest)),
        (Ok(runtime), ["accept", file]) => runtime.block_on(accept(Path::new(file))),
        (Ok(runtime), ["hold", url, namespace, ttl_ms]) => runtime.block_on(hold(url, namespace, ttl_ms)),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sender-store: {error}");
            ExitCode::from(2)
        }
    }
}

fn told(error: &StoreError) -> String {
    error.to_string()
}

async fn run_bench(arguments: &[&str]) -> Result<(), String> {
    let (mut clients, mut each) = (16, 200);
    for pair in arguments.chunks(2) {
        let [flag, value] = pair else { return Err(USAGE.into()) };
        let number = value.parse().map_err(|error| format!("{flag}: {error}"))?;
        match *flag {
            "--clients" => clients = number,
            "--each" => each = number,
            _ => return Err(USAGE.into()),
        }
    }
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = |name: &str| directory.path().join(name);
    let group = bench::run(&file("group"), clients, each, usize::MAX).await.map_err(|error| told(&error))?;
    let single = bench::run(&file("single"), clients, each, 1).await.map_err(|error| told(&error))?;
    for (name, measured) in [("one sync for all that wait", group), ("one sync per request", single)] {
        println!(
            "{name:<27} {clients} clients  {:>8.0} durable accepts/s  {:>6.2} commits per fsync",
            measured.accepts_per_s,
            measured.commits_per_sync(),
        );
    }
    println!("sender-store: commits_per_fsync={:.2}", group.commits_per_sync());
    Ok(())
}

/// Accepts by four clients at once, so that a kill hits groups.
async fn accept(file: &Path) -> Result<(), String> {
    let store = Embedded::open(file, EmbeddedOptions::default()).map_err(|error| told(&error))?;
    let store = Arc::new(store);
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let store = store.clone();
            tokio::spawn(async move {
                for request in 0_u64.. {
                    let name = format!("k{client}-{request}");
                    if store.commit(acceptance(&name)).await.is_err() {
                        return;
                    }
                    println!("{name}");
                }
            })
        })
        .collect();
    for client in clients {
        client.await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

async fn hold(url: &str, namespace: &str, ttl_ms: &str) -> Result<(), String> {
    let ttl_ms: u64 = ttl_ms.parse().map_err(|error| format!("TTL_MS: {error}"))?;
    let options = RedisOptions { url: url.into(), namespace: namespace.into(), answer_ms: 60_000 };
    let store = Redis::connect(&options).await.map_err(|error| told(&error))?;
    let lease = account().to_string();
    let acquired =
        store.acquire(lease, "holder".into(), ttl_ms, false).await.map_err(|error| told(&error))?;
    let Acquired::Taken { epoch, .. } = acquired else { return Err(format!("{acquired:?}")) };
    say(&format!("epoch {epoch}"));
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let commit = Commit {
            authority: Authority::Holder(Fence::of(account(), epoch)),
            preconditions: vec![],
            writes: vec![Write::Put(format!("held/{line}"), line.into_bytes())],
        };
        say(&format!("{:?}", store.commit(commit).await));
    }
    Ok(())
}

/// Whoever waits for the line gets it at once; one who has gone does not need it.
fn say(line: &str) {
    println!("{line}");
    let _unheard = std::io::stdout().flush();
}
