//! What the chain says. Each value here is the answer of *one* node: what two nodes behind a balancer say may never be
//! put together, because one of them may follow a branch that the other has left.

use super::Quote;
#[cfg(feature = "openapi")]
use crate::openapi;
use alloy_primitives::{B256, Bytes, U256};
use serde::{Deserialize, Serialize};

/// A block, by height and hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BlockId))]
pub struct Head {
    /// Height.
    pub number: u64,
    /// Name.
    #[cfg_attr(feature = "openapi", schema(value_type = openapi::Hash))]
    pub hash: B256,
}

/// How one node sees the account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// The newest block.
    pub latest: Head,
    /// The account's transaction count there.
    pub latest_count: u64,
    /// The height of the newest block that cannot go away.
    pub finalized_number: u64,
    /// The account's transaction count there.
    pub finalized_count: u64,
    /// The account's balance at `latest`, in wei.
    pub balance: U256,
    /// What the chain asks for.
    pub quote: Quote,
}

/// Where a transaction was included, and how it ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Inclusion {
    /// The block.
    pub block: Head,
    /// Whether it did what it was to do.
    pub success: bool,
    /// The receipt as the node gave it, for those who want all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub receipt: Option<serde_json::Value>,
}

/// The answer to the question for a receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReceiptAnswer {
    /// It is in a block.
    Found(Inclusion),
    /// The node knows of none. That proves nothing.
    NotFound,
    /// The node did not answer. That proves nothing either.
    Error,
}

/// What one node has at a height.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockCheck {
    /// The height that was asked for.
    pub number: u64,
    /// The block there, if the node has one.
    pub hash: Option<B256>,
    /// The same node's newest final height.
    pub finalized_number: u64,
}

/// The answer to a simulation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Simulation {
    /// It would work, with so much gas.
    Gas(u64),
    /// It would be reverted.
    Reverted {
        /// What the node said.
        reason: String,
        /// What the contract said.
        data: Bytes,
    },
    /// The node did not say.
    Error,
}
