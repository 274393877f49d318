//! The thread that makes things durable and then lets them happen.
//!
//! It takes all outputs that have gathered since the last commit, commits them as one, and hands them on in order. So the
//! more arrives, the more is written at once, and the driver never waits for the disk.

use super::shown::Step;
use histogram::Histogram;
use parking_lot::RwLock;
use std::{
    sync::{Arc, mpsc::Receiver},
    time::{Duration, Instant},
};
use store::{Base, Batch, Committed, Retry, Store, StoreError};

/// How long to wait before a disk that was full is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// So many outputs become one commit at most.
const GROUP_MAX: usize = 4096;

/// Whether the disk takes what is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriterHealth(Arc<RwLock<Option<String>>>);

impl WriterHealth {
    /// Why nothing can be written at the moment.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.0.read().clone()
    }

    fn set(&self, trouble: Option<String>) {
        *self.0.write() = trouble;
    }
}

/// Makes outputs durable and hands them on, until nobody can send any more or the store fails for good.
pub(crate) fn run(
    store: &Store,
    outputs: &Receiver<Step>,
    health: &WriterHealth,
    durations: &Histogram,
    mut after: impl FnMut(Step),
    mut rebased: impl FnMut(Base),
) -> Result<(), StoreError> {
    while let Ok(first) = outputs.recv() {
        let mut group = vec![first];
        group.extend(outputs.try_iter().take(GROUP_MAX));
        let mut batch = Batch::new();
        group.iter_mut().for_each(|output| batch.append(&mut output.batch));
        let begun = Instant::now();
        let committed = commit(store, &batch, health)?;
        durations.observe_duration(begun.elapsed());
        group.into_iter().for_each(&mut after);
        committed.base.into_iter().for_each(&mut rebased);
    }
    Ok(())
}

/// Commits, however long a full disk makes that take.
fn commit(store: &Store, batch: &Batch, health: &WriterHealth) -> Result<Committed, StoreError> {
    let mut told = false;
    let committed = loop {
        match store.commit(batch) {
            Ok(committed) => break committed,
            Err(why) if why.retry() != Retry::Never => {
                if !told {
                    tracing::error!("{why}; nothing more is accepted or sent until there is room");
                    told = true;
                }
                health.set(Some(why.to_string()));
                std::thread::sleep(RETRY_AFTER);
            }
            Err(why) => {
                health.set(Some(why.to_string()));
                return Err(why);
            }
        }
    };
    if told {
        tracing::info!("the disk has room again");
        health.set(None);
    }
    Ok(committed)
}
