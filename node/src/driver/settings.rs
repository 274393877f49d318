//! What the operator decides about building.

use alloy_primitives::Address;
use jam::Ed25519Secret;
use types::Duration;

/// What the operator decides about building; see the command line for the defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Signs blocks. The service knows its public half.
    pub secret: Ed25519Secret,
    /// Who gets the fees.
    pub beneficiary: Address,
    /// How long after its first transaction a block is sealed while the queue is empty.
    pub seal_after: Duration,
    /// Empty blocks after the last transaction, one per slot, for clients that wait for confirmations.
    pub empty_blocks: u32,
    /// Build and execute, but never submit.
    pub dry_run: bool,
    /// How many states below the final one can be asked about.
    pub states_kept: u64,
}

impl Settings {
    /// The defaults, for this key.
    pub const fn new(secret: Ed25519Secret) -> Self {
        Self {
            secret,
            beneficiary: Address::ZERO,
            seal_after: Duration::from_millis(500),
            empty_blocks: 12,
            dry_run: false,
            states_kept: 128,
        }
    }
}
