//! Two processes over one store: one of them runs the account, the other accepts, orders, and takes over.

use super::{CHAIN, World, config, mock_chain::Chain, receiver, submission};
use crate::{
    clock::Clock,
    deliveries::{Deliveries, DeliveryMessage},
    facade::{Done, Error, ErrorKind, SendFrom, Sender, Settings},
    keys::LocalKeys,
    signer::Keys,
    store::{Acquired, Memory, Outcome, Pending, Store},
};
use alloy_primitives::{B256, U256};
use sender_model::{Commit, Fence, Key, State, Value};
use std::{sync::Arc, time::Duration};

/// Rows in memory that say that others may write them too, as Redis does.
struct SharedRows(Memory);

impl Store for SharedRows {
    fn commit(&self, commit: Commit) -> Pending<'_, Outcome> {
        self.0.commit(commit)
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

    fn is_shared(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn one_runs_the_account_and_the_other_accepts_orders_and_takes_over() {
    let first = World::new(1).await;
    first.sender.shutdown().await;
    let rows: Arc<dyn Store> = Arc::new(SharedRows(Memory::with_clock(Clock::default())));
    let holder = crate::holder_at("owner", Some("http://10.0.0.5:8545"));
    let owner = World::try_on(first.chain.clone(), rows.clone(), first.keys.clone(), &holder).await;
    let mut owner = owner.unwrap();
    let mut other = World::on(first.chain.clone(), rows, first.keys.clone()).await;
    let account = owner.account(0);
    owner.send("a", account, 1).await;
    owner.confirmed("a").await;

    // What the other accepts the owner sends; what it is asked to do it leaves for the owner.
    other.send("b", account, 1).await;
    other.confirmed("b").await;
    assert_eq!(other.sender.pause(account).await.unwrap(), Done::Ordered);
    while !owner.sender.health(account).await.unwrap().paused {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(other.sender.health(account).await.unwrap().paused, "the rows say it to everybody");
    let refused = other.sender.reserve_nonce(account, 1_000).await.unwrap_err();
    assert!(matches!(refused, Error::NotOwner { .. }), "{refused}");
    assert_eq!((refused.kind(), refused.should_retry()), (ErrorKind::Unavailable, true));
    assert_eq!(refused.owner_address(), Some("http://10.0.0.5:8545"), "the call can be passed on");
    other.send("c", account, 1).await;

    // The owner goes, the other takes over and does what is left.
    owner.sender.shutdown().await;
    while other.sender.resume(account).await.unwrap() == Done::Ordered {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    other.confirmed("c").await;
    for key in ["a", "b", "c"] {
        assert_eq!(other.chain.received(receiver(key)), 1);
    }
}

#[tokio::test]
async fn who_lacks_the_key_leaves_the_account_to_whoever_has_it() {
    let first = World::new(1).await;
    first.sender.shutdown().await;
    let account = first.account(0);
    let rows: Arc<dyn Store> = Arc::new(SharedRows(Memory::with_clock(Clock::default())));
    let nobodys: Arc<dyn Keys> = Arc::new(LocalKeys::new([], false));
    let start =
        |keys: &Arc<dyn Keys>, holder| World::try_on(first.chain.clone(), rows.clone(), keys.clone(), holder);
    // Without the key one can lend nonces and watch over them.
    let without = start(&nobodys, "without").await.unwrap();
    without.sender.reserve_nonce(account, 60_000).await.unwrap();
    assert_eq!(rows.scan("n/".into(), None, 10).await.unwrap().len(), 1);
    // A request needs it: the account is given up to whoever has it.
    let mut with = start(&first.keys, "with").await.unwrap();
    with.send("a", account, 1).await;
    with.until("a", |state| matches!(state, State::Submitted { .. })).await;
    with.sender.shutdown().await;
    // And is not taken from it although there is much to do.
    with = start(&first.keys, "with").await.unwrap();
    with.send("b", account, 1).await;
    with.until("b", |state| matches!(state, State::Submitted { .. })).await;
    let refused = without.sender.reserve_nonce(account, 1_000).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_queue_that_another_process_runs_is_limited_too() {
    let first = World::new(1).await;
    first.sender.shutdown().await;
    let rows: Arc<dyn Store> = Arc::new(SharedRows(Memory::with_clock(Clock::default())));
    let owner = World::on(first.chain.clone(), rows.clone(), first.keys.clone()).await;
    let other = World::on(first.chain.clone(), rows, first.keys.clone()).await;
    let account = owner.account(0);
    owner.sender.pause(account).await.unwrap();
    let mut accepted = 0;
    let refused = loop {
        let new = submission(&format!("q-{accepted}"), SendFrom::Account(account), 1);
        match other.sender.submit(new).await {
            Ok(_) => accepted += 1,
            Err(refused) => break refused,
        }
    };
    assert_eq!((accepted, refused.kind()), (100, ErrorKind::Busy));
}

#[tokio::test]
async fn the_owners_deliverer_is_told_of_what_another_process_accepted() {
    let first = World::new(1).await;
    first.sender.shutdown().await;
    let rows: Arc<dyn Store> = Arc::new(SharedRows(Memory::with_clock(Clock::default())));
    let (give, given) = tokio::sync::oneshot::channel::<Deliveries>();
    let deliverer: crate::StartDeliveries = Box::new(move |deliveries| drop(give.send(deliveries)));
    let (chain, keys) = (first.chain.clone(), first.keys.clone());
    let owner = World::with(chain.clone(), rows.clone(), keys.clone(), config(), Some(deliverer)).await;
    let mut messages = given.await.unwrap().messages;
    let account = owner.account(0);
    // Nothing else happens to a request of an account that is paused.
    assert_eq!(owner.sender.pause(account).await.unwrap(), Done::Done);
    while messages.try_recv().is_ok() {}
    let other = World::on(chain, rows, keys).await;
    other.send("b", account, 1).await;
    let told = tokio::time::timeout(super::PATIENCE, messages.recv()).await;
    assert_eq!(told.expect("the owner's sweep finds it"), Some(DeliveryMessage::News(account)));
}

#[tokio::test]
async fn a_foreign_chain_that_began_anew_stops_nothing_but_itself() {
    let keys: Arc<dyn Keys> = Arc::new(LocalKeys::new([B256::repeat_byte(1)], true));
    let store: Arc<dyn Store> = Arc::new(Memory::with_clock(Clock::default()));
    let (home, other) = (Chain::new(CHAIN), Chain::new(CHAIN + 1));
    home.pay(keys.addresses()[0], U256::from(10).pow(U256::from(18)));
    let start = || {
        Sender::start(Settings {
            store: store.clone(),
            keys: keys.clone(),
            targets: vec![home.clone(), other.clone()],
            config: config(),
            chains: Default::default(),
            holder: "test".into(),
            clock: Clock::default(),
            deliveries: None,
        })
    };
    other.state().genesis = Some(B256::repeat_byte(1));
    let sender = start().await.unwrap();
    assert!(sender.chains().iter().all(|(_, trouble)| trouble.is_none()));
    sender.shutdown().await;
    // A development chain was started again: the same number, another first block.
    other.state().genesis = Some(B256::repeat_byte(2));
    let sender = start().await.unwrap();
    let troubled: Vec<u64> =
        sender.chains().into_iter().filter(|(_, trouble)| trouble.is_some()).map(|(id, _)| id).collect();
    assert_eq!(troubled, [CHAIN + 1]);
    let events = sender.subscribe();
    let mut world = World { sender, chain: home, store, keys, events };
    let account = world.account(0);
    world.send("a", account, 1).await;
    world.confirmed("a").await;
}
