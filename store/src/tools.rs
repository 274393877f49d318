//! What an operator does with a file: look at its size, check it, copy it, make it smaller.

use crate::{
    Result, StoreError,
    commit::POSITION,
    create::position,
    engine::Engine,
    log::Logged,
    medium::Medium,
    store::{Store, Whole},
    tables::{self, TRANSACTIONS, Tables},
};
use redb::{Database, TableHandle};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use types::BlockId;

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
    /// The oldest block whose state can be read.
    pub oldest: u64,
    /// How often blocks were released that the table of values had already, and were taken out of it again.
    pub rollbacks: u64,
    /// Every table.
    pub tables: Vec<TableSize>,
}

impl Stat {
    /// What the history takes for each value that a block changed; `None` if there is no history.
    pub fn history_bytes_per_value(&self) -> Option<u64> {
        let size = |name| self.tables.iter().find(|table| table.name == name);
        let (history, changed) = (size(tables::HISTORY.name())?, size(tables::CHANGED.name())?);
        (history.bytes + changed.bytes).checked_div(history.entries)
    }
}

impl Store {
    /// How large everything is. Walks through all tables.
    pub fn stat(&self) -> Result<Stat> {
        let Whole { reader, logged, .. } = self.whole()?;
        let engine = &self.0.engine;
        let mut sizes = tables::sizes(&reader.read).map_err(|error| engine.error(error))?;
        if let Some((_, entries, bytes)) = sizes.iter_mut().find(|(name, ..)| *name == TRANSACTIONS.name()) {
            *entries += logged.len() as u64;
            *bytes += logged.iter().map(|(_, row)| (size_of::<u64>() + row.len()) as u64).sum::<u64>();
        }
        let file_bytes = match engine.medium() {
            Medium::File(path) | Medium::Scratch(path) => fs::metadata(path).ok().map(|file| file.len()),
            _ => None,
        };
        Ok(Stat {
            file_bytes,
            finalized: reader.finalized(),
            newest: reader.newest(),
            folded: reader.position.folded,
            oldest: reader.position.oldest,
            rollbacks: reader.position.rollbacks,
            tables: sizes
                .into_iter()
                .map(|(name, entries, bytes)| TableSize { name, entries, bytes })
                .collect(),
        })
    }

    /// A hash of everything that is committed now, to compare two stores.
    #[cfg(feature = "faults")]
    pub fn fingerprint(&self) -> Result<jam::Hash> {
        let whole = self.whole()?;
        let copy = Engine::open(Medium::Memory, CACHE_BYTES)?;
        let read = match whole.logged.is_empty() {
            true => whole.reader.read,
            // It does not matter where things are.
            false => {
                copy_to(&whole, &copy)?;
                copy.read()?
            }
        };
        tables::fingerprint(&read).map_err(|error| self.0.engine.error(error))
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
        make(&unfinished)?;
        let copied = self.copy_into(&unfinished).and_then(|()| {
            let renamed = fs::rename(&unfinished, path);
            let synced = renamed.and_then(|()| Medium::File(path.into()).sync_directory());
            synced.map_err(|source| StoreError::Io { path: path.into(), source })
        });
        if copied.is_err() {
            // What could not be copied is of no use; if it cannot be removed either, its name says what it is.
            let _ = fs::remove_file(&unfinished);
        }
        copied
    }

    /// Fills an empty file.
    fn copy_into(&self, path: &Path) -> Result<()> {
        copy_to(&self.whole()?, &Engine::open(Medium::File(path.into()), CACHE_BYTES)?)
    }
}

/// Copies everything into the tables of another file.
fn copy_to(whole: &Whole, copy: &Engine) -> Result<()> {
    let write = || -> Result<(), redb::Error> {
        let transaction = copy.write()?;
        tables::copy_all(&whole.reader.read, &transaction)?;
        let mut tables = Tables::new(&transaction);
        for (arrival, row) in &whole.logged {
            tables.transactions()?.insert(arrival, &row[..])?;
        }
        tables.meta()?.insert(POSITION, &whole.position.encode()[..])?;
        drop(tables);
        Ok(transaction.commit()?)
    };
    write().map_err(|error| copy.error(error))
}

/// Makes an empty file that only its owner can read, here or not at all: the unfinished copy of somebody else is not ours
/// to write to or to remove.
fn make(path: &Path) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(path).map(drop);
    made.map_err(|source| {
        let source = match source.kind() {
            io::ErrorKind::AlreadyExists => io::Error::new(
                source.kind(),
                "another copy is being made there, or one was broken off and should be removed",
            ),
            _ => source,
        };
        StoreError::Io { path: path.into(), source }
    })
}

/// Checks every page of a file that nobody uses.
pub fn verify(path: impl AsRef<Path>) -> Result<()> {
    let engine = existing(path.as_ref(), CACHE_BYTES)?;
    Logged::look(&engine, &mut position(&engine, &engine.read()?)?)?;
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
    let engine = existing(path, CACHE_BYTES)?;
    position(&engine, &engine.read()?)?;
    let compacted = engine.exclusively(Database::compact)?;
    compacted.map_err(|error| engine.error(error.into()))?;
    drop(engine);
    Ok((before, bytes()))
}

/// Opens a file that is there.
pub(crate) fn existing(path: &Path, cache_bytes: usize) -> Result<Engine> {
    match fs::metadata(path) {
        Ok(file) if file.len() == 0 => Err(StoreError::Foreign(path.into())),
        Ok(_) => Engine::open(Medium::File(path.into()), cache_bytes),
        Err(source) => Err(StoreError::Io { path: path.into(), source }),
    }
}
