//! The gas that a transaction needs before its first instruction (Osaka rules).

use alloy_consensus::Transaction as _;
use types::Transaction;

/// The longest code that may create a contract (EIP-3860).
pub(crate) const INITCODE_BYTES_MAX: usize = 2 * 24_576;
/// The most gas that one transaction may ask for (EIP-7825).
pub(crate) const TX_GAS_MAX: u64 = 1 << 24;

const TRANSACTION: u64 = 21_000;
const CREATION: u64 = 32_000;
const INITCODE_WORD: u64 = 2;
const DATA_TOKEN: u64 = 4;
const DATA_TOKEN_FLOOR: u64 = 10;
const ACCESS_ADDRESS: u64 = 2_400;
const ACCESS_KEY: u64 = 1_900;
const AUTHORIZATION: u64 = 25_000;

// A transaction at the cap can still carry the longest initcode.
const _: () =
    assert!(TRANSACTION + CREATION + 4 * DATA_TOKEN_FLOOR * INITCODE_BYTES_MAX as u64 <= TX_GAS_MAX);

/// What a transaction must at least bring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Needed {
    /// For being there: data, access list, authorizations, creation.
    pub(crate) intrinsic: u64,
    /// For its data, whatever it does (EIP-7623).
    pub(crate) floor: u64,
}

/// What `tx` must at least bring. Its size is limited before, so nothing here can overflow.
pub(crate) fn needed(tx: &Transaction) -> Needed {
    let data = tx.input();
    let zeros = data.iter().filter(|byte| **byte == 0).count() as u64;
    let tokens = 4 * data.len() as u64 - 3 * zeros;
    let mut intrinsic = TRANSACTION + tokens * DATA_TOKEN;
    if tx.is_create() {
        intrinsic += CREATION + INITCODE_WORD * (data.len() as u64).div_ceil(32);
    }
    for item in tx.access_list().into_iter().flat_map(|list| list.iter()) {
        intrinsic += ACCESS_ADDRESS + ACCESS_KEY * item.storage_keys.len() as u64;
    }
    intrinsic += AUTHORIZATION * tx.authorization_list().map_or(0, <[_]>::len) as u64;
    Needed { intrinsic, floor: TRANSACTION + tokens * DATA_TOKEN_FLOOR }
}
