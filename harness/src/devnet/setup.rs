//! The EVM chain that tests build, and what the JAM chain made of it.

use crate::blocks::{Call, Wallet};
use alloy_primitives::{Address, Bytes, U256};
use bundler::{Authorizer, Bundler, Token};
use devnet::{
    Config,
    authorizer::Authorizer as Kind,
    chain::Tree,
    execution::{SERVICES, Services},
    genesis::{SERVICE, params},
};
use jam::Ed25519Secret;
use service::{
    accumulate::{Claim, Outcome, ServiceState, claim_of},
    genesis::Genesis,
};
use std::collections::BTreeMap;
use types::Transaction;

/// Whose blocks the service takes.
const BUILDER: u32 = 99;

/// The EVM chain's beginning and who builds it.
#[derive(Clone)]
pub struct Setup {
    /// The service.
    pub service: service::Config,
    /// The first block, with funded wallets.
    pub genesis: Genesis,
    /// The builder's key.
    pub secret: Ed25519Secret,
    /// What lets its packages onto cores.
    pub authorizer: Kind,
    /// How its validators run services. Natively there is no refine gas, so blocks may have any.
    pub services: Services,
}

impl Setup {
    /// A chain whose blocks have room for large transactions, with funds for the first wallets.
    pub fn new() -> Self {
        let secret = Ed25519Secret::trivial(BUILDER);
        let mut service = service::Config::native(SERVICE, secret.public());
        service.gas_limit = 900_000_000;
        let service = service.with_code_hash();
        let rich =
            |index| format!("\"{}\": {{ \"balance\": \"0xd3c21bcecceda1000000\" }}", wallet(index).address());
        let alloc = (0..4).map(rich).collect::<Vec<_>>().join(",");
        let json = format!(
            "{{ \"config\": {{ \"chainId\": 732846 }}, \"gasLimit\": \"0x35a4e900\", \"difficulty\": \"0x0\", \
             \"alloc\": {{ {alloc} }} }}"
        );
        let genesis = Genesis::from_json(&json, &service).expect("a plain genesis");
        Self { service, genesis, secret, authorizer: Kind::default(), services: SERVICES }
    }

    /// A network for it.
    pub fn devnet(&self, slot_ms: u64) -> Config {
        let Self { authorizer, services, .. } = *self;
        Config { slot_ms, authorizer, services, ..Config::new(self.service, self.genesis.id()) }
    }

    /// What builds its blocks.
    pub fn bundler(&self) -> Bundler {
        let authorizer = Authorizer {
            host: self.service.service,
            code_hash: self.authorizer.code_hash(),
            config: self.authorizer.config(&self.service.builder),
            token: match self.authorizer {
                Kind::Null => Token::Fixed(Bytes::new()),
                Kind::Builder => Token::Signature(Box::new(self.secret.clone())),
            },
        };
        let mut bundler = Bundler::new(self.service, params(2), authorizer);
        if self.services == Services::Native {
            bundler.limits.refine_gas_max = u64::MAX;
        }
        bundler
    }

    /// Transactions of the first wallet from a nonce on that bring about so many bytes.
    pub fn transactions(&self, nonce: u64, bytes: usize) -> Vec<Transaction> {
        const PART: usize = 100_000;
        let parts = bytes.div_ceil(PART).max(1);
        let part = |i: usize| {
            let len = PART.min(bytes.saturating_sub(i * PART));
            let input = vec![i as u8 | 1; len];
            let call = Call::to(Address::repeat_byte(0xaa), nonce + i as u64);
            let gas_limit = 50_000 + 40 * len as u64;
            wallet(0).eip1559(Call { input: input.into(), gas_limit, value: U256::from(i), ..call })
        };
        (0..parts).map(part).collect()
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self::new()
    }
}

fn wallet(index: u64) -> Wallet {
    Wallet::new(index)
}

/// A run of EVM blocks on a validator's chain.
#[derive(Clone, Copy, Debug)]
pub struct Applied {
    /// What the report says of it.
    pub claim: Claim,
    /// How often it was applied.
    pub times: usize,
}

impl Applied {
    /// How many blocks it has.
    pub const fn blocks(&self) -> u64 {
        (self.claim.last.number + 1).saturating_sub(self.claim.first)
    }
}

/// The runs that were applied on a validator's best chain, in order, from what its blocks report.
pub fn applied_runs(tree: &Tree, setup: &Setup) -> Vec<Applied> {
    let mut below = Vec::new();
    let mut next = Some(tree.best().hash);
    while let Some(block) = next.and_then(|hash| tree.block(hash)) {
        below.push(block.clone());
        next = Some(block.header.parent);
    }
    // Whatever was available was accumulated in the same block: nothing here depends on anything.
    let mut service = ServiceState::new(setup.genesis.id());
    let (mut claims, mut counts) = (BTreeMap::new(), BTreeMap::<_, usize>::new());
    let mut pending = BTreeMap::<u16, jam::WorkReport>::new();
    for block in below.iter().rev() {
        for core in 0..tree.rules().params.cores {
            let votes = block.extrinsic.assurances.iter().filter(|assurance| assurance.has(core)).count();
            if votes < usize::from(tree.rules().params.super_majority()) {
                continue;
            }
            let Some(report) = pending.remove(&core) else { continue };
            for digest in &report.digests {
                let Some(claim) = claim_of(digest, SERVICE) else { continue };
                claims.insert(claim.last, claim);
                if let Outcome::Applied(lasts) = service.apply(&claim) {
                    lasts.into_iter().for_each(|last| *counts.entry(last).or_default() += 1);
                }
            }
        }
        let reported = block.extrinsic.guarantees.iter().map(|guarantee| &guarantee.report);
        pending.extend(reported.map(|report| (report.core, report.clone())));
    }
    counts
        .into_iter()
        .filter_map(|(last, times)| Some(Applied { claim: *claims.get(&last)?, times }))
        .collect()
}
