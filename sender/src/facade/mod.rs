//! The sender as everything else sees it: one handle, cheap to clone, with a typed call for everything there is to ask.
//!
//! REST, JSON-RPC, the command line and tests are all written against [`Sender`]; nothing else touches the store.
//!
//! * **Names.** A request's name is its idempotency key ([`sender_model::RequestId`]); [`Sender::by_key`] is [`Sender::get`] for a text
//!   that may not be a name at all. An account is a chain and an address ([`sender_model::AccountId`]); [`Sender::home_chain`] is the
//!   chain of callers who name none.
//! * **Errors.** [`Error::kind`] says which answer fits (404, 409, 422, ..), [`Error::should_retry`] whether the same may
//!   work later. A nonce conflict is `Error::Operation(OperationError::NonceConflict { current, attempted })`.
//! * **JSON.** Everything that comes out implements `Serialize`, with the names that callers see (`camelCase`).
//! * **Secrets.** [`Sender::create_endpoint`] and [`Sender::rotate_secret`] are the only calls that show one, once.
//! * **Webhooks.** [`Sender::start`] hands [`crate::deliveries::Deliveries`] to the deliverer: rows, the workers' messages and
//!   all endpoints. Deliveries are changed only under the epoch of [`crate::deliveries::DeliveryMessage::Taken`].
//! * **Live push.** [`Sender::subscribe`] gives every event once it is durable, of all accounts that this process accepts
//!   requests for or runs; a reader that is too slow is told how many it has lost, as broadcast channels do.
//! * **Dropping a call is safe**: whatever was begun is finished, or was never begun.

mod accounts;
mod chains;
mod error;
mod quotes;
mod requests;
#[cfg(test)]
mod tests;
mod types;
mod waiting;
mod webhooks;

pub use error::{Error, ErrorKind};
pub use types::{
    AccountView, AttemptStatus, AttemptView, Cancelling, ChainView, DeliveryFilter, DeliveryId, DeliveryView,
    Done, EndpointView, FeeReport, Filter, Funding, Group, Loan, NewEndpoint, NewGroup, Page, RawTransaction,
    Replayed, SendFrom, Sending, Taken, Transaction, TransactionRequest,
};

use crate::{
    deliveries::Deliveries, keeper, registry::Registry, shared::Shared, stats, store::StoreError,
    target::Target,
};
use quotes::Quotes;
use sender_model::{Event, providers::ProviderHealth};
use std::{path::Path, sync::Arc};
use tokio::sync::{broadcast, mpsc};

/// Settings of a sender.
pub use crate::settings::{Settings, StartDeliveries};

/// What became of the rows when they were to be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copied {
    /// They are in the new file.
    File,
    /// They are in memory alone, and are not copied.
    Memory,
    /// They are in a server of their own, and are not copied: that server has its own backups.
    Elsewhere,
}

/// The running sender. See the [module](self).
#[derive(Clone)]
pub struct Sender {
    shared: Arc<Shared>,
    quotes: Arc<Quotes>,
}

impl core::fmt::Debug for Sender {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sender").field("holder", &self.shared.holder).finish()
    }
}

impl Sender {
    /// Starts, in the runtime that this is called in: endpoints and groups are read, and every account with something to
    /// do is taken over.
    pub async fn start(settings: Settings) -> Result<Self, Error> {
        let (parts, deliveries) = settings.into_parts()?;
        let registry = Registry::load(&*parts.store).await?;
        let (messages, heard) = mpsc::unbounded_channel();
        let (store, endpoints) = (parts.store.clone(), registry.watch_endpoints());
        let stats = Arc::<stats::Stats>::default();
        if let Some(start) = deliveries {
            start(Deliveries { store, messages: heard, endpoints, stats: stats.clone() });
        }
        let shared = Arc::new(Shared::new(parts, registry, messages, stats));
        shared.configure_targets();
        shared.spawn(chains::follow(shared.clone()));
        for chain_id in shared.targets.keys().copied() {
            match shared.check_chain(chain_id).await {
                // Before an account is taken it is asked again.
                Err(Error::Target(why)) => tracing::warn!(%why, "Sender: the chain is not known yet"),
                // One chain's trouble is that chain's: its accounts rest, and all others go on.
                Err(why @ Error::OtherChain { .. }) if chain_id != shared.home_chain => {
                    tracing::error!(chain_id, %why, "Sender: the chain is left alone");
                }
                checked => checked?,
            }
        }
        keeper::discover(&shared).await?;
        let sender = Self { shared, quotes: Arc::default() };
        sender.shared.spawn(keeper::run(sender.shared.clone()));
        sender.shared.spawn(keeper::run_groups(sender.clone()));
        Ok(sender)
    }

    /// Stops: no new calls, workers finish what they are writing and give their leases back.
    pub async fn shutdown(&self) {
        self.shared.stopping.send_replace(true);
        for task in self.shared.take_tasks() {
            // A worker that panicked has lost its lease; the rows are whole.
            drop(task.await);
        }
    }

    /// Copies all rows into a new file, if they are in a file here. Blocks until it is done.
    pub fn copy(&self, path: &Path) -> Result<Copied, StoreError> {
        let store = &self.shared.store;
        Ok(match store.copy(path)? {
            true => Copied::File,
            false if store.is_shared() => Copied::Elsewhere,
            false => Copied::Memory,
        })
    }

    /// The chain of callers who name none.
    pub fn home_chain(&self) -> u64 {
        self.shared.home_chain
    }

    /// The chains that there are targets for, and what is wrong with one, if something is.
    pub fn chains(&self) -> Vec<(u64, Option<String>)> {
        let trouble = |chain_id: u64, target: &Arc<dyn Target>| {
            self.shared.chain_trouble(chain_id).or_else(|| target.trouble())
        };
        self.shared.targets.iter().map(|(chain_id, target)| (*chain_id, trouble(*chain_id, target))).collect()
    }

    /// How the providers of a chain fare.
    pub fn providers(&self, chain_id: u64) -> Vec<ProviderHealth> {
        self.shared.targets.get(&chain_id).map_or_else(Vec::new, |target| target.providers())
    }

    /// What is wrong with the store, if something is.
    pub fn store_trouble(&self) -> Option<String> {
        self.shared.store.trouble()
    }

    /// Every event, once it is durable.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.shared.events.subscribe()
    }

    /// Numbers.
    pub fn stats(&self) -> stats::Snapshot {
        self.shared.stats.snapshot()
    }

    /// How many accounts cannot see their chain or cannot sign, and of how many the next transaction has been waiting
    /// for long.
    pub fn troubled(&self) -> (usize, usize) {
        self.shared.stats.troubled()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}
