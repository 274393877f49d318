//! The thread that watches blocks appear and become final, as any client could.

use super::{ledger::Ledger, quantity};
use crate::cli::{
    Failure,
    client::{Client, RpcArgs},
    show,
};
use alloy_primitives::B256;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// How often the node is asked: latencies are this exact.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// The sealed blocks that are not final, each with its hash and its transactions.
struct Watcher {
    client: Client,
    blocks: BTreeMap<u64, (B256, Vec<B256>)>,
    next: u64,
}

/// Starts to watch, from the next block on, until it is done.
pub(super) fn start(
    rpc: &RpcArgs,
    ledger: &Arc<Ledger>,
    done: &Arc<AtomicBool>,
) -> Result<JoinHandle<Result<(), Failure>>, Failure> {
    let client = rpc.client()?;
    let next = quantity(&client.call("eth_blockNumber", json!([]))?)? + 1;
    let mut watcher = Watcher { client, blocks: BTreeMap::new(), next };
    let (ledger, done) = (Arc::clone(ledger), Arc::clone(done));
    Ok(std::thread::spawn(move || {
        while !done.load(Ordering::Relaxed) {
            watcher.look(&ledger)?;
            std::thread::sleep(ASK_EVERY);
        }
        Ok(())
    }))
}

impl Watcher {
    fn look(&mut self, ledger: &Ledger) -> Result<(), Failure> {
        while let Some((hash, parent, transactions)) = self.block(self.next)? {
            // A block that was released makes room for another one of its number.
            if self.blocks.last_key_value().is_some_and(|(_, (known, _))| *known != parent) {
                self.blocks.pop_last();
                self.next -= 1;
                continue;
            }
            ledger.sealed(&transactions, Instant::now());
            self.blocks.insert(self.next, (hash, transactions));
            self.next += 1;
        }
        let finalized = self.client.call("eth_getBlockByNumber", json!(["finalized", false]))?;
        let finalized = quantity(&finalized["number"])?;
        let now = Instant::now();
        while let Some(block) = self.blocks.first_entry().filter(|block| *block.key() <= finalized) {
            let (_, transactions) = block.remove();
            ledger.sealed(&transactions, now);
            ledger.finalized(&transactions, now);
        }
        Ok(())
    }

    /// A block's hash, its parent's, and its transactions; `None` if it is not there yet.
    fn block(&mut self, number: u64) -> Result<Option<(B256, B256, Vec<B256>)>, Failure> {
        let block = self.client.call("eth_getBlockByNumber", json!([format!("{number:#x}"), false]))?;
        if show::number(&block["number"]).is_none() {
            return Ok(None);
        }
        let hash = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
        let strange = || Failure::runtime("the node showed a block without hashes");
        let own = hash(&block["hash"]).ok_or_else(strange)?;
        let parent = hash(&block["parentHash"]).ok_or_else(strange)?;
        let transactions = block["transactions"].as_array().into_iter().flatten();
        let transactions = transactions.map(hash).collect::<Option<Vec<B256>>>();
        Ok(Some((own, parent, transactions.ok_or_else(strange)?)))
    }
}
