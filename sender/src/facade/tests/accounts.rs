//! Accounts and nonces.

use super::{CHAIN, World, of_group, receiver, submission};
use crate::{
    Error,
    facade::{Done, ErrorKind, NewEndpoint, RawTransaction, SendFrom},
    keys::LocalSigner,
    transaction,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use sender_model::{AccountId, AttemptKind, Draft, Fees, Intent, OperationError, Purpose, State, Subject};
use types::Time;

async fn signed(key: u8, nonce: u64) -> Bytes {
    let signer = LocalSigner::new(&B256::repeat_byte(key)).unwrap();
    let fees = Fees { max_fee_per_gas: 3_000_000_000, max_priority_fee_per_gas: 1_000_000_000 };
    let intent = Intent { to: Some(receiver("raw")), value: U256::from(7), ..Intent::default() };
    let draft = Draft {
        ticket: 0,
        purpose: Purpose::Fill,
        kind: AttemptKind::Payload,
        nonce,
        intent,
        gas: 21_000,
        fees,
        made_at: Time::ZERO,
    };
    transaction::sign(&signer, CHAIN, &draft).await.unwrap().bytes
}

#[tokio::test]
async fn a_nonce_is_lent_used_and_given_back() {
    let mut world = World::new(1).await;
    let account = world.account(0);
    let loan = world.sender.reserve_nonce(account, 60_000).await.unwrap();
    assert_eq!(loan.nonce, 0);
    let raw = RawTransaction {
        key: Some("raw".parse().unwrap()),
        token: loan.token.clone(),
        bytes: signed(1, 0).await,
    };
    let other = RawTransaction { token: "not mine".into(), ..raw.clone() };
    let conflict = world.sender.submit_raw(other).await.unwrap_err();
    assert!(
        matches!(conflict, Error::Operation(OperationError::NonceConflict { current: 1, attempted: 0 })),
        "{conflict}"
    );
    assert_eq!((conflict.kind(), conflict.should_retry()), (ErrorKind::Conflict, true));
    assert!(!world.sender.submit_raw(raw.clone()).await.unwrap().replayed);
    world.confirmed("raw").await;
    assert!(world.sender.submit_raw(raw).await.unwrap().replayed);
    assert_eq!(world.chain.received(receiver("raw")), 1);

    let loan = world.sender.reserve_nonce(account, 60_000).await.unwrap();
    assert_eq!(loan.nonce, 1);
    world.sender.release_nonce(account, loan.nonce, &loan.token).await.unwrap();
    let twice = world.sender.release_nonce(account, loan.nonce, &loan.token).await.unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Conflict);
    world.send("next", account, 1).await;
    assert_eq!(world.confirmed("next").await.request.state.nonce(), Some(1));
}

#[tokio::test]
async fn the_same_raw_transaction_twice_at_once_is_one_request() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| chain.waits = true);
    let loan = world.sender.reserve_nonce(world.account(0), 60_000).await.unwrap();
    let raw =
        RawTransaction { key: Some("raw".parse().unwrap()), token: loan.token, bytes: signed(1, 0).await };
    let (one, other) =
        tokio::join!(world.sender.submit_raw(raw.clone()), world.sender.submit_raw(raw.clone()));
    let replayed = [one.unwrap().replayed, other.unwrap().replayed];
    assert_eq!(replayed.iter().filter(|replayed| **replayed).count(), 1);
    world.chain.set(|chain| chain.waits = false);
    world.confirmed("raw").await;
}

#[tokio::test]
async fn a_loan_that_runs_out_is_filled() {
    let mut world = World::new(1).await;
    let account = world.account(0);
    let loan = world.sender.reserve_nonce(account, 1).await.unwrap();
    world.send("after", account, 1).await;
    let done = world.confirmed("after").await;
    assert_eq!((loan.nonce, done.request.state.nonce()), (0, Some(1)));
    let health = world.sender.nonce_health(account).await.unwrap();
    assert_eq!((health.tracked_nonce, health.gap_count), (2, 0));
}

#[tokio::test]
async fn health_says_what_is_known() {
    let world = World::new(1).await;
    let account = world.account(0);
    let health = world.sender.health(account).await.unwrap();
    assert_eq!(health.balance, Some(U256::from(10).pow(U256::from(18))));
    assert!(!health.paused && health.waiting == 0);
    assert_eq!(world.sender.pause(account).await.unwrap(), Done::Done);
    assert!(world.sender.health(account).await.unwrap().paused);
    assert_eq!(world.sender.reset_nonce(account).await.unwrap(), Done::Done);
    assert_eq!(world.sender.health(account).await.unwrap().nonce_resets.len(), 1);
    let stranger = AccountId { chain_id: CHAIN, address: Address::repeat_byte(9) };
    assert_eq!(world.sender.health(stranger).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(world.sender.pause(stranger).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(world.sender.reserve_nonce(account, 0).await.unwrap_err().kind(), ErrorKind::Invalid);
    let fees = world.sender.fees(CHAIN).await.unwrap();
    assert_eq!(fees.first_attempt.max_fee_per_gas, 3_000_000_000);
}

#[tokio::test]
async fn a_chain_that_does_not_answer_fails_nothing() {
    let mut world = World::new(1).await;
    world.chain.set(|chain| chain.gone = true);
    world.send("patient", world.account(0), 1).await;
    let waiting =
        world.sender.settled(&"patient".parse().unwrap(), std::time::Duration::from_millis(200)).await;
    assert!(matches!(waiting.unwrap().request.state, State::Accepted { .. }));
    world.chain.set(|chain| chain.gone = false);
    world.confirmed("patient").await;
}

#[tokio::test]
async fn an_endpoint_is_told_of_its_accounts_and_a_request_names_its_endpoints() {
    let mut world = World::new(2).await;
    let of_one =
        NewEndpoint { accounts: vec![world.account(0).address], ..NewEndpoint::at("https://one.example/") };
    let elsewhere = NewEndpoint { chain_ids: vec![5], ..NewEndpoint::at("https://five.example/") };
    let (one, _) = world.sender.create_endpoint(of_one).await.unwrap();
    let (all, _) = world.sender.create_endpoint(NewEndpoint::at("https://all.example/")).await.unwrap();
    world.sender.create_endpoint(elsewhere).await.unwrap();
    world.send("first", world.account(0), 1).await;
    world.send("second", world.account(1), 1).await;
    let mut quiet = submission("quiet", SendFrom::Account(world.account(0)), 1);
    quiet.options.webhooks = Some(vec![]);
    quiet.options.metadata = serde_json::json!({ "order": 7 }).as_object().cloned();
    world.sender.submit(quiet).await.unwrap();
    let mut named = submission("named", SendFrom::Account(world.account(0)), 1);
    named.options.webhooks = Some(vec![one.id.clone()]);
    world.sender.submit(named).await.unwrap();
    for name in ["first", "second", "quiet", "named"] {
        world.confirmed(name).await;
    }
    let waiting = world.sender.deliveries(Default::default()).await.unwrap().items;
    let told = |name: &str, endpoint: &str| {
        let subject = Subject::Request(name.parse().unwrap());
        waiting.iter().filter(|letter| letter.subject == subject && letter.endpoint == endpoint).count()
    };
    assert_eq!((told("first", &one.id), told("first", &all.id)), (4, 4));
    assert_eq!((told("second", &one.id), told("second", &all.id)), (0, 4));
    assert_eq!((told("quiet", &one.id), told("quiet", &all.id)), (0, 0));
    assert_eq!((told("named", &one.id), told("named", &all.id)), (4, 0));
    assert_eq!(waiting.len(), 16, "none to the endpoint of another chain");
    // What the caller said of it is repeated everywhere.
    let rows = world.store.scan("e/r/quiet/".into(), None, 10).await.unwrap();
    for (_, row) in rows {
        let event: serde_json::Value = serde_json::from_slice(&row).unwrap();
        assert_eq!(event["data"]["request"]["options"]["metadata"]["order"], 7);
    }
}

#[tokio::test]
async fn endpoints_are_made_rotated_and_removed_and_show_their_secret_once() {
    let world = World::new(1).await;
    let new = NewEndpoint::at("https://a.example/hook");
    let (endpoint, secret) = world.sender.create_endpoint(new.clone()).await.unwrap();
    assert!(secret.expose().starts_with("whsec_") && !format!("{secret:?}").contains(secret.expose()));
    let (rotated, newer) = world.sender.rotate_secret(&endpoint.id).await.unwrap();
    assert!(rotated.rotating_until.is_some() && newer != secret);
    assert!(!serde_json::to_string(&world.sender.endpoints()).unwrap().contains("whsec_"));
    world.send("told", world.account(0), 1).await;
    let mut world = world;
    world.confirmed("told").await;
    let waiting = world.sender.deliveries(Default::default()).await.unwrap();
    assert_eq!(waiting.items.len(), 4);
    let accepted_at = world.sender.by_key("told").await.unwrap().request.accepted_at.as_millis();
    assert_eq!(waiting.items[0].event_id, format!("evt_r_told_{accepted_at:x}_1"));
    world.sender.remove_endpoint(&endpoint.id).await.unwrap();
    assert_eq!(world.sender.remove_endpoint(&endpoint.id).await.unwrap_err().kind(), ErrorKind::NotFound);
    let wrong = NewEndpoint { url: "file:///etc/passwd".into(), ..new };
    assert_eq!(world.sender.create_endpoint(wrong).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(
        world.sender.submit(submission("x", of_group("g"), 1)).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
