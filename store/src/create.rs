//! How a file begins: made in one step, or recognised.

use crate::{
    Result,
    arrivals::Arrivals,
    base::Slot,
    body,
    commit::{Failure, IDENTITY, POSITION, StepWriter},
    engine::Engine,
    identity,
    log::Logged,
    options::Options,
    receipts,
    tables::{META, Tables},
    values::Position,
};
use redb::ReadTransaction;
use service::genesis::Genesis;

/// Recognises a file, or makes it.
pub(crate) fn open(engine: &Engine, options: &Options, genesis: &Genesis) -> Result<Found> {
    let tables = engine.read()?.list_tables().map_err(|error| engine.error(error.into()))?.count();
    if tables == 0 && engine.log().is_ok() {
        make(engine, options, genesis).map_err(|failure| failure.told(engine))?;
        engine.medium().sync_directory().map_err(|error| engine.error(redb::Error::Io(error)))?;
    }
    recognise(engine, options)
}

/// Recognises a file that is there.
pub(crate) fn recognise(engine: &Engine, options: &Options) -> Result<Found> {
    let read = engine.read()?;
    identity::check(engine, &read, &options.chain)?;
    let journal = journal(engine, &read)?;
    let slot = Slot::new(engine, &read, &journal.position)?;
    Ok(Found { journal, slot })
}

/// What a file says of itself when it is opened.
pub(crate) struct Found {
    pub(crate) journal: Journal,
    pub(crate) slot: Slot,
}

/// How far a file is, its log included.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) position: Position,
    /// Where the transactions stand.
    pub(crate) arrivals: Arrivals,
    /// What is not in the tables yet.
    pub(crate) logged: Logged,
}

/// Reads how far a file is.
pub(crate) fn journal(engine: &Engine, read: &ReadTransaction) -> Result<Journal> {
    let mut position = position(engine, read)?;
    let logged = Logged::read(engine, &mut position)?;
    let arrivals = Arrivals::read(engine, read, &logged)?;
    Ok(Journal { position, arrivals, logged })
}

/// How far the tables of a file are.
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
        oldest: number,
        rollbacks: 0,
        repeated: 0,
    };
    let none = Arrivals::default();
    let (tables, arrivals) = (Tables::new(&transaction), none.moves());
    let mut step = StepWriter { tables, position, options, arrivals };
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
