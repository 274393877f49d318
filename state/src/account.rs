//! What the leaves of an account hold: its basic data in one value, and its code in chunks of 31 bytes.

use crate::{
    Writes,
    hash::{Hasher, Value},
    key::{AccountKeys, Key},
};
use alloc::vec::Vec;
use alloy_primitives::{Address, U256, keccak256};

/// The largest code size that fits.
pub const CODE_BYTES_MAX: usize = (1 << 24) - 1;

/// Bytes of code in one chunk.
pub const CHUNK_BYTES: usize = 31;

const PUSH1: u8 = 0x60;
const PUSH32: u8 = 0x7f;

/// Version, code size, nonce and balance, as they share one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicData {
    /// The layout of the account; 0 is the only one there is.
    pub version: u8,
    /// Bytes of code, at most [`CODE_BYTES_MAX`].
    pub code_size: u32,
    /// Transactions sent, or contracts created.
    pub nonce: u64,
    /// Wei, below 2^128.
    pub balance: u128,
}

/// Why an account does not fit into the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// The layout has 16 bytes for the balance.
    #[error("a balance of {0} wei needs more than 128 bits")]
    Balance(U256),
    /// The layout has 3 bytes for the code size.
    #[error("code of {0} bytes is longer than {CODE_BYTES_MAX}")]
    CodeSize(usize),
    /// Something in the tree that these rules did not write.
    #[error("basic data of version {0} is unknown")]
    Version(u8),
}

impl BasicData {
    /// The basic data of an account, if its numbers fit.
    pub fn new(code_size: usize, nonce: u64, balance: U256) -> Result<Self, AccountError> {
        if code_size > CODE_BYTES_MAX {
            return Err(AccountError::CodeSize(code_size));
        }
        let balance = u128::try_from(balance).map_err(|_| AccountError::Balance(balance))?;
        Ok(Self { version: 0, code_size: code_size as u32, nonce, balance })
    }

    /// The value: version at 0, code size at 5, nonce at 8, balance at 16, big-endian.
    ///
    /// The upper byte of a `code_size` beyond [`CODE_BYTES_MAX`], which [`BasicData::new`] does not make, is left out.
    pub fn encode(&self) -> Value {
        let mut value = [0; 32];
        value[4..8].copy_from_slice(&self.code_size.to_be_bytes());
        value[4] = 0;
        value[0] = self.version;
        value[8..16].copy_from_slice(&self.nonce.to_be_bytes());
        value[16..].copy_from_slice(&self.balance.to_be_bytes());
        value.into()
    }

    /// Reads a value.
    pub fn decode(value: &Value) -> Result<Self, AccountError> {
        let (head, balance) = value.split_last_chunk::<16>().expect("16 bytes are fewer than 32");
        let (_, nonce) = head.split_last_chunk::<8>().expect("8 bytes are fewer than 16");
        if value[0] != 0 {
            return Err(AccountError::Version(value[0]));
        }
        Ok(Self {
            version: 0,
            code_size: u32::from_be_bytes([0, value[5], value[6], value[7]]),
            nonce: u64::from_be_bytes(*nonce),
            balance: u128::from_be_bytes(*balance),
        })
    }

    /// Whether the account is empty in the sense of EIP-161, that is, does not exist.
    pub fn is_empty(&self) -> bool {
        self.code_size == 0 && self.nonce == 0 && self.balance == 0
    }
}

/// All leaves of an account that was not there before: how a genesis is written.
///
/// An account without anything and a slot that holds zero are not written: they do not exist.
pub fn account_writes<H: Hasher>(
    address: Address,
    nonce: u64,
    balance: U256,
    code: &[u8],
    storage: impl IntoIterator<Item = (U256, U256)>,
) -> Result<Writes, AccountError> {
    let keys = AccountKeys::<H>::new(address);
    let basic = BasicData::new(code.len(), nonce, balance)?;
    let mut writes = Writes::new();
    if !basic.is_empty() {
        writes.insert(keys.basic_data(), basic.encode());
        writes.insert(keys.code_hash(), keccak256(code));
    }
    writes.extend(code_writes(&keys, code));
    let slots = storage.into_iter().filter(|(_, value)| !value.is_zero());
    writes.extend(slots.map(|(slot, value)| (keys.slot(slot), value.into())));
    Ok(writes)
}

/// The leaves of an account's code. Chunks of a longer code before are left: the code size says where the code ends.
pub(crate) fn code_writes<H: Hasher>(keys: &AccountKeys<H>, code: &[u8]) -> Vec<(Key, Value)> {
    let chunks = chunkify(code);
    keys.chunks(chunks.len() as u32).zip(chunks).collect()
}

/// Splits code into chunks: one byte that says how many leading bytes are data of an earlier PUSH, then 31 of code.
pub fn chunkify(code: &[u8]) -> Vec<Value> {
    let mut data_until = 0_usize;
    let mut chunks = Vec::with_capacity(code.len().div_ceil(CHUNK_BYTES));
    for (index, bytes) in code.chunks(CHUNK_BYTES).enumerate() {
        let start = index * CHUNK_BYTES;
        let mut chunk = [0; 32];
        chunk[0] = data_until.saturating_sub(start).min(CHUNK_BYTES) as u8;
        chunk[1..=bytes.len()].copy_from_slice(bytes);
        chunks.push(chunk.into());
        data_until = end_of_data(bytes, start, data_until);
    }
    chunks
}

/// Walks the instructions of a chunk; gives the position behind the last one's data.
fn end_of_data(bytes: &[u8], start: usize, data_until: usize) -> usize {
    let mut at = data_until.max(start);
    while let Some(&op) = at.checked_sub(start).and_then(|i| bytes.get(i)) {
        at += 1;
        if (PUSH1..=PUSH32).contains(&op) {
            at += usize::from(op - PUSH1) + 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        let most = (U256::from(1) << 128) - U256::from(1);
        let data = BasicData::new(CODE_BYTES_MAX, u64::MAX, most).unwrap();
        assert_eq!(BasicData::decode(&data.encode()), Ok(data));
        let over = most + U256::from(1);
        assert_eq!(BasicData::new(0, 0, over), Err(AccountError::Balance(over)));
        assert_eq!(BasicData::new(1 << 24, 0, most), Err(AccountError::CodeSize(1 << 24)));
        assert_eq!(BasicData::decode(&Value::repeat_byte(3)), Err(AccountError::Version(3)));
    }

    #[test]
    fn empty_is_what_eip_161_calls_empty() {
        assert!(BasicData::default().is_empty());
        assert!(!BasicData { nonce: 1, ..Default::default() }.is_empty());
        assert!(!BasicData { code_size: 1, ..Default::default() }.is_empty());
    }

    #[test]
    fn push_data_that_crosses_two_boundaries_is_counted_in_both() {
        // PUSH32 as the last byte of a chunk: 31 bytes of data in the next, one in the one after.
        let mut code = [0; 64];
        code[30] = PUSH32;
        let chunks = chunkify(&code);
        assert_eq!(chunks.iter().map(|chunk| chunk[0]).collect::<Vec<_>>(), [0, 31, 1]);
        assert!(chunkify(&[]).is_empty());
    }
}
