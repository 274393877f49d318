//! Any chain that speaks Ethereum's JSON-RPC, through one or several providers.
//!
//! Every question is answered by one provider as a whole: a view, a block check or the receipts of a nonce never mix
//! what two nodes say. If one does not answer, the next is asked the whole question again.

mod ask;
mod identity;
mod provider;
mod read;
#[cfg(test)]
mod tests;

pub use provider::ProviderOptions;
pub use read::{call_object, receipt as read_receipt};

use super::{Asked, Target, TargetError};
use crate::http::{Client, Rules};
use alloy_primitives::{Address, B256, Bytes};
use ask::{Failed, RpcError};
use identity::Identity;
use provider::Provider;
use sender_model::{BlockCheck, Intent, Nonce, Quote, ReceiptAnswer, SendResponse, Simulation, View};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// Where a chain without the tag `finalized` is taken to be final.
pub const CONFIRMATIONS: u64 = 12;

/// A chain behind JSON-RPC. See the [module](self).
pub struct Evm {
    chain_id: u64,
    providers: Vec<Arc<Provider>>,
    /// The chain's first block, once it is known.
    genesis: OnceLock<B256>,
}

impl core::fmt::Debug for Evm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Evm")
            .field("chain_id", &self.chain_id)
            .field("providers", &self.providers.len())
            .finish()
    }
}

impl Evm {
    /// A chain with these providers, in the order of preference. Their URLs may hold keys and are never printed.
    pub fn new(chain_id: u64, urls: &[String], options: ProviderOptions) -> Self {
        // The operator chose these addresses; they may be anywhere.
        let client = Client::new(Rules::anywhere());
        let provider = |(index, url): (usize, &String)| {
            Arc::new(Provider::new(index, url.clone(), client.clone(), options))
        };
        let providers = urls.iter().enumerate().map(provider).collect();
        Self { chain_id, providers, genesis: OnceLock::new() }
    }

    /// Whether the first provider that answers is of this chain; an error if one is of another.
    pub async fn check(&self) -> Result<(), TargetError> {
        for provider in &self.providers {
            match provider.call("eth_chainId", json!([])).await {
                Ok(answer) if read::quantity(&answer) == Some(u128::from(self.chain_id)) => {}
                Ok(answer) => {
                    return Err(self.error(&format!("provider {} is of chain {answer}", provider.index)));
                }
                Err(why) => {
                    tracing::warn!(chain = self.chain_id, provider = provider.index, %why, "Sender: provider")
                }
            }
        }
        Ok(())
    }

    fn error(&self, why: &impl ToString) -> TargetError {
        TargetError { chain_id: self.chain_id, why: why.to_string() }
    }

    /// Asks one provider after the other until one answers the whole question.
    async fn ask<T, F>(&self, question: impl Fn(Arc<Provider>) -> F) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        let mut last = Failed::Resting;
        for provider in &self.providers {
            if !provider.is_open() {
                continue;
            }
            let answer = match self.recognise(provider).await {
                Ok(()) => question(provider.clone()).await,
                Err(failed) => Err(failed),
            };
            match answer {
                Err(failed) if failed.asks_another() => last = failed,
                answered => return answered,
            }
        }
        Err(last)
    }

    /// Makes sure that a provider is of this chain.
    async fn recognise(&self, provider: &Provider) -> Result<(), Failed> {
        provider.identify_itself(self.chain_id, self.genesis.get().copied()).await
    }

    fn told<T>(&self, answer: Result<T, Failed>) -> Result<T, TargetError> {
        answer.map_err(|why| self.error(&why))
    }

    async fn simulate_now(&self, from: Address, intent: &Intent) -> Simulation {
        let call = read::call_object(from, intent);
        let method = if intent.gas.is_some() { "eth_call" } else { "eth_estimateGas" };
        let params = if intent.gas.is_some() { json!([call, "latest"]) } else { json!([call]) };
        let asked = self.ask(|provider| {
            let params = params.clone();
            async move { provider.call(method, params).await }
        });
        match (asked.await, intent.gas) {
            (Ok(_), Some(gas)) => Simulation::Gas(gas),
            (Ok(answer), None) => match read::quantity(&answer).and_then(|gas| u64::try_from(gas).ok()) {
                Some(gas) => Simulation::Gas(gas),
                None => Simulation::Error,
            },
            (Err(Failed::Refused(RpcError { code, message, data })), _) => {
                read_refusal(code, &message, data.as_ref())
            }
            (Err(_), _) => Simulation::Error,
        }
    }

    /// Hands bytes to one provider after the other. Only silence and refusals for lack of capacity lead to the next: an
    /// answer about the transaction is an answer.
    async fn send_now(&self, bytes: &Bytes) -> SendResponse {
        let mut last = SendResponse::Disconnected;
        for provider in self.providers.iter().filter(|provider| provider.is_open()) {
            let sent = match self.recognise(provider).await {
                Ok(()) => provider.call("eth_sendRawTransaction", json!([bytes])).await,
                Err(failed) => Err(failed),
            };
            last = match sent {
                Ok(_) => return SendResponse::Hash,
                Err(Failed::Refused(RpcError { code, message, .. })) => {
                    return SendResponse::Error { http_status: None, code: Some(code), message };
                }
                Err(Failed::Status(status)) => SendResponse::Error {
                    http_status: Some(status),
                    code: None,
                    message: format!("HTTP status {status}"),
                },
                Err(Failed::TimedOut) => SendResponse::TimedOut,
                Err(_) => SendResponse::Disconnected,
            };
        }
        last
    }
}

/// What a node's refusal to execute means. Only what the execution itself came to fails a request.
pub fn read_refusal(code: i64, message: &str, data: Option<&Value>) -> Simulation {
    const ENDS: [&str; 8] = [
        "revert",
        "gas required exceeds",
        "out of gas",
        "outofgas",
        "invalid opcode",
        "invalid jump",
        "stack underflow",
        "intrinsic gas",
    ];
    let text = message.to_lowercase();
    if code == 3 || ENDS.iter().any(|end| text.contains(end)) {
        let reason = message.chars().take(512).collect();
        return Simulation::Reverted { reason, data: read::revert_data(data) };
    }
    tracing::debug!(code, message, "Sender: no simulation");
    Simulation::Error
}

impl Target for Evm {
    fn chain_id(&self) -> u64 {
        self.chain_id
    }

    fn view(&self, account: Address) -> Asked<'_, Result<View, TargetError>> {
        Box::pin(
            async move { self.told(self.ask(|provider| async move { provider.view(account).await }).await) },
        )
    }

    fn simulate<'a>(&'a self, from: Address, intent: &'a Intent) -> Asked<'a, Simulation> {
        Box::pin(self.simulate_now(from, intent))
    }

    fn quote(&self) -> Asked<'_, Result<Quote, TargetError>> {
        Box::pin(async move { self.told(self.ask(|provider| async move { provider.quote().await }).await) })
    }

    fn send(&self, bytes: Bytes) -> Asked<'_, SendResponse> {
        Box::pin(async move { self.send_now(&bytes).await })
    }

    fn receipts(&self, hashes: Vec<B256>) -> Asked<'_, Vec<(B256, ReceiptAnswer)>> {
        Box::pin(async move {
            let asked = self.ask(|provider| {
                let hashes = hashes.clone();
                async move { provider.receipts(hashes).await }
            });
            let silence = |_| hashes.iter().map(|hash| (*hash, ReceiptAnswer::Error)).collect();
            asked.await.unwrap_or_else(silence)
        })
    }

    fn check_block(&self, number: u64) -> Asked<'_, Result<BlockCheck, TargetError>> {
        Box::pin(async move {
            self.told(self.ask(|provider| async move { provider.check_block(number).await }).await)
        })
    }

    fn identify(&self, account: Address, nonce: Nonce) -> Asked<'_, Result<Option<B256>, TargetError>> {
        Box::pin(async move {
            self.told(self.ask(|provider| async move { provider.identify(account, nonce).await }).await)
        })
    }

    fn genesis(&self) -> Asked<'_, Result<Option<B256>, TargetError>> {
        Box::pin(async move { self.told(self.ask(|provider| async move { provider.genesis().await }).await) })
    }

    fn expect_genesis(&self, genesis: B256) {
        let _known = self.genesis.set(genesis);
    }

    fn trouble(&self) -> Option<String> {
        let wrong = |provider: &&Arc<Provider>| provider.identity() == Identity::Wrong;
        let wrong = self.providers.iter().filter(wrong).count();
        if wrong > 0 {
            return Some(format!("{wrong} of {} providers are of another chain", self.providers.len()));
        }
        let down = self.providers.iter().filter(|provider| !provider.is_open()).count();
        (down > 0).then(|| format!("{down} of {} providers do not answer", self.providers.len()))
    }
}

/// A JSON value that is nothing.
fn is_null(value: &Value) -> bool {
    value.is_null()
}
