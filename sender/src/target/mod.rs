//! What the sender asks a chain. Each answer is one node's answer (see [`sender_model::View`]).

mod evm;

pub use evm::{
    CONFIRMATIONS, Evm, ProviderOptions, call_object, on_top_params, read_on_top, read_receipt, read_refusal,
};

use alloy_primitives::{Address, B256, Bytes};
use core::{future::Future, pin::Pin};
use sender_model::{
    BlockCheck, ChainSettings, Identified, Intent, Limits, Nonce, Quote, ReceiptAnswer, SendResponse,
    Simulation, View, providers::ProviderHealth,
};
use tokio::sync::watch;

/// An answer that is on its way.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Nobody could answer. It proves nothing and fails nothing; the question is asked again.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("chain {chain_id} did not answer: {why}")]
pub struct TargetError {
    /// The chain.
    pub chain_id: u64,
    /// What is known about it; never an address that may hold a key.
    pub why: String,
}

/// What an account is woken by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct News {
    /// Changes whenever there is something on the chain that the account should look at.
    pub looks: u64,
    /// The newest final height, as far as it is known.
    pub finalized: u64,
}

/// A chain, however it is reached.
pub trait Target: Send + Sync {
    /// Which chain.
    fn chain_id(&self) -> u64;

    /// How one node sees an account, which knows its count to be within these two.
    fn view(&self, account: Address, known: Option<(u64, u64)>) -> Asked<'_, Result<View, TargetError>>;

    /// Whether something would work, and with how much gas: on the newest state or, if there are some, on top of other
    /// transactions of the account. A target that cannot do the latter says what the newest state alone comes to.
    fn simulate<'a>(
        &'a self,
        from: Address,
        intent: &'a Intent,
        before: &'a [Intent],
    ) -> Asked<'a, Simulation>;

    /// What the chain asks for now.
    fn quote(&self) -> Asked<'_, Result<Quote, TargetError>>;

    /// Hands the bytes of an account's transaction over. Sending the same bytes twice is harmless.
    fn send(&self, account: Address, hash: B256, bytes: Bytes) -> Asked<'_, SendResponse>;

    /// One node's receipts of some transactions.
    fn receipts(&self, hashes: Vec<B256>) -> Asked<'_, Vec<(B256, ReceiptAnswer)>>;

    /// What one node has at a height, and its final height.
    fn check_block(&self, number: u64) -> Asked<'_, Result<BlockCheck, TargetError>>;

    /// The transaction that used a nonce, which is in no block below `from`.
    fn identify(
        &self,
        account: Address,
        nonce: Nonce,
        from: u64,
    ) -> Asked<'_, Result<Identified, TargetError>>;

    /// What wakes an account. Without it accounts look by themselves.
    fn news(&self, _account: Address) -> Option<watch::Receiver<News>> {
        None
    }

    /// How often an account looks by itself although it is woken when something happens; none for the usual interval.
    fn look_ms(&self) -> Option<u64> {
        None
    }

    /// What it is like if nothing is set for it.
    fn defaults(&self) -> ChainSettings {
        ChainSettings::default()
    }

    /// What is set for the chain, from now on.
    fn configure(&self, _settings: &ChainSettings) {}

    /// The hash of the chain's first block, by which chains of the same number are told apart; none if it cannot be told.
    fn genesis(&self) -> Asked<'_, Result<Option<B256>, TargetError>> {
        Box::pin(core::future::ready(Ok(None)))
    }

    /// Whoever answers with another first block from now on is of another chain, and not to be asked.
    fn expect_genesis(&self, _genesis: B256) {}

    /// What no transaction may exceed here.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// The sender runs this account from now on: the place to raise a pool's limit for it.
    fn adopt(&self, _account: Address) {}

    /// Nonces of an account that stand in a block which is being built, so that nothing can replace them.
    fn bundled(&self, _account: Address) -> Vec<Nonce> {
        vec![]
    }

    /// How its providers fare, if it has some.
    fn providers(&self) -> Vec<ProviderHealth> {
        vec![]
    }

    /// Whether it works at the moment, in a few words for health pages; none if it does.
    fn trouble(&self) -> Option<String> {
        None
    }
}
