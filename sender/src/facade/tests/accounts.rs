//! Accounts and nonces.

use super::{CHAIN, World, of_group, receiver, submission};
use crate::{
    Error,
    facade::{Done, ErrorKind, RawTransaction},
    keys::LocalSigner,
    transaction,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use sender_model::{AccountId, AttemptKind, Draft, Fees, Intent, OperationError, Purpose, State};
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
async fn endpoints_are_made_rotated_and_removed_and_show_their_secret_once() {
    let world = World::new(1).await;
    let new = crate::facade::NewEndpoint {
        url: "https://a.example/hook".into(),
        events: vec![],
        legacy_signature: false,
    };
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
    let wrong = crate::facade::NewEndpoint { url: "file:///etc/passwd".into(), ..new };
    assert_eq!(world.sender.create_endpoint(wrong).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(
        world.sender.submit(submission("x", of_group("g"), 1)).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
