//! Where the service's state is in JAM's state.
//!
//! | entry | value |
//! |---|---|
//! | [`HEAD`] | number (u64, little-endian), hash |
//! | [`WAITING`] | per run in the order of arrival: parent, first number, last number, last hash; no such entry if nothing waits |
//!
//! | [`COINS`](super::COINS) | transfers that came in (u64), their sum (u128); no such entry without any |
//! | [`ORDERS`](super::ORDERS) | number of the last order that was obeyed (u64); hash and length (u32) of the code that is requested, if one is |
//!
//! The keys are those of the Gray Paper for a service's storage, so whoever has a proof of them can read the head.

use super::{ServiceState, WAITING_MAX, Waiting};
use alloc::vec::Vec;
use alloy_primitives::B256;
#[cfg(feature = "std")]
use alloy_primitives::Bytes;
#[cfg(feature = "std")]
use jam::{spec::StateKey, state::storage_key};
use types::BlockId;

/// The name of the entry with the applied head.
pub const HEAD: &[u8] = b"head";
/// The name of the entry with the runs that wait.
pub const WAITING: &[u8] = b"waiting";

const HEAD_BYTES: usize = 40;
const WAITING_BYTES: usize = 32 + 8 + HEAD_BYTES;

/// Why storage does not hold a state of this service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StorageError {
    /// There is no head.
    #[error("the service has no head")]
    NoHead,
    /// The head has another length.
    #[error("the head has {0} bytes, not {HEAD_BYTES}")]
    Head(usize),
    /// What waits is empty, cut off, or more than may wait.
    #[error("{0} bytes are not one to {WAITING_MAX} waiting runs")]
    Waiting(usize),
    /// A run waits twice, or can never be applied.
    #[error("the run that ends with block {0} cannot wait")]
    CannotWait(BlockId),
}

impl ServiceState {
    /// The value of [`HEAD`].
    pub(super) fn head_entry(&self) -> [u8; HEAD_BYTES] {
        encode_id(self.head)
    }

    /// The value of [`WAITING`]; no such entry if nothing waits.
    pub(super) fn waiting_entry(&self) -> Option<Vec<u8>> {
        let waiting = self.waiting.iter().flat_map(Waiting::encode).collect::<Vec<_>>();
        Some(waiting).filter(|waiting| !waiting.is_empty())
    }

    /// The entries of the service's storage: what the values are, and which ones are not there.
    #[cfg(feature = "std")]
    pub fn storage(&self, service: u32) -> [(StateKey, Option<Bytes>); 2] {
        [
            (storage_key(service, HEAD), Some(self.head_entry().into())),
            (storage_key(service, WAITING), self.waiting_entry().map(Into::into)),
        ]
    }

    /// Reads the state from storage, where `entry` gives the value of a key. What is accepted is stored in the same
    /// bytes again.
    #[cfg(feature = "std")]
    pub fn from_storage<'a>(
        service: u32,
        entry: impl Fn(&StateKey) -> Option<&'a [u8]>,
    ) -> Result<Self, StorageError> {
        let head = entry(&storage_key(service, HEAD)).ok_or(StorageError::NoHead)?;
        Self::from_entries(head, entry(&storage_key(service, WAITING)))
    }

    /// Reads the state from the values of its two entries.
    pub(super) fn from_entries(head: &[u8], waiting: Option<&[u8]>) -> Result<Self, StorageError> {
        let head = decode_id(head.try_into().map_err(|_| StorageError::Head(head.len()))?);
        let mut state = Self::new(head);
        if let Some(waiting) = waiting {
            state.read_waiting(waiting)?;
        }
        Ok(state)
    }

    fn read_waiting(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let (entries, rest) = bytes.as_chunks::<WAITING_BYTES>();
        if entries.is_empty() || entries.len() > WAITING_MAX || !rest.is_empty() {
            return Err(StorageError::Waiting(bytes.len()));
        }
        for waiting in entries.iter().map(Waiting::decode) {
            let above = waiting.first.saturating_sub(self.head.number) > 1;
            let is_twice = self.is_waiting(waiting.first, &waiting.last.hash);
            if !above || waiting.parent == self.head.hash || is_twice {
                return Err(StorageError::CannotWait(waiting.last));
            }
            self.waiting.push(waiting);
        }
        Ok(())
    }
}

impl Waiting {
    pub(super) fn encode(&self) -> [u8; WAITING_BYTES] {
        let mut out = [0; WAITING_BYTES];
        out[..32].copy_from_slice(self.parent.as_slice());
        out[32..40].copy_from_slice(&self.first.to_le_bytes());
        out[40..].copy_from_slice(&encode_id(self.last));
        out
    }

    fn decode(bytes: &[u8; WAITING_BYTES]) -> Self {
        let (parent, rest) = bytes.split_first_chunk::<32>().expect("32 bytes are fewer than all");
        let (first, last) = rest.split_first_chunk::<8>().expect("8 bytes are fewer than the rest");
        Self {
            parent: B256::new(*parent),
            first: u64::from_le_bytes(*first),
            last: decode_id(last.try_into().expect("what is left is a head")),
        }
    }
}

fn encode_id(block: BlockId) -> [u8; HEAD_BYTES] {
    let mut out = [0; HEAD_BYTES];
    out[..8].copy_from_slice(&block.number.to_le_bytes());
    out[8..].copy_from_slice(block.hash.as_slice());
    out
}

fn decode_id(bytes: &[u8; HEAD_BYTES]) -> BlockId {
    let (number, hash) = bytes.split_first_chunk::<8>().expect("8 bytes are fewer than all");
    BlockId::new(u64::from_le_bytes(*number), B256::from_slice(hash))
}
