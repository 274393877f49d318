//! What a caller wants done: everything about a transaction but its nonce, its price and its signature.

use super::{Fees, quantity};
#[cfg(feature = "openapi")]
use crate::openapi;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

/// A transaction to be.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Intent {
    /// The receiver; none creates a contract.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<openapi::Address>))]
    pub to: Option<Address>,
    /// Wei to transfer.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Quantity))]
    pub value: U256,
    /// Call data or init code.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Bytes))]
    pub data: Bytes,
    /// The gas limit, if the caller insists on one; otherwise it is estimated.
    #[serde(default)]
    pub gas: Option<u64>,
    /// Fees, if the caller insists on them; bumps start from them.
    #[serde(default)]
    pub fees: Option<Fees>,
    /// The highest price per gas that any attempt may offer; the account's own cap holds as well.
    #[serde(default)]
    pub fee_cap: Option<FeeCap>,
    /// Slots to declare.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<(openapi::Address, Vec<openapi::Hash>)>))]
    pub access_list: Vec<(Address, Vec<B256>)>,
    /// Whether to use the transaction type from before EIP-1559.
    #[serde(default)]
    pub legacy: bool,
}

/// A price per gas in wei, written as hexadecimal text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FeeCap(#[serde(with = "quantity")] pub u128);

impl Intent {
    /// What fills a nonce that nothing else needs: nothing, to oneself.
    pub fn noop(address: Address, gas: u64) -> Self {
        Self { to: Some(address), gas: Some(gas), ..Self::default() }
    }

    /// The most bytes that a transaction has besides call data and access list, encoded: every number at its longest.
    pub const ENCODING_BYTES_MAX: usize = 200;

    /// The most bytes that it can have as a signed transaction.
    pub fn encoded_bytes_max(&self) -> usize {
        let access = self.access_list.iter().map(|(_, slots)| 32 + 33 * slots.len()).sum::<usize>();
        Self::ENCODING_BYTES_MAX + self.data.len() + access
    }

    /// The gas that a transaction needs before anything is executed, by the rules since Istanbul (EIP-2028, EIP-2930). Chains
    /// that ask for more exist; an estimate below it is none.
    pub fn intrinsic_gas(&self) -> u64 {
        const TRANSACTION: u64 = 21_000;
        const CREATION: u64 = 32_000;
        let zeros = self.data.iter().filter(|byte| **byte == 0).count() as u64;
        let data = 4 * zeros + 16 * (self.data.len() as u64 - zeros);
        let slots = self.access_list.iter().map(|(_, slots)| slots.len() as u64).sum::<u64>();
        let access = 2_400 * self.access_list.len() as u64 + 1_900 * slots;
        TRANSACTION + if self.to.is_none() { CREATION } else { 0 } + data + access
    }

    /// How many bytes a caller made us keep.
    pub fn bytes(&self) -> usize {
        self.data.len() + self.access_list.iter().map(|(_, slots)| 20 + 32 * slots.len()).sum::<usize>()
    }
}
