//! Any chain that speaks Ethereum's JSON-RPC, through one or several providers.
//!
//! Every question is answered by one provider as a whole: a view, a block check or the receipts of a nonce never mix
//! what two nodes say. If one does not answer, the next is asked the whole question again; where nonces or money depend on
//! the answer, a second one must agree (see [`sender_model::providers`]).
//!
//! **Calls are few.** While something is in flight one [watcher](watch) asks for the newest block, for all accounts of the
//! chain. An account is woken when a block has a transaction of its own, and then asks for two values; receipts, block
//! hashes and finality come from what the watcher has seen.

mod ask;
mod heads;
mod identify;
mod identity;
mod provider;
mod questions;
mod read;
mod simulate;
#[cfg(test)]
mod tests;
mod watch;

pub use provider::ProviderOptions;
pub use read::{call_object, receipt as read_receipt};
pub use simulate::{on_top_params, read_on_top};

use super::{Asked, News, Target, TargetError};
use crate::http::{Client, Rules};
use alloy_primitives::{Address, B256, Bytes};
use ask::{Answer, Call};
use identity::Identity;
use provider::Provider;
use sender_model::{
    BlockCheck, ChainSettings, Identified, Intent, Nonce, Quote, ReceiptAnswer, SendResponse, Simulation,
    View,
    providers::{
        self, Failed, Panel, ProviderHealth, ProviderState, Providers, Question, Trouble, Unanswered,
    },
};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Instant,
};
use tokio::sync::watch as channel;
use types::{Duration, Time};
use watch::Watched;

/// Where a chain without the tag `finalized` is taken to be final.
pub const CONFIRMATIONS: u64 = 12;
/// The longest that a call waits for its provider's budget.
const BUDGET_WAIT_MAX: Duration = Duration::from_millis(3_000);
/// How often an account looks at the chain by itself: everything of its own wakes it.
const LOOK_MS: u64 = 30_000;

/// A chain behind JSON-RPC. See the [module](self).
pub struct Evm(Arc<Chain>);

/// What the watcher and all questions share.
struct Chain {
    chain_id: u64,
    /// As the chain was made, and as it is set now.
    made_with: ProviderOptions,
    options: Mutex<ProviderOptions>,
    providers: Vec<Provider>,
    panel: Mutex<Providers>,
    started: Instant,
    /// The chain's first block, once it is known.
    genesis: OnceLock<B256>,
    watched: Watched,
}

impl core::fmt::Debug for Evm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Evm")
            .field("chain_id", &self.0.chain_id)
            .field("providers", &self.0.providers.len())
            .finish()
    }
}

impl Panel for Chain {
    fn with<R>(&self, look: impl FnOnce(&mut Providers, Time) -> R) -> R {
        let now = self.now();
        look(&mut self.panel.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), now)
    }
}

impl Chain {
    /// How providers are asked now.
    fn options(&self) -> ProviderOptions {
        *self.options.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The time since the start; only differences of it matter.
    fn now(&self) -> Time {
        Time::ZERO + self.started.elapsed()
    }

    /// Makes calls within a provider's budget.
    async fn call(&self, index: usize, calls: Vec<Call>) -> Result<Vec<Answer>, Failed> {
        let count = calls.len() as u64;
        let wait = self.with(|providers, now| providers.free_at(index, count, now).since(now));
        if !wait.is_zero() {
            tokio::time::sleep(wait.min(BUDGET_WAIT_MAX)).await;
        }
        let timeout = self.with(|providers, now| {
            providers.spend(index, count, now);
            providers.patience(index, self.made_with.timeout)
        });
        let answers = self.providers[index].call(&calls, timeout).await;
        if let Ok(answers) = &answers {
            let taken = answers.iter().filter(|answer| !ask::is_too_much(answer)).count() as u64;
            self.with(|providers, now| providers.took(index, taken, now));
        }
        answers
    }

    /// Makes one call whose errors are the provider's.
    async fn ask(&self, index: usize, call: Call, question: Question) -> Result<Value, Failed> {
        let answer = self.call(index, vec![call]).await?.pop();
        answer.unwrap_or(Ok(Value::Null)).map_err(|error| error.failed(question))
    }

    /// What a provider said cannot be. Perhaps it serves another chain by now.
    fn implausible(&self, index: usize, what: impl Into<String>) -> Failed {
        self.providers[index].set_identity(Identity::Unknown);
        Trouble::Implausible(what.into()).into()
    }

    fn told<T>(&self, answer: Result<T, Unanswered>) -> Result<T, TargetError> {
        answer.map_err(|why| TargetError { chain_id: self.chain_id, why: why.to_string() })
    }
}

impl Evm {
    /// A chain with these providers, in the order of preference. Their URLs may hold keys and are never printed.
    pub fn new(chain_id: u64, urls: &[String], options: ProviderOptions) -> Self {
        // The operator chose these addresses; they may be anywhere.
        let client = Client::new(Rules::anywhere());
        let provider = |url: &String| Provider::new(url.clone(), client.clone());
        Self(Arc::new(Chain {
            chain_id,
            made_with: options,
            options: Mutex::new(options),
            providers: urls.iter().map(provider).collect(),
            panel: Mutex::new(Providers::new(urls.len(), options.calls_per_second)),
            started: Instant::now(),
            genesis: OnceLock::new(),
            watched: Watched::default(),
        }))
    }

    /// Asks every provider which chain it serves. One that serves another is not asked anything, and is shown.
    pub async fn check(&self) {
        let chain = &self.0;
        for index in 0..chain.providers.len() {
            match chain.recognise(index).await {
                Ok(()) => chain.with(|providers, _| providers.succeeded(index)),
                Err(Failed { trouble, wait }) => {
                    tracing::warn!(chain = chain.chain_id, provider = index, why = %trouble, "Sender: provider");
                    chain.with(|providers, now| providers.failed(index, trouble, wait, now));
                }
            }
        }
    }
}

/// What a node's refusal to execute means. Only what the execution itself came to fails a request.
pub fn read_refusal(code: i64, message: &str, data: Option<&Value>) -> Simulation {
    match providers::blame(Question::Simulate, code, message) {
        providers::Blame::Question => {
            let reason = message.chars().take(512).collect();
            Simulation::Reverted { reason, data: read::revert_data(data), on_top: false }
        }
        providers::Blame::Provider(trouble) => {
            tracing::debug!(code, message, %trouble, "Sender: no simulation");
            Simulation::Error
        }
    }
}

impl Target for Evm {
    fn chain_id(&self) -> u64 {
        self.0.chain_id
    }

    fn view(&self, account: Address, known: Option<(u64, u64)>) -> Asked<'_, Result<View, TargetError>> {
        Box::pin(async move {
            self.watch();
            let chain = &*self.0;
            let ask = |index| chain.view_at(index, account);
            let merge = |view: View, other: &View| view.tempered(other, known);
            chain.told(providers::confirmed(chain, ask, |view| !view.is_expected(known), merge).await)
        })
    }

    fn simulate<'a>(
        &'a self,
        from: Address,
        intent: &'a Intent,
        before: &'a [Intent],
    ) -> Asked<'a, Simulation> {
        Box::pin(async move {
            let chain = &*self.0;
            let fails = |simulated: &Simulation| matches!(simulated, Simulation::Reverted { .. });
            let ask = |index| chain.simulate_at(index, from, intent, before);
            let simulated = providers::confirmed(chain, ask, fails, providers::milder).await;
            simulated.unwrap_or(Simulation::Error)
        })
    }

    fn quote(&self) -> Asked<'_, Result<Quote, TargetError>> {
        Box::pin(async move {
            let quote = providers::first(&*self.0, |index| self.0.quote_at(index)).await;
            self.0.told(quote.map(|(_, quote)| quote))
        })
    }

    fn send(&self, account: Address, hash: B256, bytes: Bytes) -> Asked<'_, SendResponse> {
        Box::pin(async move {
            self.watch();
            let chain = &*self.0;
            chain.watched.expect(hash, account);
            providers::send(chain, hash, |index| chain.send_at(index, &bytes)).await
        })
    }

    fn receipts(&self, hashes: Vec<B256>) -> Asked<'_, Vec<(B256, ReceiptAnswer)>> {
        Box::pin(async move {
            let chain = &*self.0;
            let found = providers::first(chain, |index| chain.receipts_at(index, &hashes)).await;
            let silence = || hashes.iter().map(|hash| (*hash, ReceiptAnswer::Error)).collect();
            found.map_or_else(|_| silence(), |(_, found)| found)
        })
    }

    fn check_block(&self, number: u64) -> Asked<'_, Result<BlockCheck, TargetError>> {
        Box::pin(async move {
            self.watch();
            let chain = &*self.0;
            let ask = |index| chain.check_at(index, number);
            let merge = |check: BlockCheck, other: &BlockCheck| Some(check.agreed(other));
            chain.told(providers::confirmed(chain, ask, BlockCheck::claims_finality, merge).await)
        })
    }

    fn identify(
        &self,
        account: Address,
        nonce: Nonce,
        from: u64,
    ) -> Asked<'_, Result<Identified, TargetError>> {
        Box::pin(async move {
            let chain = &*self.0;
            let found = providers::first(chain, |index| chain.identify_at(index, account, nonce, from)).await;
            chain.told(found.map(|(_, found)| found))
        })
    }

    fn news(&self, account: Address) -> Option<channel::Receiver<News>> {
        Some(self.0.watched.subscribe(account))
    }

    fn look_ms(&self) -> Option<u64> {
        Some(LOOK_MS)
    }

    fn defaults(&self) -> ChainSettings {
        let made_with = self.0.made_with;
        ChainSettings {
            confirmations: Some(made_with.confirmations),
            finality_depth: made_with.finality_depth,
            calls_per_second: made_with.calls_per_second,
            ..ChainSettings::default()
        }
    }

    fn configure(&self, settings: &ChainSettings) {
        let made_with = self.0.made_with;
        let options = ProviderOptions {
            confirmations: settings.confirmations.unwrap_or(made_with.confirmations),
            finality_depth: settings.finality_depth.or(made_with.finality_depth),
            calls_per_second: settings.calls_per_second.or(made_with.calls_per_second),
            poll: settings.poll_ms.map(Duration::from_millis).or(made_with.poll),
            ..made_with
        };
        *self.0.options.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = options;
        self.0.with(|providers, _| providers.set_calls_per_second(options.calls_per_second));
    }

    fn genesis(&self) -> Asked<'_, Result<Option<B256>, TargetError>> {
        Box::pin(async move {
            let first = providers::first(&*self.0, |index| self.0.first_block_at(index)).await;
            self.0.told(first.map(|(_, hash)| hash))
        })
    }

    fn expect_genesis(&self, genesis: B256) {
        if self.0.genesis.set(genesis).is_ok() {
            // Providers that were asked before were not asked for this.
            self.0.providers.iter().for_each(|provider| provider.set_identity(Identity::Unknown));
        }
    }

    fn providers(&self) -> Vec<ProviderHealth> {
        self.0.with(|providers, now| providers.health(now))
    }

    fn trouble(&self) -> Option<String> {
        let health = self.providers();
        let troubled = health.iter().filter(|provider| provider.state != ProviderState::Ok);
        let said: Vec<String> = troubled
            .map(|one| format!("provider {}: {}", one.index, one.reason.as_deref().unwrap_or("it rests")))
            .collect();
        (!said.is_empty())
            .then(|| format!("{} of {} providers: {}", said.len(), health.len(), said.join("; ")))
    }
}
