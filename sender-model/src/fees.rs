//! Fees: the first price, and the rule for the fees of a replacement.
//!
//! A node takes a replacement only if **both** fee fields rise by a tenth. A bump therefore starts from what was sent
//! last, never from what the market asks today: after a spike the market may ask for less than we have already offered,
//! and the replacement would be refused for ever.

use super::quantity;
#[cfg(feature = "openapi")]
use crate::openapi;
use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

/// The two fee fields of a transaction, in wei per gas. A legacy transaction has both equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FeePair))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fees {
    /// At most so much in all.
    #[serde(with = "quantity")]
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Quantity))]
    pub max_fee_per_gas: u128,
    /// Of which at most so much for the builder.
    #[serde(with = "quantity")]
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Quantity))]
    pub max_priority_fee_per_gas: u128,
}

/// How a chain prices transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum FeeMarket {
    /// EIP-1559: a base fee that blocks carry, and a priority fee.
    #[default]
    Dynamic,
    /// Before EIP-1559: one gas price. Such a chain takes legacy and EIP-2930 transactions only.
    GasPrice,
}

/// What the chain asks for now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Quote {
    /// The next block's base fee, in wei per gas; zero where there is none.
    #[serde(with = "quantity")]
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Quantity))]
    pub base_fee_per_gas: u128,
    /// A priority fee that is taken soon, in wei per gas. Where there is no base fee it is the gas price.
    #[serde(with = "quantity")]
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Quantity))]
    pub priority_fee_per_gas: u128,
    /// Which of the two kinds of chain it is.
    #[serde(default)]
    pub market: FeeMarket,
}

impl Quote {
    /// What a chain with EIP-1559 asks for.
    pub const fn dynamic(base_fee_per_gas: u128, priority_fee_per_gas: u128) -> Self {
        Self { base_fee_per_gas, priority_fee_per_gas, market: FeeMarket::Dynamic }
    }

    /// What a chain without EIP-1559 asks for.
    pub const fn gas_price(price: u128) -> Self {
        Self { base_fee_per_gas: 0, priority_fee_per_gas: price, market: FeeMarket::GasPrice }
    }

    /// The same with another part of the priority fee, in percent: for a faster or a slower transaction.
    #[must_use]
    pub const fn at_percent(self, percent: u32) -> Self {
        let priority_fee_per_gas = self.priority_fee_per_gas.saturating_mul(percent as u128) / 100;
        Self { priority_fee_per_gas, ..self }
    }

    /// The price below which a transaction is not mined now: the base fee, or the gas price.
    pub const fn lowest(&self) -> u128 {
        match self.market {
            FeeMarket::Dynamic => self.base_fee_per_gas,
            FeeMarket::GasPrice => self.priority_fee_per_gas,
        }
    }
}

/// The smallest rise of a replacement that nodes take, in percent.
const RISE_PERCENT_MIN: u32 = 10;

impl Fees {
    /// Fees for a first attempt: room for the base fee to double.
    pub fn from_quote(quote: &Quote, cap: u128) -> Self {
        let max_fee =
            quote.base_fee_per_gas.saturating_mul(2).saturating_add(quote.priority_fee_per_gas).min(cap);
        Self { max_fee_per_gas: max_fee, max_priority_fee_per_gas: quote.priority_fee_per_gas.min(max_fee) }
    }

    /// Both fields equal, as a legacy transaction needs.
    pub fn into_legacy(self) -> Self {
        Self { max_priority_fee_per_gas: self.max_fee_per_gas, ..self }
    }

    /// The smallest fees that may replace these: both fields a tenth up, rounded up, and never the same.
    pub fn floor_of_replacement(&self) -> Self {
        Self {
            max_fee_per_gas: raise(self.max_fee_per_gas, RISE_PERCENT_MIN),
            max_priority_fee_per_gas: raise(self.max_priority_fee_per_gas, RISE_PERCENT_MIN),
        }
    }

    /// The highest price that a replacement within `cap` can still beat.
    pub fn replaceable_under(cap: u128) -> u128 {
        cap / 11 * 10 + cap % 11 * 10 / 11
    }

    /// Whether these may replace `last`.
    pub fn may_replace(&self, last: &Self) -> bool {
        let floor = last.floor_of_replacement();
        self.max_fee_per_gas >= floor.max_fee_per_gas
            && self.max_priority_fee_per_gas >= floor.max_priority_fee_per_gas
    }

    /// Fees for a replacement of these: `percent` up, or what the market asks if that is more, at most `cap`.
    /// `None` if the cap leaves no room for a replacement that a node would take.
    pub fn bumped(&self, percent: u32, market: &Self, cap: u128) -> Option<Self> {
        let percent = percent.max(RISE_PERCENT_MIN);
        let max_fee = raise(self.max_fee_per_gas, percent).max(market.max_fee_per_gas).min(cap);
        let priority =
            raise(self.max_priority_fee_per_gas, percent).max(market.max_priority_fee_per_gas).min(max_fee);
        let fees = Self { max_fee_per_gas: max_fee, max_priority_fee_per_gas: priority };
        fees.may_replace(self).then_some(fees)
    }

    /// The most that a transaction with these fees can cost, in wei.
    pub fn cost(&self, gas: u64, value: U256) -> U256 {
        U256::from(self.max_fee_per_gas).saturating_mul(U256::from(gas)).saturating_add(value)
    }
}

/// So many percent more, rounded up, and at least one more.
fn raise(fee: u128, percent: u32) -> u128 {
    let whole = fee / 100;
    let rest = fee % 100;
    let more = whole.saturating_mul(u128::from(percent)) + (rest * u128::from(percent)).div_ceil(100);
    fee.saturating_add(more.max(1))
}
