//! States of the past: what keys held before folded blocks wrote them.
//!
//! ```text
//!   writes of a sealed block ── fold ──▶ values (the state after `folded`)
//!                                  └───▶ history: (key, block) -> what the key held before the block
//!                                        changed: block -> the keys that it wrote
//! ```
//!
//! # Invariants
//!
//! * The table of values is the state after block `folded`; the blocks above it up to the newest have their writes in a
//!   table of their own.
//! * For each block above `oldest` up to `folded` there is one row of keys, and for each of these keys one row of history.
//! * So the value of a key after block N, for N from `oldest` to `folded`, is the row of history with the smallest number
//!   above N, or else the value in the table: the newest state is read without the history.
//! * `oldest` never exceeds the final block, so every unfinished block can be taken back: a release restores what its
//!   blocks wrote over, in the step that removes them.
//! * A block is folded when it is more than [`Options::window_blocks`] below the newest one, or when the blocks above it
//!   take more than [`WINDOW_BYTES_MAX`]. Finality plays no part.
//!
//! [`Options::window_blocks`]: crate::Options::window_blocks

use crate::{
    commit::{Failure, StepWriter, refused},
    values,
};
use redb::{ReadableTable, StorageError};
use state::{Key, Value};

/// About what the blocks above the folded one may take in memory, with their states; then more of them are folded.
const WINDOW_BYTES_MAX: u64 = 64 << 20;
/// What a byte of a block's writes comes to in memory: 64 of them are a value, for which nodes of a tree are made.
const WRITTEN_BYTES: u64 = 16;
/// What a byte of a block's transactions and receipts comes to in memory, where they are decoded.
const DECODED_BYTES: u64 = 8;
/// So many blocks are folded or pruned in one step at most, so that none takes long. A step seals one block mostly, so this
/// catches up with any backlog.
const BLOCKS_MAX: u64 = 64;

/// The key of a row of history.
pub(crate) fn row_key(key: &[u8; 32], number: u64) -> [u8; 40] {
    let mut row = [0; 40];
    row[..32].copy_from_slice(key);
    row[32..].copy_from_slice(&number.to_be_bytes());
    row
}

/// What a key held, as a row: nothing if it never was written, else the value without leading zeros, one byte at least.
pub(crate) fn encode_before(value: Option<&[u8; 32]>) -> &[u8] {
    match value {
        None => &[],
        Some(value) => {
            let zeros = value.iter().take(31).take_while(|byte| **byte == 0).count();
            &value[zeros..]
        }
    }
}

/// What a row says; `Err` if it is longer than a value.
pub(crate) fn decode_before(row: &[u8]) -> Result<Option<Value>, StorageError> {
    let zeros = 32_usize.checked_sub(row.len()).ok_or_else(|| damaged("a row of history is too long"))?;
    if row.is_empty() {
        return Ok(None);
    }
    let mut value = [0; 32];
    value[zeros..].copy_from_slice(row);
    Ok(Some(Value::new(value)))
}

pub(crate) fn damaged(why: &str) -> StorageError {
    StorageError::Corrupted(why.to_owned())
}

/// What a key held after a block below the folded one, if a block since then wrote it.
pub(crate) fn before(
    history: &impl ReadableTable<&'static [u8; 40], &'static [u8]>,
    key: &Key,
    height: u64,
) -> Result<Option<Option<Value>>, StorageError> {
    let Some(next) = height.checked_add(1) else { return Ok(None) };
    let (from, to) = (row_key(key.as_bytes(), next), row_key(key.as_bytes(), u64::MAX));
    match history.range::<&[u8; 40]>(&from..=&to)?.next() {
        Some(entry) => decode_before(entry?.1.value()).map(Some),
        None => Ok(None),
    }
}

/// The keys in a row of changed ones.
pub(crate) fn keys(row: &[u8]) -> Option<&[[u8; 32]]> {
    let (keys, rest) = row.as_chunks::<32>();
    rest.is_empty().then_some(keys)
}

impl StepWriter<'_> {
    /// Folds what left the window, and prunes what left the history.
    pub(crate) fn move_on(&mut self) -> Result<(), Failure> {
        let window = self.options.window_blocks.max(1);
        let step = (window / 8).max(1);
        let newest = self.position.newest.number;
        let mut target = self.position.folded;
        if newest - target > window + step {
            target = newest - window;
        }
        // Looked at once in a while, since it reads the rows.
        if newest.is_multiple_of(step) && newest != self.position.folded {
            target = target.max(self.within_bytes()?);
        }
        let target = target.min(self.position.folded + BLOCKS_MAX);
        while self.position.folded < target {
            self.fold()?;
        }
        self.prune()
    }

    /// The block up to which must be folded so that those above it are not too much.
    fn within_bytes(&mut self) -> Result<u64, Failure> {
        let mut bytes = 0;
        let (folded, newest) = (self.position.folded, self.position.newest.number);
        for number in (folded + 1..=newest).rev() {
            bytes += self.block_bytes(number)?;
            if bytes > WINDOW_BYTES_MAX {
                // The newest one stays, however large it is.
                return Ok(number.min(newest - 1));
            }
        }
        Ok(folded)
    }

    /// About what a block above the folded one takes in memory.
    fn block_bytes(&mut self, number: u64) -> Result<u64, Failure> {
        let row =
            |row: Option<redb::AccessGuard<'_, &'static [u8]>>| row.map_or(0, |row| row.value().len() as u64);
        let written = row(self.tables.writes()?.get(number)?);
        let transactions = row(self.tables.bodies()?.get(number)?);
        let receipts = row(self.tables.receipts()?.get(number)?);
        Ok(written * WRITTEN_BYTES + (transactions + receipts) * DECODED_BYTES)
    }

    /// Takes what the next block wrote over into the table of values, and what that held before into the history.
    fn fold(&mut self) -> Result<(), Failure> {
        let number = self.position.folded + 1;
        if number > self.position.finalized.number {
            self.index(number)?;
        }
        let writes = {
            let bytes = self.tables.writes()?.remove(number)?;
            bytes.and_then(|bytes| values::decode_writes(bytes.value()).ok())
        };
        let Some(writes) = writes else {
            return refused(format!("it is not known what block {number} wrote"));
        };
        let mut changed = Vec::with_capacity(32 * writes.len());
        for (key, value) in &writes {
            let before =
                self.tables.values()?.insert(key.as_bytes(), &value.0)?.map(|before| *before.value());
            let row = row_key(key.as_bytes(), number);
            self.tables.history()?.insert(&row, encode_before(before.as_ref()))?;
            changed.extend_from_slice(key.as_bytes());
        }
        self.tables.changed()?.insert(number, &changed[..])?;
        self.position.folded = number;
        Ok(())
    }

    /// Takes the folded blocks from this one on out of the table of values again.
    pub(crate) fn unfold(&mut self, from: u64) -> Result<(), Failure> {
        if from > self.position.folded {
            return Ok(());
        }
        self.position.rollbacks += 1;
        while self.position.folded >= from {
            let number = self.position.folded;
            for key in self.take_changed(number)? {
                let row = row_key(&key, number);
                let before = match self.tables.history()?.remove(&row)? {
                    Some(before) => decode_before(before.value())?,
                    None => return refused(format!("it is not known what block {number} wrote over")),
                };
                match before {
                    Some(value) => drop(self.tables.values()?.insert(&key, &value.0)?),
                    None => drop(self.tables.values()?.remove(&key)?),
                }
            }
            self.position.folded = number - 1;
        }
        Ok(())
    }

    fn take_changed(&mut self, number: u64) -> Result<Vec<[u8; 32]>, Failure> {
        let row = self.tables.changed()?.remove(number)?;
        let keys = row.as_ref().and_then(|row| keys(row.value()).map(<[_]>::to_vec));
        keys.map_or_else(|| refused(format!("it is not known which keys block {number} wrote")), Ok)
    }

    /// Forgets states that are older than the history is to be. Some blocks in each step, so that none takes long.
    fn prune(&mut self) -> Result<(), Failure> {
        let Some(kept) = self.options.history_blocks else { return Ok(()) };
        let horizon = self.position.newest.number.saturating_sub(kept);
        let horizon = horizon.min(self.position.finalized.number).min(self.position.folded);
        let target = horizon.min(self.position.oldest + BLOCKS_MAX);
        while self.position.oldest < target {
            let number = self.position.oldest + 1;
            for key in self.take_changed(number)? {
                self.tables.history()?.remove(&row_key(&key, number))?;
            }
            self.position.oldest = number;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_of_a_key_are_in_the_order_of_blocks() {
        let key = [7; 32];
        let numbers = [0, 1, 255, 256, 1 << 40, u64::MAX];
        assert!(numbers.map(|number| row_key(&key, number)).is_sorted());
        assert!(row_key(&key, u64::MAX) < row_key(&[8; 32], 0));
    }

    proptest! {
        #[test]
        fn what_a_key_held_comes_back(value in proptest::option::of(any::<[u8; 32]>()), zeros in 0..=32_usize) {
            let value = value.map(|mut value| {
                value[..zeros].fill(0);
                value
            });
            let row = encode_before(value.as_ref());
            prop_assert!(row.len() <= 32_usize.saturating_sub(zeros).max(1));
            prop_assert_eq!(decode_before(row).unwrap(), value.map(Value::new));
        }
    }

    #[test]
    fn a_row_that_is_too_long_is_damage() {
        assert!(decode_before(&[1; 33]).is_err());
        assert!(keys(&[1; 33]).is_none());
    }
}
