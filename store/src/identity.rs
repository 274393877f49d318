//! Whose file it is: the first thing that is looked at, and the only one that every version must be able to read.

use crate::{
    Result, StoreError,
    commit::IDENTITY,
    engine::{Engine, guarded},
    medium,
    options::ChainIdentity,
    tables::META,
    values,
};
use jam::{
    Params,
    codec::{DecodeError, Decoder, Encode},
};
use redb::{ReadTransaction, ReadableDatabase as _, TableError};
use std::path::Path;

const MAGIC: &[u8; 8] = b"pectin\0\x01";
/// The format of everything else. Change it with any table or encoding, and say in [`in_this_format`] what becomes of the others.
///
/// Chains in formats up to 6 have services that take other bundles (of one block up to 5, without hints up to 6): they are refused.
const SCHEMA: u32 = 7;

pub(crate) fn encode(chain: &ChainIdentity) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    SCHEMA.encode_to(&mut out);
    out.extend(values::sealed(chain.encode()));
    out
}

/// Refuses what is not a file of this chain in this format.
pub(crate) fn check(engine: &Engine, read: &ReadTransaction, expected: &ChainIdentity) -> Result<()> {
    compare(engine, &chain_of(engine, read)?, expected)
}

/// The chain whose file it is, if it is in this format.
fn chain_of(engine: &Engine, read: &ReadTransaction) -> Result<ChainIdentity> {
    let path = engine.medium().path();
    let table = match read.open_table(META) {
        Ok(table) => table,
        Err(TableError::Storage(error)) => return Err(engine.error(error.into())),
        Err(_) => return Err(StoreError::Foreign(path.into())),
    };
    let value = table.get(IDENTITY).map_err(|error| engine.error(error.into()))?;
    let value = value.ok_or_else(|| StoreError::Foreign(path.into()))?;
    let chain = in_this_format(value.value(), path)?;
    decode(chain).map_err(|error| engine.damaged(format!("whose it is: {error}")))
}

/// What follows the format, if that is this one.
fn in_this_format<'a>(value: &'a [u8], path: &Path) -> Result<&'a [u8]> {
    let rest = value.strip_prefix(MAGIC).ok_or_else(|| StoreError::Foreign(path.into()))?;
    let (schema, chain) = rest.split_first_chunk().ok_or_else(|| StoreError::Foreign(path.into()))?;
    match u32::from_le_bytes(*schema) {
        SCHEMA => Ok(chain),
        found if found > SCHEMA => Err(StoreError::Newer { path: path.into(), found, known: SCHEMA }),
        found => Err(StoreError::Older { path: path.into(), found }),
    }
}

/// Refuses a file in a format of another version, and writes nothing into it. Whatever else may be wrong with it is found when
/// it is opened.
pub fn check_format(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let identity = || -> Result<_, redb::Error> {
        let Some(database) = medium::look(path)? else { return Ok(None) };
        let value = database.begin_read()?.open_table(META)?.get(IDENTITY)?;
        Ok(value.map(|value| value.value().to_vec()))
    };
    let Some(Ok(Some(identity))) = guarded(identity) else { return Ok(()) };
    match in_this_format(&identity, path) {
        Err(why @ (StoreError::Older { .. } | StoreError::Newer { .. })) => Err(why),
        _ => Ok(()),
    }
}

fn decode(bytes: &[u8]) -> Result<ChainIdentity, DecodeError> {
    let mut input = Decoder::new(values::unsealed(bytes)?, &Params::TINY);
    let chain = ChainIdentity::take(&mut input)?;
    input.finish()?;
    Ok(chain)
}

fn compare(engine: &Engine, found: &ChainIdentity, expected: &ChainIdentity) -> Result<()> {
    let differs = [
        ("genesis block", found.genesis.to_string(), expected.genesis.to_string()),
        ("service", found.service.to_string(), expected.service.to_string()),
        ("builder", found.builder.to_string(), expected.builder.to_string()),
        ("JAM genesis", found.jam_genesis.to_string(), expected.jam_genesis.to_string()),
    ];
    match differs.into_iter().find(|(_, found, expected)| found != expected) {
        Some((what, found, expected)) => {
            let path = engine.medium().path().to_path_buf();
            Err(StoreError::OtherChain { path, what, found, expected })
        }
        None => Ok(()),
    }
}
