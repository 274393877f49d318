//! How a file begins: made in one step, or recognised.

use crate::{
    Result,
    arrivals::Arrivals,
    base::Slot,
    body,
    commit::{Failure, IDENTITY, POSITION, Step},
    engine::Engine,
    identity,
    options::Options,
    receipts,
    tables::{META, Tables},
    values::Position,
};
use redb::ReadTransaction;
use service::genesis::Genesis;

/// Recognises a file, or makes it.
pub(crate) fn open(
    engine: &Engine,
    options: &Options,
    genesis: &Genesis,
) -> Result<(Position, Arrivals, Slot)> {
    let tables = engine.read()?.list_tables().map_err(|error| engine.error(error.into()))?.count();
    if tables == 0 {
        make(engine, options, genesis).map_err(|failure| failure.told(engine))?;
        engine.medium().sync_directory().map_err(|error| engine.error(redb::Error::Io(error)))?;
    }
    recognise(engine, options)
}

/// Recognises a file that is there.
pub(crate) fn recognise(engine: &Engine, options: &Options) -> Result<(Position, Arrivals, Slot)> {
    let read = engine.read()?;
    identity::check(engine, &read, &options.chain)?;
    let position = position(engine, &read)?;
    Ok((position, Arrivals::read(engine, &read)?, Slot::new(engine, &read, position.folded)?))
}

/// How far a file is.
pub(crate) fn position(engine: &Engine, read: &ReadTransaction) -> Result<Position> {
    let table = read.open_table(META).map_err(|error| engine.error(error.into()))?;
    let value = table.get(POSITION).map_err(|error| engine.error(error.into()))?;
    let value = value.ok_or_else(|| engine.damaged("it does not say how far it is".into()))?;
    Position::decode(value.value()).map_err(|error| engine.damaged(format!("how far it is: {error}")))
}

/// Makes the file of a new chain, in one step.
fn make(engine: &Engine, options: &Options, genesis: &Genesis) -> Result<(), Failure> {
    let id = genesis.id();
    let transaction = engine.write()?;
    let number = id.number;
    let position = Position {
        step: 1,
        arrivals: 0,
        ended: 0,
        records: 0,
        build: 0,
        genesis: number,
        finalized: id,
        newest: id,
        folded: number,
        repeated: 0,
    };
    let none = Arrivals::default();
    let (tables, arrivals) = (Tables::new(&transaction), none.moves());
    let mut step = Step { tables, position, options, arrivals };
    step.tables.make_all()?;
    step.tables.meta()?.insert(IDENTITY, &identity::encode(&options.chain)[..])?;
    let body = body::encode(&jam::Signature::default(), &[]);
    let receipts = receipts::encode(id.hash, genesis.header.timestamp, &[], &[]);
    step.put_block(&genesis.header, id, &body, &receipts)?;
    step.index(number)?;
    for (key, value) in &genesis.writes {
        step.tables.values()?.insert(key.as_bytes(), &value.0)?;
    }
    for (hash, code) in genesis.codes.iter() {
        step.tables.codes()?.insert(&hash.0, &code[..])?;
    }
    step.finish()?;
    transaction.commit()?;
    Ok(())
}
