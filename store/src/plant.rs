//! Rows that the store did not write: for tests of what a damaged file can do.

use crate::{
    Result,
    store::Store,
    tables::{BODIES, HEADERS, META, QUEUE, RECEIPTS, TRANSACTIONS, WRITES},
    values,
};

/// Where a row is planted, and under which key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Row<'a> {
    /// How far the file is, and where following begins.
    Meta(&'a str),
    /// An accepted transaction, by its arrival.
    Transaction(u64),
    /// A record of the queue.
    Record(u64),
    /// A header.
    Header(u64),
    /// Signature and transactions.
    Body(u64),
    /// Receipts.
    Receipts(u64),
    /// What a block wrote.
    Writes(u64),
}

impl Store {
    /// Puts a value into a row, with the checksum that makes it look right, or takes the row out. Whatever is opened or
    /// loaded afterwards must cope with it.
    pub fn plant(&self, row: Row<'_>, value: Option<&[u8]>) -> Result<()> {
        let engine = &self.0.engine;
        let sealed = matches!(row, Row::Meta(_) | Row::Transaction(_) | Row::Record(_));
        let value = value.map(|value| if sealed { values::sealed(value.to_vec()) } else { value.to_vec() });
        let write = || -> Result<(), redb::Error> {
            let transaction = engine.write()?;
            macro_rules! put {
                ($table:expr, $key:expr) => {{
                    let mut table = transaction.open_table($table)?;
                    match &value {
                        Some(value) => drop(table.insert($key, &value[..])?),
                        None => drop(table.remove($key)?),
                    }
                }};
            }
            match row {
                Row::Meta(key) => put!(META, key),
                Row::Transaction(arrival) => put!(TRANSACTIONS, arrival),
                Row::Record(order) => put!(QUEUE, order),
                Row::Header(number) => put!(HEADERS, number),
                Row::Body(number) => put!(BODIES, number),
                Row::Receipts(number) => put!(RECEIPTS, number),
                Row::Writes(number) => put!(WRITES, number),
            }
            Ok(transaction.commit()?)
        };
        write().map_err(|error| engine.error(error))
    }
}
