//! The sender as everything else sees it: one handle, cheap to clone, with a typed call for everything there is to ask.
//!
//! REST, JSON-RPC, the command line and tests are all written against [`Sender`]; nothing else touches the store.
//!
//! * **Names.** A request's name is its idempotency key ([`RequestId`]); [`Sender::by_key`] is [`Sender::get`] for a text
//!   that may not be a name at all. An account is a chain and an address ([`AccountId`]); [`Sender::home_chain`] is the
//!   chain of callers who name none.
//! * **Errors.** [`Error::kind`] says which answer fits (404, 409, 422, ..), [`Error::should_retry`] whether the same may
//!   work later. A nonce conflict is `Error::Operation(OperationError::NonceConflict { current, attempted })`.
//! * **JSON.** Everything that comes out implements `Serialize`, with the names that callers see (`camelCase`).
//! * **Secrets.** [`Sender::create_endpoint`] and [`Sender::rotate_secret`] are the only calls that show one, once.
//! * **Webhooks.** [`Sender::start`] hands [`crate::duty::Deliveries`] to the deliverer: rows, the workers' words and all
//!   endpoints. Deliveries are changed under the epoch that [`crate::duty::Duty::Taken`] tells, never otherwise.
//! * **Live push.** [`Sender::subscribe`] gives every event once it is durable, of all accounts that this process accepts
//!   requests for or runs; a reader that is too slow is told how many it has lost, as broadcast channels do.
//! * **Dropping a call is safe**: whatever was begun is finished, or was never begun.

mod error;
mod types;

pub use error::{Error, Kind};
pub use types::{
    AccountView, AttemptStatus, AttemptView, Cancelling, DeliveryFilter, DeliveryId, DeliveryView, Done,
    EndpointView, FeeReport, Filter, From, Funding, Group, Loan, NewEndpoint, NewGroup, Page, RawTransaction,
    StateName, Submission, Taken, Transaction,
};

use crate::{
    endpoint::Secret,
    model::{AccountId, Event, Fees, Health, Nonce, NonceHealth, RequestId},
    signer::Signer,
    stats,
};
use alloy_primitives::{Address, B256};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Settings of a sender.
pub use crate::settings::Settings;

/// The running sender. See the [module](self).
#[derive(Clone)]
pub struct Sender {
    inner: Arc<()>,
}

impl Sender {
    /// Starts, in the runtime that this is called in: endpoints and groups are read, and every account with something to
    /// do is taken over.
    pub async fn start(settings: Settings) -> Result<Self, Error> {
        todo!()
    }

    /// Stops: no new calls, workers finish what they are writing and give their leases back.
    pub async fn shutdown(&self) {
        todo!()
    }

    /// The chain of callers who name none.
    pub fn home_chain(&self) -> u64 {
        todo!()
    }

    // ---- transactions

    /// Accepts a request. When this returns it is durable.
    pub async fn submit(&self, submission: Submission) -> Result<Taken, Error> {
        todo!()
    }

    /// Accepts a transaction that an outside signer made for a nonce on loan.
    pub async fn submit_raw(&self, raw: RawTransaction) -> Result<Taken, Error> {
        todo!()
    }

    /// A request by name.
    pub async fn get(&self, id: &RequestId) -> Result<Transaction, Error> {
        todo!()
    }

    /// A request by idempotency key.
    pub async fn by_key(&self, key: &str) -> Result<Transaction, Error> {
        todo!()
    }

    /// A request by the hash of any of its attempts, whether mined or not.
    pub async fn by_hash(&self, hash: B256) -> Result<Option<Transaction>, Error> {
        todo!()
    }

    /// Requests, page by page.
    pub async fn list(&self, filter: Filter) -> Result<Page<Transaction>, Error> {
        todo!()
    }

    /// Cancels a request.
    pub async fn cancel(&self, id: &RequestId) -> Result<Cancelling, Error> {
        todo!()
    }

    /// Makes a request's transaction dearer now; at least these fees, if there are any.
    pub async fn replace(&self, id: &RequestId, fees: Option<Fees>) -> Result<Done, Error> {
        todo!()
    }

    /// Waits until a request has been handed to a node, is held, or has ended; or until the time is over. The state then.
    pub async fn settled(&self, id: &RequestId, patience: std::time::Duration) -> Result<Transaction, Error> {
        todo!()
    }

    // ---- accounts and groups

    /// All accounts whose keys are held here, of all chains.
    pub async fn accounts(&self) -> Result<Vec<AccountView>, Error> {
        todo!()
    }

    /// Makes a key; the account exists on every chain that there is a target for.
    pub async fn create_account(&self) -> Result<Address, Error> {
        todo!()
    }

    /// The key of an account, for signatures that are no transactions.
    pub fn signer(&self, address: Address) -> Result<Arc<dyn Signer>, Error> {
        todo!()
    }

    /// How an account is doing.
    pub async fn health(&self, account: AccountId) -> Result<Health, Error> {
        todo!()
    }

    /// Binds no more nonces for an account.
    pub async fn pause(&self, account: AccountId) -> Result<Done, Error> {
        todo!()
    }

    /// Goes on.
    pub async fn resume(&self, account: AccountId) -> Result<Done, Error> {
        todo!()
    }

    /// All groups.
    pub fn groups(&self) -> Vec<Group> {
        todo!()
    }

    /// A group by name.
    pub fn group(&self, name: &str) -> Result<Group, Error> {
        todo!()
    }

    /// Makes a group, with as many new accounts as it needs. The same again changes nothing; another one of the same name
    /// is [`Error::Exists`].
    pub async fn create_group(&self, group: NewGroup) -> Result<Group, Error> {
        todo!()
    }

    /// Adds so many new accounts to a group, at most up to its greatest size.
    pub async fn grow_group(&self, name: &str, more: usize) -> Result<Group, Error> {
        todo!()
    }

    // ---- nonces

    /// The nonce book in numbers.
    pub async fn nonce_health(&self, account: AccountId) -> Result<NonceHealth, Error> {
        todo!()
    }

    /// Lends a nonce to an outside signer, for so long.
    pub async fn reserve_nonce(&self, account: AccountId, ttl_ms: u64) -> Result<Loan, Error> {
        todo!()
    }

    /// Takes a nonce back that its signer has not used.
    pub async fn release_nonce(&self, account: AccountId, nonce: Nonce, token: &str) -> Result<(), Error> {
        todo!()
    }

    /// Brings the nonce book in line with the chain.
    pub async fn reset_nonce(&self, account: AccountId) -> Result<Done, Error> {
        todo!()
    }

    /// What a chain asks for; at most a few seconds old.
    pub async fn fees(&self, chain_id: u64) -> Result<FeeReport, Error> {
        todo!()
    }

    // ---- webhooks

    /// Makes an endpoint. The secret is shown here and never again.
    pub async fn create_endpoint(&self, new: NewEndpoint) -> Result<(EndpointView, Secret), Error> {
        todo!()
    }

    /// All endpoints.
    pub fn endpoints(&self) -> Vec<EndpointView> {
        todo!()
    }

    /// Removes an endpoint; what it was still to be told is dropped.
    pub async fn remove_endpoint(&self, id: &str) -> Result<(), Error> {
        todo!()
    }

    /// Gives an endpoint a new secret, shown here and never again. The old one signs too for a day.
    pub async fn rotate_secret(&self, id: &str) -> Result<(EndpointView, Secret), Error> {
        todo!()
    }

    /// Deliveries that are still to be made.
    pub async fn deliveries(&self, filter: DeliveryFilter) -> Result<Page<DeliveryView>, Error> {
        todo!()
    }

    /// Deliveries that were given up.
    pub async fn dead_letters(&self, filter: DeliveryFilter) -> Result<Page<DeliveryView>, Error> {
        todo!()
    }

    /// Tries a dead letter again, from the start.
    pub async fn replay(&self, id: &DeliveryId) -> Result<(), Error> {
        todo!()
    }

    // ---- watching

    /// Every event, once it is durable.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        todo!()
    }

    /// Numbers.
    pub fn stats(&self) -> stats::Snapshot {
        todo!()
    }
}
