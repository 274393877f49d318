//! A transaction whose sender is known.

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use alloy_consensus::{TxEnvelope, transaction::Recovered};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, keccak256};
use core::{fmt, ops::Deref};

/// A signed transaction with its recovered sender, its hash and its bytes.
///
/// All three are computed once, where the transaction enters the process; from then on it is passed around as one
/// shared pointer. Two transactions are equal if their hashes are.
#[derive(Clone)]
pub struct Transaction(Arc<Inner>);

struct Inner {
    signed: Recovered<TxEnvelope>,
    hash: B256,
    encoded: Bytes,
    authorities: Box<[Address]>,
    signer: Option<Box<Signer>>,
}

/// The public key that made a signature. Recovery finds it on the way to the address, and a check of many signatures together
/// needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signer {
    /// x and y, big-endian.
    pub key: [u8; 64],
    /// y of the signature's point R, big-endian, where recovery has it at hand: it can be worked out from r.
    pub r_y: Option<[u8; 32]>,
}

impl Signer {
    /// The address of the key.
    pub fn address(&self) -> Address {
        Address::from_slice(&keccak256(self.key)[12..])
    }
}

impl Transaction {
    /// From a recovered transaction; encodes it.
    pub fn new(signed: Recovered<TxEnvelope>) -> Self {
        let encoded = signed.encoded_2718().into();
        Self::from_parts(signed, encoded)
    }

    /// From a recovered transaction and the bytes it was decoded from, which the caller already has.
    pub fn from_parts(signed: Recovered<TxEnvelope>, encoded: Bytes) -> Self {
        Self::with_authorities(signed, encoded, Vec::new())
    }

    /// Like [`from_parts`](Self::from_parts), with the accounts that signed its EIP-7702 authorizations: recovering
    /// them costs as much as recovering the sender, so whoever did it says what came out.
    pub fn with_authorities(
        signed: Recovered<TxEnvelope>,
        encoded: Bytes,
        authorities: impl Into<Box<[Address]>>,
    ) -> Self {
        Self::with_parts(signed, encoded, authorities.into(), None)
    }

    /// A transaction of which recovery has just found the signer: the sender is the signer's address.
    pub fn signed_by(
        tx: TxEnvelope,
        signer: Signer,
        encoded: Bytes,
        authorities: impl Into<Box<[Address]>>,
    ) -> Self {
        let signed = Recovered::new_unchecked(tx, signer.address());
        Self::with_parts(signed, encoded, authorities.into(), Some(Box::new(signer)))
    }

    fn with_parts(
        signed: Recovered<TxEnvelope>,
        encoded: Bytes,
        authorities: Box<[Address]>,
        signer: Option<Box<Signer>>,
    ) -> Self {
        let hash = keccak256(&encoded);
        Self(Arc::new(Inner { signed, hash, encoded, authorities, signer }))
    }

    /// keccak-256 of the encoded transaction.
    pub fn hash(&self) -> B256 {
        self.0.hash
    }

    /// Who signed it.
    pub fn sender(&self) -> Address {
        self.0.signed.signer()
    }

    /// The public key that signed it, if it is known: it is not kept on disk, so a transaction that was read from there has none.
    pub fn signer(&self) -> Option<&Signer> {
        self.0.signer.as_deref()
    }

    /// The EIP-2718 bytes, as they travel.
    pub fn encoded(&self) -> &Bytes {
        &self.0.encoded
    }

    /// Who signed its EIP-7702 authorizations, as far as they were recovered; each once.
    pub fn authorities(&self) -> &[Address] {
        &self.0.authorities
    }

    /// The transaction with its signer, as alloy knows it.
    pub fn signed(&self) -> &Recovered<TxEnvelope> {
        &self.0.signed
    }
}

impl Deref for Transaction {
    type Target = TxEnvelope;

    fn deref(&self) -> &TxEnvelope {
        self.0.signed.inner()
    }
}

impl PartialEq for Transaction {
    fn eq(&self, other: &Self) -> bool {
        self.0.hash == other.0.hash
    }
}

impl Eq for Transaction {}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("hash", &self.0.hash).field("sender", &self.sender()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{SignableTransaction, TxLegacy};
    use alloy_primitives::{Signature, address, b256};

    #[test]
    fn hash_and_bytes_are_those_of_the_envelope() {
        let signed = TxLegacy { nonce: 3, ..TxLegacy::default() }.into_signed(Signature::test_signature());
        let envelope = TxEnvelope::from(signed);
        let tx = Transaction::new(Recovered::new_unchecked(envelope.clone(), Address::repeat_byte(9)));
        assert_eq!(tx.hash(), *envelope.tx_hash());
        assert_eq!(tx.encoded().as_ref(), envelope.encoded_2718());
        assert_eq!(tx.sender(), Address::repeat_byte(9));
        assert_eq!(alloy_primitives::keccak256(tx.encoded()), tx.hash());
        assert_eq!(tx.signer(), None);

        // The address of the curve's generator, which is the public key of the secret key 1.
        let mut key = [0; 64];
        key[..32]
            .copy_from_slice(&b256!("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798").0);
        key[32..]
            .copy_from_slice(&b256!("483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8").0);
        let signer = Signer { key, r_y: None };
        let tx = Transaction::signed_by(envelope, signer, tx.encoded().clone(), []);
        assert_eq!(tx.sender(), address!("7e5f4552091a69125d5dfcb7b8c2659029395bdf"));
        assert_eq!(tx.signer(), Some(&signer));
    }
}
