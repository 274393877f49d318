//! Work that takes its time: a few at once, some that wait, the rest refused.

use super::Json;
use crate::{Error, Limits, error};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::Semaphore;

/// How much runs and how much may wait.
pub(super) struct Gate {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    waiting_max: usize,
}

/// Counts one that waits for as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            running: Arc::new(Semaphore::new(limits.calls_running_max.max(1))),
            waiting: AtomicUsize::new(0),
            waiting_max: limits.calls_waiting_max,
        }
    }

    /// Runs `work` on a thread of its own once it is its turn. If nobody waits for the answer any more it still runs to
    /// its end, and keeps its turn until then; work has its own limits of time and gas.
    pub(super) async fn run(
        &self,
        work: impl FnOnce() -> Result<Json, Error> + Send + 'static,
    ) -> Result<Json, Error> {
        let turn = match self.running.clone().try_acquire_owned() {
            Ok(turn) => turn,
            Err(_) => {
                if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.waiting_max {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    return Err(Error::new(error::LIMIT, "too many calls at once, try again later"));
                }
                let _waiting = Waiting(&self.waiting);
                self.running.clone().acquire_owned().await.map_err(Error::internal)?
            }
        };
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
    }
}
