//! One watcher for all accounts of a chain: it asks for the newest block, looks which of the transactions that were sent are
//! in it, fetches their receipts, and wakes the accounts that they are of. It rests while no account asks for anything.

use super::{Chain, Evm, ask::Call, heads::Block, questions::block_call, read};
use crate::target::News;
use alloy_primitives::{Address, B256};
use sender_model::{
    ReceiptAnswer,
    providers::{self, Failed, Question},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use tokio::sync::{Notify, watch as channel};
use types::{Duration, Time};

/// Without a question for so long the watcher rests.
const RESTS_AFTER: Duration = Duration::from_millis(30_000);
/// How often the newest block is asked for: half of the time between blocks, within these limits.
const POLL_MIN: Duration = Duration::from_millis(250);
const POLL_MAX: Duration = Duration::from_millis(3_000);
/// How often the final block is asked for, at least and at most.
const FINALIZED_EVERY_MIN: Duration = Duration::from_millis(1_000);
const FINALIZED_EVERY_MAX: Duration = Duration::from_millis(15_000);
/// Blocks that were missed and are read one by one; beyond that every account looks for itself.
const MISSED_MAX: u64 = 16;
/// Transactions that are waited for, and receipts that are kept.
const EXPECTED_MAX: usize = 100_000;
const RECEIPTS_MAX: usize = 10_000;

/// What is watched for.
#[derive(Default)]
pub(super) struct Watched {
    state: Mutex<State>,
    begun: AtomicBool,
    /// The provider that is watched, plus one.
    index: AtomicUsize,
    wanted: Notify,
}

#[derive(Default)]
struct State {
    /// When something was last asked for.
    asked_at: Time,
    accounts: BTreeMap<Address, channel::Sender<News>>,
    /// Transactions that were sent, and whose they are; the oldest are forgotten first.
    expected: HashMap<B256, Address>,
    order: VecDeque<B256>,
    receipts: HashMap<B256, ReceiptAnswer>,
    receipts_order: VecDeque<B256>,
    /// The last block that was looked at, when, and how long blocks take.
    last: Option<(u64, B256, Time)>,
    block_time: Option<Duration>,
    finalized: u64,
    finalized_at: Time,
}

impl Watched {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether this provider's newest block is kept fresh.
    pub(super) fn is_watching(&self, index: usize) -> bool {
        self.index.load(Ordering::Relaxed) == index + 1
    }

    /// News of an account.
    pub(super) fn subscribe(&self, account: Address) -> channel::Receiver<News> {
        let mut state = self.state();
        // Accounts whose workers have gone are forgotten.
        state.accounts.retain(|known, sender| *known == account || !sender.is_closed());
        state.accounts.entry(account).or_insert_with(|| channel::channel(News::default()).0).subscribe()
    }

    /// A transaction is about to be sent.
    pub(super) fn expect(&self, hash: B256, account: Address) {
        let mut state = self.state();
        if state.expected.insert(hash, account).is_none() {
            state.order.push_back(hash);
        }
        while state.order.len() > EXPECTED_MAX {
            if let Some(oldest) = state.order.pop_front() {
                state.expected.remove(&oldest);
            }
        }
    }

    /// Receipts that are there already.
    pub(super) fn receipts(&self, hashes: &[B256]) -> Vec<(B256, ReceiptAnswer)> {
        let state = self.state();
        hashes.iter().filter_map(|hash| Some((*hash, state.receipts.get(hash)?.clone()))).collect()
    }
}

impl State {
    fn keep(&mut self, hash: B256, receipt: ReceiptAnswer) {
        if self.receipts.insert(hash, receipt).is_none() {
            self.receipts_order.push_back(hash);
        }
        while self.receipts_order.len() > RECEIPTS_MAX {
            if let Some(oldest) = self.receipts_order.pop_front() {
                self.receipts.remove(&oldest);
            }
        }
    }

    /// Wakes some accounts, or all, to look at the chain.
    fn wake(&self, some: Option<&BTreeSet<Address>>) {
        for (account, sender) in &self.accounts {
            if some.is_none_or(|some| some.contains(account)) {
                sender.send_modify(|news| news.looks += 1);
            }
        }
    }
}

impl Evm {
    /// Something is asked for: the watcher begins, or goes on.
    pub(super) fn watch(&self) {
        let watched = &self.0.watched;
        watched.state().asked_at = self.0.now();
        watched.wanted.notify_one();
        if !watched.begun.swap(true, Ordering::Relaxed) {
            tokio::spawn(run(Arc::downgrade(&self.0)));
        }
    }
}

/// Watches until the chain is dropped.
async fn run(chain: Weak<Chain>) {
    loop {
        let pause = {
            let Some(chain) = chain.upgrade() else { return };
            let asked_at = chain.watched.state().asked_at;
            if chain.now().since(asked_at) >= RESTS_AFTER {
                chain.watched.index.store(0, Ordering::Relaxed);
                None
            } else {
                chain.look_around().await;
                Some(chain.pause())
            }
        };
        match pause {
            Some(pause) => tokio::time::sleep(pause).await,
            None => {
                let Some(waits) = chain.upgrade() else { return };
                let wanted = waits.watched.wanted.notified();
                let wanted = tokio::time::timeout(RESTS_AFTER, wanted);
                // Whether it was woken or not, it looks whether there is something to do.
                let _woken = wanted.await;
            }
        }
    }
}

impl Chain {
    fn pause(&self) -> Duration {
        let state = self.watched.state();
        let block_time = state.block_time.unwrap_or(POLL_MIN * 4);
        // Without anything that may be mined in the next block, only finality is waited for.
        let usual = if state.expected.is_empty() { block_time * 2 } else { block_time / 2 };
        self.options().poll.unwrap_or_else(|| usual.clamp(POLL_MIN, POLL_MAX))
    }

    /// One look at the newest block, and at the final one if it is time.
    async fn look_around(&self) {
        let looked = providers::first(self, |index| self.look_at(index)).await;
        let Ok((index, block)) = looked else {
            self.watched.index.store(0, Ordering::Relaxed);
            return;
        };
        self.watched.index.store(index + 1, Ordering::Relaxed);
        let due = {
            let state = self.watched.state();
            // The farther finality is behind, the less often it is asked after.
            let behind = block.head.number.saturating_sub(state.finalized) / 16 + 1;
            let each = state.block_time.unwrap_or(FINALIZED_EVERY_MIN);
            let usual = each.saturating_mul(u32::try_from(behind).unwrap_or(u32::MAX));
            self.now().since(state.finalized_at) >= usual.clamp(FINALIZED_EVERY_MIN, FINALIZED_EVERY_MAX)
        };
        if due && let Ok(finalized) = self.fetch_finalized(index, block.head.number).await {
            let mut state = self.watched.state();
            state.finalized_at = self.now();
            if finalized > state.finalized {
                state.finalized = finalized;
                state
                    .accounts
                    .values()
                    .for_each(|sender| sender.send_modify(|news| news.finalized = finalized));
            }
        }
    }

    /// A provider's newest block, and what is new in it and in those that were missed.
    async fn look_at(&self, index: usize) -> Result<Block, Failed> {
        let before = self.watched.state().last;
        self.recognise(index).await?;
        let answer = self.ask(index, block_call(&json!("latest")), Question::Read).await?;
        let newest = read::block(&answer).ok_or_else(|| self.implausible(index, "the newest block"))?;
        if before.is_some_and(|(_, hash, _)| hash == newest.head.hash) {
            let _same = self.providers[index].seen().set_newest(newest.clone(), self.now());
            return Ok(newest);
        }
        // Counted from what the watcher itself has looked through: an account may have asked for a newer block meanwhile.
        let number = newest.head.number;
        let few = |last: &u64| *last < number && number - last <= MISSED_MAX;
        let missed = before.map(|(last, ..)| last).filter(few).map(|last| last + 1..number);
        let mut blocks = Vec::new();
        let calls: Vec<Call> = missed
            .clone()
            .into_iter()
            .flatten()
            .map(|number| block_call(&json!(read::hex(number))))
            .collect();
        if !calls.is_empty() {
            blocks.extend(self.read(index, calls).await?.iter().filter_map(read::block));
        }
        blocks.push(newest.clone());
        for block in &blocks {
            let seen = self.providers[index].seen().set_newest(block.clone(), self.now());
            seen.map_err(|what| self.implausible(index, what))?;
        }
        for block in &blocks {
            self.take_block(index, block).await?;
        }
        let mut state = self.watched.state();
        if missed.is_none() && before.is_some() {
            // Too many were missed, or the chain went back: each account looks for itself.
            state.wake(None);
        }
        state.note(&newest, self.now());
        Ok(newest)
    }

    /// Looks for our transactions in a block, fetches their receipts and wakes their accounts.
    async fn take_block(&self, index: usize, block: &Block) -> Result<(), Failed> {
        let (ours, accounts): (Vec<B256>, BTreeSet<Address>) = {
            let state = self.watched.state();
            let found =
                block.transactions.iter().filter_map(|hash| Some((*hash, *state.expected.get(hash)?)));
            found.unzip()
        };
        if ours.is_empty() {
            return Ok(());
        }
        let receipts = self.receipts_of(index, block, &ours).await?;
        let mut state = self.watched.state();
        for (hash, receipt) in receipts {
            if matches!(&receipt, ReceiptAnswer::Found(inclusion) if inclusion.block == block.head) {
                state.expected.remove(&hash);
                state.keep(hash, receipt);
            }
        }
        state.wake(Some(&accounts));
        Ok(())
    }

    /// The receipts of some of a block's transactions: in one call if there are several and the provider knows how.
    async fn receipts_of(
        &self,
        index: usize,
        block: &Block,
        hashes: &[B256],
    ) -> Result<Vec<(B256, ReceiptAnswer)>, Failed> {
        let whole = hashes.len() > 1 && !self.providers[index].seen().no_block_receipts;
        if whole {
            let call = Call::new("eth_getBlockReceipts", json!([read::hex(block.head.number)]));
            match self.ask(index, call, Question::Optional).await {
                Ok(receipts) => {
                    let of = |receipt: &serde_json::Value| read::receipt_hash(receipt);
                    let receipts = receipts.as_array().cloned().unwrap_or_default();
                    let wanted = receipts.into_iter().filter_map(|receipt| Some((of(&receipt)?, receipt)));
                    let ours = wanted.filter(|(hash, _)| hashes.contains(hash));
                    return Ok(ours.map(|(hash, receipt)| (hash, read::receipt(receipt))).collect());
                }
                Err(failed) if failed.trouble.is_a_lack() => {
                    self.providers[index].seen().no_block_receipts = true;
                }
                Err(failed) => return Err(failed),
            }
        }
        let mut found = Vec::new();
        for some in hashes.chunks(50) {
            found.extend(self.fetch_receipts(index, some).await?);
        }
        Ok(found)
    }
}

impl State {
    /// Remembers the newest block and learns how long blocks take.
    fn note(&mut self, block: &Block, now: Time) {
        if let Some((number, _, at)) = self.last
            && block.head.number > number
        {
            let each = now.since(at) / u32::try_from(block.head.number - number).unwrap_or(u32::MAX);
            self.block_time = Some(self.block_time.map_or(each, |usual| (usual * 3 + each) / 4));
        }
        self.last = Some((block.head.number, block.head.hash, now));
    }
}
