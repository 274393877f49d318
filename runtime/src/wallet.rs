//! Keys of accounts that this program signs with by itself: the faucet of a development network, and the load generator.
//! Both are only for coins that are worth nothing; keys of value belong into the sender's keystores.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope, transaction::Recovered};
use alloy_primitives::{Address, B256, Signature};
use secp256k1::{Message, PublicKey, Secp256k1, SecretKey, SignOnly};
use std::sync::LazyLock;
use types::Transaction;

static SECP: LazyLock<Secp256k1<SignOnly>> = LazyLock::new(Secp256k1::signing_only);

/// A key with its address.
#[derive(Clone)]
pub struct Wallet {
    secret: SecretKey,
    address: Address,
}

/// Bytes that are no key: zero, or too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a key: it must be from one to the order of secp256k1")]
pub struct NoKey;

impl std::fmt::Debug for Wallet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Wallet").field(&self.address).finish()
    }
}

impl Wallet {
    /// The account of a key.
    pub fn new(key: &B256) -> Result<Self, NoKey> {
        let secret = SecretKey::from_slice(key.as_slice()).map_err(|_| NoKey)?;
        let public = PublicKey::from_secret_key(&SECP, &secret).serialize_uncompressed();
        Ok(Self { secret, address: Address::from_raw_public_key(&public[1..]) })
    }

    /// Its address.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Signs a transaction.
    pub fn sign(&self, tx: TxEip1559) -> Transaction {
        let message = Message::from_digest(tx.signature_hash().0);
        let (id, bytes) = SECP.sign_ecdsa_recoverable(&message, &self.secret).serialize_compact();
        let signature = Signature::from_bytes_and_parity(&bytes, i32::from(id) == 1);
        let envelope = TxEnvelope::from(tx.into_signed(signature));
        Transaction::new(Recovered::new_unchecked(envelope, self.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::transaction::SignerRecoverable;
    use alloy_primitives::{address, b256};

    #[test]
    fn what_is_signed_is_from_the_account_of_the_key() {
        let key = b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
        let wallet = Wallet::new(&key).unwrap();
        assert_eq!(wallet.address(), address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"));
        let signed = wallet.sign(TxEip1559 { chain_id: 732846, nonce: 3, ..TxEip1559::default() });
        assert_eq!(signed.signed().inner().recover_signer().unwrap(), wallet.address());
        assert!(!format!("{wallet:?}").contains("ac0974"));
        assert_eq!(Wallet::new(&B256::ZERO).unwrap_err(), NoKey);
    }
}
