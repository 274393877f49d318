//! What an operator does with a file: look at its size, check it, copy it, make it smaller.

use crate::{
    Result, StoreError,
    engine::Engine,
    medium::Medium,
    receipts,
    store::{Store, position},
    tables::{self, BODIES, CODES, HEADERS, RECEIPTS, numbered},
    values,
};
use alloy_consensus::proofs::{calculate_receipt_root, ordered_trie_root_encoded};
use alloy_primitives::{B256, keccak256};
use redb::Database;
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use types::{BlockId, Transaction};

/// Memory for pages while a file is copied, checked or compacted.
const CACHE_BYTES: usize = 64 << 20;

/// How large one table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSize {
    /// What it holds.
    pub name: &'static str,
    /// How many entries.
    pub entries: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

/// How large the file is, and how far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stat {
    /// Bytes of the file; `None` if it is in memory.
    pub file_bytes: Option<u64>,
    /// The last final block.
    pub finalized: BlockId,
    /// The last sealed block.
    pub newest: BlockId,
    /// The block whose state the table of values holds.
    pub folded: u64,
    /// Every table.
    pub tables: Vec<TableSize>,
}

impl Store {
    /// How large everything is. Walks through all tables.
    pub fn stat(&self) -> Result<Stat> {
        let reader = self.reader()?;
        let engine = &self.0.engine;
        let sizes = tables::sizes(&reader.read).map_err(|error| engine.error(error))?;
        let file_bytes = match engine.medium() {
            Medium::File(path) => fs::metadata(path).ok().map(|file| file.len()),
            _ => None,
        };
        Ok(Stat {
            file_bytes,
            finalized: reader.finalized(),
            newest: reader.newest(),
            folded: reader.position.folded,
            tables: sizes
                .into_iter()
                .map(|(name, entries, bytes)| TableSize { name, entries, bytes })
                .collect(),
        })
    }

    /// Reads everything and compares it with what it should be: hashes, roots, indexes, states.
    pub fn check(&self, mut progress: impl FnMut(u64)) -> Result<()> {
        self.load()?;
        self.states(&mut progress)?;
        let reader = self.reader()?;
        let mut parent = None;
        for number in reader.genesis()..=reader.newest().number {
            parent = Some(self.check_block(&reader, number, parent)?);
            progress(number);
        }
        if parent != Some(reader.newest().hash) {
            return Err(self.0.engine.damaged("the newest block is another one".into()));
        }
        let codes = reader.table(CODES)?;
        for entry in codes.range::<&[u8; 32]>(..).map_err(|error| reader.error(error))? {
            let (hash, code) = entry.map_err(|error| reader.error(error))?;
            if keccak256(code.value()).0 != *hash.value() {
                return Err(self.0.engine.damaged(format!("code {}", B256::new(*hash.value()))));
            }
        }
        Ok(())
    }

    fn check_block(&self, reader: &crate::Reader, number: u64, parent: Option<B256>) -> Result<B256> {
        let engine = &self.0.engine;
        let damaged = |why: &str| engine.damaged(format!("block {number}: {why}"));
        let bytes = numbered(engine, &reader.table(HEADERS)?, "header", number)?;
        let header = values::decode_header(&bytes).ok_or_else(|| damaged("its header does not decode"))?;
        if parent.is_some_and(|parent| parent != header.parent_hash) {
            return Err(damaged("it does not stand on the one before it"));
        }
        let body = numbered(engine, &reader.table(BODIES)?, "transactions", number)?;
        let (_, transactions) = values::decode_body(&body).map_err(|error| damaged(&error.to_string()))?;
        let encoded = transactions.iter().map(Transaction::encoded).collect::<Vec<_>>();
        let receipts = numbered(engine, &reader.table(RECEIPTS)?, "receipts", number)?;
        let receipts = receipts::decode(&receipts).map_err(|error| damaged(&error.to_string()))?;
        if ordered_trie_root_encoded(&encoded) != header.transactions_root
            || calculate_receipt_root(&receipts) != header.receipts_root
        {
            return Err(damaged("its transactions or receipts are not those of its header"));
        }
        let hash = keccak256(&bytes);
        if number <= reader.finalized().number {
            let found = transactions.iter().zip(0..).all(|(tx, index)| {
                reader.place(&tx.hash()).is_ok_and(|place| place == Some((number, index)))
            });
            if !found || reader.number(&hash)? != Some(number) {
                return Err(damaged("it cannot be found by its hash, or one of its transactions"));
            }
        }
        Ok(hash)
    }

    /// A hash of everything that is committed now, to compare two stores.
    #[cfg(feature = "faults")]
    pub fn fingerprint(&self) -> Result<jam::Hash> {
        tables::fingerprint(&self.reader()?.read).map_err(|error| self.0.engine.error(error))
    }

    /// Copies everything that is committed now into a new file, while the store goes on.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        if path.exists() {
            let source = io::Error::new(io::ErrorKind::AlreadyExists, "there is a file already");
            return Err(StoreError::Io { path: path.into(), source });
        }
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let copied = self.copy_to(&unfinished).and_then(|()| {
            fs::rename(&unfinished, path).map_err(|source| StoreError::Io { path: path.into(), source })
        });
        if copied.is_err() {
            // What could not be copied is of no use; if it cannot be removed either, its name says what it is.
            let _ = fs::remove_file(&unfinished);
        }
        copied
    }

    fn copy_to(&self, path: &Path) -> Result<()> {
        if path.exists() {
            fs::remove_file(path).map_err(|source| StoreError::Io { path: path.into(), source })?;
        }
        let reader = self.reader()?;
        let copy = Engine::open(Medium::File(path.into()), CACHE_BYTES)?;
        let write = || -> Result<(), redb::Error> {
            let transaction = copy.write()?;
            tables::copy_all(&reader.read, &transaction)?;
            Ok(transaction.commit()?)
        };
        write().map_err(|error| copy.error(error))
    }
}

/// Checks every page of a file that nobody uses.
pub fn verify(path: impl AsRef<Path>) -> Result<()> {
    let engine = existing(path.as_ref())?;
    position(&engine, &engine.read()?)?;
    let sound = engine.exclusively(Database::check_integrity)?;
    match sound.map_err(|error| engine.error(error.into()))? {
        true => Ok(()),
        false => Err(engine.damaged("pages did not have their checksums".into())),
    }
}

/// Makes a file that nobody uses smaller; gives its bytes before and after.
pub fn compact(path: impl AsRef<Path>) -> Result<(u64, u64)> {
    let path = path.as_ref();
    let bytes = || fs::metadata(path).map(|file| file.len()).unwrap_or(0);
    let before = bytes();
    let engine = existing(path)?;
    position(&engine, &engine.read()?)?;
    let compacted = engine.exclusively(Database::compact)?;
    compacted.map_err(|error| engine.error(error.into()))?;
    drop(engine);
    Ok((before, bytes()))
}

fn existing(path: &Path) -> Result<Engine> {
    match fs::metadata(path) {
        Ok(file) if file.len() == 0 => Err(StoreError::Foreign(path.into())),
        Ok(_) => Engine::open(Medium::File(path.into()), CACHE_BYTES),
        Err(source) => Err(StoreError::Io { path: path.into(), source }),
    }
}
