//! Accepting comes first. While callers wait for their requests to be durable, one account is worked on at a time: each then
//! takes in more at once, so there are fewer commits, and callers share the processors and the disk with one account, however
//! many have something to do.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Accounts that are worked on at once while callers wait.
const AT_ONCE: usize = 1;
/// The longest that an account waits for its turn; its lease must be renewed in time, and accepting may never end.
const WAIT_MAX: Duration = Duration::from_millis(1_000);

/// Who works now, and how many callers wait.
#[derive(Debug)]
pub(crate) struct Turns {
    callers: AtomicUsize,
    turns: Semaphore,
}

impl Default for Turns {
    fn default() -> Self {
        Self { callers: AtomicUsize::new(0), turns: Semaphore::new(AT_ONCE) }
    }
}

/// A caller waits while this lives.
#[derive(Debug)]
pub(crate) struct Caller<'a>(&'a Turns);

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.0.callers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Turns {
    /// A caller begins to wait.
    pub(crate) fn caller(&self) -> Caller<'_> {
        self.callers.fetch_add(1, Ordering::Relaxed);
        Caller(self)
    }

    /// An account's turn, which it has while this lives. Without callers every account has one at once.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        if self.callers.load(Ordering::Relaxed) == 0 {
            return None;
        }
        tokio::time::timeout(WAIT_MAX, self.turns.acquire()).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test(start_paused = true)]
    async fn while_callers_wait_one_account_works_and_none_waits_for_ever() {
        let turns = Turns::default();
        assert!(turns.turn().now_or_never().unwrap().is_none(), "nobody waits"); // words: fine
        let caller = turns.caller();
        let working = turns.turn().await;
        assert!(working.is_some());
        assert!(turns.turn().now_or_never().is_none(), "it waits for that one");
        assert!(turns.turn().await.is_none(), "and goes on after a while");
        drop(working);
        assert!(turns.turn().await.is_some());
        drop(caller);
        assert!(turns.turn().await.is_none());
    }
}
