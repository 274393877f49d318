//! What the pool is told about the chain: accounts, and the block that is being built.

use alloy_primitives::{Address, U256};

/// An account as the newest block left it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// The nonce that its next transaction must have.
    pub nonce: u64,
    /// What it owns, in wei.
    pub balance: U256,
    /// What kind of code it has.
    pub code: Code,
}

/// What kind of code an account has; it decides whether, and how much, the account may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Code {
    /// None: an ordinary account.
    #[default]
    None,
    /// A delegation (EIP-7702): others can move its balance, so little of it waits in the pool at once.
    Delegated,
    /// A contract, which cannot send (EIP-3607).
    Contract,
}

/// The block that is being built, as far as it decides what can be executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// What every unit of gas in it costs at least.
    pub base_fee_wei: u64,
    /// How much gas it may use.
    pub gas_limit: u64,
}

/// What a new block, or the release of old ones, changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateChange<'a> {
    /// The block that is being built from now on.
    pub head: Head,
    /// The accounts that changed, each once, as they are now. Those that the pool does not know are ignored.
    pub accounts: &'a [(Address, Account)],
}
