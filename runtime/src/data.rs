//! The data directory: what is in it, and how it is copied.
//!
//! ```text
//!   pectin.redb        the chain, the pool and the queue
//!   sender.redb        managed accounts: requests and their names, nonces, endpoints, deliveries (0600)
//!   chain-spec.json    the chain that it belongs to, so that tools need nothing else
//!   admin-token        the operator's token (0600)
//!   keystore           encrypted keys of managed accounts (0600)
//!   dev-keys           keys of accounts that users of `pectin dev` have made, not encrypted (0600)
//! ```
//!
//! A backup is a directory with the first three. Tokens and keys are not in it.
//!
//! **The sender is copied after the chain**, so that it is never the older of the two. What the sender has bound or sent
//! since the first copy it sends again, the same bytes under the same nonces, and believes nothing but the finalized
//! chain. The other way round the chain would have a transaction that the sender knows nothing of: its nonce would look
//! like somebody else's, and a client that repeats the name of its request would pay twice.
//!
//! **The specification is written last**: without it nothing can be started or restored, so a backup that was broken off
//! is none.

use ::sender::Copied;
use jam::ChainSpec;
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use store::{Store, StoreError};
use types::BlockId;

/// The file with the chain, the pool and the queue.
pub const STORE: &str = "pectin.redb";
/// The file with what the sender knows.
pub const SENDER: &str = "sender.redb";
/// The file with the chain specification.
pub const SPEC: &str = "chain-spec.json";
/// The file with the operator's token.
pub const TOKEN: &str = "admin-token";

/// The directory with keys that a development network made.
pub const DEV_KEYS: &str = "dev-keys";

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
    /// The sender's store cannot be used.
    #[error("the sender: {0}")]
    Sender(#[from] ::sender::store::StoreError),
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DataError {
    let path = path.to_path_buf();
    move |source| DataError::Io { path, source }
}

/// Writes a file so that it is there whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = unfinished(path);
    let mut file = fs::File::create(&unfinished)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

/// What a backup has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copy {
    /// The last final block in it.
    pub finalized: BlockId,
    /// What became of the sender's rows; `None` if there is no sender.
    pub sender: Option<Copied>,
}

/// Copies what is durable now into a new directory. The sender's part is copied by `sender`, into the file that it is
/// given. Whole or not at all.
pub fn backup(
    store: &Store,
    spec: &str,
    to: &Path,
    sender: impl FnOnce(&Path) -> Result<Option<Copied>, DataError>,
) -> Result<Copy, DataError> {
    let [file, sender_file, spec_file] = [STORE, SENDER, SPEC].map(|name| to.join(name));
    refuse_existing([&file, &sender_file, &spec_file])?;
    fs::create_dir_all(to).map_err(at(to))?;
    let (finalized, _) = store.heads();
    store.backup(&file)?;
    let rest = sender(&sender_file).and_then(|sender| {
        write_whole(&spec_file, spec.as_bytes()).map_err(at(&spec_file))?;
        Ok(Copy { finalized, sender })
    });
    if rest.is_err() {
        // None of them was there before, and a part is of no use.
        for file in [&file, &sender_file, &spec_file] {
            let _ = fs::remove_file(file);
        }
    }
    rest
}

/// Does something with the sender's file of a node that does not run. Damage at which the engine panics is told as an
/// error, and only as that.
pub fn with_sender<T>(act: impl FnOnce() -> Result<T, ::sender::store::StoreError>) -> Result<T, DataError> {
    let damaged = || Err(::sender::store::StoreError::Unusable("its file is damaged".to_owned()));
    Ok(store::guarded(act).unwrap_or_else(damaged)?)
}

/// Copies the sender's file of a node that does not run, if there is one.
pub fn copy_sender(from: &Path, to: &Path) -> Result<Option<Copied>, DataError> {
    if !from.exists() {
        return Ok(None);
    }
    with_sender(|| ::sender::store::copy_file(from, to))?;
    Ok(Some(Copied::File))
}

fn refuse_existing<const N: usize>(files: [&PathBuf; N]) -> Result<(), DataError> {
    files.into_iter().find(|file| file.exists()).map_or(Ok(()), |file| Err(DataError::Exists(file.clone())))
}

/// Puts a backup where a node will look for its data, the sender's part where that is kept. Whole or not at all, and never
/// over anything.
pub fn restore(from: &Path, to: &Path, sender: &Path) -> Result<(), DataError> {
    let target = to.join(STORE);
    let sender_source = Some(from.join(SENDER)).filter(|file| file.exists());
    refuse_existing([&target, &sender.to_path_buf()])?;
    store::verify(from.join(STORE))?;
    if let Some(source) = &sender_source {
        with_sender(|| ::sender::store::verify_file(source))?;
    }
    let spec = fs::read(from.join(SPEC)).map_err(at(&from.join(SPEC)))?;
    fs::create_dir_all(to).map_err(at(to))?;
    let unfinished = copied(&from.join(STORE), &target)?;
    let sender_unfinished = match &sender_source {
        Some(source) => Some(copied(source, sender)?),
        None => None,
    };
    write_whole(&to.join(SPEC), &spec).map_err(at(&to.join(SPEC)))?;
    // The sender before the chain: a chain without its sender could be started, and would know no request.
    if let Some(unfinished) = sender_unfinished {
        fs::rename(unfinished, sender).map_err(at(sender))?;
        sync_directory(sender)?;
    }
    fs::rename(&unfinished, &target).map_err(at(&target))?;
    sync_directory(&target)
}

/// Copies a file beside where it is to be, and waits until it is durable.
fn copied(from: &Path, to: &Path) -> Result<PathBuf, DataError> {
    let unfinished = unfinished(to);
    fs::copy(from, &unfinished).map_err(at(&unfinished))?;
    fs::File::open(&unfinished).and_then(|file| file.sync_all()).map_err(at(&unfinished))?;
    Ok(unfinished)
}

/// What a file is called until it is whole.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

fn sync_directory(file: &Path) -> Result<(), DataError> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(directory).and_then(|directory| directory.sync_all()).map_err(at(directory))
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
    let chain = store::ChainIdentity {
        genesis: state.head().hash,
        service: service.service,
        builder: service.builder,
        jam_genesis: spec.genesis_hash(),
    };
    Ok(Store::existing(directory.join(STORE), store::Options::new(chain, spec.params))?)
}
