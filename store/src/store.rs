//! The store: opened once, shared by everybody, written by one.

use crate::{
    Result, StoreError,
    base::{Base, CodeTable, Slot},
    commit::{Failure, StepWriter},
    create::{self, Found, Journal},
    engine::Engine,
    log::{Logged, Record},
    medium::Medium,
    options::Options,
    reader::Reader,
    tables::Tables,
    values::Position,
};
use driver::{Batch, Folded};
use redb::ReadTransaction;
use service::genesis::Genesis;
use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};
use types::BlockId;

/// The durable memory of a node, in one file. Cheap to clone; all clones are one store.
#[derive(Clone, Debug)]
pub struct Store(pub(crate) Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) options: Options,
    writer: Mutex<Writer>,
    /// The table of values as it is now.
    slot: RwLock<Arc<Slot>>,
    /// What the position says of repeated transactions, for those who do not wait for a commit.
    repeated: AtomicU64,
}

#[derive(Debug)]
struct Writer {
    /// How far the file is.
    journal: Journal,
    /// A step of which it is not known whether it was written.
    uncertain: Option<u64>,
}

/// Everything that is committed.
pub(crate) struct Whole {
    /// The tables.
    pub(crate) reader: Reader,
    /// How far the file is, its log included.
    pub(crate) position: Position,
    /// The rows for the table of transactions that are only in the log, by arrival.
    pub(crate) logged: Vec<(u64, Vec<u8>)>,
}

/// What the store has done since it was opened, and how large it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// How often the disk was waited for.
    pub syncs: u64,
    /// The length of the file; zero in memory.
    pub bytes: u64,
    /// Transactions that became final although they were final before, ever. There must never be one.
    pub repeated: u64,
}

/// What a step led to.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The last final block.
    pub finalized: BlockId,
    /// The table of values, if it moved on: what holds the old one should be put [on](state::Layer::on) it, after it
    /// was [folded](state::Layer::folded) up to [`Base::height`].
    pub base: Option<Base>,
}

impl Store {
    /// Opens a file, or makes it with this first block.
    pub fn open(path: impl AsRef<Path>, options: Options, genesis: &Genesis) -> Result<Self> {
        Self::on(Medium::File(path.as_ref().to_path_buf()), options, genesis)
    }

    /// Opens a file that is there already, as tools do: none is ever made.
    pub fn existing(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let engine = crate::tools::existing(path.as_ref(), options.cache_bytes)?;
        let found = engine.guarded(|| create::recognise(&engine, &options))?;
        Ok(Self::of(engine, options, found))
    }

    /// Makes a file that is not needed after the process, and never waits for the disk.
    pub fn scratch(path: impl AsRef<Path>, options: Options, genesis: &Genesis) -> Result<Self> {
        Self::on(Medium::Scratch(path.as_ref().to_path_buf()), options, genesis)
    }

    /// A store in memory, for tests.
    pub fn in_memory(options: Options, genesis: &Genesis) -> Result<Self> {
        Self::on(Medium::Memory, options, genesis)
    }

    /// A store on a disk that fails on demand.
    #[cfg(feature = "faults")]
    pub fn on_disk(disk: &crate::faults::Disk, options: Options, genesis: &Genesis) -> Result<Self> {
        Self::on(Medium::Faulty(disk.clone()), options, genesis)
    }

    fn on(medium: Medium, options: Options, genesis: &Genesis) -> Result<Self> {
        let engine = Engine::open(medium, options.cache_bytes)?;
        let found = engine.guarded(|| create::open(&engine, &options, genesis))?;
        Ok(Self::of(engine, options, found))
    }

    fn of(engine: Engine, options: Options, Found { journal, slot }: Found) -> Self {
        let repeated = AtomicU64::new(journal.position.repeated);
        let writer = Mutex::new(Writer { journal, uncertain: None });
        Self(Arc::new(Shared { engine, options, writer, slot: RwLock::new(Arc::new(slot)), repeated }))
    }

    /// Makes a step durable: all of it, or none if there is an error. An empty one costs nothing.
    pub fn commit(&self, batch: &Batch) -> Result<Committed> {
        let mut writer = self.0.writer();
        if let Some(step) = writer.uncertain
            && self.resolve(&mut writer, step, batch)?
        {
            return Ok(self.committed(&writer, true));
        }
        if batch.is_empty() {
            return Ok(self.committed(&writer, false));
        }
        // The second time if an error of somebody else had stopped the engine before.
        for last in [false, true] {
            match self.write(&mut writer.journal, batch) {
                Ok(folded) => return Ok(self.committed(&writer, folded)),
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Storage(error)) => {
                    let stopped = matches!(error, redb::Error::PreviousIo | redb::Error::DatabaseClosed);
                    let error = self.0.engine.error(error);
                    if self.look(&mut writer, batch, &error)? {
                        return Ok(self.committed(&writer, true));
                    }
                    if last || !stopped {
                        return Err(error);
                    }
                }
            }
        }
        unreachable!("the second time returns")
    }

    /// Writes a step where it belongs; whether the table of values has moved on.
    fn write(&self, journal: &mut Journal, batch: &Batch) -> Result<bool, Failure> {
        if self.log(journal, batch)? { Ok(false) } else { self.tabulate(journal, batch) }
    }

    /// Writes a step that only accepts what is new to the log; `false` if it is another one, or if there is no room.
    fn log(&self, journal: &mut Journal, batch: &Batch) -> Result<bool, Failure> {
        let Some(accepts) = batch.accepts() else { return Ok(false) };
        let hashes = accepts.map(|(tx, _)| tx.hash());
        let first = journal.position.arrivals + 1;
        if !journal.arrivals.append(hashes.clone(), first) {
            return Ok(false);
        }
        let record = Record::of(batch, journal.position.step + 1, first);
        let written = record.as_ref().map(|record| journal.logged.write(&self.0.engine, record)).transpose();
        match (record, written) {
            (Some(record), Ok(Some(true))) => {
                journal.position.step += 1;
                journal.position.arrivals += batch.len() as u64;
                journal.logged.push(record);
                Ok(true)
            }
            (_, written) => {
                journal.arrivals.remove(hashes);
                written.map(|_| false).map_err(Failure::from)
            }
        }
    }

    /// Writes any step to the tables, with what was in the log; whether the table of values has moved on.
    fn tabulate(&self, journal: &mut Journal, batch: &Batch) -> Result<bool, Failure> {
        let transaction = self.0.engine.write()?;
        let mut step = StepWriter {
            tables: Tables::new(&transaction),
            position: journal.position,
            options: &self.0.options,
            arrivals: journal.arrivals.moves(),
        };
        step.position.step += 1;
        step.take_over(&journal.logged)?;
        for entry in batch.entries() {
            step.apply(entry)?;
        }
        let (position, moved) = step.finish()?;
        transaction.commit()?;
        let was = journal.position;
        let folded = (was.folded, was.rollbacks) != (position.folded, position.rollbacks);
        journal.arrivals.apply(moved);
        journal.logged = Logged::default();
        journal.position = position;
        self.0.repeated.store(position.repeated, Ordering::Relaxed);
        // What is durable is durable; a table that cannot be read says so when it is read.
        let _ = self.0.refresh(&position);
        Ok(folded)
    }

    fn committed(&self, writer: &Writer, moved: bool) -> Committed {
        Committed { finalized: writer.journal.position.finalized, base: moved.then(|| self.base()) }
    }

    /// After a failed write: opens the file again and looks whether the step is in it.
    fn look(&self, writer: &mut Writer, batch: &Batch, error: &StoreError) -> Result<bool> {
        let Ok(found) = self.reopened() else {
            writer.uncertain = Some(batch.id());
            return Err(self.uncertain(error.to_string()));
        };
        self.stand(writer, found)
    }

    /// Finds out whether an uncertain step was written. If not, it is as if it had never been tried.
    fn resolve(&self, writer: &mut Writer, step: u64, batch: &Batch) -> Result<bool> {
        let found = self.reopened().map_err(|error| self.uncertain(error.to_string()))?;
        let written = found.position.step > writer.journal.position.step;
        if written && step != batch.id() {
            return Err(self.uncertain("it was, and this is another one".into()));
        }
        writer.uncertain = None;
        self.stand(writer, found)
    }

    /// The file is here now; whether that is further than before.
    fn stand(&self, writer: &mut Writer, found: Journal) -> Result<bool> {
        let written = found.position.step > writer.journal.position.step;
        self.0.repeated.store(found.position.repeated, Ordering::Relaxed);
        writer.journal = found;
        self.0.refresh(&writer.journal.position)?;
        Ok(written)
    }

    fn reopened(&self) -> Result<Journal> {
        let engine = &self.0.engine;
        engine.reopen()?;
        engine.guarded(|| create::journal(engine, &engine.read()?))
    }

    /// Everything that is committed now, with what is not in the tables yet.
    pub(crate) fn whole(&self) -> Result<Whole> {
        let engine = &self.0.engine;
        let openings = engine.openings();
        let attempt = || {
            let writer = self.0.writer();
            let Journal { position, logged, .. } = &writer.journal;
            let read = engine.read()?;
            let tables = create::position(engine, &read)?;
            Ok(Whole {
                reader: Reader { shared: Arc::clone(&self.0), read, position: tables },
                position: *position,
                logged: logged.rows().map(|(arrival, row)| (arrival, row.to_vec())).collect(),
            })
        };
        attempt().or_else(|_: StoreError| {
            self.0.heal(openings)?;
            attempt()
        })
    }

    fn uncertain(&self, why: String) -> StoreError {
        StoreError::Uncertain { path: self.0.engine.medium().path().to_path_buf(), why }
    }

    /// Everything that is committed now, for questions.
    pub fn reader(&self) -> Result<Reader> {
        Reader::new(Arc::clone(&self.0))
    }

    /// The table of values as it is now.
    pub fn base(&self) -> Base {
        Base::new(Arc::clone(&self.0), self.0.slot())
    }

    /// The values after a block that was folded; `None` if it is above the folded one, an error if it was pruned.
    pub fn values_at(&self, number: u64) -> Result<Option<Base>> {
        self.base().at(number)
    }

    /// All codes, always as they are now.
    pub fn codes(&self) -> CodeTable {
        CodeTable::new(Arc::clone(&self.0))
    }

    /// The last final block, and the last sealed one.
    pub fn heads(&self) -> (BlockId, BlockId) {
        let position = self.0.writer().journal.position;
        (position.finalized, position.newest)
    }

    /// What it has done since it was opened, and how large it is.
    pub fn stats(&self) -> Stats {
        Stats {
            syncs: self.0.engine.syncs(),
            bytes: self.0.engine.medium().bytes(),
            repeated: self.0.repeated.load(Ordering::Relaxed),
        }
    }

    /// Compares the file with the head that the service has applied on the chain. If the chain is ahead the file is an
    /// old copy, and to build on it would be to build another chain.
    pub fn check_applied(&self, applied: BlockId) -> Result<()> {
        let position = self.0.writer().journal.position;
        let path = || self.0.engine.medium().path().to_path_buf();
        if applied.number > position.newest.number {
            return Err(StoreError::Behind { path: path(), applied, newest: position.newest });
        }
        if applied.number < position.genesis {
            return Err(StoreError::OtherHead { path: path(), applied, known: position.finalized });
        }
        let known = self.reader()?.block_id(applied.number)?.unwrap_or(position.newest);
        if known == applied { Ok(()) } else { Err(StoreError::OtherHead { path: path(), applied, known }) }
    }
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.slot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets go of old pages: whoever reads values reads them from the newest commit that has the same ones.
    pub(crate) fn refresh(&self, position: &Position) -> Result<()> {
        let read = self.engine.read()?;
        let slot = self.slot();
        if slot.is_at(position) {
            return slot.refresh(&self.engine, &read, position);
        }
        let next = Arc::new(Slot::new(&self.engine, &read, position)?);
        *self.slot.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    /// What is committed now; if the engine was stopped by an error, it is opened again first.
    pub(crate) fn read(&self) -> Result<(ReadTransaction, Position)> {
        let openings = self.engine.openings();
        let read = || {
            let read = self.engine.read()?;
            let position = create::position(&self.engine, &read)?;
            Ok((read, position))
        };
        read().or_else(|_| {
            self.heal(openings)?;
            read()
        })
    }

    /// After an error of reading: opens the file again, unless somebody has done so since. Not while a step is being
    /// written.
    pub(crate) fn heal(&self, openings: u64) -> Result<()> {
        let writer = self.writer();
        if self.engine.openings() == openings {
            self.engine.reopen()?;
        }
        self.refresh(&writer.journal.position)
    }
}

impl Failure {
    pub(crate) fn told(self, engine: &Engine) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Storage(error) => engine.error(error),
        }
    }
}
