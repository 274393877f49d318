//! Keys that sign transactions of every type.

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip7702, TxEnvelope, TxLegacy, transaction::Recovered,
};
use alloy_eips::{
    eip2930::AccessList,
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256};
use secp256k1::{Message, PublicKey, Secp256k1, SecretKey, SignOnly};
use std::sync::LazyLock;
use types::Transaction;

static SECP: LazyLock<Secp256k1<SignOnly>> = LazyLock::new(Secp256k1::signing_only);

/// A key with its address.
#[derive(Clone, Copy, Debug)]
pub struct Wallet {
    secret: SecretKey,
    address: Address,
}

/// What a transaction does, without who signs it and how.
#[derive(Clone, Debug)]
pub struct Call {
    /// The sender's nonce.
    pub nonce: u64,
    /// Whom it calls, or that it creates.
    pub to: TxKind,
    /// Wei.
    pub value: U256,
    /// Calldata or the constructor.
    pub input: Bytes,
    /// Gas.
    pub gas_limit: u64,
    /// The chain.
    pub chain_id: u64,
    /// Wei for each gas.
    pub max_fee: u128,
    /// Wei of it for the beneficiary.
    pub tip: u128,
    /// What is accessed.
    pub access_list: AccessList,
}

impl Call {
    /// A call with room for a million gas.
    pub fn to(to: Address, nonce: u64) -> Self {
        Self {
            nonce,
            to: TxKind::Call(to),
            value: U256::ZERO,
            input: Bytes::new(),
            gas_limit: 1_000_000,
            chain_id: service::config::CHAIN_ID,
            max_fee: 10_000_000_000,
            tip: 1_000_000_000,
            access_list: AccessList::default(),
        }
    }

    /// A transfer.
    pub fn transfer(to: Address, nonce: u64, wei: u64) -> Self {
        Self { value: U256::from(wei), gas_limit: 21_000, ..Self::to(to, nonce) }
    }

    /// A creation.
    pub fn create(constructor: Bytes, nonce: u64) -> Self {
        Self { to: TxKind::Create, input: constructor, ..Self::to(Address::ZERO, nonce) }
    }
}

impl Wallet {
    /// Wallet number `index`; all have known keys.
    pub fn new(index: u64) -> Self {
        let secret = keccak256(index.to_be_bytes());
        let secret = SecretKey::from_slice(secret.as_slice()).expect("almost every number is a key");
        let public = PublicKey::from_secret_key(&SECP, &secret).serialize_uncompressed();
        Self { secret, address: Address::from_raw_public_key(&public[1..]) }
    }

    /// The address.
    pub fn address(&self) -> Address {
        self.address
    }

    fn sign(&self, hash: B256) -> Signature {
        let message = Message::from_digest(hash.0);
        let (id, bytes) = SECP.sign_ecdsa_recoverable(&message, &self.secret).serialize_compact();
        Signature::from_bytes_and_parity(&bytes, i32::from(id) == 1)
    }

    fn signed<T: SignableTransaction<Signature>>(&self, tx: T) -> Transaction
    where
        TxEnvelope: From<alloy_consensus::Signed<T>>,
    {
        let signature = self.sign(tx.signature_hash());
        let envelope = TxEnvelope::from(tx.into_signed(signature));
        Transaction::new(Recovered::new_unchecked(envelope, self.address))
    }

    /// Signs a transaction of type 0.
    pub fn legacy(&self, call: Call) -> Transaction {
        let Call { nonce, to, value, input, gas_limit, chain_id, max_fee, .. } = call;
        let chain_id = Some(chain_id);
        self.signed(TxLegacy { chain_id, nonce, gas_price: max_fee, gas_limit, to, value, input })
    }

    /// Signs a transaction of type 1.
    pub fn eip2930(&self, call: Call) -> Transaction {
        let Call { nonce, to, value, input, gas_limit, chain_id, max_fee, access_list, .. } = call;
        self.signed(TxEip2930 {
            chain_id,
            nonce,
            gas_price: max_fee,
            gas_limit,
            to,
            value,
            access_list,
            input,
        })
    }

    /// Signs a transaction of type 2.
    pub fn eip1559(&self, call: Call) -> Transaction {
        let Call { nonce, to, value, input, gas_limit, chain_id, max_fee, tip, access_list } = call;
        self.signed(TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas: max_fee,
            max_priority_fee_per_gas: tip,
            to,
            value,
            access_list,
            input,
        })
    }

    /// Signs a transaction of type 4.
    pub fn eip7702(&self, call: Call, authorization_list: Vec<SignedAuthorization>) -> Transaction {
        let Call { nonce, to, value, input, gas_limit, chain_id, max_fee, tip, access_list } = call;
        self.signed(TxEip7702 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas: max_fee,
            max_priority_fee_per_gas: tip,
            to: to.to().copied().unwrap_or_default(),
            value,
            access_list,
            authorization_list,
            input,
        })
    }

    /// Lets this account have the code of another.
    pub fn delegates(&self, to: Address, nonce: u64) -> SignedAuthorization {
        let chain_id = U256::from(service::config::CHAIN_ID);
        let authorization = Authorization { chain_id, address: to, nonce };
        let signature = self.sign(authorization.signature_hash());
        authorization.into_signed(signature)
    }
}
