//! Whose file it is: the first thing that is looked at, and the only one that every version must be able to read.

use crate::{
    Result, StoreError, commit::IDENTITY, engine::Engine, options::ChainIdentity, tables::META, values,
};
use jam::{
    Params,
    codec::{DecodeError, Decoder, Encode},
};
use redb::{ReadTransaction, TableError};

const MAGIC: &[u8; 8] = b"pectin\0\x01";
/// The format of everything else. Change it with any table or encoding, and say in [`check`] what becomes of the others.
const SCHEMA: u32 = 5;
/// This one lacks the history of values and is the same otherwise: [`create`](crate::create) adds it.
const WITHOUT_HISTORY: u32 = 4;
/// This one lacks the table of stories too.
const WITHOUT_STORIES: u32 = 3;

pub(crate) fn encode(chain: &ChainIdentity) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    SCHEMA.encode_to(&mut out);
    out.extend(values::sealed(chain.encode()));
    out
}

/// Refuses what is not a file of this chain in a known format; whether the format is the newest one.
pub(crate) fn check(engine: &Engine, read: &ReadTransaction, expected: &ChainIdentity) -> Result<bool> {
    let path = || engine.medium().path().to_path_buf();
    let table = match read.open_table(META) {
        Ok(table) => table,
        Err(TableError::Storage(error)) => return Err(engine.error(error.into())),
        Err(_) => return Err(StoreError::Foreign(path())),
    };
    let value = table.get(IDENTITY).map_err(|error| engine.error(error.into()))?;
    let value = value.ok_or_else(|| StoreError::Foreign(path()))?;
    let rest = value.value().strip_prefix(MAGIC).ok_or_else(|| StoreError::Foreign(path()))?;
    let (schema, chain) = rest.split_first_chunk().ok_or_else(|| StoreError::Foreign(path()))?;
    let schema = u32::from_le_bytes(*schema);
    match schema {
        SCHEMA | WITHOUT_HISTORY | WITHOUT_STORIES => {}
        found if found > SCHEMA => return Err(StoreError::Newer { path: path(), found, known: SCHEMA }),
        found => return Err(StoreError::Older { path: path(), found }),
    }
    let found = decode(chain).map_err(|error| engine.damaged(format!("whose it is: {error}")))?;
    compare(engine, &found, expected)?;
    Ok(schema == SCHEMA)
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
