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
        let hash = keccak256(&encoded);
        Self(Arc::new(Inner { signed, hash, encoded, authorities: authorities.into() }))
    }

    /// keccak-256 of the encoded transaction.
    pub fn hash(&self) -> B256 {
        self.0.hash
    }

    /// Who signed it.
    pub fn sender(&self) -> Address {
        self.0.signed.signer()
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
    use alloy_primitives::Signature;

    #[test]
    fn hash_and_bytes_are_those_of_the_envelope() {
        let signed = TxLegacy { nonce: 3, ..TxLegacy::default() }.into_signed(Signature::test_signature());
        let envelope = TxEnvelope::from(signed);
        let tx = Transaction::new(Recovered::new_unchecked(envelope.clone(), Address::repeat_byte(9)));
        assert_eq!(tx.hash(), *envelope.tx_hash());
        assert_eq!(tx.encoded().as_ref(), envelope.encoded_2718());
        assert_eq!(tx.sender(), Address::repeat_byte(9));
        assert_eq!(alloy_primitives::keccak256(tx.encoded()), tx.hash());
    }
}
