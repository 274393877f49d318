//! A block's bundle as files: from the data of a stopped node, or from a running one.

use crate::cli::{
    Failure,
    client::{Client, RpcArgs},
    progress::Progress,
    setup,
};
use alloy_primitives::{Bytes, hex};
use queue::Queue;
use runtime::{
    data,
    rebuild::{Known, NoBundle, rebuild},
};
use serde_json::{Value, json};
use std::path::Path;
use types::Time;

/// The files, in the order in which they are fetched: the summary first, since it makes the node build the bundle.
const FILES: [&str; 9] = [
    "bundle.json",
    "witness.bin",
    "codes.bin",
    "transactions.bin",
    "headers.rlp",
    "hints.bin",
    "parent.rlp",
    "package.bin",
    "bundle.bin",
];

/// Where a bundle comes from.
pub(super) struct Source<'a> {
    pub(super) data_dir: Option<&'a Path>,
    pub(super) rpc: &'a RpcArgs,
    pub(super) token_file: Option<&'a Path>,
}

/// Writes the bundle of a block; gives its summary.
pub(super) fn write(number: u64, out: &Path, source: &Source<'_>) -> Result<Value, Failure> {
    let failed = |why: std::io::Error| Failure::Usage(format!("{}: {why}", out.display()));
    if out.exists() && std::fs::read_dir(out).map_err(failed)?.next().is_some() {
        return Err(Failure::Usage(format!("{} is not empty; nothing is written over", out.display())));
    }
    let files = match source.data_dir {
        Some(directory) => from_data(number, directory)?,
        None => from_node(number, source)?,
    };
    std::fs::create_dir_all(out).map_err(failed)?;
    for (name, bytes) in &files {
        std::fs::write(out.join(name), bytes).map_err(failed)?;
    }
    let summary = files.iter().find(|(name, _)| *name == "bundle.json");
    let summary = summary.and_then(|(_, bytes)| serde_json::from_slice(bytes).ok());
    summary.ok_or_else(|| Failure::runtime("the node gave no bundle.json"))
}

fn from_data(number: u64, directory: &Path) -> Result<Vec<(&'static str, Bytes)>, Failure> {
    let data = |why: &dyn std::fmt::Display| Failure::Data(why.to_string());
    let spec = data::spec(directory).map_err(|why| data(&why))?;
    let store = data::open(directory, &spec).map_err(|why| data(&why))?;
    let (service, _) = devnet::genesis::service_of(&spec).map_err(|why| data(&why))?;
    let bundler = setup::bundler_of(service, &spec, None);
    let recovered = store.load().map_err(|why| data(&why))?;
    // What was sent does not depend on how long a slot is.
    let (config, clock) = (queue::Config::new(&spec.params, 6000), devnet::validator::clock(6000));
    let queue = Queue::restore(config, clock, recovered.finalized, recovered.records, Time::ZERO)
        .map_err(|why| data(&why))?;
    let known = Known::of(number, queue.bundles());
    let mut progress = Progress::new();
    let shown = |values| progress.show(|| format!("reading the state: {values} values"));
    match rebuild(&store, &bundler, &known, shown) {
        Ok(rebuilt) => Ok(rebuilt.files),
        Err(why @ (NoBundle::NoBlock { .. } | NoBundle::NoState { .. })) => Err(Failure::usage(why)),
        Err(why) => Err(data(&why)),
    }
}

fn from_node(number: u64, source: &Source<'_>) -> Result<Vec<(&'static str, Bytes)>, Failure> {
    let token = source.token_file.map(setup::read_token).transpose()?;
    let client = source.rpc.client()?.with_token(token.as_deref())?;
    let mut progress = Progress::new();
    let mut files = Vec::new();
    for name in FILES {
        progress.show(|| format!("fetching {name}"));
        files.push((name, fetch(&client, number, name)?));
    }
    Ok(files)
}

fn fetch(client: &Client, number: u64, name: &str) -> Result<Bytes, Failure> {
    let mut bytes = Vec::new();
    loop {
        let part = client.call("builder_bundleFile", json!([number, name, bytes.len()]))?;
        let strange = || Failure::runtime("the node answered something that is no part of a bundle");
        let data = part["data"].as_str().and_then(|data| hex::decode(data).ok()).ok_or_else(strange)?;
        let length = part["length"].as_u64().ok_or_else(strange)?;
        bytes.extend_from_slice(&data);
        if bytes.len() as u64 == length {
            return Ok(bytes.into());
        }
        if data.is_empty() || bytes.len() as u64 > length {
            return Err(strange());
        }
    }
}
