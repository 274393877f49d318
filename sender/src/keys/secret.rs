//! Secrets in memory: wiped when they go, never printed.

use alloy_primitives::{Address, B256, hex};
use alloy_signer_local::PrivateKeySigner;
use core::fmt;
use std::{io, path::Path};
use zeroize::{Zeroize, Zeroizing};

/// A private key.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; 32]>);

/// Bytes or text that is no private key. What was given is not repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is no private key: a key has 64 hexadecimal digits and is neither zero nor too large")]
pub struct BadKey;

impl SecretKey {
    /// A new key.
    pub fn random() -> Result<Self, getrandom::Error> {
        loop {
            let mut bytes = Zeroizing::new([0; 32]);
            getrandom::fill(&mut *bytes)?;
            // All but one in 2^128 are keys.
            if let Ok(key) = Self::new(bytes) {
                return Ok(key);
            }
        }
    }

    /// From its bytes.
    pub fn new(bytes: Zeroizing<[u8; 32]>) -> Result<Self, BadKey> {
        match PrivateKeySigner::from_bytes(<&B256>::from(&*bytes)) {
            Ok(_) => Ok(Self(bytes)),
            Err(_) => Err(BadKey),
        }
    }

    /// From hexadecimal text.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let mut bytes = Zeroizing::new([0; 32]);
        hex::decode_to_slice(text.trim(), &mut *bytes).map_err(|_| BadKey)?;
        Self::new(bytes)
    }

    /// Whose key it is.
    pub fn address(&self) -> Address {
        self.signer().address()
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(super) fn signer(&self) -> PrivateKeySigner {
        PrivateKeySigner::from_bytes(<&B256>::from(&*self.0)).expect("it was a key when this was made")
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

/// A password.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

/// Why there is no password.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// Its file cannot be read.
    #[error("the password file {path}: {why}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        why: io::Error,
    },
    /// It is empty.
    #[error("the password is empty")]
    Empty,
}

impl Password {
    /// From text; line ends do not belong to it.
    pub fn new(mut text: String) -> Result<Self, PasswordError> {
        let length = text.trim_end_matches(['\r', '\n']).len();
        if length == 0 {
            text.zeroize();
            return Err(PasswordError::Empty);
        }
        text.truncate(length);
        Ok(Self(Zeroizing::new(text)))
    }

    /// From a file.
    pub fn read(path: &Path) -> Result<Self, PasswordError> {
        let text = std::fs::read_to_string(path);
        Self::new(text.map_err(|why| PasswordError::File { path: path.display().to_string(), why })?)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl PartialEq for Password {
    fn eq(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}
