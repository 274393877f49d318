//! The log at the beginning of the file: accepted transactions on their way into the tables.
//!
//! Clients wait for nothing more often than for "accepted", and a commit of the tables writes a page or two for each of
//! them, and those that lead to them. So a step that only accepts is one record behind the last one: one write and one
//! sync. The next step that changes anything else takes what is in the log over into the tables, in the same
//! transaction; then the log begins at its start again.
//!
//! ```text
//!   0        4,096                                    1 MiB
//!   ├ header ┼ record ┊ record ┊ older ones ··········┼ tables ───▶
//! ```
//!
//! A record has the number of its step. Those up to the step of the tables are in the tables; the rest follow each other
//! without a gap from the start on. Each is synced before the next is begun, so only the last can be torn, and then
//! nobody was told of it. If a later one stands behind a record that is not whole, the disk has damaged it.

use crate::{
    Result,
    engine::Engine,
    values::{self, Accepted, Position},
};
use driver::Batch;
use redb::StorageBackend;
use std::{io, sync::Arc};

/// The room before the tables.
pub(crate) const LOG_BYTES: u64 = 1 << 20;
/// What the file begins with, and the layout that it says. Everything else is said by the tables.
pub(crate) const HEADER: [u8; 16] = *b"pectin\0log\0\0\0\0\0\x01";
const HEADER_BYTES: u64 = 4096;
/// What a record begins with.
const MAGIC: [u8; 4] = *b"plog";
/// Before the rows: the magic, the length, the step, the first arrival.
const PREFIX_BYTES: usize = 24;
/// What a disk writes at once. A record begins where one does.
const SECTOR_BYTES: usize = 512;

/// Where records are written.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<dyn StorageBackend>);

impl Log {
    pub(crate) fn new(backend: Arc<dyn StorageBackend>) -> Self {
        Self(backend)
    }

    /// Writes a record, and waits for the disk.
    fn write(&self, offset: u64, record: &[u8]) -> io::Result<()> {
        self.0.write(offset, record)?;
        self.0.sync_data()
    }

    fn records(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (LOG_BYTES - HEADER_BYTES) as usize];
        self.0.read(HEADER_BYTES, &mut bytes)?;
        Ok(bytes)
    }
}

/// A log with nothing in it. Written in full, since a disk is slower at what it has only promised room for.
pub(crate) fn empty() -> Vec<u8> {
    let mut bytes = vec![0; LOG_BYTES as usize];
    bytes[..HEADER.len()].copy_from_slice(&HEADER);
    bytes
}

/// A step that only accepts, as it is written.
#[derive(Debug)]
pub(crate) struct Record(Vec<u8>);

impl Record {
    /// The record of this step, if it only accepts.
    pub(crate) fn of(batch: &Batch, step: u64, first_arrival: u64) -> Option<Self> {
        let mut bytes = Vec::with_capacity(SECTOR_BYTES + 256 * batch.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&step.to_le_bytes());
        bytes.extend_from_slice(&first_arrival.to_le_bytes());
        for accepted in batch.accepts()? {
            let len_at = bytes.len();
            bytes.extend_from_slice(&[0; 4]);
            Accepted::first(accepted).encode_to(&mut bytes);
            let len = u32::try_from(bytes.len() - len_at - 4).ok()?;
            bytes[len_at..len_at + 4].copy_from_slice(&len.to_le_bytes());
        }
        let len = u32::try_from(bytes.len() - PREFIX_BYTES).ok()?;
        bytes[4..8].copy_from_slice(&len.to_le_bytes());
        let mut record = Self(bytes);
        let sum = record.checksum();
        record.0.extend_from_slice(&sum);
        record.0.resize(record.0.len().next_multiple_of(SECTOR_BYTES), 0);
        Some(record)
    }

    /// The record that these bytes begin with, if it is whole.
    fn read(bytes: &[u8]) -> Option<Self> {
        let len = u32::from_le_bytes(*bytes.strip_prefix(&MAGIC)?.first_chunk()?);
        let end = PREFIX_BYTES.checked_add(len as usize)?;
        let sum = bytes.get(end..end.checked_add(values::CHECKSUM_BYTES)?)?;
        let record = Self(bytes.get(..(end + sum.len()).next_multiple_of(SECTOR_BYTES))?.to_vec());
        let rows = record.rows().map(|(_, row)| 4 + row.len()).sum::<usize>();
        let whole = rows == len as usize
            && record.checksum() == sum
            && record.rows().all(|(_, row)| values::unsealed(row).is_ok());
        whole.then_some(record)
    }

    /// A checksum of everything: what stands before the rows, and those that the rows have already.
    fn checksum(&self) -> [u8; values::CHECKSUM_BYTES] {
        let mut sums = self.0[..PREFIX_BYTES].to_vec();
        for (_, row) in self.rows() {
            sums.extend_from_slice(&row[row.len().saturating_sub(values::CHECKSUM_BYTES)..]);
        }
        values::checksum(&sums)
    }

    fn number(&self, at: usize) -> u64 {
        let bytes = self.0.get(at..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn step(&self) -> u64 {
        self.number(8)
    }

    /// The rows for the table of transactions, by arrival.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let first = self.number(16);
        let len = self.0.get(4..8).and_then(|len| len.first_chunk());
        let len = len.map_or(0, |len| u32::from_le_bytes(*len) as usize);
        let mut rest = self.0.get(PREFIX_BYTES..PREFIX_BYTES + len).unwrap_or_default();
        let rows = core::iter::from_fn(move || {
            let (len, behind) = rest.split_first_chunk()?;
            let (row, behind) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            rest = behind;
            Some(row)
        });
        rows.enumerate().map(move |(index, row)| (first.wrapping_add(index as u64), row))
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// What is in the log and not in the tables yet.
#[derive(Default, Debug)]
pub(crate) struct Logged {
    records: Vec<Record>,
    bytes: u64,
}

impl Logged {
    /// Reads what the log has beyond the tables, and moves the position there.
    ///
    /// The last record may have been written and not synced, by a process that was killed or after an error. To whoever
    /// reads it now it is a step that was done, so it is written again and synced.
    pub(crate) fn read(engine: &Engine, position: &mut Position) -> Result<Self> {
        let logged = Self::look(engine, position)?;
        if let Some(last) = logged.records.last() {
            let written = engine.log()?.write(HEADER_BYTES + logged.bytes - last.len(), &last.0);
            written.map_err(|error| engine.error(redb::Error::Io(error)))?;
        }
        Ok(logged)
    }

    /// Reads what the log has beyond the tables, and moves the position there. Writes nothing.
    pub(crate) fn look(engine: &Engine, position: &mut Position) -> Result<Self> {
        let bytes = engine.log()?.records().map_err(|error| engine.error(redb::Error::Io(error)))?;
        let mut logged = Self::default();
        while let Some(record) = bytes.get(logged.bytes as usize..).and_then(Record::read) {
            if record.step() != position.step + 1 {
                break;
            }
            if record.number(16) != position.arrivals + 1 {
                return Err(engine.damaged("its log does not go on where its tables end".into()));
            }
            position.step += 1;
            position.arrivals += record.rows().count() as u64;
            logged.push(record);
        }
        let later =
            |at: usize| Record::read(&bytes[at..]).is_some_and(|record| record.step() > position.step);
        if (logged.bytes as usize..bytes.len()).step_by(SECTOR_BYTES).any(later) {
            return Err(engine.damaged("a record is missing in its log".into()));
        }
        Ok(logged)
    }

    /// Makes a record durable behind the others; `false` if there is no room for it.
    pub(crate) fn write(&self, engine: &Engine, record: &Record) -> Result<bool, redb::Error> {
        let offset = HEADER_BYTES + self.bytes;
        if offset + record.len() > LOG_BYTES {
            return Ok(false);
        }
        let log = engine.log().map_err(|_| redb::Error::PreviousIo)?;
        log.write(offset, &record.0)?;
        Ok(true)
    }

    /// It is durable.
    pub(crate) fn push(&mut self, record: Record) {
        self.bytes += record.len();
        self.records.push(record);
    }

    /// All rows for the table of transactions, by arrival.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.records.iter().flat_map(Record::rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{SignableTransaction, TxEnvelope, TxLegacy, transaction::Recovered};
    use alloy_primitives::{Address, Signature};
    use types::{Time, Transaction};

    fn record(count: u64) -> Record {
        let mut batch = Batch::new();
        for nonce in 0..count {
            let signed = TxLegacy { nonce, ..TxLegacy::default() }.into_signed(Signature::test_signature());
            let tx = Recovered::new_unchecked(TxEnvelope::from(signed), Address::repeat_byte(1));
            batch.accepted(&Transaction::new(tx), Time::from_millis(nonce));
        }
        Record::of(&batch, 7, u64::MAX - 1).expect("it only accepts")
    }

    #[test]
    fn a_record_comes_back_whole_or_not_at_all() {
        for count in [0, 1, 5] {
            let record = record(count);
            assert_eq!(record.0.len() % SECTOR_BYTES, 0);
            let mut bytes = record.0.clone();
            bytes.extend([0xff; 100]);
            let read = Record::read(&bytes).expect("it is whole");
            assert_eq!((&read.0, read.step(), read.number(16)), (&record.0, 7, u64::MAX - 1));
            assert_eq!(read.rows().count() as u64, count);
            let used = PREFIX_BYTES + read.rows().map(|(_, row)| 4 + row.len()).sum::<usize>();
            for at in 0..used + values::CHECKSUM_BYTES {
                let mut damaged = record.0.clone();
                damaged[at] ^= 0x41;
                assert!(Record::read(&damaged).is_none(), "byte {at} of {used} changed");
            }
            for end in 0..record.0.len() {
                assert!(Record::read(&record.0[..end]).is_none(), "it ends at {end}");
            }
        }
    }

    #[test]
    fn only_what_is_accepted_is_a_record() {
        let mut batch = Batch::new();
        batch.ended([1; 32].into(), types::Reason::Flushed, Time::ZERO);
        assert!(Record::of(&batch, 1, 1).is_none());
    }
}
