//! A share of the node's time for each connection.
//!
//! Whoever asks now and then is answered at once. A connection that has used up its share waits for its turn, behind all
//! that is ready, and so do large requests: only a few of these are worked on at a time, so a newcomer waits for a few
//! requests and never for all of them.

use parking_lot::Mutex;
use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{runtime::RuntimeFlavor, sync::Semaphore};

/// The part of one core's time that a connection has.
const SHARE: f64 = 0.02;
/// What a connection that asks for little may use at once.
const SAVED_MAX: Duration = Duration::from_millis(5);
/// What it can owe: it is as good as new some seconds after it has stopped.
const OWED_MAX: Duration = Duration::from_millis(100);
/// From this size on reading a request takes long enough to matter.
const LARGE_BYTES: usize = 64 * 1024;

/// Whose turn it is.
pub(super) struct Turns {
    /// Of those that have used up their share.
    eager: Semaphore,
    /// Of large requests.
    large: Semaphore,
}

impl Turns {
    /// As many as there are threads that serve; large ones one after the other.
    pub(super) fn new() -> Arc<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self { eager: Semaphore::new(threads), large: Semaphore::new(1) })
    }
}

/// The share of one connection.
pub(super) struct Share {
    turns: Arc<Turns>,
    left: Mutex<Left>,
}

struct Left {
    seconds: f64,
    at: Instant,
}

impl Left {
    /// Adds what has been saved since.
    fn save(&mut self, now: Instant) {
        let saved = now.saturating_duration_since(self.at).as_secs_f64() * SHARE;
        self.seconds = (self.seconds + saved).min(SAVED_MAX.as_secs_f64());
        self.at = now;
    }
}

impl Share {
    pub(super) fn new(turns: Arc<Turns>) -> Self {
        Self { turns, left: Mutex::new(Left { seconds: SAVED_MAX.as_secs_f64(), at: Instant::now() }) }
    }

    fn has_some(&self, now: Instant) -> bool {
        let mut left = self.left.lock();
        left.save(now);
        left.seconds > 0.0
    }

    /// Takes from the share what has been used.
    fn use_up(&self, time: Duration) {
        let mut left = self.left.lock();
        left.seconds = (left.seconds - time.as_secs_f64()).max(-OWED_MAX.as_secs_f64());
    }

    /// Works on a request, or sends an answer, of so many bytes when it is its turn. The turn is over once that waits for
    /// something else.
    pub(super) async fn work<T>(&self, bytes: usize, request: impl Future<Output = T>) -> T {
        let is_large = bytes >= LARGE_BYTES;
        let turns = if is_large { &self.turns.large } else { &self.turns.eager };
        let mut turn = None;
        if is_large || !self.has_some(Instant::now()) {
            turn = turns.acquire().await.ok();
            tokio::task::yield_now().await;
        }
        let mut request = pin!(request);
        poll_fn(|context| {
            let begun = Instant::now();
            let polled = aside(bytes, || request.as_mut().poll(context));
            self.use_up(begun.elapsed());
            turn = None;
            polled
        })
        .await
    }

    /// Acts behind all that is ready.
    pub(super) async fn behind<T>(&self, act: impl FnOnce() -> T) -> T {
        let _turn = self.turns.eager.acquire().await;
        tokio::task::yield_now().await;
        act()
    }
}

/// Does what takes long if it is about many bytes; others go on meanwhile with what this thread would have done.
pub(crate) fn aside<T>(bytes: usize, act: impl FnOnce() -> T) -> T {
    match bytes >= LARGE_BYTES && can_step_aside() {
        true => tokio::task::block_in_place(act),
        false => act(),
    }
}

fn can_step_aside() -> bool {
    tokio::runtime::Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Poll;

    #[tokio::test]
    async fn a_share_is_used_up_by_work_and_comes_back_with_time() {
        let share = Share::new(Turns::new());
        let now = Instant::now();
        assert!(share.has_some(now));
        share.use_up(Duration::from_secs(1));
        assert!(!share.has_some(now));
        assert!(!share.has_some(now + Duration::from_millis(100)));
        assert!(share.has_some(now + Duration::from_secs(10)), "what is owed is soon forgotten");
    }

    #[tokio::test]
    async fn who_has_no_share_waits_for_a_turn_and_others_do_not() {
        let turns = Turns::new();
        let (eager, modest) = (Share::new(turns.clone()), Share::new(turns.clone()));
        eager.use_up(Duration::from_secs(1));
        let all = turns.eager.available_permits();
        let taken = turns.eager.acquire_many(all as u32).await.unwrap();
        let mut waits = pin!(eager.work(1, async { 1 }));
        let is_pending = poll_fn(|context| Poll::Ready(waits.as_mut().poll(context).is_pending())).await;
        assert!(is_pending);
        assert_eq!(modest.work(1, async { 2 }).await, 2);
        drop(taken);
        assert_eq!(waits.await, 1);
        // A turn ends where the request waits for something else.
        eager.use_up(Duration::from_secs(1));
        let free = eager.work(1, async {
            tokio::task::yield_now().await;
            turns.eager.available_permits()
        });
        assert_eq!(free.await, all);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn large_requests_come_one_after_the_other() {
        let share = Share::new(Turns::new());
        let large = share.work(LARGE_BYTES, async { share.turns.large.available_permits() });
        assert_eq!(large.await, 0);
        assert_eq!(share.turns.large.available_permits(), 1);
    }
}
