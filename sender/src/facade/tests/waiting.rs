//! Callers who wait for a hash: an error leaves nothing behind that is sent later.

use super::{PATIENCE, World, receiver, submission};
use crate::{
    Error,
    clock::Clock,
    facade::{ErrorKind, Filter, SendFrom, Sending, TransactionRequest},
    store::{Acquired, Memory, Outcome, Pending, Store, StoreError},
};
use alloy_primitives::U256;
use sender_model::{Authority, Commit, Fence, Held, Key, State, Value};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

fn ether(count: u64) -> U256 {
    U256::from(count) * U256::from(10).pow(U256::from(18))
}

impl World {
    /// A transfer without a name, as wallets hand it over.
    fn nameless(&self, to: &str, value: U256) -> TransactionRequest {
        let mut nameless = submission(to, SendFrom::Account(self.account(0)), 0);
        (nameless.key, nameless.intent.value) = (None, value);
        nameless
    }

    /// Sends something that must be withdrawn; gives why it was held.
    async fn withdrawn(&self, to: &str, value: U256, patience: Duration) -> Option<Held> {
        match self.sender.send(self.nameless(to, value), patience).await.unwrap() {
            Sending::Withdrawn { transaction, held } => {
                assert_eq!(transaction.request.state, State::Cancelled);
                held
            }
            settled => panic!("{settled:?}"),
        }
    }
}

#[tokio::test]
async fn what_cannot_be_paid_is_withdrawn_and_never_sent_when_money_comes() {
    let mut world = World::new(1).await;
    for _ in 0..3 {
        assert_eq!(world.withdrawn("dear", ether(100), PATIENCE).await, Some(Held::Funds));
    }
    world.chain.pay(world.account(0).address, ether(1_000));
    world.send("next", world.account(0), 1).await;
    world.confirmed("next").await;
    assert_eq!(world.chain.received(receiver("dear")), 0);
    let open = world.sender.list(Filter::default()).await.unwrap();
    assert!(open.items.iter().all(|item| item.request.state.is_terminal()), "{open:?}");
}

#[tokio::test]
async fn a_balance_from_before_the_last_payment_refuses_nothing() {
    let mut world = World::new(1).await;
    world.send("first", world.account(0), 1).await;
    world.confirmed("first").await;
    // Nobody tells the account of it: it must look.
    world.chain.pay(world.account(0).address, ether(1_000));
    let sent = world.sender.send(world.nameless("dear", ether(100)), PATIENCE).await.unwrap();
    let Sending::Settled(sent) = sent else { panic!("{sent:?}") };
    assert!(sent.hash().is_some());
    world.confirmed(sent.request.id.as_str()).await;
    assert_eq!(world.chain.received(receiver("dear")), 1);
}

#[tokio::test]
async fn what_is_paused_or_waits_for_too_long_is_withdrawn() {
    let mut world = World::new(1).await;
    world.sender.pause(world.account(0)).await.unwrap();
    assert_eq!(world.withdrawn("paused", U256::from(1), PATIENCE).await, Some(Held::Paused));
    world.sender.resume(world.account(0)).await.unwrap();
    world.chain.set(|chain| chain.gone = true);
    let waited = world.withdrawn("gone", U256::from(1), Duration::from_millis(300)).await;
    assert_eq!(waited, None, "the chain does not answer, and nothing else is wrong");
    world.chain.set(|chain| chain.gone = false);
    world.send("next", world.account(0), 1).await;
    world.confirmed("next").await;
    assert_eq!((world.chain.received(receiver("paused")), world.chain.received(receiver("gone"))), (0, 0));
}

#[tokio::test]
async fn what_was_sent_is_not_withdrawn_although_it_is_not_mined() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| chain.waits = true);
    let sent = world.sender.send(world.nameless("slow", U256::from(1)), PATIENCE).await.unwrap();
    let Sending::Settled(sent) = sent else { panic!("{sent:?}") };
    world.chain.set(|chain| chain.waits = false);
    let done = world.confirmed(sent.request.id.as_str()).await;
    assert_eq!(done.hash(), sent.hash());
}

/// Rows in memory, of which a number of answers to acceptances are lost although they are done.
struct LosesAnswers(Memory, AtomicUsize);

impl Store for LosesAnswers {
    fn commit(&self, commit: Commit) -> Pending<'_, Outcome> {
        Box::pin(async move {
            let accepts = commit.authority == Authority::Intake;
            let outcome = self.0.commit(commit).await?;
            let lose = |left: usize| left.checked_sub(1);
            if accepts && self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose).is_ok() {
                return Err(StoreError::Unknown("the answer is lost".into()));
            }
            Ok(outcome)
        })
    }

    fn get(&self, keys: Vec<Key>) -> Pending<'_, Vec<Option<Value>>> {
        self.0.get(keys)
    }

    fn scan(&self, prefix: Key, after: Option<Key>, limit: usize) -> Pending<'_, Vec<(Key, Value)>> {
        self.0.scan(prefix, after, limit)
    }

    fn acquire(&self, lease: String, holder: String, ttl_ms: u64, force: bool) -> Pending<'_, Acquired> {
        self.0.acquire(lease, holder, ttl_ms, force)
    }

    fn renew(&self, fence: Fence, ttl_ms: u64) -> Pending<'_, bool> {
        self.0.renew(fence, ttl_ms)
    }

    fn release(&self, fence: Fence) -> Pending<'_, bool> {
        self.0.release(fence)
    }

    /// So that what the acceptor could not tell is looked for.
    fn is_shared(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_lost_answer_names_the_request_and_one_who_waits_is_not_answered_by_it() {
    let first = World::new(1).await;
    first.sender.shutdown().await;
    let rows = Arc::new(LosesAnswers(Memory::with_clock(Clock::default()), AtomicUsize::new(0)));
    let mut world = World::on(first.chain.clone(), rows.clone(), first.keys.clone()).await;
    rows.1.store(1, Ordering::SeqCst);
    let lost = world.sender.submit(world.nameless("lost", U256::from(1))).await.unwrap_err();
    assert_eq!((lost.kind(), lost.should_retry()), (ErrorKind::Unknown, true));
    let Error::Uncertain { id, .. } = lost else { panic!("{lost}") };
    world.confirmed(id.as_str()).await;
    // Whoever waits gets the hash of the one request that there is.
    rows.1.store(2, Ordering::SeqCst);
    let sent = world.sender.send(world.nameless("waits", U256::from(1)), PATIENCE).await.unwrap();
    let Sending::Settled(sent) = sent else { panic!("{sent:?}") };
    world.confirmed(sent.request.id.as_str()).await;
    assert_eq!((world.chain.received(receiver("lost")), world.chain.received(receiver("waits"))), (1, 1));
}
