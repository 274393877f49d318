//! Events that come while their lane is busy with the one before: none of them waits for the next.

use super::*;
use crate::store::Pending;
use sender_model::{Key, Value};
use tokio::sync::Semaphore;

/// Rows behind a gate: what a lane reads of itself is told only when the gate is open.
struct Gated {
    rows: Arc<Memory>,
    /// Reads that have been made and wait to be told.
    waiting: Notify,
    gate: Semaphore,
}

impl Store for Gated {
    fn commit(&self, commit: Commit) -> Pending<'_, Outcome> {
        self.rows.commit(commit)
    }

    fn get(&self, keys: Vec<Key>) -> Pending<'_, Vec<Option<Value>>> {
        self.rows.get(keys)
    }

    fn scan(&self, prefix: Key, after: Option<Key>, limit: usize) -> Pending<'_, Vec<(Key, Value)>> {
        Box::pin(async move {
            let of_a_lane =
                prefix.starts_with(&key::deliveries(ACCOUNT)) && prefix != key::deliveries(ACCOUNT);
            let read = self.rows.scan(prefix, after, limit).await;
            if of_a_lane {
                self.waiting.notify_one();
                self.gate.acquire().await.unwrap().forget();
            }
            read
        })
    }

    fn acquire(&self, lease: String, holder: String, ttl_ms: u64, force: bool) -> Pending<'_, Acquired> {
        self.rows.acquire(lease, holder, ttl_ms, force)
    }

    fn renew(&self, fence: Fence, ttl_ms: u64) -> Pending<'_, bool> {
        self.rows.renew(fence, ttl_ms)
    }

    fn release(&self, fence: Fence) -> Pending<'_, bool> {
        self.rows.release(fence)
    }
}

fn gated() -> (World, Arc<Gated>) {
    let mut gated = None;
    let world = World::start_over(
        vec![endpoint("a")],
        |_| Some(200),
        |rows| {
            let gate = Gated { rows, waiting: Notify::new(), gate: Semaphore::new(0) };
            gated.insert(Arc::new(gate)).clone()
        },
    );
    (world, gated.unwrap())
}

impl Gated {
    /// Lets one read be told.
    async fn open_once(&self) {
        self.waiting.notified().await;
        self.gate.add_permits(1);
    }
}

/// Lets the deliverer take what it was told, without letting time pass.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_written_after_a_lane_has_looked_for_more_is_told_at_once() {
    let (world, gated) = gated();
    let begun = world.clock.now();
    world.happened("one", 1, EventKind::Accepted);
    gated.open_once().await;
    // The first is delivered and deleted; the lane has looked for more, found nothing, and has not said so yet.
    gated.waiting.notified().await;
    assert_eq!(world.rows(&key::deliveries(ACCOUNT)), 0);
    world.happened("one", 2, EventKind::Submitted);
    settle().await;
    gated.gate.add_permits(100);
    world.until_rows(0).await;
    let told = world.inbox.of("https://a.example/");
    assert_eq!(told.len(), 2);
    assert!(told[1].0.since(begun) < Duration::from_secs(1), "it did not wait for the next look");
}

#[tokio::test(start_paused = true)]
async fn what_is_written_while_the_account_is_lost_and_taken_again_is_told_at_once() {
    let (world, gated) = gated();
    let begun = world.clock.now();
    world.happened("one", 1, EventKind::Accepted);
    gated.open_once().await;
    gated.waiting.notified().await;
    let taken = world.store.acquire_now(&ACCOUNT.to_string(), "us", LONG_MS, true);
    let Acquired::Taken { epoch, .. } = taken else { panic!("force takes it") };
    world.messages.send(DeliveryMessage::Lost(ACCOUNT)).unwrap();
    world.messages.send(DeliveryMessage::Taken(ACCOUNT, epoch)).unwrap();
    let world = World { epoch, ..world };
    world.happened("one", 2, EventKind::Submitted);
    settle().await;
    gated.gate.add_permits(100);
    world.until_rows(0).await;
    let told = world.inbox.of("https://a.example/");
    assert_eq!(told.len(), 2);
    assert!(told[1].0.since(begun) < Duration::from_secs(1), "it did not wait for the next look");
}

#[tokio::test(start_paused = true)]
async fn rows_that_nobody_told_of_are_found_all_the_same() {
    let world = World::start(vec![endpoint("a")], |_| Some(200));
    let (silent, _unheard) = mpsc::unbounded_channel();
    let world = World { messages: silent, ..world };
    world.happened("one", 1, EventKind::Accepted);
    world.inbox.until(|inbox| inbox.of("https://a.example/").len() == 1).await;
}
