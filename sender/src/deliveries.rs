//! What the workers tell the webhook deliverer. Deliveries are rows of an account and may only be changed by whoever owns
//! it, so the deliverer must know which accounts this process owns, and under which epoch.

use crate::{endpoint::Endpoint, stats::Stats, store::Store};
use sender_model::AccountId;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// A message from a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryMessage {
    /// This process owns the account from now on: look at all its deliveries ([`sender_model::key::deliveries`]), and change them
    /// by `Delivery::{succeed, fail}` under this epoch.
    Taken(AccountId, u64),
    /// It does not own it any more: stop, drop what is under way.
    Lost(AccountId),
    /// There are new deliveries. Messages may be merged; look at the rows.
    News(AccountId),
}

/// What the deliverer is made of. It ends when `messages` is closed.
pub struct Deliveries {
    /// The rows.
    pub store: Arc<dyn Store>,
    /// Messages of the workers.
    pub messages: mpsc::UnboundedReceiver<DeliveryMessage>,
    /// All endpoints. Deliveries to one that is not there any more are simply recorded as made.
    pub endpoints: watch::Receiver<Arc<Vec<Endpoint>>>,
    /// Where it is counted what became of them.
    pub(crate) stats: Arc<Stats>,
}

impl core::fmt::Debug for Deliveries {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Deliveries")
    }
}
