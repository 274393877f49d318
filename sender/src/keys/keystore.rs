//! One encrypted key: the format that wallets share (web3 secret storage, version 3), with scrypt.
//!
//! `eth-keystore`, which alloy's feature `keystore` uses (0.5.0), does not bound what a file makes scrypt or PBKDF2 spend,
//! panics on a short IV or derived key, ignores version, cipher and PRF, wipes neither key nor derived key, and only reads
//! and writes files. So the format is read here, with limits that are checked before any work is done and secrets that are
//! wiped.

use super::{Password, SecretKey};
use aes::cipher::{KeyIvInit, StreamCipher};
use alloy_primitives::{Address, hex, keccak256};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

type Aes128Ctr = ctr::Ctr128BE<aes::Aes128>;

/// What scrypt may take of memory: four times what our own files need.
const SCRYPT_BYTES_MAX: u64 = 1 << 30;
const PBKDF2_ROUNDS_MAX: u32 = 10_000_000;

/// How much work a guess at the password is: scrypt with N = 2^`log_n`, r = 8, p = 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// The logarithm of N.
    pub log_n: u8,
}

impl Default for Cost {
    /// A second or so, and 256 MiB.
    fn default() -> Self {
        Self { log_n: 18 }
    }
}

/// Why a key cannot be had. Neither key nor password is in it.
#[derive(Debug, thiserror::Error)]
pub enum KeystoreError {
    /// The password is not the right one, or the file was changed.
    #[error("the password is wrong")]
    WrongPassword,
    /// It is not a keystore, or not one that is known here.
    #[error("it is not a keystore that can be used: {0}")]
    Unsupported(String),
    /// There are no random bytes.
    #[error("no random bytes: {0}")]
    Random(getrandom::Error),
}

/// An encrypted key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Keystore {
    /// Whose key it is, in hexadecimal, without 0x.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(alias = "Crypto")]
    crypto: Crypto,
    /// A random name.
    #[serde(default)]
    id: String,
    version: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Crypto {
    cipher: String,
    cipherparams: CipherParams,
    #[serde(with = "plain_hex")]
    ciphertext: Vec<u8>,
    #[serde(flatten)]
    kdf: Kdf,
    #[serde(with = "plain_hex")]
    mac: Vec<u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct CipherParams {
    #[serde(with = "plain_hex")]
    iv: Vec<u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kdf", content = "kdfparams", rename_all = "lowercase")]
enum Kdf {
    Scrypt {
        dklen: u32,
        n: u64,
        r: u32,
        p: u32,
        #[serde(with = "plain_hex")]
        salt: Vec<u8>,
    },
    Pbkdf2 {
        dklen: u32,
        c: u32,
        prf: String,
        #[serde(with = "plain_hex")]
        salt: Vec<u8>,
    },
}

fn unsupported(why: impl Into<String>) -> KeystoreError {
    KeystoreError::Unsupported(why.into())
}

impl Kdf {
    /// Refuses what would take too much time or memory before any of it is spent.
    fn check(&self) -> Result<(), KeystoreError> {
        match self {
            Self::Scrypt { dklen: 32, n, r, p: 1..=16, .. } if n.is_power_of_two() && *n > 1 && *r > 0 => {
                let bytes = n.checked_mul(128).and_then(|bytes| bytes.checked_mul(u64::from(*r)));
                match bytes {
                    Some(..=SCRYPT_BYTES_MAX) => Ok(()),
                    _ => Err(unsupported(format!(
                        "scrypt with n={n} r={r} needs more than {SCRYPT_BYTES_MAX} bytes of memory"
                    ))),
                }
            }
            Self::Pbkdf2 { dklen: 32, c: 1..=PBKDF2_ROUNDS_MAX, prf, .. } if prf == "hmac-sha256" => Ok(()),
            _ => Err(unsupported(
                "unsupported KDF; expected scrypt (p at most 16) or pbkdf2 with hmac-sha256, with dklen 32",
            )),
        }
    }

    fn derive(&self, password: &Password) -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
        self.check()?;
        let mut derived = Zeroizing::new([0; 32]);
        match self {
            Self::Scrypt { n, r, p, salt, .. } => {
                let params = scrypt::Params::new(n.ilog2() as u8, *r, *p, 32);
                let params = params.map_err(|why| unsupported(why.to_string()))?;
                let done = scrypt::scrypt(password.bytes(), salt, &params, &mut *derived);
                done.map_err(|why| unsupported(why.to_string()))?;
            }
            Self::Pbkdf2 { c, salt, .. } => {
                pbkdf2::pbkdf2_hmac::<Sha256>(password.bytes(), salt, *c, &mut *derived);
            }
        }
        Ok(derived)
    }
}

fn random<const N: usize>() -> Result<[u8; N], KeystoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(KeystoreError::Random)?;
    Ok(bytes)
}

/// Encrypts or decrypts, which is the same.
fn apply(derived: &[u8; 32], iv: &[u8; 16], bytes: &mut [u8]) {
    let key: &[u8; 16] = derived.first_chunk().expect("32 bytes begin with 16");
    Aes128Ctr::new(key.into(), iv.into()).apply_keystream(bytes);
}

fn mac(derived: &[u8; 32], ciphertext: &[u8]) -> [u8; 32] {
    keccak256([&derived[16..], ciphertext].concat()).0
}

impl Keystore {
    /// Encrypts a key.
    pub fn encrypt(key: &SecretKey, password: &Password, cost: Cost) -> Result<Self, KeystoreError> {
        let salt = random::<32>()?.to_vec();
        let kdf = Kdf::Scrypt { dklen: 32, n: 1 << cost.log_n.min(40), r: 8, p: 1, salt };
        let derived = kdf.derive(password)?;
        let iv = random::<16>()?;
        let mut ciphertext = key.bytes().to_vec();
        apply(&derived, &iv, &mut ciphertext);
        let crypto = Crypto {
            cipher: "aes-128-ctr".to_owned(),
            cipherparams: CipherParams { iv: iv.to_vec() },
            mac: mac(&derived, &ciphertext).to_vec(),
            ciphertext,
            kdf,
        };
        let address = Some(hex::encode(key.address()));
        Ok(Self { address, crypto, id: uuid(random()?), version: 3 })
    }

    /// Decrypts the key.
    pub fn decrypt(&self, password: &Password) -> Result<SecretKey, KeystoreError> {
        let Crypto { cipher, cipherparams, ciphertext, kdf, mac: expected } = &self.crypto;
        let iv = <[u8; 16]>::try_from(&*cipherparams.iv);
        let (3, "aes-128-ctr", 32, Ok(iv)) = (self.version, &**cipher, ciphertext.len(), iv) else {
            return Err(unsupported("it is not of version 3 with aes-128-ctr"));
        };
        let derived = kdf.derive(password)?;
        if mac(&derived, ciphertext)[..] != expected[..] {
            return Err(KeystoreError::WrongPassword);
        }
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(ciphertext);
        apply(&derived, &iv, &mut *key);
        let key = SecretKey::new(key).map_err(|_| unsupported("what it holds is no key"))?;
        match self.address() {
            Some(address) if address != key.address() => {
                Err(unsupported("it holds the key of another account"))
            }
            _ => Ok(key),
        }
    }

    /// Reads one.
    pub fn from_json(text: &str) -> Result<Self, KeystoreError> {
        // The words of serde may quote the file, which may hold anything.
        let read = serde_json::from_str(text);
        read.map_err(|why| unsupported(format!("line {}, column {}", why.line(), why.column())))
    }

    /// Writes it.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers can be written")
    }

    /// Whose key it says it is.
    pub fn address(&self) -> Option<Address> {
        self.address.as_deref()?.parse().ok()
    }
}

/// A random name in the usual form (version 4).
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex::encode(bytes);
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// Bytes as hexadecimal text without 0x, as this format wants them; with 0x they are read too.
mod plain_hex {
    use alloy_primitives::hex;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        hex::decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
