//! Who holds the keys. The sender never sees one: it hands out bytes and gets a signature.

use alloy_primitives::{Address, Signature};
use core::{future::Future, pin::Pin};
use std::sync::Arc;

/// An answer that is on its way.
pub type Signing<'a, T> = Pin<Box<dyn Future<Output = Result<T, SignerError>> + Send + 'a>>;

/// Why there is no signature or no key. Nothing in it is secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SignerError {
    /// There is no such key.
    #[error("there is no key for {0}")]
    NoKey(Address),
    /// The signer did not answer, or not now. It is asked again.
    #[error("the signer did not answer: {0}")]
    Unavailable(String),
    /// The signer refuses, and will refuse again.
    #[error("the signer refused: {0}")]
    Refused(String),
    /// These keys are somebody else's business: new ones cannot be made here.
    #[error("no key can be made here: {0}")]
    ReadOnly(String),
}

/// One account's key, wherever it is. A local one answers at once, a remote one when it has answered.
pub trait Signer: Send + Sync {
    /// Whose key it is.
    fn address(&self) -> Address;

    /// Signs the Keccak-256 hash of these bytes. Bytes and not their hash, because remote signers hash by themselves, and
    /// may want to see what they sign.
    fn sign<'a>(&'a self, preimage: &'a [u8]) -> Signing<'a, Signature>;
}

/// A collection of keys: those of a development chain, a directory of keystores, a remote signer.
pub trait Keys: Send + Sync {
    /// All accounts, in a stable order.
    fn addresses(&self) -> Vec<Address>;

    /// The key of an account.
    fn signer(&self, address: Address) -> Option<Arc<dyn Signer>>;

    /// Makes a key and keeps it, durably, before it answers. Groups grow by it.
    fn create(&self) -> Signing<'_, Address>;
}
