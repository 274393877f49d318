//! Whether settings can be used, as far as that shows without starting: nothing is opened for writing, bound, decrypted or
//! asked. `pectin config check` and every start call the same functions, so that what passes here does not fail there.

use super::{
    Failure, Options, file, managed,
    setup::{self, Setup},
};
use crate::logging;
use jam::{ChainSpec, Params};
use runtime::data;
use service::genesis::Genesis;
use std::path::{Path, PathBuf};

/// Whether these settings can be used on a network with these parameters and slots.
pub(super) fn options(options: &Options, params: &Params, slot_ms: u64) -> Result<(), Failure> {
    logging::filter(options.log.as_deref()).map_err(Failure::Usage)?;
    setup::named_peers(options)?;
    setup::queue(options, params, slot_ms)?;
    sender(options)
}

/// The sender's settings, without its keys: to open those takes a password and a second each.
fn sender(options: &Options) -> Result<(), Failure> {
    let keyless = Options { sender_keystore: None, sender_password_file: None, ..options.clone() };
    managed::sender(&keyless, None, &[], false).map(drop)
}

/// Whether the files that settings name are there. What the node makes itself may be missing.
fn files(options: &Options) -> Result<(), Failure> {
    let missing =
        |key: &str, path: &Path, why: &str| Failure::Usage(format!("{key} {}: {why}", path.display()));
    if let Some(path) = options.data_dir.as_deref().filter(|path| path.exists() && !path.is_dir()) {
        return Err(missing("data-dir", path, "not a directory"));
    }
    if let Some(path) = &options.token_file {
        let there = path.parent().is_none_or(|parent| parent.as_os_str().is_empty() || parent.is_dir());
        if path.exists() {
            setup::read_token(path)?;
        } else if !there {
            return Err(missing("token-file", path, "its directory is not there"));
        }
    }
    if options.sender == Some(false) {
        return Ok(());
    }
    if let Some(path) = options.sender_keystore.as_deref().filter(|path| !path.is_dir()) {
        return Err(missing("sender-keystore", path, "there is no such directory"));
    }
    if let Some(path) = &options.sender_password_file {
        ::sender::keys::Password::read(path).map_err(Failure::usage)?;
    }
    Ok(())
}

/// Whether a configuration file can be used; what it leaves to flags or the environment is said.
pub(super) fn config(path: &Path) -> Result<Vec<&'static str>, Failure> {
    let (network, settings) = file::load(path)?;
    let slot_ms = network.slot_ms.unwrap_or(setup::SLOT_MS);
    let spec = network.chain_spec.as_deref().map(chain_spec).transpose()?;
    let secret = network.builder_key.as_deref().map(setup::read_key).transpose()?;
    let params = spec.as_ref().map_or(Params::TINY, |spec| spec.params);
    options(&settings, &params, slot_ms)?;
    files(&settings)?;
    let genesis = spec.as_ref().map(|spec| first_block(spec, network.genesis.as_deref())).transpose()?;
    let left = [("chain-spec", spec.is_none()), ("builder-key", secret.is_none())];
    if let (Some(spec), Some(secret), Some(genesis)) = (spec, secret, genesis) {
        let data_dir = settings.data_dir.clone();
        Setup { data_dir, ..Setup::new(spec, genesis, secret, slot_ms, settings) }.service()?;
    } else if let Some(path) = &network.genesis {
        file::read(path, "the genesis file")?;
    }
    Ok(left.into_iter().filter(|(_, left)| *left).map(|(key, _)| key).collect())
}

/// Reads a chain specification.
pub(super) fn chain_spec(path: &Path) -> Result<ChainSpec, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    let spec =
        ChainSpec::from_json(&file::read(path, "the chain specification")?).map_err(|why| wrong(&why))?;
    devnet::genesis::service_of(&spec).map_err(|why| wrong(&why))?;
    Ok(spec)
}

/// The first EVM block: the file's, or that of development.
pub(super) fn first_block(spec: &ChainSpec, path: Option<&Path>) -> Result<Genesis, Failure> {
    let (service, _) = devnet::genesis::service_of(spec).map_err(Failure::usage)?;
    match path {
        None => Ok(Genesis::dev(&service)),
        Some(path) => Genesis::from_json(&file::read(path, "the genesis file")?, &service)
            .map_err(|why| Failure::Usage(format!("{}: {why}", path.display()))),
    }
}

/// Where a node keeps its data if nothing is said.
pub(super) fn data_dir(options: &Options) -> PathBuf {
    options.data_dir.clone().unwrap_or_else(|| PathBuf::from("pectin-data"))
}

/// Where the operator's token is.
pub(super) fn token_file(options: &Options) -> PathBuf {
    options.token_file.clone().unwrap_or_else(|| data_dir(options).join(data::TOKEN))
}
