//! What everyone who runs the service agrees on.

use jam::{Ed25519Key, Hash, SlotClock, slot::COMMON_ERA};
use types::BlockId;

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
    /// Whose orders the service obeys: other code, and so other keys and limits. The builder's, if nothing else is said.
    pub owner: Ed25519Key,
    /// The chain id that transactions are signed for.
    pub chain_id: u64,
    /// The gas limit of every block after the genesis.
    pub gas_limit: u64,
    /// The gas at which the base fee stays as it is: a block that uses more raises it, one that uses less lowers it.
    pub gas_target: u64,
    /// The base fee never falls below it, in wei.
    pub base_fee_floor_wei: u64,
    /// How long a slot of the JAM chain lasts, in milliseconds: how late a block may be dated follows from the slot of its
    /// package's lookup anchor.
    pub slot_ms: u64,
    /// The block that is applied before any other, where the chain does not say it in the service's storage.
    pub genesis: BlockId,
}

/// Gas of a block by default: room for the largest transaction that there is (EIP-7825), with as much beside it.
pub const GAS_LIMIT: u64 = 36_000_000;
/// Gas at which the base fee stays as it is, by default: what two cores sustain while a block is sealed every 150 ms. A package of
/// 12 MB holds about 7,500 transfers (157 M gas), two leave every six seconds: 52 M gas per second, 7.9 M in 150 ms.
pub const GAS_TARGET: u64 = 7_500_000;
/// How long a slot of JAM lasts.
pub const SLOT_MS: u64 = 6_000;
/// How much later than its package's lookup anchor a block may be dated, in seconds.
pub const LATE_SECS_MAX: u64 = 3_600;
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
            owner: builder,
            chain_id: CHAIN_ID,
            gas_limit: GAS_LIMIT,
            gas_target: GAS_TARGET,
            base_fee_floor_wei: BASE_FEE_FLOOR_WEI,
            slot_ms: SLOT_MS,
            genesis: BlockId::new(0, Hash::ZERO),
        }
    }

    /// The latest time that a block may have whose package has a lookup anchor of this slot, in seconds since the Unix epoch.
    pub fn latest_timestamp(&self, lookup_anchor_slot: u32) -> u64 {
        let slots = SlotClock::starting_at(COMMON_ERA, self.slot_ms);
        slots.start_of(lookup_anchor_slot).as_secs().saturating_add(LATE_SECS_MAX)
    }
}
