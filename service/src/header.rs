//! Headers: what follows from the parent, what the builder may choose, and what execution gives.
//!
//! ```text
//!   parent + Choice --next--> header without results --execute--> complete header, whose hash is the block
//! ```
//!
//! Builder and validator both go this way, so "compare every field" is one comparison of two headers.

use crate::{Config, execution::Executed};
use alloy_consensus::{
    Header,
    constants::{EMPTY_OMMER_ROOT_HASH, EMPTY_WITHDRAWALS},
    proofs::ordered_trie_root_encoded,
};
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_primitives::{Address, B256, Bytes, keccak256};

/// How many bytes of extra data a header may have.
pub const EXTRA_DATA_BYTES_MAX: usize = 32;

const BASE_FEE_CHANGE_DENOMINATOR: u128 = 8;

/// What the builder decides about a block, apart from its transactions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Seconds since the Unix epoch; not before the parent's.
    pub timestamp: u64,
    /// Who gets the fees.
    pub beneficiary: Address,
    /// At most [`EXTRA_DATA_BYTES_MAX`] bytes.
    pub extra_data: Bytes,
}

impl Choice {
    /// What was decided about a block that is sealed.
    pub fn of(sealed: &Header) -> Self {
        let Header { timestamp, beneficiary, extra_data, .. } = sealed;
        Self { timestamp: *timestamp, beneficiary: *beneficiary, extra_data: extra_data.clone() }
    }
}

/// Why no block can follow a parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HeaderError {
    /// The parent has the highest number there is.
    #[error("no number follows the parent's")]
    Number,
    /// The block is older than its parent.
    #[error("the timestamp {found} is before the parent's {parent}")]
    Timestamp {
        /// The parent's.
        parent: u64,
        /// The block's.
        found: u64,
    },
    /// The extra data is too long.
    #[error("{0} bytes of extra data, at most {EXTRA_DATA_BYTES_MAX} allowed")]
    ExtraData(usize),
}

/// The header of the block that follows `parent`, without the results of its execution.
pub fn next(
    parent: &Header,
    parent_hash: B256,
    choice: &Choice,
    config: &Config,
) -> Result<Header, HeaderError> {
    let number = parent.number.checked_add(1).ok_or(HeaderError::Number)?;
    if choice.timestamp < parent.timestamp {
        return Err(HeaderError::Timestamp { parent: parent.timestamp, found: choice.timestamp });
    }
    if choice.extra_data.len() > EXTRA_DATA_BYTES_MAX {
        return Err(HeaderError::ExtraData(choice.extra_data.len()));
    }
    Ok(Header {
        parent_hash,
        number,
        timestamp: choice.timestamp,
        beneficiary: choice.beneficiary,
        extra_data: choice.extra_data.clone(),
        gas_limit: config.gas_limit,
        base_fee_per_gas: Some(next_base_fee(parent, config.gas_target, config.base_fee_floor_wei)),
        mix_hash: prevrandao(parent_hash),
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        withdrawals_root: Some(EMPTY_WITHDRAWALS),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(EMPTY_REQUESTS_HASH),
        ..Header::default()
    })
}

/// The roots of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Roots {
    /// Of the state after it.
    pub state: B256,
    /// Of its transactions.
    pub transactions: B256,
    /// Of its receipts.
    pub receipts: B256,
}

/// The header with the results of its execution.
pub fn complete<T>(header: Header, executed: &Executed<T>, roots: Roots) -> Header {
    Header {
        state_root: roots.state,
        transactions_root: roots.transactions,
        receipts_root: roots.receipts,
        logs_bloom: executed.bloom,
        gas_used: executed.gas_used,
        ..header
    }
}

/// The root of encoded (EIP-2718) transactions or receipts.
pub fn list_root<T: AsRef<[u8]>>(items: &[T]) -> B256 {
    ordered_trie_root_encoded(items)
}

/// The base fee after `parent` (EIP-1559 with this target), but never below `floor`.
///
/// A block may use several times the target; so that one block changes the fee by an eighth at most, as on Ethereum, more than
/// twice the target counts as twice. For every parent there is an answer, also for one that no chain could have.
pub fn next_base_fee(parent: &Header, target: u64, floor: u64) -> u64 {
    let base = parent.base_fee_per_gas.unwrap_or(floor);
    let change = |gas: u64| {
        let change =
            u128::from(base) * u128::from(gas) / u128::from(target.max(1)) / BASE_FEE_CHANGE_DENOMINATOR;
        u64::try_from(change).unwrap_or(u64::MAX)
    };
    let next = match parent.gas_used.min(target.saturating_mul(2)) {
        used if used > target => base.saturating_add(change(used - target).max(1)),
        used => base.saturating_sub(change(target - used)),
    };
    next.max(floor)
}

/// What PREVRANDAO gives: there is no beacon, so it is no secret, and contracts must not bet on it.
pub fn prevrandao(parent_hash: B256) -> B256 {
    keccak256(parent_hash)
}

/// The name of the first field in which two headers differ.
pub(crate) fn first_difference(a: &Header, b: &Header) -> Option<&'static str> {
    let fields = [
        ("parent hash", a.parent_hash == b.parent_hash),
        ("number", a.number == b.number),
        ("gas limit", a.gas_limit == b.gas_limit),
        ("base fee", a.base_fee_per_gas == b.base_fee_per_gas),
        ("mix hash", a.mix_hash == b.mix_hash),
        ("gas used", a.gas_used == b.gas_used),
        ("transactions root", a.transactions_root == b.transactions_root),
        ("receipts root", a.receipts_root == b.receipts_root),
        ("logs bloom", a.logs_bloom == b.logs_bloom),
        ("state root", a.state_root == b.state_root),
        ("constant fields", a == b),
    ];
    fields.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_eips::eip1559::{BaseFeeParams, calc_next_block_base_fee};
    use proptest::prelude::*;

    fn parent(gas_used: u64, gas_limit: u64, base_fee: u64) -> Header {
        Header { gas_used, gas_limit, base_fee_per_gas: Some(base_fee), ..Header::default() }
    }

    #[test]
    fn the_base_fee_stops_at_its_floor() {
        assert_eq!(next_base_fee(&parent(0, 100, 1000), 50, 900), 900);
        assert_eq!(next_base_fee(&parent(0, 100, 1000), 50, 7), 875);
        assert_eq!(next_base_fee(&parent(100, 100, 1000), 50, 7), 1125);
        assert_eq!(next_base_fee(&parent(1000, 1000, 1000), 50, 7), 1125, "an eighth at most");
        assert_eq!(next_base_fee(&Header { gas_limit: 2, gas_used: 1, ..Header::default() }, 1, 7), 7);
    }

    proptest! {
        #[test]
        fn the_base_fee_is_the_well_known_one(
            limit in 5_000_u64..1 << 40, used in 0..=100_u64, base in 1_u64..1 << 50,
        ) {
            let used = limit / 100 * used;
            let theirs = calc_next_block_base_fee(used, limit, base, BaseFeeParams::ethereum());
            prop_assert_eq!(next_base_fee(&parent(used, limit, base), limit / 2, 0), theirs);
        }

        #[test]
        fn no_parent_is_too_strange(used: u64, target: u64, base: u64, floor: u64) {
            prop_assert!(next_base_fee(&parent(used, u64::MAX, base), target, floor) >= floor);
        }
    }
}
