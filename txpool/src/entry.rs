//! One transaction in the pool, and where it stands.

use crate::Head;
use alloy_consensus::Transaction as _;
use alloy_primitives::U256;
use types::{BlockId, Time, Transaction};

/// Where a transaction stands, as a lookup shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It can be executed, and waits for a block.
    Pending,
    /// It can be executed once the base fee falls: the fee cap of it, or of an earlier one of its sender, is below it.
    BelowBaseFee,
    /// It cannot be executed yet: a nonce before it is missing, its sender cannot pay, or pending is full.
    Queued,
    /// It was executed into the block that is being built.
    Open,
    /// It is part of a sealed block that is not final yet.
    Bundled(BlockId),
}

/// A transaction that the pool knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lookup {
    /// The transaction.
    pub tx: Transaction,
    /// Where it stands.
    pub status: Status,
    /// When it was added, or came back from a released block: from then on its time to live runs.
    pub added_at: Time,
    /// How many blocks were abandoned with it; above zero it is a suspect.
    pub attempts: u32,
    /// How many of them held nothing else, while younger ones passed.
    pub lone_failures: u32,
    /// Whether it came back from a released block: limits do not count it and never drop it.
    pub returned: bool,
}

/// Where an entry stands. The number is the block's key in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Pending,
    Queued,
    Open,
    Bundled(u32),
}

impl State {
    /// Whether it waits: only these can be replaced, evicted, expired or dropped.
    pub(crate) const fn is_pooled(self) -> bool {
        matches!(self, Self::Pending | Self::Queued)
    }
}

/// A transaction in its sender's list.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) tx: Transaction,
    pub(crate) nonce: u64,
    /// Counts up; unique, so it also tells whether a reference to this entry is stale.
    pub(crate) arrival: u64,
    pub(crate) added_at: Time,
    /// `maxFeePerGas`.
    pub(crate) fee_cap: u128,
    /// `maxPriorityFeePerGas`.
    pub(crate) tip_cap: u128,
    /// What it may cost at most.
    pub(crate) cost: U256,
    pub(crate) state: State,
    /// Blocks that were abandoned with it.
    pub(crate) attempts: u32,
    /// Those of them that held nothing else.
    pub(crate) lone_failures: u32,
    /// It was in a block once: limits do not count it and never drop it.
    pub(crate) returned: bool,
}

impl Entry {
    pub(crate) fn new(tx: Transaction, arrival: u64, added_at: Time) -> Self {
        let fee_cap = tx.max_fee_per_gas();
        Self {
            nonce: tx.nonce(),
            arrival,
            added_at,
            fee_cap,
            tip_cap: tx.max_priority_fee_per_gas().unwrap_or(fee_cap),
            cost: cost(&tx),
            state: State::Queued,
            attempts: 0,
            lone_failures: 0,
            returned: false,
            tx,
        }
    }

    /// What it pays the builder per unit of gas; nothing if it cannot even pay the base fee.
    pub(crate) fn tip(&self, base_fee: u64) -> u128 {
        self.tip_cap.min(self.fee_cap.saturating_sub(base_fee.into()))
    }

    /// What it pays per unit of gas, base fee and tip together. Unlike the tip this also compares those that do not pay
    /// the base fee.
    pub(crate) fn price(&self, base_fee: u64) -> u128 {
        self.fee_cap.min(self.tip_cap.saturating_add(base_fee.into()))
    }

    /// Whether its fee cap is at or above the next block's base fee.
    pub(crate) fn pays_base_fee(&self, head: &Head) -> bool {
        self.fee_cap >= head.base_fee_wei.into()
    }

    /// Whether the next block has room for it.
    pub(crate) fn fits(&self, head: &Head) -> bool {
        self.tx.gas_limit() <= head.gas_limit
    }

    /// How long it is, encoded.
    pub(crate) fn bytes(&self) -> usize {
        self.tx.encoded().len()
    }
}

/// What a transaction may cost at most: all its gas at its highest price, and the value it moves.
pub(crate) fn cost(tx: &Transaction) -> U256 {
    // 64 bits times 128 bits fit; only an absurd value saturates, and nobody can pay that.
    (U256::from(tx.gas_limit()) * U256::from(tx.max_fee_per_gas())).saturating_add(tx.value())
}
