//! What an operator does with the sender's file: copy it while it is used, and look at it, check it and make it smaller
//! while nobody uses it.

use super::{
    Embedded, StoreError,
    embedded::{LEASES, ROWS, unusable},
    file::{META, check_schema},
};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata};
use std::{
    fs::{self, File, OpenOptions},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// How large a sender's file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmbeddedStat {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Rows: requests, nonces, events, endpoints, deliveries.
    pub rows: u64,
    /// Bytes of names and values.
    pub bytes: u64,
}

/// With the name of the file, since an operator has several.
fn at(path: &Path) -> impl Fn(&dyn std::fmt::Display) -> StoreError {
    let path = path.display().to_string();
    move |why| unusable(format_args!("{path}: {why}"))
}

impl Embedded {
    /// Copies everything that is committed now into a new file, while the store goes on. The copy is whole or not there;
    /// only its owner can read it, since endpoints have secrets.
    pub fn copy(&self, path: &Path) -> Result<(), StoreError> {
        self.file.with(|database| Ok(copy(database, path))).map_err(unusable)?
    }
}

fn copy(database: &Database, path: &Path) -> Result<(), StoreError> {
    let failed = at(path);
    if path.exists() {
        return Err(failed(&"there is a file already"));
    }
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    // Made here or not at all: the unfinished copy of somebody else is not ours to write to or to remove.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&unfinished).map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => {
            at(&unfinished)(&"another copy is being made there, or one was broken off and should be removed")
        }
        _ => at(&unfinished)(&why),
    })?;
    let copied = write_copy(database, file).map_err(|why| failed(&why)).and_then(|()| {
        let renamed = fs::rename(&unfinished, path).and_then(|()| sync_directory(path));
        renamed.map_err(|why| failed(&why))
    });
    if copied.is_err() {
        // What could not be copied is of no use; if it cannot be removed either, its name says what it is.
        let _ = fs::remove_file(&unfinished);
    }
    copied
}

fn write_copy(database: &Database, file: File) -> Result<(), redb::Error> {
    let from = database.begin_read()?;
    let copy = Database::builder().create_with_backend(redb::backends::FileBackend::new(file)?)?;
    let transaction = copy.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        for entry in from.open_table(META)?.iter()? {
            let (key, value) = entry?;
            meta.insert(key.value(), value.value())?;
        }
        let mut rows = transaction.open_table(ROWS)?;
        for entry in from.open_table(ROWS)?.iter()? {
            let (key, value) = entry?;
            rows.insert(key.value(), value.value())?;
        }
        // Epochs never fall, in a copy neither.
        let mut leases = transaction.open_table(LEASES)?;
        for entry in from.open_table(LEASES)?.iter()? {
            let (key, value) = entry?;
            leases.insert(key.value(), value.value())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Opens a file that is there and that nobody uses. None is made.
fn existing<T>(
    path: &Path,
    act: impl FnOnce(&mut Database) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let failed = at(path);
    match fs::metadata(path) {
        Ok(file) if file.len() == 0 => return Err(failed(&"it is empty")),
        Ok(_) => {}
        Err(why) => return Err(failed(&why)),
    }
    // The engine panics at some kinds of damage; to whoever asked, it is damaged.
    let acted = catch_unwind(AssertUnwindSafe(|| {
        let mut database = Database::open(path).map_err(|why| match why {
            redb::DatabaseError::DatabaseAlreadyOpen => failed(&"another process uses it"),
            why => failed(&why),
        })?;
        check_schema(&database).map_err(|why| failed(&why))?;
        act(&mut database)
    }));
    acted.unwrap_or_else(|_| Err(failed(&"it is damaged: a page makes no sense")))
}

fn size(read: &ReadTransaction) -> Result<(u64, u64), redb::Error> {
    let rows = read.open_table(ROWS)?;
    let mut bytes = 0;
    for entry in rows.iter()? {
        let (key, value) = entry?;
        bytes += (key.value().len() + value.value().len()) as u64;
    }
    Ok((rows.len()?, bytes))
}

/// How large a file is that nobody uses. Walks through all rows.
pub fn stat_file(path: &Path) -> Result<EmbeddedStat, StoreError> {
    existing(path, |database| {
        let read = database.begin_read().map_err(|why| at(path)(&why))?;
        let (rows, bytes) = size(&read).map_err(|why| at(path)(&why))?;
        let file_bytes = fs::metadata(path).map_err(|why| at(path)(&why))?.len();
        Ok(EmbeddedStat { file_bytes, rows, bytes })
    })
}

/// Checks every page of a file that nobody uses.
pub fn verify_file(path: &Path) -> Result<(), StoreError> {
    existing(path, |database| match database.check_integrity() {
        Ok(true) => Ok(()),
        Ok(false) => Err(at(path)(&"it is damaged: pages did not have their checksums")),
        Err(why) => Err(at(path)(&why)),
    })
}

/// Makes a file that nobody uses smaller; gives its bytes before and after.
pub fn compact_file(path: &Path) -> Result<(u64, u64), StoreError> {
    let bytes = || fs::metadata(path).map_or(0, |file| file.len());
    let before = bytes();
    existing(path, |database| database.compact().map(drop).map_err(|why| at(path)(&why)))?;
    Ok((before, bytes()))
}

/// Copies a file that nobody uses.
pub fn copy_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    existing(from, |database| copy(database, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EmbeddedOptions;

    #[test]
    fn a_copy_is_made_while_the_store_is_used_and_never_over_anything() {
        let directory = std::env::temp_dir().join(format!("pectin-sender-copy-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let [here, there] = ["here.redb", "there.redb"].map(|name| directory.join(name));
        let store = Embedded::open(&here, EmbeddedOptions::default()).unwrap();
        store.copy(&there).unwrap();
        assert!(store.copy(&there).unwrap_err().to_string().contains("there is a file already"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&there).unwrap().permissions().mode() & 0o777, 0o600);
        }
        verify_file(&there).unwrap();
        assert_eq!(stat_file(&there).unwrap().rows, 0);
        compact_file(&there).unwrap();
        drop(Embedded::open(&there, EmbeddedOptions::default()).unwrap());
        // Somebody else's unfinished copy stays.
        let other = directory.join("other.redb");
        let unfinished = directory.join("other.redb.unfinished");
        fs::write(&unfinished, b"theirs").unwrap();
        assert!(store.copy(&other).unwrap_err().to_string().contains("another copy is being made"));
        assert_eq!(fs::read(&unfinished).unwrap(), b"theirs");
        for wrong in [directory.join("nowhere"), unfinished] {
            assert!(verify_file(&wrong).is_err());
            assert!(copy_file(&wrong, &directory.join("x")).is_err());
        }
        assert!(!directory.join("x").exists() && !directory.join("nowhere").exists());
        assert!(verify_file(&here).unwrap_err().to_string().contains("another process uses it"));
        drop(store);
        fs::remove_dir_all(&directory).unwrap();
    }
}
