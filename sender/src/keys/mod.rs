//! Where keys are: in memory, as those of a development chain; in a directory of encrypted files ([`Keystores`]), or of
//! plain ones for development ([`KeyFiles`]); behind a remote signer ([`Web3Signer`]); and several such collections as one.
//!
//! A key and a password are never printed: their types have no `Debug` that shows them, errors do not quote what they
//! were given, and their memory is wiped when they go.

mod directory;
mod files;
mod keystore;
mod secret;
#[cfg(test)]
mod tests;
mod web3signer;
mod whole_file;

pub use directory::{KeysError, Keystores, StoredKey};
pub use files::KeyFiles;
pub use keystore::{Cost, Keystore, KeystoreError};
pub use secret::{BadKey, Password, PasswordError, SecretKey};
pub use web3signer::Web3Signer;

use crate::signer::{Keys, Signer, SignerError, Signing};
use alloy_primitives::{Address, B256, Signature, keccak256};
use alloy_signer_local::PrivateKeySigner;
use core::fmt;
use std::sync::{Arc, Mutex};

/// A key in memory.
pub struct LocalSigner(PrivateKeySigner);

impl LocalSigner {
    /// From the key's bytes; none if they are no key.
    pub fn new(key: &B256) -> Option<Self> {
        PrivateKeySigner::from_bytes(key).ok().map(Self)
    }
}

impl From<&SecretKey> for LocalSigner {
    fn from(key: &SecretKey) -> Self {
        Self(key.signer())
    }
}

impl fmt::Debug for LocalSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalSigner").field(&self.0.address()).finish()
    }
}

impl Signer for LocalSigner {
    fn address(&self) -> Address {
        self.0.address()
    }

    fn sign<'a>(&'a self, preimage: &'a [u8]) -> Signing<'a, Signature> {
        use alloy_signer::SignerSync;
        let signed = self.0.sign_hash_sync(&keccak256(preimage));
        // The error's words are the library's; they might quote what they were given.
        let signed = signed.map_err(|_| SignerError::Refused("the key cannot sign".into()));
        Box::pin(core::future::ready(signed))
    }
}

/// Keys in memory. New ones are gone with the process.
#[derive(Debug, Default)]
pub struct LocalKeys {
    signers: Mutex<Vec<Arc<LocalSigner>>>,
    may_create: bool,
}

impl LocalKeys {
    /// These keys; whether more may be made. What is no key is left out.
    pub fn new(keys: impl IntoIterator<Item = B256>, may_create: bool) -> Self {
        let signers = keys.into_iter().filter_map(|key| LocalSigner::new(&key)).map(Arc::new).collect();
        Self { signers: Mutex::new(signers), may_create }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<LocalSigner>>> {
        self.signers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn make(&self) -> Result<Address, SignerError> {
        if !self.may_create {
            return Err(SignerError::ReadOnly("no directory of keystores is configured".into()));
        }
        let signer = LocalSigner(PrivateKeySigner::random());
        let address = signer.address();
        self.lock().push(Arc::new(signer));
        Ok(address)
    }
}

impl Keys for LocalKeys {
    fn addresses(&self) -> Vec<Address> {
        self.lock().iter().map(|signer| signer.address()).collect()
    }

    fn signer(&self, address: Address) -> Option<Arc<dyn Signer>> {
        let signers = self.lock();
        let found = signers.iter().find(|signer| signer.address() == address)?;
        Some(found.clone())
    }

    fn create(&self) -> Signing<'_, Address> {
        Box::pin(core::future::ready(self.make()))
    }
}

/// Several collections as one. New keys are made by the first that can.
#[derive(Default)]
pub struct KeyRing(pub Vec<Arc<dyn Keys>>);

impl Keys for KeyRing {
    fn addresses(&self) -> Vec<Address> {
        let mut all: Vec<Address> = Vec::new();
        for address in self.0.iter().flat_map(|keys| keys.addresses()) {
            if !all.contains(&address) {
                all.push(address);
            }
        }
        all
    }

    fn signer(&self, address: Address) -> Option<Arc<dyn Signer>> {
        self.0.iter().find_map(|keys| keys.signer(address))
    }

    fn create(&self) -> Signing<'_, Address> {
        Box::pin(async {
            let mut refused = SignerError::ReadOnly("no keys are configured".into());
            for keys in &self.0 {
                match keys.create().await {
                    Err(SignerError::ReadOnly(why)) => refused = SignerError::ReadOnly(why),
                    done => return done,
                }
            }
            Err(refused)
        })
    }
}
