//! The table of values as the base of layers, and the codes.
//!
//! A snapshot that is held for long keeps every page that was replaced since, so the file would grow with every commit.
//! The values change only when a block is folded; until then any newer snapshot has the same ones. So a base is not a
//! snapshot but a slot for one, and the store puts the newest in after each commit. At a fold it makes a new slot, and
//! the old one keeps the last snapshot before it for as long as it is used. The values after earlier blocks are read
//! from the same snapshot, with the [history].
//!
//! [history]: crate::history

use crate::{
    Result, StoreError,
    engine::Engine,
    history, receipts,
    store::Shared,
    tables::{CHANGED, CODES, HEADERS, HISTORY, RECEIPTS, VALUES, numbered},
    values::Position,
};
use alloy_consensus::ReceiptEnvelope;
use alloy_primitives::{B256, Bytes, keccak256};
use core::fmt;
use driver::Folded;
use redb::{ReadOnlyTable, ReadTransaction};
use state::{Codes, Key, Value, Values, Writes};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

type ValuesTable = ReadOnlyTable<&'static [u8; 32], &'static [u8; 32]>;
type HistoryTable = ReadOnlyTable<&'static [u8; 40], &'static [u8]>;
type NumberedTable = ReadOnlyTable<u64, &'static [u8]>;

/// Why a value cannot be read.
enum ReadError {
    /// The state is not in the history any more.
    Pruned,
    /// The storage failed.
    Storage(redb::StorageError),
}

impl From<redb::StorageError> for ReadError {
    fn from(error: redb::StorageError) -> Self {
        Self::Storage(error)
    }
}

/// The tables of one snapshot.
struct Opened {
    values: ValuesTable,
    history: HistoryTable,
    changed: NumberedTable,
    receipts: NumberedTable,
    /// The oldest block whose state they have.
    oldest: u64,
}

/// Where the values after one block, and after those before it, are read.
pub(crate) struct Slot {
    pub(crate) height: u64,
    hash: B256,
    /// Counts how often blocks were taken back before: there may be several slots for blocks with one number.
    rollbacks: u64,
    tables: RwLock<Opened>,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("height", &self.height).finish()
    }
}

impl Slot {
    pub(crate) fn new(engine: &Engine, read: &ReadTransaction, position: &Position) -> Result<Self> {
        let tables = RwLock::new(open(engine, read, position)?);
        let (height, rollbacks) = (position.folded, position.rollbacks);
        let headers = read.open_table(HEADERS).map_err(|error| engine.error(error.into()))?;
        let hash = keccak256(numbered(engine, &headers, "header", height)?);
        Ok(Self { height, hash, rollbacks, tables })
    }

    /// Whether the values of a snapshot at this position are the same.
    pub(crate) const fn is_at(&self, position: &Position) -> bool {
        self.height == position.folded && self.rollbacks == position.rollbacks
    }

    pub(crate) fn refresh(&self, engine: &Engine, read: &ReadTransaction, position: &Position) -> Result<()> {
        let tables = open(engine, read, position)?;
        let mut slot = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let old = core::mem::replace(&mut *slot, tables);
        drop(slot);
        // Outside the lock: to end a transaction takes longer than to begin one.
        drop(old);
        Ok(())
    }

    fn tables(&self) -> RwLockReadGuard<'_, Opened> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a key holds after a block that is not above this one.
    fn get(&self, key: &Key, height: u64) -> Result<Option<Value>, ReadError> {
        let tables = self.tables();
        if height < self.height {
            // It may have been pruned since it was asked for: what the history says now is of a later block.
            if height < tables.oldest {
                return Err(ReadError::Pruned);
            }
            if let Some(before) = history::before(&tables.history, key, height)? {
                return Ok(before);
            }
        }
        Ok(tables.values.get(key.as_bytes())?.map(|value| Value::new(*value.value())))
    }

    /// The keys that a folded block wrote.
    fn changed(&self, number: u64) -> Result<Vec<Key>, ReadError> {
        let row = self.tables().changed.get(number)?;
        let keys = row.as_ref().and_then(|row| history::keys(row.value()));
        let keys = keys.ok_or_else(|| history::damaged("the keys that a block wrote are missing"))?;
        Ok(keys.iter().map(|key| Key::new(*key)).collect())
    }

    fn receipts(&self, number: u64) -> Result<Arc<[ReceiptEnvelope]>, ReadError> {
        let row = self.tables().receipts.get(number)?;
        let receipts = row.and_then(|row| receipts::decode(row.value()).ok());
        Ok(receipts.ok_or_else(|| history::damaged("the receipts of a block are missing"))?.into())
    }

    /// All values in the order of their keys.
    pub(crate) fn each(&self, mut each: impl FnMut(Key, Value)) -> Result<(), redb::StorageError> {
        let range = self.tables().values.range::<&[u8; 32]>(..)?;
        for entry in range {
            let (key, value) = entry?;
            each(Key::new(*key.value()), Value::new(*value.value()));
        }
        Ok(())
    }
}

fn open(engine: &Engine, read: &ReadTransaction, position: &Position) -> Result<Opened> {
    let opened = || -> Result<_, redb::TableError> {
        Ok(Opened {
            values: read.open_table(VALUES)?,
            history: read.open_table(HISTORY)?,
            changed: read.open_table(CHANGED)?,
            receipts: read.open_table(RECEIPTS)?,
            oldest: position.oldest,
        })
    };
    opened().map_err(|error| engine.error(error.into()))
}

/// The values after one block, for [`state::Layer`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Base {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
    /// Not above the slot's.
    height: u64,
}

impl Base {
    pub(crate) fn new(shared: Arc<Shared>, slot: Arc<Slot>) -> Self {
        let height = slot.height;
        Self { shared, slot, height }
    }

    /// The number of the block.
    pub const fn height(&self) -> u64 {
        self.height
    }

    pub(crate) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// The oldest block whose values can be read.
    pub fn oldest(&self) -> u64 {
        self.slot.tables().oldest
    }

    /// The keys that a folded block wrote.
    pub(crate) fn changed(&self, number: u64) -> Result<Vec<Key>> {
        self.reading(|| self.slot.changed(number))
    }

    /// Reads, and once more if the engine was stopped by another thread's failed write: opened again, it has the same values.
    fn reading<T>(&self, read: impl Fn() -> Result<T, ReadError>) -> Result<T> {
        let openings = self.shared.engine.openings();
        let read = match read() {
            Err(ReadError::Storage(_)) => {
                self.shared.heal(openings)?;
                read()
            }
            read => read,
        };
        read.map_err(|error| match error {
            ReadError::Pruned => StoreError::Pruned { number: self.height, oldest: self.oldest() },
            ReadError::Storage(error) => self.shared.engine.error(error.into()),
        })
    }
}

impl Values for Base {
    type Error = StoreError;

    fn value(&self, key: &Key) -> Result<Option<Value>> {
        self.reading(|| self.slot.get(key, self.height))
    }
}

impl Folded for Base {
    fn block_hash(&self) -> Option<B256> {
        Some(self.slot.hash)
    }

    fn at(&self, height: u64) -> Result<Option<Self>> {
        if height > self.height {
            return Ok(None);
        }
        let oldest = self.oldest();
        if height < oldest {
            return Err(StoreError::Pruned { number: height, oldest });
        }
        Ok(Some(Self { height, ..self.clone() }))
    }

    fn writes_of(&self, number: u64) -> Result<Option<Writes>> {
        let Some(after) = self.at(number)? else { return Ok(None) };
        let mut writes = Writes::new();
        for key in self.changed(number)? {
            if let Some(value) = after.value(&key)? {
                writes.insert(key, value);
            }
        }
        Ok(Some(writes))
    }

    fn receipts_of(&self, number: u64) -> Result<Option<Arc<[ReceiptEnvelope]>>> {
        if number > self.height { Ok(None) } else { self.reading(|| self.slot.receipts(number)).map(Some) }
    }
}

/// All codes, by hash. Cheap to clone; holds no snapshot, so it always finds what is committed.
#[derive(Clone, Debug)]
pub struct CodeTable(Arc<Shared>);

impl CodeTable {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl Codes for CodeTable {
    type Error = StoreError;

    fn code(&self, hash: &B256) -> Result<Option<Bytes>> {
        let engine = &self.0.engine;
        let (read, _) = self.0.read()?;
        let table = read.open_table(CODES).map_err(|error| engine.error(error.into()))?;
        let code = table.get(&hash.0).map_err(|error| engine.error(error.into()))?;
        Ok(code.map(|code| Bytes::copy_from_slice(code.value())))
    }
}
