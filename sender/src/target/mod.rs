//! What the sender asks a chain. Each answer is one node's answer (see [`sender_model::View`]).

mod evm;

pub use evm::{CONFIRMATIONS, Evm, ProviderOptions, call_object, read_receipt, read_refusal};

use alloy_primitives::{Address, B256, Bytes};
use core::{future::Future, pin::Pin};
use sender_model::{BlockCheck, Intent, Limits, Nonce, Quote, ReceiptAnswer, SendResponse, Simulation, View};
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

/// A chain, however it is reached.
pub trait Target: Send + Sync {
    /// Which chain.
    fn chain_id(&self) -> u64;

    /// How one node sees an account.
    fn view(&self, account: Address) -> Asked<'_, Result<View, TargetError>>;

    /// Whether something would work, and with how much gas.
    fn simulate<'a>(&'a self, from: Address, intent: &'a Intent) -> Asked<'a, Simulation>;

    /// What the chain asks for now.
    fn quote(&self) -> Asked<'_, Result<Quote, TargetError>>;

    /// Hands bytes over. Sending the same bytes twice is harmless.
    fn send(&self, bytes: Bytes) -> Asked<'_, SendResponse>;

    /// One node's receipts of some transactions.
    fn receipts(&self, hashes: Vec<B256>) -> Asked<'_, Vec<(B256, ReceiptAnswer)>>;

    /// What one node has at a height, and its final height.
    fn check_block(&self, number: u64) -> Asked<'_, Result<BlockCheck, TargetError>>;

    /// The transaction that used a nonce on the finalized chain, if one node can tell.
    fn identify(&self, account: Address, nonce: Nonce) -> Asked<'_, Result<Option<B256>, TargetError>>;

    /// A number that changes whenever something has happened that accounts should look at. Without one they look by
    /// themselves.
    fn news(&self) -> Option<watch::Receiver<u64>> {
        None
    }

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

    /// Whether it works at the moment, in a few words for health pages; none if it does.
    fn trouble(&self) -> Option<String> {
        None
    }
}
