//! Contract code, found by its keccak hash.
//!
//! The tree has an account's code hash and its code in chunks. To execute, a validator needs the code as a whole, so it
//! travels beside the witness: a code is what it hashes to, and the code hash in the tree proves whose it is.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use alloy_primitives::{B256, Bytes, keccak256};
use core::{convert::Infallible, error::Error};

/// Answers which code has a hash.
pub trait Codes {
    /// Why there may be no answer.
    type Error: Error + Send + Sync + 'static;

    /// The code with this keccak hash, or `None` if it is not here.
    fn code(&self, hash: &B256) -> Result<Option<Bytes>, Self::Error>;
}

impl<C: Codes + ?Sized> Codes for &C {
    type Error = C::Error;

    fn code(&self, hash: &B256) -> Result<Option<Bytes>, Self::Error> {
        (**self).code(hash)
    }
}

impl<C: Codes + ?Sized> Codes for Arc<C> {
    type Error = C::Error;

    fn code(&self, hash: &B256) -> Result<Option<Bytes>, Self::Error> {
        (**self).code(hash)
    }
}

/// Codes in memory; also those that travel with a witness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeSet(BTreeMap<B256, Bytes>);

/// Why bytes are not a set of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedCodes {
    /// The bytes end too early.
    #[error("the bytes end too early")]
    Short,
    /// The hashes of the codes do not ascend.
    #[error("the codes are not in the order of their hashes")]
    Unordered,
}

impl CodeSet {
    /// Adds a code and gives its hash.
    pub fn insert(&mut self, code: Bytes) -> B256 {
        let hash = keccak256(&code);
        self.0.insert(hash, code);
        hash
    }

    /// Adds the codes of another set.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().map(|(hash, code)| (*hash, code.clone())));
    }

    /// Adds the codes of another set, except those that a third one has.
    pub fn extend_without(&mut self, other: &Self, without: &Self) {
        let others = other.0.iter().filter(|(hash, _)| !without.0.contains_key(*hash));
        self.0.extend(others.map(|(hash, code)| (*hash, code.clone())));
    }

    /// The code with this hash.
    pub fn get(&self, hash: &B256) -> Option<&Bytes> {
        self.0.get(hash)
    }

    /// The codes with their hashes, in the order of the hashes.
    pub fn iter(&self) -> impl Iterator<Item = (&B256, &Bytes)> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The codes one after the other, in the order of their hashes, each after its length (u32, little-endian).
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.values().map(|code| 4 + code.len()).sum());
        for code in self.0.values() {
            let length = u32::try_from(code.len()).expect("no code has four billion bytes");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(code);
        }
        out
    }

    /// Reads what [`CodeSet::encode`] wrote; whatever is accepted encodes to the same bytes again.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, MalformedCodes> {
        let mut codes = Self::default();
        let mut last = None;
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk().ok_or(MalformedCodes::Short)?;
            let length = u32::from_le_bytes(*length) as usize;
            let (code, rest) = rest.split_at_checked(length).ok_or(MalformedCodes::Short)?;
            let hash = codes.insert(Bytes::copy_from_slice(code));
            if last >= Some(hash) {
                return Err(MalformedCodes::Unordered);
            }
            last = Some(hash);
            bytes = rest;
        }
        Ok(codes)
    }
}

impl FromIterator<Bytes> for CodeSet {
    fn from_iter<I: IntoIterator<Item = Bytes>>(codes: I) -> Self {
        let mut set = Self::default();
        for code in codes {
            set.insert(code);
        }
        set
    }
}

impl Codes for CodeSet {
    type Error = Infallible;

    fn code(&self, hash: &B256) -> Result<Option<Bytes>, Infallible> {
        Ok(self.0.get(hash).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_one_encoding() {
        let codes = [&b"one"[..], b"", b"three"].map(Bytes::copy_from_slice);
        let set = CodeSet::from_iter(codes.clone());
        let encoded = set.encode();
        assert_eq!(CodeSet::decode(&encoded), Ok(set.clone()));
        assert_eq!(set.code(&keccak256(b"three")), Ok(Some(codes[2].clone())));
        assert_eq!(set.code(&B256::ZERO), Ok(None));

        assert_eq!(CodeSet::decode(&encoded[..encoded.len() - 1]), Err(MalformedCodes::Short));
        assert_eq!(CodeSet::decode(&[encoded.as_slice(), &[0]].concat()), Err(MalformedCodes::Short));
        assert_eq!(CodeSet::decode(&[1, 0, 0, 0, 7, 1, 0, 0, 0, 7]), Err(MalformedCodes::Unordered));
        assert_eq!(CodeSet::decode(&u32::MAX.to_le_bytes()), Err(MalformedCodes::Short));
        assert_eq!(CodeSet::decode(&[]), Ok(CodeSet::default()));
    }
}
