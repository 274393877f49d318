//! What a sender is started with.

use crate::{
    clock::Clock, deliveries::Deliveries, facade::Error, signer::Keys, store::Store, target::Target,
};
use sender_model::{ChainSettings, Config};
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
    /// Settings of single chains.
    pub chains: BTreeMap<u64, ChainSettings>,
    /// This process's name, as others see it in leases.
    pub holder: String,
    /// The time.
    pub clock: Clock,
    /// Runs the deliverer of webhooks; without one nothing is delivered, but all of it is kept.
    pub deliveries: Option<StartDeliveries>,
}

/// A process's name with the address where others reach its REST interface, as leases have it.
pub fn holder_at(name: &str, address: Option<&str>) -> String {
    address.map_or_else(|| name.to_owned(), |address| format!("{name}@{address}"))
}

/// The address in a process's name, if it has one.
pub(crate) fn address_of(holder: &str) -> Option<&str> {
    let (_, address) = holder.split_once('@')?;
    (address.starts_with("http://") || address.starts_with("https://")).then_some(address)
}

/// The settings without the deliverer, with the chains by their ids.
pub(crate) struct Parts {
    pub store: Arc<dyn Store>,
    pub keys: Arc<dyn Keys>,
    pub targets: BTreeMap<u64, Arc<dyn Target>>,
    pub home_chain: u64,
    pub config: Config,
    pub chains: BTreeMap<u64, ChainSettings>,
    pub holder: String,
    pub clock: Clock,
}

impl Settings {
    pub(crate) fn into_parts(self) -> Result<(Parts, Option<StartDeliveries>), Error> {
        let Self { store, keys, targets, config, chains, holder, clock, deliveries } = self;
        let home_chain = targets.first().map(|target| target.chain_id());
        let home_chain = home_chain.ok_or_else(|| Error::Invalid("a sender needs a chain".into()))?;
        let count = targets.len();
        let targets: BTreeMap<_, _> = targets.into_iter().map(|target| (target.chain_id(), target)).collect();
        if targets.len() != count {
            return Err(Error::Invalid("two targets are for the same chain".into()));
        }
        Ok((Parts { store, keys, targets, home_chain, config, chains, holder, clock }, deliveries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_may_say_where_it_is() {
        let holder = holder_at("pectin-7", Some("http://10.0.0.5:8545"));
        assert_eq!(address_of(&holder), Some("http://10.0.0.5:8545"));
        assert_eq!(address_of(&holder_at("pectin-7", None)), None);
        assert_eq!(address_of("none: the node at me@home does not answer"), None);
    }
}
