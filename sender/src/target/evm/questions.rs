//! The questions, as one provider answers them.

use super::{
    Chain,
    ask::{Answer, Call, RpcError},
    heads::Block,
    read,
};
use alloy_primitives::{Address, B256, Bytes};
use sender_model::{
    BlockCheck, Quote, ReceiptAnswer, SendResponse, View,
    providers::{Failed, Question, Trouble},
};
use serde_json::{Value, json};
use types::Duration;

/// A priority fee where a node names none, in wei.
const PRIORITY_FEE: u128 = 1_000_000_000;
/// How long what a provider said is good for: its newest block while nothing watches, its final block, its fees.
const NEWEST_AGE_MAX: Duration = Duration::from_millis(1_000);
const FINALIZED_AGE_MAX: Duration = Duration::from_millis(20_000);
const QUOTE_AGE_MAX: Duration = Duration::from_millis(10_000);
/// What a view is made of may be as old as this while the watcher looks.
const WATCHED_AGE_MAX: Duration = Duration::from_millis(5_000);
/// Calls in one request at most: many providers refuse more.
const BATCH_MAX: usize = 50;

/// The newest block, or the one with a tag or number.
pub(super) fn block_call(at: &Value) -> Call {
    Call::new("eth_getBlockByNumber", json!([at, false]))
}

impl Chain {
    /// Makes calls of which every error is the provider's.
    pub(super) async fn read(&self, index: usize, calls: Vec<Call>) -> Result<Vec<Value>, Failed> {
        let answers = self.call(index, calls).await?;
        answers.into_iter().map(|answer| answer.map_err(|error| error.failed(Question::Read))).collect()
    }

    /// A provider's newest block, asked for now.
    pub(super) async fn fetch_newest(&self, index: usize) -> Result<Block, Failed> {
        self.recognise(index).await?;
        let block = self.ask(index, block_call(&json!("latest")), Question::Read).await?;
        let block = read::block(&block).ok_or_else(|| self.implausible(index, "the newest block"))?;
        let seen = self.providers[index].seen().set_newest(block.clone(), self.now());
        seen.map_err(|what| self.implausible(index, what))?;
        Ok(block)
    }

    /// A provider's newest block; while the watcher looks, the one that it saw last.
    async fn newest(&self, index: usize) -> Result<Block, Failed> {
        let age_max = if self.watched.is_watching(index) { WATCHED_AGE_MAX } else { NEWEST_AGE_MAX };
        let known = self.providers[index].seen().newest(self.now(), age_max).cloned();
        match known {
            Some(block) => Ok(block),
            None => self.fetch_newest(index).await,
        }
    }

    /// The final height, from a tag's answer.
    fn take_finalized(&self, index: usize, answer: Answer, newest: u64) -> Result<u64, Failed> {
        let tag = match answer {
            Ok(Value::Null) => None,
            Ok(block) => {
                let block = read::head(&block).ok_or_else(|| self.implausible(index, "the final block"))?;
                Some(block.number)
            }
            Err(error) => match error.failed(Question::Optional) {
                Failed { trouble, .. } if trouble.is_a_lack() => None,
                failed => return Err(failed),
            },
        };
        let (confirmations, now) = (self.options().confirmations, self.now());
        let taken = self.providers[index].seen().set_finalized(tag, newest, confirmations, now);
        match taken {
            Ok(number) => Ok(number),
            // Behind a balancer the final block may be another node's. What was known before still holds.
            Err(what) if tag.is_some() => Err(Trouble::Failing(what.to_owned()).into()),
            Err(what) => Err(self.implausible(index, what)),
        }
    }

    /// The final height, where a depth is set and no tag is asked for.
    fn final_by_depth(&self, newest: u64) -> Option<u64> {
        self.options().finality_depth.map(|depth| newest.saturating_sub(depth))
    }

    /// The final height of a provider.
    pub(super) async fn finalized(&self, index: usize, newest: u64) -> Result<u64, Failed> {
        if let Some(number) = self.final_by_depth(newest) {
            return Ok(number);
        }
        let known = self.providers[index].seen().finalized(self.now(), FINALIZED_AGE_MAX);
        match known {
            Some(number) => Ok(number.min(newest)),
            None => self.fetch_finalized(index, newest).await,
        }
    }

    /// The final height of a provider, asked for now.
    pub(super) async fn fetch_finalized(&self, index: usize, newest: u64) -> Result<u64, Failed> {
        if let Some(number) = self.final_by_depth(newest) {
            return Ok(number);
        }
        let answer = self.call(index, vec![block_call(&json!("finalized"))]).await?.pop();
        self.take_finalized(index, answer.unwrap_or(Ok(Value::Null)), newest)
    }

    fn fee_call(block: &Block) -> Call {
        match block.base_fee {
            Some(_) => Call::new("eth_maxPriorityFeePerGas", json!([])),
            None => Call::new("eth_gasPrice", json!([])),
        }
    }

    /// What the chain asks for after a block. Where blocks carry no base fee the chain has no EIP-1559, and its gas price
    /// is all there is.
    fn take_quote(&self, index: usize, block: &Block, answer: Answer) -> Result<Quote, Failed> {
        let price = match answer {
            Ok(price) => read::quantity(&price).ok_or_else(|| self.implausible(index, "a price"))?,
            Err(error) => match error.failed(Question::Optional) {
                Failed { trouble, .. } if trouble.is_a_lack() && block.base_fee.is_some() => PRIORITY_FEE,
                failed => return Err(failed),
            },
        };
        let quote = match block.base_fee {
            Some(base_fee) => read::quote(base_fee, price),
            None => Quote::gas_price(price),
        };
        self.providers[index].seen().set_quote(quote, self.now());
        Ok(quote)
    }

    pub(super) async fn quote_at(&self, index: usize) -> Result<Quote, Failed> {
        let block = self.newest(index).await?;
        let answer = self.call(index, vec![Self::fee_call(&block)]).await?.pop();
        self.take_quote(index, &block, answer.unwrap_or(Ok(Value::Null)))
    }

    /// The account's count and balance at the provider's newest block, in one request, and with them whatever of finality and
    /// fees is too old.
    pub(super) async fn view_at(&self, index: usize, account: Address) -> Result<View, Failed> {
        self.recognise(index).await?;
        let newest = self.newest(index).await?;
        let (known_final, known_quote) = {
            let (mut seen, now) = (self.providers[index].seen(), self.now());
            let by_depth = self.final_by_depth(newest.head.number);
            (by_depth.or(seen.finalized(now, FINALIZED_AGE_MAX)), seen.quote(now, QUOTE_AGE_MAX))
        };
        let at = read::hex(newest.head.number);
        let mut calls = vec![
            Call::new("eth_getTransactionCount", json!([account, at])),
            Call::new("eth_getBalance", json!([account, at])),
        ];
        if known_final.is_none() {
            calls.push(block_call(&json!("finalized")));
        }
        if known_quote.is_none() {
            calls.push(Self::fee_call(&newest));
        }
        let mut answers = self.call(index, calls).await?.into_iter();
        let mut next = || answers.next().unwrap_or(Ok(Value::Null));
        let read = |error: RpcError| error.failed(Question::Read);
        let (count, balance) = (next().map_err(read)?, next().map_err(read)?);
        let finalized_number = match known_final {
            Some(number) => number.min(newest.head.number),
            None => self.take_finalized(index, next(), newest.head.number)?,
        };
        let quote = match (known_quote, newest.base_fee) {
            (Some(quote), Some(base_fee)) => read::quote(base_fee, quote.priority_fee_per_gas),
            (Some(quote), None) => quote,
            (None, _) => self.take_quote(index, &newest, next())?,
        };
        let count = read::number(&count).ok_or_else(|| self.implausible(index, "a transaction count"))?;
        Ok(View {
            latest: newest.head,
            latest_count: count,
            finalized_number,
            finalized_count: None,
            balance: read::wide(&balance).ok_or_else(|| self.implausible(index, "a balance"))?,
            quote,
        })
    }

    /// What the provider has said of a height lately, if that is enough.
    fn known_check(&self, index: usize, number: u64) -> Option<BlockCheck> {
        let (seen, now) = (self.providers[index].seen(), self.now());
        let newest = seen.newest(now, FINALIZED_AGE_MAX)?.head.number;
        let finalized = self.final_by_depth(newest).or_else(|| seen.finalized(now, FINALIZED_AGE_MAX))?;
        seen.check(number, finalized, now, FINALIZED_AGE_MAX)
    }

    pub(super) async fn check_at(&self, index: usize, number: u64) -> Result<BlockCheck, Failed> {
        self.recognise(index).await?;
        if let Some(check) = self.known_check(index, number) {
            return Ok(check);
        }
        let newest = self.newest(index).await?.head.number;
        let finalized_number = self.finalized(index, newest).await?;
        let block = self.ask(index, block_call(&json!(read::hex(number))), Question::Read).await?;
        let head = match &block {
            Value::Null => None,
            block => Some(read::head(block).ok_or_else(|| self.implausible(index, "a block"))?),
        };
        if head.is_some_and(|head| head.number != number) {
            return Err(self.implausible(index, "another block than the one that was asked for"));
        }
        let check = BlockCheck { number, hash: head.map(|head| head.hash), finalized_number };
        self.providers[index].seen().remember(&check);
        Ok(check)
    }

    pub(super) async fn send_at(&self, index: usize, bytes: &Bytes) -> Result<SendResponse, Failed> {
        self.recognise(index).await?;
        let call = Call::new("eth_sendRawTransaction", json!([bytes]));
        match self.call(index, vec![call]).await?.pop().unwrap_or(Ok(Value::Null)) {
            Ok(answer) => match answer.as_str().and_then(|hash| hash.parse().ok()) {
                Some(hash) => Ok(SendResponse::Hash(hash)),
                None => Err(self.implausible(index, format!("it answers a send with {answer}"))),
            },
            Err(error) => match error.trouble(Question::Send) {
                Some(trouble) => Err(trouble.into()),
                None => Ok(SendResponse::Error {
                    http_status: None,
                    code: Some(error.code),
                    message: error.message,
                }),
            },
        }
    }

    /// Receipts: those that the watcher has, and the others in as few requests as possible.
    pub(super) async fn receipts_at(
        &self,
        index: usize,
        hashes: &[B256],
    ) -> Result<Vec<(B256, ReceiptAnswer)>, Failed> {
        let mut found: Vec<(B256, ReceiptAnswer)> = self.watched.receipts(hashes);
        {
            // A block that has gone takes its receipts with it.
            let seen = self.providers[index].seen();
            let stands = |answer: &ReceiptAnswer| matches!(answer, ReceiptAnswer::Found(inclusion) if seen.has(inclusion.block));
            found.retain(|(_, answer)| stands(answer));
        }
        let open: Vec<B256> =
            hashes.iter().filter(|hash| !found.iter().any(|(known, _)| known == *hash)).copied().collect();
        if open.is_empty() {
            return Ok(found);
        }
        self.recognise(index).await?;
        for some in open.chunks(BATCH_MAX) {
            found.extend(self.fetch_receipts(index, some).await?);
        }
        Ok(found)
    }

    pub(super) async fn fetch_receipts(
        &self,
        index: usize,
        hashes: &[B256],
    ) -> Result<Vec<(B256, ReceiptAnswer)>, Failed> {
        let calls = hashes.iter().map(|hash| Call::new("eth_getTransactionReceipt", json!([hash])));
        let answers = self.read(index, calls.collect()).await?;
        let receipt = |(hash, answer): (&B256, Value)| {
            if !answer.is_null() && !read::is_receipt_of(&answer, *hash) {
                return Err(self.implausible(index, "a receipt of another transaction"));
            }
            Ok((*hash, read::receipt(answer)))
        };
        hashes.iter().zip(answers).map(receipt).collect()
    }
}
