//! One provider: a URL, and what this process remembers of what it said.

use super::{
    ask::{self, Answer, Batch, Call},
    heads::Seen,
    identity::Identity,
};
use crate::http::Client;
use futures_util::future::try_join_all;
use sender_model::providers::{Failed, Trouble};
use std::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// How a chain's providers are asked.
#[derive(Clone, Copy, Debug)]
pub struct ProviderOptions {
    /// How long an answer may take.
    pub timeout: Duration,
    /// Where a chain without the tag `finalized` is taken to be final, in blocks below the newest one.
    pub confirmations: u64,
    /// Where a chain is taken to be final whatever its tag says, in blocks below the newest one.
    pub finality_depth: Option<u64>,
    /// Calls per second that each provider is asked at most; by default only what its refusals teach.
    pub calls_per_second: Option<u64>,
    /// How often the newest block is asked for while something is in flight; by default half of the time between blocks.
    pub poll: Option<Duration>,
}

impl Default for ProviderOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            confirmations: super::CONFIRMATIONS,
            finality_depth: None,
            calls_per_second: None,
            poll: None,
        }
    }
}

/// One provider. See the [module](self).
pub(super) struct Provider {
    url: String,
    client: Client,
    identity: Mutex<Identity>,
    /// Whether it takes only one call in a request.
    no_batches: AtomicBool,
    seen: Mutex<Seen>,
}

impl Provider {
    pub(super) fn new(url: String, client: Client) -> Self {
        Self {
            url,
            client,
            identity: Mutex::default(),
            no_batches: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    pub(super) fn identity(&self) -> Identity {
        *self.identity.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn set_identity(&self, identity: Identity) {
        *self.identity.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = identity;
    }

    /// What it said about the chain.
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Makes calls, in one request if it takes several.
    pub(super) async fn call(&self, calls: &[Call], timeout: Duration) -> Result<Vec<Answer>, Failed> {
        let answers = self.call_all(calls, timeout).await;
        if matches!(&answers, Err(failed) if failed.trouble == Trouble::Disconnected) {
            self.set_identity(Identity::Unknown);
        }
        answers
    }

    async fn call_all(&self, calls: &[Call], timeout: Duration) -> Result<Vec<Answer>, Failed> {
        if calls.len() <= 1 || !self.no_batches.load(Ordering::Relaxed) {
            match ask::call(&self.client, &self.url, timeout, calls).await? {
                Batch::Answers(answers) => return Ok(answers),
                Batch::Refused => self.no_batches.store(true, Ordering::Relaxed),
            }
        }
        let alone = calls.iter().map(|call| async move {
            match ask::call(&self.client, &self.url, timeout, std::slice::from_ref(call)).await? {
                Batch::Answers(mut answers) => answers.pop().ok_or_else(|| Trouble::TimedOut.into()),
                Batch::Refused => Err(Trouble::Garbage("no answer to a single call".into()).into()),
            }
        });
        try_join_all(alone).await
    }
}
