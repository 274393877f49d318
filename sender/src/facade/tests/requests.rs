//! Requests, from acceptance to their one end.

use super::{CHAIN, World, of_group, receiver, submission};
use crate::{
    Error,
    facade::{AttemptStatus, Cancelling, Done, ErrorKind, Filter, SendFrom, Transaction},
    worker::Message,
};
use alloy_primitives::{Address, B256, U256};
use sender_model::{AcceptError, AccountId, Failure, Held, Limits, OperationError, State, StateName};
use std::time::Duration;

#[tokio::test]
async fn a_request_is_sent_mined_and_confirmed_and_every_step_is_told() {
    let mut world = World::new(1).await;
    world.send("a", world.account(0), 5).await;
    let done = world.confirmed("a").await;
    assert_eq!(world.chain.balance(receiver("a")), U256::from(5));
    assert_eq!(world.story("a").await, ["Accepted", "Submitted", "Mined", "Confirmed"]);
    assert_eq!(done.attempts.len(), 1);
    assert_eq!(done.attempts[0].status, AttemptStatus::Mined);
    let by_hash = world.sender.by_hash(done.attempts[0].hash).await.unwrap().unwrap();
    assert_eq!(by_hash, done);
    assert_eq!(world.sender.by_key("a").await.unwrap(), done);
    assert_eq!(world.sender.by_hash(B256::ZERO).await.unwrap(), None);
    let stats = world.sender.stats();
    assert_eq!((stats.totals.accepted, stats.totals.confirmed, stats.totals.sent), (1, 1, 1));
    assert_eq!((stats.queued_to_sent.count, stats.queued_to_mined.count), (1, 1));
}

#[tokio::test]
async fn the_same_key_is_the_same_request_in_every_state_and_another_body_is_refused() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| chain.waits = true);
    let first = submission("a", SendFrom::Account(world.account(0)), 5);
    assert!(!world.sender.submit(first.clone()).await.unwrap().replayed);
    assert!(world.sender.submit(first.clone()).await.unwrap().replayed);
    world.until("a", |state| matches!(state, State::Submitted { .. })).await;
    assert!(world.sender.submit(first.clone()).await.unwrap().replayed);
    world.chain.set(|chain| chain.waits = false);
    let done = world.confirmed("a").await;
    let again = world.sender.submit(first).await.unwrap();
    assert!(again.replayed && again.transaction == done);
    let other =
        world.sender.submit(submission("a", SendFrom::Account(world.account(0)), 6)).await.unwrap_err();
    assert!(matches!(other, Error::Accept(AcceptError::Mismatch(_))), "{other}");
    assert_eq!((other.kind(), other.should_retry()), (ErrorKind::Unprocessable, false));
    assert_eq!(world.chain.received(receiver("a")), 1);
}

#[tokio::test]
async fn what_cannot_be_accepted_is_refused_and_changes_nothing() {
    let world = World::new(1).await;
    let stranger = AccountId { chain_id: CHAIN, address: Address::repeat_byte(9) };
    let unknown = world.sender.submit(submission("a", SendFrom::Account(stranger), 1)).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownAccount(_)), "{unknown}");
    let elsewhere = AccountId { chain_id: 5, ..world.account(0) };
    let unknown = world.sender.submit(submission("a", SendFrom::Account(elsewhere), 1)).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownChain(5)), "{unknown}");
    let unknown = world.sender.submit(submission("a", of_group("nobody"), 1)).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    let mut large = submission("a", SendFrom::Account(world.account(0)), 1);
    large.intent.data = vec![0; 200_000].into();
    assert_eq!(world.sender.submit(large).await.unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(world.sender.get(&"a".parse().unwrap()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(world.sender.by_key("not a name").await.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn one_that_cannot_be_paid_is_held_and_the_others_go_on() {
    let mut world = World::new(1).await;
    let mut dear = submission("dear", SendFrom::Account(world.account(0)), 0);
    dear.intent.value = U256::from(10).pow(U256::from(19));
    world.sender.submit(dear).await.unwrap();
    world.send("cheap", world.account(0), 1).await;
    world.confirmed("cheap").await;
    let held = world.until("dear", |state| matches!(state, State::Accepted { held: Some(_) })).await;
    assert_eq!(held.request.state, State::Accepted { held: Some(Held::Funds) });
    world.chain.pay(world.account(0).address, U256::from(10).pow(U256::from(20)));
    world.confirmed("dear").await;
}

#[tokio::test]
async fn what_would_be_reverted_fails_and_spends_no_nonce() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| chain.refuses = Some(receiver("bad")));
    world.send("bad", world.account(0), 1).await;
    let failed = world.until("bad", State::is_terminal).await;
    let State::Failed(Failure::Simulation { data, .. }) = failed.request.state else { panic!("{failed:?}") };
    assert_eq!(data.as_ref(), [1, 2]);
    world.send("good", world.account(0), 1).await;
    let good = world.confirmed("good").await;
    assert_eq!(good.request.state.nonce(), Some(0));
}

#[tokio::test]
async fn answers_that_are_lost_cost_nothing_twice() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| chain.mute = true);
    for index in 0..20 {
        world.send(&format!("m-{index}"), world.account(0), 1).await;
    }
    for index in 0..20 {
        let key = format!("m-{index}");
        world.confirmed(&key).await;
        assert_eq!(world.chain.received(receiver(&key)), 1);
    }
}

#[tokio::test]
async fn what_the_chain_could_never_take_is_refused_and_costs_no_nonce() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| {
        chain.limits = Limits {
            tx_bytes_max: Some(32_768),
            init_code_bytes_max: Some(10_000),
            gas_max: Some(1_000_000),
        };
    });
    let new = |key: &str| submission(key, SendFrom::Account(world.account(0)), 1);
    let mut large = new("large");
    large.intent.data = vec![1; 32_768].into();
    assert_eq!(world.sender.submit(large).await.unwrap_err().kind(), ErrorKind::TooLarge);
    let mut code = new("code");
    (code.intent.to, code.intent.data) = (None, vec![1; 10_001].into());
    assert_eq!(world.sender.submit(code).await.unwrap_err().kind(), ErrorKind::TooLarge);
    let mut dear = new("dear");
    dear.intent.gas = Some(1_000_001);
    let refused = world.sender.submit(dear).await.unwrap_err();
    assert!(matches!(refused, Error::Accept(AcceptError::Gas(1_000_000))), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::Unprocessable);
    let mut fits = new("fits");
    (fits.intent.data, fits.intent.gas) = (vec![1; 32_000].into(), Some(1_000_000));
    world.sender.submit(fits).await.unwrap();
    assert_eq!(world.confirmed("fits").await.request.state.nonce(), Some(0));
}

#[tokio::test]
async fn that_an_account_is_paused_is_said_at_once() {
    let mut world = World::new(1).await;
    world.sender.pause(world.account(0)).await.unwrap();
    world.send("a", world.account(0), 1).await;
    let paused = State::Accepted { held: Some(Held::Paused) };
    let id = "a".parse().unwrap();
    let settled = world.sender.settled(&id, super::PATIENCE).await.unwrap();
    assert_eq!(settled.request.state, paused);
    assert_eq!(world.sender.list(Filter::default()).await.unwrap().items[0].request.state, paused);
    world.sender.resume(world.account(0)).await.unwrap();
    world.confirmed("a").await;
}

#[tokio::test]
async fn a_worker_that_panics_is_followed_by_another() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| chain.panics = true);
    world.send("a", world.account(0), 1).await;
    // Whoever comes next wakes another; whether the first was heard by the one that died does not matter.
    while world.chain.state().panics {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.send("b", world.account(0), 1).await;
    world.confirmed("b").await;
    world.confirmed("a").await;
}

#[tokio::test]
async fn a_store_belongs_to_one_chain() {
    let mut world = World::new(1).await;
    world.sender.shutdown().await;
    world.chain.set(|chain| chain.genesis = Some(B256::repeat_byte(1)));
    world = World::on(world.chain.clone(), world.store.clone(), world.keys.clone()).await;
    world.send("a", world.account(0), 1).await;
    world.confirmed("a").await;
    world.sender.shutdown().await;
    let start = || World::try_on(world.chain.clone(), world.store.clone(), world.keys.clone(), "test");
    world.chain.set(|chain| chain.genesis = Some(B256::repeat_byte(2)));
    let refused = start().await.err().unwrap();
    assert!(matches!(refused, Error::OtherChain { chain_id: CHAIN, .. }), "{refused}");
    // One that is not there at the start is looked at when it comes back.
    world.chain.set(|chain| chain.gone = true);
    let late = start().await.unwrap();
    late.send("b", late.account(0), 1).await;
    late.chain.set(|chain| chain.gone = false);
    let waits = late.sender.settled(&"b".parse().unwrap(), Duration::from_millis(500)).await.unwrap();
    assert!(matches!(waits.request.state, State::Accepted { .. }));
    assert_eq!(late.chain.received(receiver("b")), 0);
    late.sender.shutdown().await;
    world.chain.set(|chain| chain.genesis = Some(B256::repeat_byte(1)));
    let mut right = start().await.unwrap();
    right.confirmed("b").await;
}

#[tokio::test]
async fn a_word_that_comes_late_does_not_begin_a_request_again() {
    let mut world = World::new(1).await;
    let account = world.account(0);
    let accepted = world.send("a", account, 1).await.request;
    let done = world.confirmed("a").await;
    // To the worker that ended it, and to one that knows nothing of it.
    for key in ["b", "c"] {
        world.sender.shared().tell(account, Message::Admit(Box::new(accepted.clone()))).unwrap();
        world.send(key, account, 1).await;
        world.confirmed(key).await;
        assert_eq!(world.sender.get(&"a".parse().unwrap()).await.unwrap(), done);
        world.sender.shutdown().await;
        world = World::on(world.chain.clone(), world.store.clone(), world.keys.clone()).await;
    }
    assert_eq!(world.chain.received(receiver("a")), 1);
    assert_eq!(world.story("a").await, ["Accepted", "Submitted", "Mined", "Confirmed"]);
}

#[tokio::test]
async fn a_restart_goes_on_where_it_was() {
    let mut world = World::new(2).await;
    world.chain.set(|chain| chain.waits = true);
    for index in 0..5 {
        world.send(&format!("r-{index}"), world.account(index % 2), 1).await;
    }
    world.until("r-0", |state| matches!(state, State::Submitted { .. })).await;
    world.sender.shutdown().await;
    let stopped = world.sender.submit(submission("late", SendFrom::Account(world.account(0)), 1)).await;
    drop(stopped);
    world.chain.set(|chain| chain.waits = false);
    let mut world = World::on(world.chain.clone(), world.store.clone(), world.keys.clone()).await;
    for index in 0..5 {
        let key = format!("r-{index}");
        world.confirmed(&key).await;
        assert_eq!(world.chain.received(receiver(&key)), 1);
    }
}

#[tokio::test]
async fn cancelling_ends_what_was_not_sent_and_competes_with_what_was() {
    let mut world = World::new(1).await;
    world.sender.pause(world.account(0)).await.unwrap();
    world.send("early", world.account(0), 1).await;
    assert_eq!(world.sender.cancel(&"early".parse().unwrap()).await.unwrap(), Cancelling::Cancelled);
    world.chain.set(|chain| chain.waits = true);
    world.sender.resume(world.account(0)).await.unwrap();
    world.send("sent", world.account(0), 1).await;
    world.until("sent", |state| matches!(state, State::Submitted { .. })).await;
    assert_eq!(world.sender.cancel(&"sent".parse().unwrap()).await.unwrap(), Cancelling::Cancelling);
    world.chain.set(|chain| chain.waits = false);
    let done = world.until("sent", State::is_terminal).await;
    // Whoever wins, it is one end, and the chain agrees with it.
    let cancelled = done.request.state == State::Cancelled;
    assert_eq!(world.chain.received(receiver("sent")), usize::from(!cancelled));
    let late = if cancelled { Cancelling::Cancelled } else { Cancelling::TooLate };
    assert_eq!(world.sender.cancel(&"sent".parse().unwrap()).await.unwrap(), late);
    assert_eq!(world.story("early").await, ["Accepted", "Cancelled"]);
    assert_eq!(world.chain.received(receiver("early")), 0);
    let unknown = world.sender.cancel(&"nothing".parse().unwrap()).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_replacement_is_an_attempt_and_every_attempts_hash_finds_the_one_that_was_mined() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| chain.waits = true);
    world.send("slow", world.account(0), 1).await;
    world.until("slow", |state| matches!(state, State::Submitted { .. })).await;
    let id = "slow".parse().unwrap();
    let mut tried = world.sender.replace(&id, None).await;
    while matches!(tried, Err(Error::Operation(OperationError::TooSoon(_)))) {
        tokio::task::yield_now().await;
        tried = world.sender.replace(&id, None).await;
    }
    assert_eq!(tried.unwrap(), Done::Done);
    let both = |transaction: &Transaction| transaction.attempts.len() == 2;
    while !both(&world.sender.get(&id).await.unwrap()) {
        tokio::task::yield_now().await;
    }
    world.chain.set(|chain| chain.waits = false);
    let done = world.confirmed("slow").await;
    let hashes: Vec<B256> = done.attempts.iter().map(|attempt| attempt.hash).collect();
    let statuses: Vec<AttemptStatus> = done.attempts.iter().map(|attempt| attempt.status).collect();
    assert!(statuses.contains(&AttemptStatus::Mined) && statuses.contains(&AttemptStatus::Dropped));
    for hash in hashes {
        let found = world.sender.by_hash(hash).await.unwrap().unwrap();
        assert_eq!(found.hash(), done.hash());
    }
    assert!(done.attempts[1].fees.may_replace(&done.attempts[0].fees));
    assert_eq!(world.chain.received(receiver("slow")), 1);
    let ended = world.sender.replace(&id, None).await.unwrap_err();
    assert!(matches!(ended, Error::Operation(OperationError::NotInFlight)), "{ended}");
}

#[tokio::test]
async fn lists_come_in_pages_and_are_filtered() {
    let mut world = World::new(2).await;
    for index in 0..7 {
        world.send(&format!("l-{index}"), world.account(index % 2), 1).await;
    }
    for index in 0..7 {
        world.confirmed(&format!("l-{index}")).await;
    }
    let mut filter = Filter { limit: 3, ..Filter::default() };
    let mut names = Vec::new();
    loop {
        let page = world.sender.list(filter.clone()).await.unwrap();
        names.extend(page.items.iter().map(|item| item.request.id.to_string()));
        let Some(next) = page.next else { break };
        filter.after = Some(next.parse().unwrap());
    }
    assert_eq!(names, (0..7).map(|index| format!("l-{index}")).collect::<Vec<_>>());
    let address = Some(world.account(1).address);
    let of_one = world.sender.list(Filter { address, ..Filter::default() }).await.unwrap();
    assert_eq!(of_one.items.len(), 3);
    let none = Filter { state: Some(StateName::Failed), ..Filter::default() };
    assert_eq!(world.sender.list(none).await.unwrap().items.len(), 0);
}
