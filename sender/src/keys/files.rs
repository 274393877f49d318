//! A directory of key files, one for each account, not encrypted: for development networks, whose coins are worth nothing
//! and which nobody wants to unlock. Only their owner can read the files.

use super::{
    KeysError, LocalSigner, SecretKey,
    directory::{Signers, file_error, make_directory},
    whole_file,
};
use crate::signer::{Keys, Signer, SignerError, Signing};
use alloy_primitives::{Address, hex};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};
use zeroize::Zeroizing;

/// A key is 64 digits and a line end.
const FILE_BYTES_MAX: u64 = 128;
const EXTENSION: &str = "key";

/// The keys of a directory. See the [module](self).
#[derive(Debug)]
pub struct KeyFiles {
    directory: PathBuf,
    signers: Signers,
}

impl KeyFiles {
    /// Reads every key file of a directory, which is made if it is not there. One that cannot be used is an error: its
    /// account would silently stay away, and its money with it.
    pub fn open(directory: &Path) -> Result<Self, KeysError> {
        make_directory(directory).map_err(file_error(directory))?;
        let mut paths = Vec::new();
        for entry in fs::read_dir(directory).map_err(file_error(directory))? {
            let path = entry.map_err(file_error(directory))?.path();
            if path.is_file() && path.extension().is_some_and(|extension| extension == EXTENSION) {
                paths.push(path);
            }
        }
        paths.sort();
        let signers: Result<Vec<_>, KeysError> =
            paths.iter().map(|path| Ok(Arc::new(LocalSigner::from(&read(path)?)))).collect();
        Ok(Self { directory: directory.to_owned(), signers: Signers::new(signers?) })
    }
}

fn read(path: &Path) -> Result<SecretKey, KeysError> {
    let wrong = || KeysError::NoKey { path: path.display().to_string() };
    if fs::metadata(path).map_err(file_error(path))?.len() > FILE_BYTES_MAX {
        return Err(wrong());
    }
    let text = Zeroizing::new(fs::read_to_string(path).map_err(file_error(path))?);
    SecretKey::parse(&text).map_err(|_| wrong())
}

/// Makes a key, and keeps it before anybody learns its address.
fn make(directory: &Path, signers: &Signers) -> Result<Address, SignerError> {
    let unavailable = |why: &dyn std::fmt::Display| SignerError::Unavailable(why.to_string());
    let key = SecretKey::random().map_err(|why| unavailable(&why))?;
    let path = directory.join(hex::encode(key.address())).with_extension(EXTENSION);
    let digits = Zeroizing::new(hex::encode(key.bytes()));
    let written = whole_file::create(directory, &path, |file| writeln!(file, "{}", *digits));
    written.map_err(|why| unavailable(&file_error(&path)(why)))?;
    signers.lock().push(Arc::new(LocalSigner::from(&key)));
    Ok(key.address())
}

impl Keys for KeyFiles {
    fn addresses(&self) -> Vec<Address> {
        self.signers.addresses()
    }

    fn signer(&self, address: Address) -> Option<Arc<dyn Signer>> {
        self.signers.find(address)
    }

    fn create(&self) -> Signing<'_, Address> {
        Box::pin(async {
            let (directory, signers) = (self.directory.clone(), self.signers.clone());
            // A task that is not waited for goes on: a key in the directory is always one that is managed.
            let made = tokio::task::spawn_blocking(move || make(&directory, &signers));
            made.await.map_err(|why| SignerError::Unavailable(why.to_string()))?
        })
    }
}
