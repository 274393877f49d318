//! The gas that a transaction needs before its first instruction (Osaka rules).

use alloy_consensus::Transaction as _;
use types::Transaction;

/// The longest code that may create a contract (EIP-3860).
pub const INITCODE_BYTES_MAX: usize = 2 * 24_576;
/// The most gas that one transaction may ask for (EIP-7825).
pub const TX_GAS_MAX: u64 = 1 << 24;

const TRANSACTION: u64 = 21_000;
const CREATION: u64 = 32_000;
const INITCODE_WORD: u64 = 2;
const DATA_TOKEN: u64 = 4;
const DATA_TOKEN_FLOOR: u64 = 10;
const ACCESS_ADDRESS: u64 = 2_400;
const ACCESS_KEY: u64 = 1_900;
/// For each authorization (EIP-7702).
pub(crate) const AUTHORIZATION: u64 = 25_000;

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

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{SignableTransaction, TxEip1559, TxEip7702, TxEnvelope, transaction::Recovered};
    use alloy_eips::{
        eip2930::{AccessList, AccessListItem},
        eip7702::Authorization,
    };
    use alloy_primitives::{Address, B256, Signature, TxKind, U256};
    use proptest::prelude::*;
    use revm_context_interface::cfg::gas::calculate_initial_tx_gas;
    use revm_primitives::hardfork::SpecId;

    proptest! {
        /// What the machine will charge is what the pool asks for.
        #[test]
        fn revm_asks_for_the_same(
            data in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..200),
            keys in prop::collection::vec(0..4_usize, 0..4),
            authorizations in 0..4_usize,
            create: bool,
        ) {
            let list = keys.iter().map(|keys| AccessListItem {
                address: Address::ZERO,
                storage_keys: vec![B256::ZERO; *keys],
            });
            let access_list = AccessList(list.collect());
            let signature = Signature::test_signature();
            let create = create && authorizations == 0;
            let envelope = if authorizations > 0 {
                let authorization = Authorization { chain_id: U256::ZERO, address: Address::ZERO, nonce: 0 };
                let authorization_list = vec![authorization.into_signed(signature); authorizations];
                let input = data.clone().into();
                TxEnvelope::from(
                    TxEip7702 { access_list, authorization_list, input, ..TxEip7702::default() }
                        .into_signed(signature),
                )
            } else {
                let to = if create { TxKind::Create } else { TxKind::Call(Address::ZERO) };
                let input = data.clone().into();
                TxEnvelope::from(TxEip1559 { access_list, to, input, ..TxEip1559::default() }.into_signed(signature))
            };
            let found = needed(&Transaction::new(Recovered::new_unchecked(envelope, Address::ZERO)));
            let (accounts, keys) = (keys.len() as u64, keys.iter().sum::<usize>() as u64);
            let revm = calculate_initial_tx_gas(
                SpecId::OSAKA, &data, create, accounts, keys, authorizations as u64, None,
            );
            prop_assert_eq!(found.intrinsic, revm.initial_total_gas());
            prop_assert_eq!(found.floor, revm.floor_gas());
        }
    }
}
