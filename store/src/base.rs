//! The table of values as the base of layers, and the codes.
//!
//! A snapshot that is held for long keeps every page that was replaced since, so the file would grow with every commit.
//! The values change only when a block is folded; until then any newer snapshot has the same ones. So a base is not a
//! snapshot but a slot for one, and the store puts the newest in after each commit. At a fold it makes a new slot, and
//! the old one keeps the last snapshot before it for as long as somebody uses it.

use crate::{
    Result, StoreError,
    engine::Engine,
    store::Shared,
    tables::{CODES, VALUES},
};
use alloy_primitives::{B256, Bytes};
use core::fmt;
use redb::{ReadOnlyTable, ReadTransaction};
use state::{Codes, Key, Value, Values};
use std::sync::{Arc, PoisonError, RwLock};

type Table = ReadOnlyTable<&'static [u8; 32], &'static [u8; 32]>;

/// Where the values after one block are read.
pub(crate) struct Slot {
    pub(crate) height: u64,
    table: RwLock<Table>,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("height", &self.height).finish()
    }
}

impl Slot {
    pub(crate) fn new(engine: &Engine, read: &ReadTransaction, height: u64) -> Result<Self> {
        Ok(Self { height, table: RwLock::new(open(engine, read)?) })
    }

    pub(crate) fn refresh(&self, engine: &Engine, read: &ReadTransaction) -> Result<()> {
        let table = open(engine, read)?;
        let mut slot = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let old = core::mem::replace(&mut *slot, table);
        drop(slot);
        // Outside the lock: to end a transaction takes longer than to begin one.
        drop(old);
        Ok(())
    }

    fn get(&self, key: &Key) -> Result<Option<Value>, redb::StorageError> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        Ok(table.get(key.as_bytes())?.map(|value| Value::new(*value.value())))
    }

    /// All values in the order of their keys.
    pub(crate) fn each(&self, mut each: impl FnMut(Key, Value)) -> Result<(), redb::StorageError> {
        let range = {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            table.range::<&[u8; 32]>(..)?
        };
        for entry in range {
            let (key, value) = entry?;
            each(Key::new(*key.value()), Value::new(*value.value()));
        }
        Ok(())
    }
}

fn open(engine: &Engine, read: &ReadTransaction) -> Result<Table> {
    read.open_table(VALUES).map_err(|error| engine.error(error.into()))
}

/// The values after one block, for [`state::Layer`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Base {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
}

impl Base {
    pub(crate) fn new(shared: Arc<Shared>, slot: Arc<Slot>) -> Self {
        Self { shared, slot }
    }

    /// The number of the block.
    pub fn height(&self) -> u64 {
        self.slot.height
    }

    pub(crate) fn slot(&self) -> &Slot {
        &self.slot
    }
}

impl Values for Base {
    type Error = StoreError;

    fn value(&self, key: &Key) -> Result<Option<Value>> {
        let openings = self.shared.engine.openings();
        if let Ok(value) = self.slot.get(key) {
            return Ok(value);
        }
        // Somebody's failed write may have stopped the engine; opened again, it has the same values.
        self.shared.heal(openings)?;
        self.slot.get(key).map_err(|error| self.shared.engine.error(error.into()))
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
