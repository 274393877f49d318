//! The users: their keys, and the transactions that they send.

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEnvelope, crypto::secp256k1, transaction::Recovered,
};
use alloy_primitives::{Address, B256, Signature, TxKind, U256};
use types::Transaction;

/// The key of a user.
fn key(who: u64) -> B256 {
    B256::with_last_byte(who as u8 + 1)
}

/// The address of a user, with a key if signatures matter.
pub(super) fn sender(who: u64, signs: bool) -> Address {
    if !signs {
        return Address::with_last_byte(who as u8 + 1);
    }
    let tx = TxEip1559::default();
    let signature = secp256k1::sign_message(key(who), tx.signature_hash()).expect("a small number is a key");
    secp256k1::recover_signer(&signature, tx.signature_hash()).expect("just signed")
}

/// A transaction of a user, unique by its salt; signed if signatures matter.
pub(super) fn transaction(
    (who, sender): (u64, Address),
    signs: bool,
    nonce: u64,
    fee_gwei: u64,
    salt: u64,
) -> Transaction {
    let fee = u128::from(fee_gwei) * 1_000_000_000;
    let tx = TxEip1559 {
        chain_id: txpool::Config::default().chain_id,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        to: TxKind::Call(Address::repeat_byte(0xaa)),
        value: U256::from(salt % 100_000),
        ..TxEip1559::default()
    };
    let signature = match signs {
        true => secp256k1::sign_message(key(who), tx.signature_hash()).expect("a small number is a key"),
        false => Signature::new(U256::from(salt), U256::from(1), false),
    };
    let signed = TxEnvelope::from(tx.into_signed(signature));
    Transaction::new(Recovered::new_unchecked(signed, sender))
}
