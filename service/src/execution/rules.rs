//! Which Ethereum this is.

use crate::Config;
use alloy_consensus::{BlockHeader, Header};
use alloy_primitives::U256;
use revm::{
    context::{BlockEnv, CfgEnv},
    context_interface::block::BlobExcessGasAndPrice,
    primitives::{eip4844::BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE, hardfork::SpecId},
};

/// The rules that a block is executed by. The service's are [`Rules::of`] its configuration; others exist so that
/// recorded chains can be replayed through the same code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The fork.
    pub spec: SpecId,
    /// The chain that transactions are signed for.
    pub chain_id: u64,
    /// Whether there are blob transactions.
    pub blobs: Option<Blobs>,
}

/// How blobs are limited and priced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blobs {
    /// In one transaction.
    pub per_transaction_max: u64,
    /// How slowly the price moves.
    pub update_fraction: u64,
}

impl Rules {
    /// Osaka, without blobs.
    pub const fn of(config: &Config) -> Self {
        Self { spec: SpecId::OSAKA, chain_id: config.chain_id, blobs: None }
    }

    pub(super) fn keeps_history(&self) -> bool {
        self.spec.is_enabled_in(SpecId::PRAGUE)
    }

    /// The rules as revm wants them.
    pub fn cfg(&self) -> CfgEnv {
        let mut cfg = CfgEnv::new_with_spec(self.spec).with_chain_id(self.chain_id);
        cfg.max_blobs_per_tx = Some(self.blobs.map_or(0, |blobs| blobs.per_transaction_max));
        cfg
    }

    /// The block's surroundings as revm wants them.
    pub fn block(&self, header: &Header) -> BlockEnv {
        let fraction = self.blobs.map_or(BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE, |blobs| blobs.update_fraction);
        let excess = header.excess_blob_gas().unwrap_or(0);
        BlockEnv {
            number: U256::from(header.number),
            beneficiary: header.beneficiary,
            timestamp: U256::from(header.timestamp),
            gas_limit: header.gas_limit,
            basefee: header.base_fee_per_gas.unwrap_or(0),
            difficulty: header.difficulty,
            prevrandao: Some(header.mix_hash),
            blob_excess_gas_and_price: Some(BlobExcessGasAndPrice::new(excess, fraction)),
            slot_num: 0,
        }
    }
}
