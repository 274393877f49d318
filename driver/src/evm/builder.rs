//! What a node makes its blocks with: the bundler for the service's code of the moment, and the configurations and keys for others.

use super::Program;
use alloy_primitives::Address;
use bundler::Bundler;
use jam::{Ed25519Secret, Hash};
use service::Config;
use std::{collections::BTreeMap, sync::Arc};

/// What makes a node's blocks.
#[derive(Clone, Debug)]
pub struct EvmBuilder {
    /// Opens, refines and packages.
    pub bundler: Bundler,
    /// Signs blocks. The service knows its public half.
    pub secret: Ed25519Secret,
    /// Configurations under codes that the service may have, by the code's hash; the bundler's is one of them.
    pub configs: BTreeMap<Hash, Config>,
    /// Keys that sign blocks under other configurations.
    pub other_secrets: Vec<Ed25519Secret>,
    /// Who gets the fees.
    pub beneficiary: Address,
    /// How many states below the final one are in memory at most. Where the values are folded, states below the folded one
    /// are not.
    pub states_kept: u64,
    /// The service's program, which is run when a run is packed. Without it only the estimate of its gas is known.
    pub program: Option<Arc<dyn Program>>,
}

impl EvmBuilder {
    /// The defaults, for this key.
    pub fn new(bundler: Bundler, secret: Ed25519Secret) -> Self {
        let configs = [(bundler.config.code_hash, bundler.config)].into();
        let (beneficiary, other_secrets) = (Address::ZERO, vec![]);
        Self { bundler, secret, configs, other_secrets, beneficiary, states_kept: 512, program: None }
    }

    /// Builds for another code. `false` if its configuration or its builder's key is not here.
    ///
    /// The key that packages are authorized with stays: it is in the authorizer on the cores, which the service cannot change.
    pub(super) fn set_code(&mut self, code_hash: Hash) -> bool {
        let former = self.bundler.config;
        if code_hash == former.code_hash {
            return true;
        }
        let Some(config) = self.configs.get(&code_hash).copied() else { return false };
        if self.secret.public() != config.builder {
            let other = self.other_secrets.iter_mut().find(|secret| secret.public() == config.builder);
            let Some(other) = other else { return false };
            core::mem::swap(other, &mut self.secret);
        }
        if self.bundler.limits.gas_max == former.gas_limit {
            self.bundler.limits.gas_max = config.gas_limit;
        }
        self.bundler.config = config;
        // Blocks that were sealed for another code carry a signature of that one's builder.
        self.bundler.signer = Some(self.secret.clone());
        true
    }
}
