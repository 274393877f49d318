//! Where each accepted transaction stands in the journal.
//!
//! The journal is in the order of arrival, so that what comes together is written together: a commit touches the last
//! pages of one table, instead of one page somewhere for each transaction. Whoever knows only a hash finds the place in
//! memory; what is there is read from the file when that is opened.

use crate::{Result, engine::Engine, log::Logged, tables::TRANSACTIONS, values::Accepted};
use alloy_primitives::{
    B256,
    map::{B256Map, Entry},
};
use redb::ReadTransaction;

/// The places of all accepted transactions that are neither final nor ended.
#[derive(Default, Debug)]
pub(crate) struct Arrivals(B256Map<u64>);

impl Arrivals {
    /// Those of a file.
    pub(crate) fn read(engine: &Engine, read: &ReadTransaction, logged: &Logged) -> Result<Self> {
        let error = |error: redb::Error| engine.error(error);
        let table = read.open_table(TRANSACTIONS).map_err(|why| error(why.into()))?;
        let mut places = B256Map::default();
        let mut put = |arrival: u64, bytes: &[u8]| {
            let hash = Accepted::hash(bytes);
            let hash = hash.ok_or_else(|| engine.damaged("an accepted transaction has no hash".into()))?;
            match places.insert(hash, arrival) {
                None => Ok(()),
                Some(_) => Err(engine.damaged(format!("transaction {hash} was accepted twice"))),
            }
        };
        for entry in table.range::<u64>(..).map_err(|why| error(why.into()))? {
            let (arrival, bytes) = entry.map_err(|why| error(why.into()))?;
            put(arrival.value(), bytes.value())?;
        }
        logged.rows().try_for_each(|(arrival, bytes)| put(arrival, bytes))?;
        Ok(Self(places))
    }

    /// Puts transactions that are all new behind the others, from this place on. `false`, and nothing is changed, if one
    /// of them is there.
    pub(crate) fn append(&mut self, hashes: impl Iterator<Item = B256> + Clone, first: u64) -> bool {
        for (arrival, hash) in (first..).zip(hashes.clone()) {
            if let Entry::Vacant(place) = self.0.entry(hash) {
                place.insert(arrival);
            } else {
                let put = usize::try_from(arrival - first).unwrap_or(usize::MAX);
                self.remove(hashes.take(put));
                return false;
            }
        }
        true
    }

    /// Takes transactions out that were [put](Self::append) there.
    pub(crate) fn remove(&mut self, hashes: impl Iterator<Item = B256>) {
        for hash in hashes {
            self.0.remove(&hash);
        }
    }

    /// What a step changes, for as long as it is not durable.
    pub(crate) fn moves(&self) -> Moves<'_> {
        Moves { before: self, moved: B256Map::default() }
    }

    /// The step is durable.
    pub(crate) fn apply(&mut self, moved: Moved) {
        for (hash, arrival) in moved {
            match arrival {
                Some(arrival) => self.0.insert(hash, arrival),
                None => self.0.remove(&hash),
            };
        }
    }
}

/// The new places, and `None` for what is gone.
pub(crate) type Moved = B256Map<Option<u64>>;

/// The places as they are within a step.
#[derive(Debug)]
pub(crate) struct Moves<'a> {
    before: &'a Arrivals,
    moved: Moved,
}

impl Moves<'_> {
    /// Where a transaction stands.
    pub(crate) fn get(&self, hash: &B256) -> Option<u64> {
        self.moved.get(hash).copied().unwrap_or_else(|| self.before.0.get(hash).copied())
    }

    /// It stands here now, or nowhere.
    pub(crate) fn set(&mut self, hash: B256, arrival: Option<u64>) {
        self.moved.insert(hash, arrival);
    }

    pub(crate) fn into_moved(self) -> Moved {
        self.moved
    }
}
