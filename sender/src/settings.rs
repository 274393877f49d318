//! What a sender is started with.

use crate::{
    clock::Clock, deliveries::Deliveries, facade::Error, signer::Keys, store::Store, target::Target,
};
use sender_model::Config;
use std::{collections::BTreeMap, sync::Arc};

/// Runs the deliverer: called once, with what it needs.
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
    /// The time.
    pub clock: Clock,
    /// Runs the deliverer of webhooks; without one nothing is delivered, but all of it is kept.
    pub deliveries: Option<StartDeliveries>,
}

/// The settings without the deliverer, with the chains by their ids.
pub(crate) struct Parts {
    pub store: Arc<dyn Store>,
    pub keys: Arc<dyn Keys>,
    pub targets: BTreeMap<u64, Arc<dyn Target>>,
    pub home_chain: u64,
    pub config: Config,
    pub holder: String,
    pub clock: Clock,
}

impl Settings {
    pub(crate) fn into_parts(self) -> Result<(Parts, Option<StartDeliveries>), Error> {
        let Self { store, keys, targets, config, holder, clock, deliveries } = self;
        let home_chain = targets.first().map(|target| target.chain_id());
        let home_chain = home_chain.ok_or_else(|| Error::Invalid("a sender needs a chain".into()))?;
        let count = targets.len();
        let targets: BTreeMap<_, _> = targets.into_iter().map(|target| (target.chain_id(), target)).collect();
        if targets.len() != count {
            return Err(Error::Invalid("two targets are for the same chain".into()));
        }
        Ok((Parts { store, keys, targets, home_chain, config, holder, clock }, deliveries))
    }
}
