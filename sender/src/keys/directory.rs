//! A directory of keystores, one file for each account, all under one password.

use super::{Cost, Keystore, KeystoreError, LocalSigner, Password, SecretKey, whole_file};
use crate::signer::{Keys, Signer, SignerError, Signing};
use alloy_primitives::{Address, hex};
use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::sync::Semaphore;

/// A keystore is a few hundred bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Why keys cannot be used. Neither key nor password is in it.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A file or the directory cannot be read or written.
    #[error("{path}: {why}")]
    File {
        /// Which.
        path: String,
        /// What the system said.
        why: io::Error,
    },
    /// A keystore cannot be used.
    #[error("{path}: {why}")]
    Keystore {
        /// Which.
        path: String,
        /// Why not.
        why: KeystoreError,
    },
    /// A key file holds no key.
    #[error("{path} holds no private key: 64 hexadecimal digits. Put the key back, or move the file away")]
    NoKey {
        /// Which.
        path: String,
    },
    /// The account has a keystore already.
    #[error("there is a keystore for {0} already")]
    Exists(Address),
}

/// A file of the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredKey {
    /// Whose key it says it is.
    pub address: Option<Address>,
    /// The file.
    pub path: PathBuf,
}

/// The keys of a directory, decrypted.
#[derive(Debug)]
pub struct Keystores {
    directory: PathBuf,
    password: Password,
    cost: Cost,
    signers: Signers,
    /// One key is made at a time: each takes a second of a core, and memory by the hundred megabytes.
    pub(super) making: Arc<Semaphore>,
}

/// Shared with what makes keys, which goes on when whoever asked for one has gone.
#[derive(Clone, Debug)]
pub(super) struct Signers(Arc<Mutex<Vec<Arc<LocalSigner>>>>);

impl Signers {
    pub(super) fn new(signers: Vec<Arc<LocalSigner>>) -> Self {
        Self(Arc::new(Mutex::new(signers)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Arc<LocalSigner>>> {
        // A list that is only ever added to cannot be half changed.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn addresses(&self) -> Vec<Address> {
        self.lock().iter().map(|signer| signer.address()).collect()
    }

    pub(super) fn find(&self, address: Address) -> Option<Arc<dyn Signer>> {
        let signers = self.lock();
        let found = signers.iter().find(|signer| signer.address() == address)?;
        Some(found.clone())
    }
}

pub(super) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> KeysError {
    let path = path.display().to_string();
    |why| KeysError::File { path, why }
}

impl Keystores {
    /// Decrypts every keystore of a directory, which is made if it is not there. One that cannot be used is an error: a
    /// key that silently stays away is worse. Each takes about a second.
    pub fn open(directory: &Path, password: Password, cost: Cost) -> Result<Self, KeysError> {
        make_directory(directory).map_err(file_error(directory))?;
        let mut signers: Vec<Arc<LocalSigner>> = Vec::new();
        for StoredKey { path, .. } in Self::list(directory)? {
            let wrong = |why| KeysError::Keystore { path: path.display().to_string(), why };
            let key = read(&path)?.decrypt(&password).map_err(wrong)?;
            if signers.iter().all(|signer| signer.address() != key.address()) {
                signers.push(Arc::new(LocalSigner::from(&key)));
            }
        }
        let signers = Signers::new(signers);
        let making = Arc::new(Semaphore::new(1));
        Ok(Self { directory: directory.to_owned(), password, cost, signers, making })
    }

    /// The keystores of a directory, without opening them; none if there is no such directory. What a write that was
    /// interrupted has left behind is not one.
    pub fn list(directory: &Path) -> Result<Vec<StoredKey>, KeysError> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(why) => return Err(file_error(directory)(why)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(file_error(directory))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Ours, and those that go-ethereum has written.
            if path.is_file() && (name.ends_with(".json") || name.starts_with("UTC--")) {
                found.push(StoredKey { address: read(&path)?.address(), path });
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Encrypts a key into a file of a directory, which is made if it is not there; never over another one.
    pub fn store(
        directory: &Path,
        key: &SecretKey,
        password: &Password,
        cost: Cost,
    ) -> Result<PathBuf, KeysError> {
        make_directory(directory).map_err(file_error(directory))?;
        let address = key.address();
        if Self::list(directory)?.iter().any(|stored| stored.address == Some(address)) {
            return Err(KeysError::Exists(address));
        }
        let path = directory.join(format!("{}.json", hex::encode(address)));
        let wrong = |why| KeysError::Keystore { path: path.display().to_string(), why };
        let text = Keystore::encrypt(key, password, cost).map_err(wrong)?.to_json();
        let written = whole_file::create(directory, &path, |file| file.write_all(text.as_bytes()));
        match written {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(KeysError::Exists(address)),
            written => written.map(|()| path.clone()).map_err(file_error(&path)),
        }
    }
}

impl Keys for Keystores {
    fn addresses(&self) -> Vec<Address> {
        self.signers.addresses()
    }

    fn signer(&self, address: Address) -> Option<Arc<dyn Signer>> {
        self.signers.find(address)
    }

    fn create(&self) -> Signing<'_, Address> {
        Box::pin(async {
            let unavailable = |why: &dyn std::fmt::Display| SignerError::Unavailable(why.to_string());
            // Whoever goes away while it waits here has begun nothing.
            let turn = self.making.clone().acquire_owned().await.map_err(|why| unavailable(&why))?;
            let (directory, password, cost) = (self.directory.clone(), self.password.clone(), self.cost);
            let signers = self.signers.clone();
            // A task that is not waited for goes on: a key in the directory is always one that is managed.
            let made = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let key = SecretKey::random().map_err(|why| SignerError::Unavailable(why.to_string()))?;
                let stored = Self::store(&directory, &key, &password, cost);
                stored.map_err(|why| SignerError::Unavailable(why.to_string()))?;
                let signer = LocalSigner::from(&key);
                let address = signer.address();
                signers.lock().push(Arc::new(signer));
                Ok(address)
            });
            made.await.map_err(|why| unavailable(&why))?
        })
    }
}

fn read(path: &Path) -> Result<Keystore, KeysError> {
    let size = fs::metadata(path).map_err(file_error(path))?.len();
    let wrong = |why| KeysError::Keystore { path: path.display().to_string(), why };
    if size > FILE_BYTES_MAX {
        return Err(wrong(KeystoreError::Unsupported(format!("it has {size} bytes"))));
    }
    let bytes = fs::read(path).map_err(file_error(path))?;
    Keystore::from_json(&String::from_utf8_lossy(&bytes)).map_err(wrong)
}

pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
