//! What everyone who runs the service agrees on.

use jam::{Ed25519Key, Hash};

/// The service's configuration. It comes from the chain specification; two validators with different ones do not agree
/// about any block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The service's number.
    pub service: u32,
    /// The hash of the service's code.
    pub code_hash: Hash,
    /// Whose blocks are accepted.
    pub builder: Ed25519Key,
    /// The chain id that transactions are signed for.
    pub chain_id: u64,
    /// The gas limit of every block after the genesis.
    pub gas_limit: u64,
    /// The base fee never falls below it, in wei.
    pub base_fee_floor_wei: u64,
}

/// Gas of a block by default.
pub const GAS_LIMIT: u64 = 120_000_000;
/// The chain id by default: that of development networks. Public lists of chains have no entry with it as far as is known, so
/// wallets do not take it for another chain; 1337 and 31337 belong to other development nodes there, and tools warn about them.
pub const CHAIN_ID: u64 = 732_846;
/// The base fee of the genesis, and its floor, by default: one gwei.
pub const BASE_FEE_FLOOR_WEI: u64 = 1_000_000_000;

impl Config {
    /// The defaults, for this service and this builder.
    pub const fn new(service: u32, code_hash: Hash, builder: Ed25519Key) -> Self {
        Self {
            service,
            code_hash,
            builder,
            chain_id: CHAIN_ID,
            gas_limit: GAS_LIMIT,
            base_fee_floor_wei: BASE_FEE_FLOOR_WEI,
        }
    }
}
