//! What a sender is started with.

use crate::{duty::Deliveries, model::Config, signer::Keys, store::Store, target::Target};
use std::sync::Arc;

/// Runs the deliverer: called once, with what it needs; usually `|deliveries| drop(tokio::spawn(webhook::run(deliveries, rules)))`.
pub type StartDeliveries = Box<dyn FnOnce(Deliveries) + Send>;

/// What a sender is started with.
pub struct Settings {
    /// Where everything durable is.
    pub store: Arc<dyn Store>,
    /// The keys.
    pub keys: Arc<dyn Keys>,
    /// The chains; the first is the home chain.
    pub targets: Vec<Arc<dyn Target>>,
    /// How accounts are run.
    pub config: Config,
    /// This process's name, as others see it in leases.
    pub holder: String,
    /// Runs the deliverer of webhooks; without one nothing is delivered, but all of it is kept.
    pub deliveries: Option<StartDeliveries>,
}
