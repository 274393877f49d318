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
    /// The account's transaction count there, where a node still has that state. Full nodes keep about 128 of them, and
    /// on many chains blocks become final later than that.
    pub finalized_count: Option<u64>,
    /// The account's balance at `latest`, in wei.
    pub balance: U256,
    /// What the chain asks for.
    pub quote: Quote,
}

impl View {
    /// Whether the counts fit together.
    pub fn is_sound(&self) -> bool {
        self.finalized_count.is_none_or(|count| count <= self.latest_count)
            && self.finalized_number <= self.latest.number
    }

    /// Whether the count is one that the account can explain by its own transactions: from the count that it knows to the
    /// first nonce that it has not bound. Any other one needs a second provider's word, since nonces are given up or filled for it.
    pub fn is_expected(&self, known: Option<(u64, u64)>) -> bool {
        known.is_some_and(|(lowest, highest)| (lowest..=highest).contains(&self.latest_count))
    }

    /// Of two providers' looks the one whose count is nearer to what the account knows: one that only lags, or follows a
    /// branch that the other has left, is right about less, and one that lies is not believed alone. A count above what the
    /// account can explain is believed only if the other has one above it, too: nonces are given up for it, while one that is
    /// too low only delays. None if nothing is known yet and they differ, since an account that begins with a wrong count
    /// does not find back.
    pub fn tempered(self, other: &Self, known: Option<(u64, u64)>) -> Option<Self> {
        let Some((lowest, highest)) = known else {
            return (self.latest_count == other.latest_count).then_some(self);
        };
        let distance = |view: &Self| match view.latest_count {
            count if count < lowest => lowest - count,
            count => count.saturating_sub(highest),
        };
        let leaps = |view: &Self| view.latest_count > highest;
        let takes_other = match (leaps(&self), leaps(other)) {
            (true, false) => true,
            (false, true) => false,
            _ => distance(other) < distance(&self),
        };
        Some(if takes_other { *other } else { self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_leaps_is_not_believed_because_the_other_lags() {
        let with = |latest_count| View {
            latest: Head::default(),
            latest_count,
            finalized_number: 0,
            finalized_count: None,
            balance: U256::ZERO,
            quote: Quote::default(),
        };
        let tempered = |one, other| with(one).tempered(&with(other), Some((30, 32))).unwrap().latest_count;
        // Seen in the simulator: the lie was nearer than a node five blocks behind.
        assert_eq!((tempered(35, 24), tempered(24, 35)), (24, 24));
        assert_eq!((tempered(35, 31), tempered(31, 35)), (31, 31));
        assert_eq!((tempered(35, 34), tempered(34, 35)), (34, 34));
        assert_eq!((tempered(24, 28), tempered(28, 24)), (28, 28));
        assert_eq!(with(5).tempered(&with(6), None), None);
    }
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

impl BlockCheck {
    /// Whether it says that the block cannot go away: what ends a request, and so needs a second provider's word.
    pub fn claims_finality(&self) -> bool {
        self.hash.is_some() && self.finalized_number >= self.number
    }

    /// What two providers agree on: the lower final height, and the block only if both have the same. If the other does not
    /// have a block there, it says nothing, and least of all that it is final.
    pub fn agreed(self, other: &Self) -> Self {
        let mut finalized_number = self.finalized_number.min(other.finalized_number);
        if other.hash.is_none() {
            finalized_number = finalized_number.min(self.number.saturating_sub(1));
        }
        let contradicts = other.hash.is_some() && other.hash != self.hash;
        Self { hash: self.hash.filter(|_| !contradicts), finalized_number, ..self }
    }
}

/// Which transaction of an account has used a nonce, as one provider shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identified {
    /// This one, in this block. That the account has signed it was verified.
    Found {
        /// The transaction.
        hash: B256,
        /// The block that it is in.
        block: Head,
    },
    /// None of the blocks below this height has it; what is above was not looked at.
    NotBelow(u64),
    /// No provider could say.
    Unknown,
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
        /// Whether it was simulated on top of the transactions that were named with it.
        on_top: bool,
    },
    /// The node did not say.
    Error,
}
