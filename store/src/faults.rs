//! A disk that fails on demand: for tests of what is left after an error, a crash or a torn write.
//!
//! It keeps two images. What was synced is durable; what was written since is only seen by who asks the running system.
//! After a crash the durable one is left, with any part of what came after: whole writes, sectors of them, or nothing.

use redb::StorageBackend;
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What a disk writes at once.
const SECTOR_BYTES: usize = 512;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The operation fails; those after it do not.
    Error,
    /// The operation does not happen, and nothing after it.
    Crash,
    /// Part of a write happens, and nothing after it. Anything else is a crash.
    Torn,
    /// The operation and all after it fail, until the disk is [mended](Disk::mend).
    Outage,
}

/// A disk. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<Mutex<Platter>>);

#[derive(Debug, Default)]
struct Platter {
    durable: Vec<u8>,
    volatile: Vec<u8>,
    /// What happened since the last sync.
    unsynced: Vec<Change>,
    operations: u64,
    plan: Option<(u64, Fault)>,
    crashed: bool,
    /// The disk holds at most so many bytes.
    room: Option<u64>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, data: Vec<u8> },
    Length(usize),
}

impl Change {
    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Self::Length(len) => image.resize(*len, 0),
            Self::Write { offset, data } => {
                let end = offset + data.len();
                if image.len() < end {
                    image.resize(end, 0);
                }
                image[*offset..end].copy_from_slice(data);
            }
        }
    }
}

impl Disk {
    /// An empty disk on which nothing goes wrong yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// From the operation with this number on, counted from zero, something goes wrong.
    pub fn plan(&self, operation: u64, fault: Fault) {
        self.platter().plan = Some((operation, fault));
    }

    /// Nothing goes wrong from now on, unless it has crashed.
    pub fn mend(&self) {
        self.platter().plan = None;
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.platter().operations
    }

    /// Whether it has crashed.
    pub fn has_crashed(&self) -> bool {
        self.platter().crashed
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.platter().volatile.len() as u64
    }

    /// Sets how many bytes there may be.
    pub fn set_room(&self, bytes: Option<u64>) {
        self.platter().room = bytes;
    }

    /// Changes one byte, as a failing disk does.
    pub fn damage(&self, offset: usize, flip: u8) {
        let mut platter = self.platter();
        for image in [0, 1] {
            let image = if image == 0 { &mut platter.durable } else { &mut platter.volatile };
            if let Some(byte) = image.get_mut(offset) {
                *byte ^= flip;
            }
        }
    }

    /// What is found after a crash: everything that was synced, and what the seed chooses of the rest.
    pub fn restarted(&self, seed: u64) -> Self {
        let platter = self.platter();
        let mut image = platter.durable.clone();
        let mut random = random_numbers(seed);
        for change in &platter.unsynced {
            match change {
                Change::Length(_) if random().is_multiple_of(2) => change.apply(&mut image),
                Change::Length(_) => {}
                Change::Write { offset, data } => {
                    let whole = random() % 3;
                    for (at, sector) in (0..).step_by(SECTOR_BYTES).zip(data.chunks(SECTOR_BYTES)) {
                        if whole == 1 || whole == 2 && random().is_multiple_of(2) {
                            Change::Write { offset: offset + at, data: sector.to_vec() }.apply(&mut image);
                        }
                    }
                }
            }
        }
        let platter = Platter { volatile: image.clone(), durable: image, ..Platter::default() };
        Self(Arc::new(Mutex::new(platter)))
    }

    pub(crate) fn handle(&self) -> Handle {
        Handle(self.clone())
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation; says whether it tears, or that it fails.
    fn begin(&self) -> io::Result<(MutexGuard<'_, Platter>, bool)> {
        let mut platter = self.platter();
        let operation = platter.operations;
        platter.operations += 1;
        let due = |(at, fault): &(u64, Fault)| *at == operation || *at < operation && *fault == Fault::Outage;
        let fault = platter.plan.filter(due).map(|(_, fault)| fault);
        platter.crashed |= matches!(fault, Some(Fault::Crash));
        if platter.crashed || matches!(fault, Some(Fault::Error | Fault::Outage)) {
            return Err(io::Error::other("the disk fails"));
        }
        platter.crashed = fault == Some(Fault::Torn);
        Ok((platter, fault == Some(Fault::Torn)))
    }
}

/// Numbers that look random (SplitMix64).
fn random_numbers(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A disk as the storage engine sees it.
#[derive(Debug)]
pub(crate) struct Handle(Disk);

impl Platter {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.volatile);
        self.unsynced.push(change);
    }

    fn has_room(&self, end: u64) -> io::Result<()> {
        match self.room {
            Some(room) if end > room && end > self.volatile.len() as u64 => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }
}

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.begin()?.0.volatile.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (platter, _) = self.0.begin()?;
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let bytes = platter.volatile.get(offset..offset + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let (mut platter, torn) = self.0.begin()?;
        platter.has_room(len)?;
        if torn {
            return Err(io::Error::other("the disk fails"));
        }
        platter.change(Change::Length(usize::try_from(len).map_err(io::Error::other)?));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let (mut platter, torn) = self.0.begin()?;
        if torn {
            return Err(io::Error::other("the disk fails"));
        }
        let Platter { durable, unsynced, .. } = &mut *platter;
        unsynced.drain(..).for_each(|change| change.apply(durable));
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let (mut platter, torn) = self.0.begin()?;
        platter.has_room(offset + data.len() as u64)?;
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let end = if torn { data.len() / 2 } else { data.len() };
        platter.change(Change::Write { offset, data: data[..end].to_vec() });
        if torn { Err(io::Error::other("the disk fails")) } else { Ok(()) }
    }
}
