//! The limits, each with its unit in its name or type.

use crate::{Head, Rules};
use types::Duration;

/// One gwei, in wei.
const GWEI: u128 = 1_000_000_000;

/// How much the pool takes, from whom, and for how long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The chain that transactions must be signed for.
    pub chain_id: u64,
    /// How many transactions may be pending: executable, waiting for a block.
    pub pending_max: usize,
    /// How many may be queued: not executable yet. Those that wait for the base fee to fall count here.
    pub queued_max: usize,
    /// How many of one sender may be pending or queued together; [`Pool::set_limit`](crate::Pool::set_limit) makes
    /// exceptions.
    pub sender_txs_max: usize,
    /// How long one may stay.
    pub ttl: Duration,
    /// The least `maxFeePerGas` (`gasPrice` of the older types) that is accepted.
    pub gas_price_min_wei: u128,
    /// How long one may be, encoded.
    pub tx_bytes_max: usize,
    /// How long all pending and queued ones together may be, encoded.
    pub pool_bytes_max: usize,
    /// How far a nonce may lie above the sender's next one.
    pub nonce_gap_max: u64,
    /// How much more a replacement must pay, on both fee fields.
    pub price_bump_percent: u8,
    /// How many of a delegated (EIP-7702) sender may be pending or queued at once.
    pub delegated_txs_max: usize,
    /// Whether transactions without a chain id (before EIP-155) are accepted.
    pub allow_unprotected: bool,
    /// After how many failed blocks of it alone a transaction is poisonous.
    pub lone_failures_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            chain_id: 732846,
            pending_max: 1000,
            queued_max: 1000,
            sender_txs_max: 16,
            ttl: Duration::from_secs(3600),
            gas_price_min_wei: GWEI,
            tx_bytes_max: 32 * 1024,
            pool_bytes_max: 32 * 1024 * 1024,
            nonce_gap_max: 64,
            price_bump_percent: 10,
            delegated_txs_max: 1,
            allow_unprotected: false,
            lone_failures_max: 3,
        }
    }
}

impl Config {
    /// For a development node, where one account sends what elsewhere a thousand do, and in any order.
    pub fn dev() -> Self {
        Self { sender_txs_max: 1024, nonce_gap_max: 1024, tx_bytes_max: 128 * 1024, ..Self::default() }
    }

    /// What [`recover`](crate::recover) must know, for as long as `head` is the block that is being built.
    pub const fn rules(&self, head: Head) -> Rules {
        Rules {
            chain_id: self.chain_id,
            tx_bytes_max: self.tx_bytes_max,
            block_gas_limit: head.gas_limit,
            allow_unprotected: self.allow_unprotected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_specification() {
        let config = Config::default();
        assert_eq!((config.pending_max, config.queued_max, config.sender_txs_max), (1000, 1000, 16));
        assert_eq!((config.ttl, config.tx_bytes_max), (Duration::from_secs(60 * 60), 32_768));
        assert_eq!((config.gas_price_min_wei, config.nonce_gap_max), (1_000_000_000, 64));
        assert_eq!((config.price_bump_percent, config.delegated_txs_max), (10, 1));
        assert_eq!((Config::dev().sender_txs_max, Config::dev().tx_bytes_max), (1024, 131_072));
    }

    #[test]
    fn the_byte_budget_has_room_for_the_largest_transaction() {
        for config in [Config::default(), Config::dev()] {
            assert!(config.tx_bytes_max < config.pool_bytes_max);
        }
    }
}
