//! One provider: a URL, and whether it may be asked now.
//!
//! Two things keep a provider from being asked. After several connection errors in a row its *breaker* opens for longer
//! and longer pauses, then one question is let through to try. If it says that it is busy (429, 503), it *rests* for as
//! long as it says, or a moment. Neither is ever a reason to fail a request.

use super::{
    CONFIRMATIONS,
    ask::{self, Failed, RpcError},
    identity::Identity,
    is_null, read,
};
use crate::http::Client;
use alloy_primitives::{Address, B256};
use futures_util::future::try_join_all;
use sender_model::{BlockCheck, Head, Nonce, Quote, ReceiptAnswer, View};
use serde_json::{Value, json};
use std::{
    sync::Mutex,
    time::{Duration, Instant},
};
use tokio::try_join;

/// Connection errors in a row that open the breaker.
const ERRORS_MAX: u32 = 3;
/// The first and the longest pause of a breaker.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a provider rests that is busy and does not say for how long; and at most.
const REST: Duration = Duration::from_millis(250);
const REST_MAX: Duration = Duration::from_secs(30);
/// Blocks that are looked through for a transaction at most.
const SEARCH_STEPS_MAX: usize = 64;
/// A priority fee where a node names none, in wei.
const PRIORITY_FEE: u128 = 1_000_000_000;

/// How providers are asked.
#[derive(Clone, Copy, Debug)]
pub struct ProviderOptions {
    /// How long an answer may take.
    pub timeout: Duration,
}

impl Default for ProviderOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(5) }
    }
}

/// One provider. See the [module](self).
pub(super) struct Provider {
    pub index: usize,
    url: String,
    client: Client,
    options: ProviderOptions,
    breaker: Mutex<Breaker>,
    identity: Mutex<Identity>,
}

#[derive(Debug, Default)]
struct Breaker {
    errors: u32,
    closed_until: Option<Instant>,
}

impl Breaker {
    fn after(&mut self, failed: Option<&Failed>, wait: Option<Duration>, now: Instant) {
        match failed {
            Some(Failed::Disconnected) => {
                self.errors = self.errors.saturating_add(1);
                if let Some(more) = self.errors.checked_sub(ERRORS_MAX) {
                    let pause = PAUSE.saturating_mul(1 << more.min(10)).min(PAUSE_MAX);
                    self.closed_until = Some(now + pause);
                }
            }
            Some(Failed::Status(429 | 502..=504)) => {
                self.closed_until = Some(now + wait.unwrap_or(REST).min(REST_MAX));
            }
            Some(Failed::Refused(RpcError { code: -32005 | 429, .. })) => {
                self.closed_until = Some(now + wait.unwrap_or(REST).min(REST_MAX));
            }
            // A time-out says nothing about the connection: it delays, and that is all.
            Some(_) => {}
            None => *self = Self::default(),
        }
    }
}

impl Provider {
    pub(super) fn new(index: usize, url: String, client: Client, options: ProviderOptions) -> Self {
        Self { index, url, client, options, breaker: Mutex::default(), identity: Mutex::default() }
    }

    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether it may be asked now.
    pub(super) fn is_open(&self) -> bool {
        self.breaker().closed_until.is_none_or(|until| until <= Instant::now())
    }

    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, Failed> {
        let (answer, wait) = ask::call(&self.client, &self.url, self.options.timeout, method, params).await;
        self.breaker().after(answer.as_ref().err(), wait, Instant::now());
        if answer == Err(Failed::Disconnected) && self.identity() == Identity::Right {
            self.set_identity(Identity::Unknown);
        }
        answer
    }

    pub(super) fn identity(&self) -> Identity {
        *self.identity.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// One of another chain is left alone for a while.
    pub(super) fn set_identity(&self, identity: Identity) {
        *self.identity.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = identity;
        if identity == Identity::Wrong {
            self.breaker().closed_until = Some(Instant::now() + PAUSE_MAX);
        }
    }

    async fn block(&self, at: Value) -> Result<Option<Value>, Failed> {
        let block = self.call("eth_getBlockByNumber", json!([at, false])).await?;
        Ok(Some(block).filter(|block| !is_null(block)))
    }

    /// The newest block, and the height of the newest one that cannot go away.
    async fn heads(&self) -> Result<(Value, u64), Failed> {
        let (latest, finalized) = try_join!(self.block(json!("latest")), self.finalized())?;
        let latest = latest.ok_or(Failed::Strange("there is no latest block"))?;
        let number = read::head(&latest).ok_or(Failed::Strange("a block without number or hash"))?.number;
        Ok((latest, finalized.unwrap_or_else(|| number.saturating_sub(CONFIRMATIONS))))
    }

    /// The height of the tag `finalized`; none where there is no such tag.
    async fn finalized(&self) -> Result<Option<u64>, Failed> {
        match self.block(json!("finalized")).await {
            Ok(block) => Ok(block.as_ref().and_then(read::head).map(|head| head.number)),
            Err(Failed::Refused(_)) => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    async fn count(&self, account: Address, number: u64) -> Result<u64, Failed> {
        let count = self.call("eth_getTransactionCount", json!([account, read::hex(number)])).await?;
        let count = read::quantity(&count).and_then(|count| u64::try_from(count).ok());
        count.ok_or(Failed::Strange("a transaction count"))
    }

    pub(super) async fn view(&self, account: Address) -> Result<View, Failed> {
        let (latest, finalized_number) = self.heads().await?;
        let head = read::head(&latest).ok_or(Failed::Strange("a block without number or hash"))?;
        let balance = self.call("eth_getBalance", json!([account, read::hex(head.number)]));
        let (latest_count, finalized_count, balance, quote) = try_join!(
            self.count(account, head.number),
            self.count(account, finalized_number),
            balance,
            self.quote_after(&latest),
        )?;
        Ok(View {
            latest: head,
            latest_count,
            finalized_number,
            finalized_count,
            balance: read::wide(&balance).ok_or(Failed::Strange("a balance"))?,
            quote,
        })
    }

    async fn priority_fee(&self) -> Result<u128, Failed> {
        match self.call("eth_maxPriorityFeePerGas", json!([])).await {
            Ok(fee) => Ok(read::quantity(&fee).unwrap_or(PRIORITY_FEE)),
            Err(Failed::Refused(_)) => Ok(PRIORITY_FEE),
            Err(failed) => Err(failed),
        }
    }

    /// What the chain asks for after a block. Where blocks carry no base fee the chain has no EIP-1559, and its gas price
    /// is all there is.
    async fn quote_after(&self, block: &Value) -> Result<Quote, Failed> {
        match read::base_fee(block) {
            Some(base_fee) => Ok(read::quote(base_fee, self.priority_fee().await?)),
            None => {
                let price = self.call("eth_gasPrice", json!([])).await?;
                Ok(Quote::gas_price(read::quantity(&price).ok_or(Failed::Strange("a gas price"))?))
            }
        }
    }

    pub(super) async fn quote(&self) -> Result<Quote, Failed> {
        let latest = self.block(json!("latest")).await?;
        self.quote_after(&latest.ok_or(Failed::Strange("there is no latest block"))?).await
    }

    pub(super) async fn receipts(&self, hashes: Vec<B256>) -> Result<Vec<(B256, ReceiptAnswer)>, Failed> {
        let ask = |hash: B256| async move {
            let receipt = self.call("eth_getTransactionReceipt", json!([hash])).await?;
            Ok((hash, read::receipt(receipt)))
        };
        try_join_all(hashes.into_iter().map(ask)).await
    }

    pub(super) async fn check_block(&self, number: u64) -> Result<BlockCheck, Failed> {
        let (block, (_, finalized_number)) = try_join!(self.block(json!(read::hex(number))), self.heads())?;
        let hash = block.as_ref().and_then(read::head).map(|head: Head| head.hash);
        Ok(BlockCheck { number, hash, finalized_number })
    }

    /// Finds the block after which the count is above the nonce, and in it the transaction. A node that does not keep
    /// old states cannot tell; then another may, or the same one never.
    pub(super) async fn identify(&self, account: Address, nonce: Nonce) -> Result<Option<B256>, Failed> {
        let (_, finalized) = self.heads().await?;
        let (mut low, mut high) = (0, finalized);
        if self.count(account, high).await? <= nonce {
            return Ok(None);
        }
        for _ in 0..SEARCH_STEPS_MAX {
            if low >= high {
                break;
            }
            let middle = low + (high - low) / 2;
            if self.count(account, middle).await? > nonce { high = middle } else { low = middle + 1 }
        }
        let block = self.call("eth_getBlockByNumber", json!([read::hex(high), true])).await?;
        Ok(read::transaction_of(&block, account, nonce))
    }
}
