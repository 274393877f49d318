//! The nonce book: loans, gaps, resets, limits.

use super::harness::{Owner, id};
use crate::model::{
    AttemptKind, Config, EventKind, Fees, Intent, OperationError, Place, RawSubmission, State,
};
use alloy_primitives::{B256, Bytes};
use types::Duration;

fn until(owner: &Owner, ms: u64) -> types::Time {
    owner.time() + Duration::from_millis(ms)
}

fn ready(config: Config) -> Owner {
    let mut owner = Owner::new(config);
    owner.run();
    owner
}

#[test]
fn a_released_nonce_is_used_first_wherever_it_lies() {
    let mut owner = ready(Config::default());
    let now = owner.time();
    for (token, nonce) in [("x", 5), ("y", 6), ("z", 7)] {
        assert_eq!(owner.account.reserve(token, until(&owner, 60_000), now), Ok(nonce));
    }
    let conflict = OperationError::NonceConflict { current: 8, attempted: 6 };
    assert_eq!(owner.account.release(6, "x", now), Err(conflict));
    assert!(conflict.should_retry());
    owner.account.release(6, "y", now).unwrap();
    assert_eq!(owner.account.release(6, "y", now), Err(conflict));
    owner.commit();
    assert_eq!(owner.account.range(), (5, 8));
    owner.accept("a");
    owner.run();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 6 });
    // At the top a released nonce is as if it had never been given.
    owner.account.release(7, "z", owner.time()).unwrap();
    assert_eq!(owner.account.range(), (5, 7));
}

#[test]
fn a_gap_is_filled_by_a_noop_after_its_grace() {
    let mut owner = ready(Config::default());
    let now = owner.time();
    owner.account.reserve("x", until(&owner, 600_000), now).unwrap();
    owner.account.reserve("y", until(&owner, 600_000), now).unwrap();
    owner.account.release(5, "x", now).unwrap();
    owner.run();
    owner.wait(9_000);
    owner.run();
    assert!(matches!(owner.account.places()[&5], Place::Free { .. }));
    owner.wait(1_001);
    owner.run();
    let slot = owner.account.places()[&5].slot().unwrap();
    assert_eq!((slot.owner.as_ref(), slot.attempts[0].kind), (None, AttemptKind::Noop));
}

#[test]
fn a_loan_that_runs_out_is_filled_or_reported() {
    for holds_key in [true, false] {
        let mut owner = ready(Config { holds_key, ..Config::default() });
        owner.account.reserve("x", until(&owner, 5_000), owner.time()).unwrap();
        owner.run();
        owner.wait(5_001);
        owner.run();
        let told = owner.rows.values().any(|row| {
            serde_json::from_slice::<crate::model::Event>(row)
                .is_ok_and(|event| event.kind == EventKind::ActionRequired)
        });
        assert_eq!(owner.account.places()[&5].slot().is_some(), holds_key);
        assert_eq!(told, !holds_key);
    }
}

#[test]
fn an_outside_signer_submits_for_its_loan_and_for_no_other_nonce() {
    let mut owner = ready(Config::default());
    owner.account.reserve("x", until(&owner, 60_000), owner.time()).unwrap();
    let raw = |nonce, token: &str| RawSubmission {
        id: id("raw"),
        body: B256::ZERO,
        token: token.into(),
        nonce,
        intent: Intent::default(),
        gas: 21_000,
        fees: Fees { max_fee_per_gas: 2_000, max_priority_fee_per_gas: 1 },
        hash: B256::repeat_byte(9),
        bytes: Bytes::from_static(b"signed"),
    };
    let now = owner.time();
    assert!(owner.account.submit_raw(raw(5, "y"), now).is_err());
    assert!(owner.account.submit_raw(raw(6, "x"), now).is_err());
    owner.account.submit_raw(raw(5, "x"), now).unwrap();
    owner.run();
    assert_eq!(owner.state("raw"), State::Submitted { nonce: 5 });
    assert_eq!(owner.sent, [(5, B256::repeat_byte(9))]);
    assert_eq!(owner.told("raw"), [EventKind::Accepted, EventKind::Submitted]);
}

#[test]
fn a_reset_keeps_what_is_in_flight() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.run();
    for _ in 0..7 {
        owner.account.reset(owner.time()).unwrap();
        owner.run();
    }
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
    owner.accept("b");
    owner.run();
    assert_eq!(owner.state("b"), State::Submitted { nonce: 6 });
    assert_eq!(owner.account.health(owner.time()).nonce_resets.len(), 5);
}

#[test]
fn foreign_transactions_take_their_nonces_and_give_them_back() {
    let mut owner = ready(Config::default());
    owner.view.latest_count = 7;
    owner.wait(3_000);
    owner.run();
    assert_eq!(owner.account.range(), (5, 7));
    owner.accept("a");
    owner.run();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 7 });
    // The chain changes its mind: after a while the nonces are gaps, and are filled.
    owner.view.latest_count = 5;
    for _ in 0..10 {
        owner.wait(3_000);
        owner.run();
    }
    assert!(owner.account.places()[&5].slot().is_some());
    assert!(owner.account.places()[&6].slot().is_some());
}

#[test]
fn limits_hold() {
    let mut owner = Owner::new(Config { in_flight_max: 3, leased_max: 1, ..Config::default() });
    (0..6).for_each(|n| owner.accept(&format!("q{n}")));
    owner.run();
    assert_eq!((owner.account.in_flight(), owner.account.waiting()), (3, 3));
    assert_eq!(owner.account.reserve("x", until(&owner, 1_000), owner.time()), Err(OperationError::Full));
    // What the chain has used does not count any more.
    owner.view.latest_count = 7;
    owner.wait(3_000);
    owner.run();
    assert_eq!((owner.account.in_flight(), owner.account.waiting()), (3, 1));
    let health = owner.account.nonce_health(owner.time());
    assert_eq!((health.tracked_nonce, health.chain_nonce, health.pending_count), (10, Some(7), 3));
}

#[test]
fn above_so_many_free_nonces_no_new_one_is_given() {
    let config = Config { free_max: 2, in_flight_max: 10, gap_grace_ms: 600_000, ..Config::default() };
    let mut owner = ready(config);
    let now = owner.time();
    let late = until(&owner, 600_000);
    for n in 0..5 {
        assert_eq!(owner.account.reserve(&format!("t{n}"), late, now), Ok(5 + n));
    }
    (0..4_u64).for_each(|n| owner.account.release(5 + n, &format!("t{n}"), now).unwrap());
    owner.run();
    assert_eq!(owner.account.nonce_health(now).gap_count, 4);
    let told = owner.rows.values().filter(|row| {
        serde_json::from_slice::<crate::model::Event>(row)
            .is_ok_and(|event| event.kind == EventKind::NonceGap)
    });
    assert_eq!(told.count(), 1);
    // Free ones are used; that is the way out.
    assert_eq!(owner.account.reserve("again", late, now), Ok(5));
}

#[test]
fn a_paused_account_binds_nothing_new() {
    let mut owner = ready(Config::default());
    owner.account.pause_sending(true);
    owner.accept("a");
    owner.run();
    assert_eq!(owner.state("a"), State::Accepted { held: None });
    assert_eq!(owner.account.held(&id("a")), Some(crate::model::Held::Paused));
    owner.restart();
    owner.run();
    assert_eq!(owner.account.waiting(), 1);
    owner.account.pause_sending(false);
    owner.run();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
}
