//! A chain in memory that mines what it can at once, unless it is told to wait, and that can lose its answers.

use crate::target::{Asked, News, Target, TargetError};
use alloy_consensus::{Transaction as _, TxEnvelope, transaction::SignerRecoverable};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use sender_model::{
    BlockCheck, Head, Identified, Inclusion, Intent, Limits, Nonce, Quote, ReceiptAnswer, SendResponse,
    Simulation, View,
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::sync::watch;

const GWEI: u128 = 1_000_000_000;

#[derive(Default)]
pub(super) struct State {
    balances: HashMap<Address, U256>,
    counts: HashMap<Address, u64>,
    pool: BTreeMap<(Address, u64), TxEnvelope>,
    mined: Vec<(B256, Address, u64, Option<Address>, u64)>,
    height: u64,
    /// Whether nothing is mined.
    pub waits: bool,
    /// Whether the answers to sends are lost although the transactions arrive.
    pub mute: bool,
    /// Whether nobody answers at all.
    pub gone: bool,
    /// A receiver of whom everything is refused.
    pub refuses: Option<Address>,
    /// Whether whoever looks at it panics, once.
    pub panics: bool,
    /// The first block, if it is told.
    pub genesis: Option<B256>,
    /// What the chain takes.
    pub limits: Limits,
    /// An account of which only an old block and an old balance are seen.
    pub lags: Option<(Address, u64, U256)>,
}

pub(super) struct Chain {
    id: u64,
    state: Mutex<State>,
    news: watch::Sender<News>,
}

impl Chain {
    pub(super) fn new(id: u64) -> Arc<Self> {
        Arc::new(Self { id, state: Mutex::default(), news: watch::channel(News::default()).0 })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(super) fn pay(&self, address: Address, value: U256) {
        *self.state().balances.entry(address).or_default() += value;
    }

    pub(super) fn balance(&self, address: Address) -> U256 {
        self.state().balances.get(&address).copied().unwrap_or_default()
    }

    /// How often something was mined that was sent there.
    pub(super) fn received(&self, to: Address) -> usize {
        self.state().mined.iter().filter(|(_, _, _, receiver, _)| *receiver == Some(to)).count()
    }

    /// Changes how the chain behaves, and mines what can be mined then.
    pub(super) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.mine();
    }

    fn mine(&self) {
        let mut state = self.state();
        if state.waits {
            return;
        }
        let before = state.mined.len();
        while let Some(key) = state.pool.keys().find(|(from, nonce)| *nonce == count(&state, *from)).copied()
        {
            let tx = state.pool.remove(&key).unwrap();
            let paid = tx.value() + U256::from(tx.gas_limit()) * U256::from(GWEI);
            let height = state.height + 1;
            *state.balances.entry(key.0).or_default() -= paid;
            *state.counts.entry(key.0).or_default() += 1;
            if let Some(to) = tx.to() {
                *state.balances.entry(to).or_default() += tx.value();
            }
            state.mined.push((*tx.tx_hash(), key.0, key.1, tx.to(), height));
        }
        if state.mined.len() > before {
            state.height += 1;
        }
        drop(state);
        self.news.send_modify(|news| news.looks += 1);
    }

    fn take(&self, bytes: &Bytes) -> SendResponse {
        let refused = |message: &str| SendResponse::Error {
            http_status: None,
            code: Some(-32000),
            message: message.into(),
        };
        let tx = TxEnvelope::decode_2718_exact(bytes).unwrap();
        let from = tx.recover_signer().unwrap();
        let mut state = self.state();
        if state.mined.iter().any(|(hash, ..)| hash == tx.tx_hash()) {
            return refused("already known");
        }
        if tx.nonce() < count(&state, from) {
            return refused("nonce too low");
        }
        let known = state.pool.get(&(from, tx.nonce()));
        if known.is_some_and(|known| known.max_fee_per_gas() * 11 / 10 > tx.max_fee_per_gas() && known != &tx)
        {
            return refused("replacement transaction underpriced");
        }
        let hash = *tx.tx_hash();
        state.pool.insert((from, tx.nonce()), tx);
        drop(state);
        self.mine();
        SendResponse::Hash(hash)
    }

    fn answer<T>(&self, answer: impl FnOnce(&State) -> T) -> Result<T, TargetError> {
        let state = self.state();
        if state.gone {
            return Err(TargetError { chain_id: self.id, why: "it is gone".into() });
        }
        Ok(answer(&state))
    }
}

fn count(state: &State, address: Address) -> u64 {
    state.counts.get(&address).copied().unwrap_or_default()
}

fn head(number: u64) -> Head {
    Head { number, hash: keccak256(number.to_be_bytes()) }
}

const QUOTE: Quote = Quote::dynamic(GWEI, GWEI);

fn ready<'a, T: Send + 'a>(value: T) -> Asked<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Target for Chain {
    fn chain_id(&self) -> u64 {
        self.id
    }

    fn view(&self, account: Address, _: Option<(u64, u64)>) -> Asked<'_, Result<View, TargetError>> {
        if std::mem::take(&mut self.state().panics) {
            return Box::pin(async { panic!("as the test wants it") });
        }
        ready(self.answer(|state| {
            let now = || (state.height, state.balances.get(&account).copied().unwrap_or_default());
            let old =
                state.lags.filter(|(of, ..)| *of == account).map(|(_, height, balance)| (height, balance));
            let (height, balance) = old.unwrap_or_else(now);
            View {
                latest: head(height),
                latest_count: count(state, account),
                finalized_number: height,
                finalized_count: Some(count(state, account)),
                balance,
                quote: QUOTE,
            }
        }))
    }

    fn simulate<'a>(&'a self, _: Address, intent: &'a Intent, _: &'a [Intent]) -> Asked<'a, Simulation> {
        let refused = self.answer(|state| state.refuses.is_some() && state.refuses == intent.to);
        ready(match refused {
            Err(_) => Simulation::Error,
            Ok(true) => {
                let data = vec![1, 2].into();
                Simulation::Reverted { reason: "execution reverted".into(), data, on_top: false }
            }
            Ok(false) => Simulation::Gas(21_000),
        })
    }

    fn quote(&self) -> Asked<'_, Result<Quote, TargetError>> {
        ready(self.answer(|_| QUOTE))
    }

    fn send(&self, _: Address, _: B256, bytes: Bytes) -> Asked<'_, SendResponse> {
        let (gone, mute) = {
            let state = self.state();
            (state.gone, state.mute)
        };
        if gone {
            return ready(SendResponse::Disconnected);
        }
        let answer = self.take(&bytes);
        ready(if mute { SendResponse::TimedOut } else { answer })
    }

    fn receipts(&self, hashes: Vec<B256>) -> Asked<'_, Vec<(B256, ReceiptAnswer)>> {
        let find = |hash: B256| {
            let answer = self.answer(|state| {
                let found = state.mined.iter().find(|(mined, ..)| *mined == hash)?;
                Some(Inclusion { block: head(found.4), success: true, receipt: None })
            });
            let answer = match answer {
                Ok(Some(inclusion)) => ReceiptAnswer::Found(inclusion),
                Ok(None) => ReceiptAnswer::NotFound,
                Err(_) => ReceiptAnswer::Error,
            };
            (hash, answer)
        };
        ready(hashes.into_iter().map(find).collect())
    }

    fn check_block(&self, number: u64) -> Asked<'_, Result<BlockCheck, TargetError>> {
        ready(self.answer(|state| BlockCheck {
            number,
            hash: (number <= state.height).then(|| head(number).hash),
            finalized_number: state.height,
        }))
    }

    fn identify(&self, account: Address, nonce: Nonce, _: u64) -> Asked<'_, Result<Identified, TargetError>> {
        ready(self.answer(|state| {
            let found = state.mined.iter().find(|(_, from, mined, ..)| (*from, *mined) == (account, nonce));
            let found = found.map(|found| Identified::Found { hash: found.0, block: head(found.4) });
            found.unwrap_or(Identified::Unknown)
        }))
    }

    fn genesis(&self) -> Asked<'_, Result<Option<B256>, TargetError>> {
        ready(self.answer(|state| state.genesis))
    }

    fn limits(&self) -> Limits {
        self.state().limits
    }

    fn news(&self, _: Address) -> Option<watch::Receiver<News>> {
        Some(self.news.subscribe())
    }
}
