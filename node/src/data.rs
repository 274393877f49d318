//! The data directory: what is in it, and how it is copied.
//!
//! ```text
//!   pectin.redb        everything durable
//!   chain-spec.json    the chain that it belongs to, so that tools need nothing else
//!   admin-token        the operator's token (0600)
//! ```
//!
//! A backup is a directory with the first two. Secrets are not in it.

use jam::ChainSpec;
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use store::{Store, StoreError};
use types::BlockId;

/// The file with everything durable.
pub const STORE: &str = "pectin.redb";
/// The file with the chain specification.
pub const SPEC: &str = "chain-spec.json";
/// The file with the operator's token.
pub const TOKEN: &str = "admin-token";

/// Why a data directory cannot be used, copied or restored.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// There is something already. Nothing is ever written over.
    #[error("{} is there already; nothing is written over", .0.display())]
    Exists(PathBuf),
    /// Something is missing or cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The chain specification is none, or has no service of ours.
    #[error("{}: {why}", path.display())]
    Spec {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DataError {
    let path = path.to_path_buf();
    move |source| DataError::Io { path, source }
}

/// Writes a file so that it is there whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let mut file = fs::File::create(&unfinished)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

/// Copies what is durable now into a new directory; gives the last final block in it.
pub fn backup(store: &Store, spec: &str, to: &Path) -> Result<BlockId, DataError> {
    let file = to.join(STORE);
    if file.exists() {
        return Err(DataError::Exists(file));
    }
    fs::create_dir_all(to).map_err(at(to))?;
    let (finalized, _) = store.heads();
    store.backup(&file)?;
    let spec_file = to.join(SPEC);
    write_whole(&spec_file, spec.as_bytes()).map_err(at(&spec_file))?;
    Ok(finalized)
}

/// Puts a backup where a node will look for its data. Whole or not at all, and never over anything.
pub fn restore(from: &Path, to: &Path) -> Result<(), DataError> {
    let (source, target) = (from.join(STORE), to.join(STORE));
    if target.exists() {
        return Err(DataError::Exists(target));
    }
    store::verify(&source)?;
    fs::create_dir_all(to).map_err(at(to))?;
    let unfinished = to.join(format!("{STORE}.unfinished"));
    fs::copy(&source, &unfinished).map_err(at(&unfinished))?;
    fs::File::open(&unfinished).and_then(|file| file.sync_all()).map_err(at(&unfinished))?;
    let spec = fs::read(from.join(SPEC)).map_err(at(&from.join(SPEC)))?;
    write_whole(&to.join(SPEC), &spec).map_err(at(&to.join(SPEC)))?;
    fs::rename(&unfinished, &target).map_err(at(&target))?;
    fs::File::open(to).and_then(|directory| directory.sync_all()).map_err(at(to))
}

/// The chain specification of a data directory.
pub fn spec(directory: &Path) -> Result<ChainSpec, DataError> {
    let path = directory.join(SPEC);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    ChainSpec::from_json(&text).map_err(|why| DataError::Spec { path, why: why.to_string() })
}

/// Opens the store of a data directory that no node uses. None is made.
pub fn open(directory: &Path, spec: &ChainSpec) -> Result<Store, DataError> {
    let (service, state) = devnet::genesis::service_of(spec)
        .map_err(|why| DataError::Spec { path: directory.join(SPEC), why: why.to_string() })?;
    let chain = store::Chain {
        genesis: state.head().hash,
        service: service.service,
        builder: service.builder,
        jam_genesis: spec.genesis_hash(),
    };
    Ok(Store::existing(directory.join(STORE), store::Options::new(chain, spec.params))?)
}
