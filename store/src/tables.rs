//! The tables of the file. Numbers in composite keys are big-endian, so that their order is that of the bytes.

use crate::{Result, engine::Engine};
use redb::{ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction};

type Definition<K, V> = TableDefinition<'static, K, V>;

/// Whose file it is, how far it is, and where following begins.
pub(crate) const META: Definition<&str, &[u8]> = TableDefinition::new("meta");
/// Accepted transactions that are neither final nor ended, in the order of arrival.
pub(crate) const TRANSACTIONS: Definition<u64, &[u8]> = TableDefinition::new("transactions");
/// Why transactions ended, by hash.
pub(crate) const ENDED: Definition<&[u8; 32], &[u8]> = TableDefinition::new("ended");
/// The same transactions in the order in which they ended.
pub(crate) const ENDED_ORDER: Definition<u64, &[u8; 32]> = TableDefinition::new("ended order");
/// What became of transactions in blocks that were given up, by hash.
pub(crate) const STORIES: Definition<&[u8; 32], &[u8]> = TableDefinition::new("stories");
/// The queue's records that still say something, in order.
pub(crate) const QUEUE: Definition<u64, &[u8]> = TableDefinition::new("queue");
/// Headers by number: final blocks and, above them, unfinished ones.
pub(crate) const HEADERS: Definition<u64, &[u8]> = TableDefinition::new("headers");
/// Signatures and transactions of the same blocks.
pub(crate) const BODIES: Definition<u64, &[u8]> = TableDefinition::new("bodies");
/// Receipts of the same blocks.
pub(crate) const RECEIPTS: Definition<u64, &[u8]> = TableDefinition::new("receipts");
/// What the same blocks wrote to the state, as long as the table of values does not have it.
pub(crate) const WRITES: Definition<u64, &[u8]> = TableDefinition::new("writes");
/// Numbers of final and of folded blocks by hash.
pub(crate) const NUMBERS: Definition<&[u8; 32], u64> = TableDefinition::new("numbers");
/// Block and index of the transactions of the same blocks, by hash.
pub(crate) const PLACES: Definition<&[u8; 32], (u64, u32)> = TableDefinition::new("places");
/// Those of the same blocks in which an address logged: address, number.
pub(crate) const LOG_ADDRESSES: Definition<&[u8; 28], ()> = TableDefinition::new("log addresses");
/// Those of the same blocks with a log that has a topic at a position: position, topic, number.
pub(crate) const LOG_TOPICS: Definition<&[u8; 41], ()> = TableDefinition::new("log topics");
/// The state some blocks behind the newest one.
pub(crate) const VALUES: Definition<&[u8; 32], &[u8; 32]> = TableDefinition::new("values");
/// What a key held before a folded block wrote it: key, number.
pub(crate) const HISTORY: Definition<&[u8; 40], &[u8]> = TableDefinition::new("history");
/// The keys that folded blocks wrote, as long as the history has what they held before.
pub(crate) const CHANGED: Definition<u64, &[u8]> = TableDefinition::new("changed");
/// Codes by hash.
pub(crate) const CODES: Definition<&[u8; 32], &[u8]> = TableDefinition::new("codes");

/// Declares the tables of a write transaction, each opened when it is first needed: an accept touches two of them.
macro_rules! tables {
    ($($name:ident $definition:ident: $key:ty => $value:ty;)*) => {
        /// The tables of a write transaction.
        pub(crate) struct Tables<'t> {
            transaction: &'t WriteTransaction,
            $($name: Option<Table<'t, $key, $value>>,)*
        }

        impl<'t> Tables<'t> {
            pub(crate) fn new(transaction: &'t WriteTransaction) -> Self {
                Self { transaction, $($name: None,)* }
            }

            $(pub(crate) fn $name(&mut self) -> Result<&mut Table<'t, $key, $value>, redb::Error> {
                if self.$name.is_none() {
                    self.$name = Some(self.transaction.open_table($definition)?);
                }
                Ok(self.$name.as_mut().expect("it was opened above"))
            })*

            /// Makes every table, so that readers find them.
            pub(crate) fn make_all(&mut self) -> Result<(), redb::Error> {
                $(self.$name()?;)*
                Ok(())
            }
        }

        /// The sizes of all tables: name, entries, bytes.
        pub(crate) fn sizes(read: &ReadTransaction) -> Result<Vec<(&'static str, u64, u64)>, redb::Error> {
            use redb::{ReadableTableMetadata, TableHandle};
            Ok(vec![$({
                let table = read.open_table($definition)?;
                ($definition.name(), table.len()?, table.stats()?.stored_bytes())
            },)*])
        }

        /// A hash of everything.
        #[cfg(feature = "faults")]
        pub(crate) fn fingerprint(read: &ReadTransaction) -> Result<jam::Hash, redb::Error> {
            use redb::{TableHandle, Value as _};
            let mut hash = jam::Hash::ZERO;
            $({
                let table = read.open_table($definition)?;
                hash = jam::hash::blake2b(&[hash.as_slice(), $definition.name().as_bytes()]);
                for entry in table.iter()? {
                    let (key, value) = entry?;
                    let (key, value) = (key.value(), value.value());
                    let key = <$key>::as_bytes(&key);
                    let value = <$value>::as_bytes(&value);
                    hash = jam::hash::blake2b(&[hash.as_slice(), key.as_ref(), value.as_ref()]);
                }
            })*
            Ok(hash)
        }

        /// Copies everything into another file.
        pub(crate) fn copy_all(read: &ReadTransaction, to: &WriteTransaction) -> Result<(), redb::Error> {
            $({
                let from = read.open_table($definition)?;
                let mut table = to.open_table($definition)?;
                for entry in from.iter()? {
                    let (key, value) = entry?;
                    table.insert(key.value(), value.value())?;
                }
            })*
            Ok(())
        }
    };
}

tables! {
    meta META: &'static str => &'static [u8];
    transactions TRANSACTIONS: u64 => &'static [u8];
    ended ENDED: &'static [u8; 32] => &'static [u8];
    ended_order ENDED_ORDER: u64 => &'static [u8; 32];
    stories STORIES: &'static [u8; 32] => &'static [u8];
    queue QUEUE: u64 => &'static [u8];
    headers HEADERS: u64 => &'static [u8];
    bodies BODIES: u64 => &'static [u8];
    receipts RECEIPTS: u64 => &'static [u8];
    writes WRITES: u64 => &'static [u8];
    numbers NUMBERS: &'static [u8; 32] => u64;
    places PLACES: &'static [u8; 32] => (u64, u32);
    log_addresses LOG_ADDRESSES: &'static [u8; 28] => ();
    log_topics LOG_TOPICS: &'static [u8; 41] => ();
    values VALUES: &'static [u8; 32] => &'static [u8; 32];
    history HISTORY: &'static [u8; 40] => &'static [u8];
    changed CHANGED: u64 => &'static [u8];
    codes CODES: &'static [u8; 32] => &'static [u8];
}

/// The bytes of one entry of a table keyed by number, or that it is missing.
pub(crate) fn numbered(
    engine: &Engine,
    table: &impl ReadableTable<u64, &'static [u8]>,
    what: &str,
    number: u64,
) -> Result<Vec<u8>> {
    let found = table.get(number).map_err(|error| engine.error(error.into()))?;
    found
        .map(|bytes| bytes.value().to_vec())
        .ok_or_else(|| engine.damaged(format!("the {what} of block {number} are missing")))
}
