//! This node's own pool as the sender's target. It answers from snapshots, so every answer is of one moment, and tells
//! of new blocks instead of being asked.

use super::search::Searches;
use crate::{Command, Gateway};
use ::sender::target::{
    Asked, News, Target, TargetError, call_object, on_top_params, read_on_top, read_receipt, read_refusal,
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Bytes, U128};
use rpc::{Api, Archive, Backend as _, Caller, Feed, Params, RecentBlock, SendError, Snapshot};
use sender_model::{
    BlockCheck, Head, Identified, Intent, Limits, Nonce, Quote, ReceiptAnswer, SendResponse, Simulation, View,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch;
use types::BlockId;

/// This node's pool. See the [module](self).
pub(crate) struct Pool {
    chain_id: u64,
    feed: Feed,
    api: Arc<Api>,
    gateway: Gateway,
    /// Transactions that each managed account may have waiting.
    slots: usize,
    news: watch::Receiver<News>,
    searches: Searches,
}

impl Pool {
    /// Over a running node. `api` has no extensions.
    pub(crate) fn new(
        chain_id: u64,
        feed: Feed,
        api: Arc<Api>,
        archive: Arc<dyn Archive>,
        gateway: Gateway,
        slots: usize,
    ) -> Self {
        let (told, news) = watch::channel(News::default());
        tokio::spawn(tell_news(feed.clone(), told));
        Self { chain_id, feed, api, gateway, slots, news, searches: Searches::new(archive) }
    }

    fn error(&self, why: &impl ToString) -> TargetError {
        TargetError { chain_id: self.chain_id, why: why.to_string() }
    }

    /// Asks the node as a client would.
    async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, rpc::Error> {
        let params = serde_json::value::to_raw_value(&params).map_err(rpc::Error::internal)?;
        let answer = self.api.call(method, Params::new(Some(&params))?, &Caller::default()).await?;
        serde_json::from_str(answer.get()).map_err(rpc::Error::internal)
    }

    async fn quote_now(&self) -> Result<Quote, TargetError> {
        let base: U128 = self.ask("eth_baseFee", json!([])).await.map_err(|why| self.error(&why))?;
        let tip: U128 =
            self.ask("eth_maxPriorityFeePerGas", json!([])).await.map_err(|why| self.error(&why))?;
        Ok(Quote::dynamic(base.to(), tip.to()))
    }

    async fn view_now(&self, account: Address) -> Result<View, TargetError> {
        let snapshot = self.feed.snapshot();
        let (latest, finalized) = (snapshot.latest(), snapshot.tags.finalized);
        let final_block = snapshot.by_number(finalized.number).filter(|block| block.id() == finalized);
        let final_block = final_block.ok_or_else(|| self.error(&"the final state is not in memory"))?;
        let read = |block: &RecentBlock| block.state.account(account).map_err(|why| self.error(&why));
        let (now, then) = (read(latest)?.unwrap_or_default(), read(final_block)?.unwrap_or_default());
        Ok(View {
            latest: head(latest.id()),
            latest_count: now.nonce,
            finalized_number: finalized.number,
            finalized_count: Some(then.nonce),
            balance: now.balance,
            quote: self.quote_now().await?,
        })
    }

    async fn simulate_now(&self, from: Address, intent: &Intent, before: &[Intent]) -> Simulation {
        if !before.is_empty() {
            return self.simulate_on_top(from, intent, before).await;
        }
        let params = json!([call_object(from, intent), "pending"]);
        let result = match intent.gas {
            Some(gas) => self.ask::<Bytes>("eth_call", params).await.map(|_| gas),
            None => self.ask::<U128>("eth_estimateGas", params).await.map(|gas| gas.to()),
        };
        match result {
            Ok(gas) => Simulation::Gas(gas),
            Err(error) => {
                let data = error.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok());
                read_refusal(i64::from(error.code), &error.message, data.as_ref())
            }
        }
    }

    /// The same on top of requests that are not sealed. Some of them may be in the open block, so it is not on `pending`.
    async fn simulate_on_top(&self, from: Address, intent: &Intent, before: &[Intent]) -> Simulation {
        let answer = self.ask::<Value>("eth_simulateV1", on_top_params(from, intent, before)).await;
        let simulated = answer.ok().and_then(|answer| read_on_top(&answer, intent, before));
        simulated.unwrap_or(Simulation::Error)
    }

    async fn send_now(&self, hash: B256, bytes: Bytes) -> SendResponse {
        let refused = |error: txpool::Error| SendResponse::Error {
            http_status: None,
            code: Some(i64::from(error.code())),
            message: error.to_string(),
        };
        let rules = self.feed.snapshot().rules;
        let tx = match txpool::recover(bytes, &rules) {
            Ok(tx) => tx,
            Err(error) => return refused(error),
        };
        match self.gateway.submit(vec![tx]).await.into_iter().next() {
            Some(Ok(_)) => SendResponse::Hash(hash),
            Some(Err(SendError::Refused(error))) => refused(error),
            Some(Err(SendError::Unavailable(_))) | None => SendResponse::Disconnected,
        }
    }

    async fn check_now(&self, number: u64) -> Result<BlockCheck, TargetError> {
        let snapshot = self.feed.snapshot();
        let finalized_number = snapshot.tags.finalized.number;
        let hash = match snapshot.by_number(number) {
            Some(block) => Some(block.id().hash),
            None if number <= finalized_number => {
                self.archived(number).await?.and_then(|block| block.get("hash")?.as_str()?.parse().ok())
            }
            None => None,
        };
        Ok(BlockCheck { number, hash, finalized_number })
    }

    /// A final block that is not in memory any more.
    async fn archived(&self, number: u64) -> Result<Option<Value>, TargetError> {
        let params = json!([format!("{number:#x}"), false]);
        self.ask("eth_getBlockByNumber", params).await.map_err(|why| self.error(&why))
    }

    async fn identify_now(&self, account: Address, nonce: Nonce) -> Result<Identified, TargetError> {
        let Some(hash) = self.final_user(account, nonce).await? else { return Ok(Identified::Unknown) };
        let receipt = self.ask::<Value>("eth_getTransactionReceipt", json!([hash])).await;
        Ok(match receipt.map_or(ReceiptAnswer::Error, read_receipt) {
            ReceiptAnswer::Found(inclusion) => Identified::Found { hash, block: inclusion.block },
            ReceiptAnswer::NotFound | ReceiptAnswer::Error => Identified::Unknown,
        })
    }

    /// The transaction that has used a nonce in a final block.
    async fn final_user(&self, account: Address, nonce: Nonce) -> Result<Option<B256>, TargetError> {
        let snapshot = self.feed.snapshot();
        let finalized = snapshot.tags.finalized.number;
        if let Some(hash) = recent(&snapshot, finalized, account, nonce) {
            return Ok(Some(hash));
        }
        let oldest = snapshot.blocks()[0].id().number.min(finalized + 1);
        let Some(newest) = oldest.checked_sub(1) else { return Ok(None) };
        self.searches.find(account, nonce, newest).await.map_err(|why| self.error(&why))
    }
}

/// A sender's transaction in the final blocks that are in memory.
fn recent(snapshot: &Snapshot, finalized: u64, account: Address, nonce: Nonce) -> Option<B256> {
    let blocks = snapshot.blocks().iter().filter(|block| block.id().number <= finalized);
    let mut transactions = blocks.flat_map(|block| block.block.block.transactions());
    transactions.find(|tx| tx.sender() == account && tx.nonce() == nonce).map(|tx| tx.hash())
}

const fn head(id: BlockId) -> Head {
    Head { number: id.number, hash: id.hash }
}

/// Tells whenever there is a new block, or one became final, or went away.
async fn tell_news(feed: Feed, told: watch::Sender<News>) {
    let mut snapshots = feed.watch();
    let mut last = None;
    while snapshots.changed().await.is_ok() && !told.is_closed() {
        let now = {
            let snapshot = snapshots.borrow_and_update();
            Some((snapshot.latest().id(), snapshot.tags.finalized))
        };
        if now != last {
            last = now;
            let finalized = snapshots.borrow().tags.finalized.number;
            told.send_modify(|news| *news = News { looks: news.looks + 1, finalized });
        }
    }
}

impl Target for Pool {
    fn chain_id(&self) -> u64 {
        self.chain_id
    }

    fn view(&self, account: Address, _: Option<(u64, u64)>) -> Asked<'_, Result<View, TargetError>> {
        Box::pin(self.view_now(account))
    }

    fn simulate<'a>(
        &'a self,
        from: Address,
        intent: &'a Intent,
        before: &'a [Intent],
    ) -> Asked<'a, Simulation> {
        Box::pin(self.simulate_now(from, intent, before))
    }

    fn quote(&self) -> Asked<'_, Result<Quote, TargetError>> {
        Box::pin(self.quote_now())
    }

    fn send(&self, _: Address, hash: B256, bytes: Bytes) -> Asked<'_, SendResponse> {
        Box::pin(self.send_now(hash, bytes))
    }

    fn receipts(&self, hashes: Vec<B256>) -> Asked<'_, Vec<(B256, ReceiptAnswer)>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(hashes.len());
            for hash in hashes {
                let receipt = self.ask::<Value>("eth_getTransactionReceipt", json!([hash])).await;
                answers.push((hash, receipt.map_or(ReceiptAnswer::Error, read_receipt)));
            }
            answers
        })
    }

    fn check_block(&self, number: u64) -> Asked<'_, Result<BlockCheck, TargetError>> {
        Box::pin(self.check_now(number))
    }

    fn identify(&self, account: Address, nonce: Nonce, _: u64) -> Asked<'_, Result<Identified, TargetError>> {
        Box::pin(self.identify_now(account, nonce))
    }

    fn news(&self, _: Address) -> Option<watch::Receiver<News>> {
        Some(self.news.clone())
    }

    fn genesis(&self) -> Asked<'_, Result<Option<B256>, TargetError>> {
        Box::pin(async {
            let first: Option<Value> = self
                .ask("eth_getBlockByNumber", json!(["earliest", false]))
                .await
                .map_err(|why| self.error(&why))?;
            Ok(first.and_then(|block| block.get("hash")?.as_str()?.parse().ok()))
        })
    }

    fn limits(&self) -> Limits {
        let rules = self.feed.snapshot().rules;
        Limits {
            tx_bytes_max: Some(rules.tx_bytes_max),
            init_code_bytes_max: Some(txpool::INITCODE_BYTES_MAX),
            gas_max: Some(rules.block_gas_limit.min(txpool::TX_GAS_MAX)),
        }
    }

    fn adopt(&self, account: Address) {
        self.gateway.tell(Command::SenderLimit(account, self.slots));
    }

    fn bundled(&self, account: Address) -> Vec<Nonce> {
        let snapshot = self.feed.snapshot();
        let open = snapshot.pending.as_ref().map(|pending| pending.transactions.clone()).unwrap_or_default();
        open.iter().filter(|tx| tx.sender() == account).map(|tx| tx.nonce()).collect()
    }

    fn trouble(&self) -> Option<String> {
        self.gateway.trouble()
    }
}
