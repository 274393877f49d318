//! The chains, and what is set for each of them.

use super::{ChainView, Error, Sender};
use crate::{registry::StoredChain, shared::Shared};
use sender_model::{ChainSettings, FeeCap};
use std::sync::Arc;

impl Sender {
    /// All chains, with the settings that are in force and those that were changed while the sender ran.
    pub fn chain_views(&self) -> Vec<ChainView> {
        self.shared.targets.keys().map(|chain_id| self.chain_view(*chain_id)).collect()
    }

    fn chain_view(&self, chain_id: u64) -> ChainView {
        let changed = self.shared.registry.chain(chain_id).map(|chain| chain.settings).unwrap_or_default();
        let config = &self.shared.config;
        let all = ChainSettings {
            fee_cap: Some(FeeCap(config.fee_cap)),
            bump_percent: Some(config.bump_percent),
            stall_ms: Some(config.stall_ms),
            speeds: Some(config.speeds),
            ..self.shared.targets.get(&chain_id).map(|target| target.defaults()).unwrap_or_default()
        };
        ChainView { chain_id, settings: self.shared.settings_of(chain_id).or(all), changed }
    }

    /// One chain.
    pub fn chain(&self, chain_id: u64) -> Result<ChainView, Error> {
        self.shared.target(chain_id)?;
        Ok(self.chain_view(chain_id))
    }

    /// Sets these for a chain, in all processes that share the store, from now on and after a restart. What is not among them
    /// is as the sender was started with.
    pub async fn set_chain(&self, chain_id: u64, settings: ChainSettings) -> Result<ChainView, Error> {
        self.shared.target(chain_id)?;
        settings.check().map_err(Error::Invalid)?;
        let shared = &self.shared;
        let before = shared.registry.chain(chain_id);
        let after = StoredChain { chain_id, settings };
        if before.as_ref() != Some(&after) {
            shared.registry.put_chain(&*shared.store, &shared.holder, before.as_ref(), &after).await?;
        }
        shared.configure_targets();
        Ok(self.chain_view(chain_id))
    }
}

/// Tells the chains what another process has set, until the sender stops.
pub(super) async fn follow(shared: Arc<Shared>) {
    let (mut chains, mut stopping) = (shared.registry.watch_chains(), shared.stopping.subscribe());
    loop {
        tokio::select! {
            changed = chains.changed() => match changed {
                Ok(()) => shared.configure_targets(),
                Err(_) => return,
            },
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}
