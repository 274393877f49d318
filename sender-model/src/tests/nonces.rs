//! The nonce book: loans, gaps, resets, limits.

use super::harness::{Owner, account_id, id};
use crate::{
    AttemptKind, BlockCheck, Command, CommandKind, Config, EventKind, Fees, Head, Identified, Intent,
    NonceState, OperationError, RawRequest, State,
};
use alloy_primitives::{B256, Bytes, U256};
use types::Duration;

fn until(owner: &Owner, ms: u64) -> types::Time {
    owner.time() + Duration::from_millis(ms)
}

fn ready(config: Config) -> Owner {
    let mut owner = Owner::new(config);
    owner.run();
    owner
}

fn raw(nonce: u64, token: &str) -> RawRequest {
    RawRequest {
        id: id("raw"),
        body: B256::ZERO,
        token: token.into(),
        nonce,
        intent: Intent::default(),
        gas: 21_000,
        fees: Fees { max_fee_per_gas: 2_000, max_priority_fee_per_gas: 1 },
        hash: B256::repeat_byte(9),
        bytes: Bytes::from_static(b"signed"),
    }
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
    assert!(matches!(owner.account.nonce_state(5).unwrap(), NonceState::Free { .. }));
    owner.wait(1_001);
    owner.run();
    let slot = owner.account.nonce_state(5).unwrap().slot().unwrap();
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
            serde_json::from_slice::<crate::Event>(row)
                .is_ok_and(|event| event.kind == EventKind::ActionRequired)
        });
        assert_eq!(owner.account.nonce_state(5).unwrap().slot().is_some(), holds_key);
        assert_eq!(told, !holds_key);
    }
}

#[test]
fn an_outside_signer_submits_for_its_loan_and_for_no_other_nonce() {
    let mut owner = ready(Config::default());
    owner.account.reserve("x", until(&owner, 60_000), owner.time()).unwrap();
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
    assert!(owner.account.nonce_state(5).unwrap().slot().is_some());
    assert!(owner.account.nonce_state(6).unwrap().slot().is_some());
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
        serde_json::from_slice::<crate::Event>(row).is_ok_and(|event| event.kind == EventKind::NonceGap)
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
    assert_eq!(owner.account.held(&id("a")), Some(crate::Held::Paused));
    owner.restart();
    owner.run();
    assert_eq!(owner.account.waiting(), 1);
    owner.account.pause_sending(false);
    owner.run();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
}

#[test]
fn a_count_that_rises_far_costs_no_rows_where_nothing_is_open() {
    let mut owner = ready(Config::default());
    (owner.view.latest_count, owner.view.finalized_count) = (60_000, Some(60_000));
    owner.wait(3_000);
    owner.run();
    assert_eq!(owner.account.range(), (60_000, 60_000));
    owner.accept("a");
    owner.run();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 60_000 });
}

#[test]
fn a_count_that_rises_far_above_an_open_nonce_is_followed_as_far_as_there_is_room() {
    let mut owner = Owner::new(Config { unfinal_max: 1_000, ..Config::default() });
    owner.accept("a");
    owner.run();
    (owner.view.latest_count, owner.view.finalized_count) = (60_000, Some(60_000));
    owner.wait(3_000);
    owner.run();
    owner.accept("b");
    owner.wait(3_000);
    owner.run();
    assert_eq!(owner.account.range(), (5, 1_005));
    // No nonce is given out that is used already, nor lent; somebody is told.
    assert_eq!(owner.state("b"), State::Accepted { held: Some(crate::Held::Unfinal) });
    assert_eq!(owner.account.reserve("x", until(&owner, 1_000), owner.time()), Err(OperationError::Full));
    assert_eq!(owner.told_account(), [EventKind::ActionRequired]);
    // Once it is known who used the open nonce, all goes on.
    let block = Head { number: 12, hash: B256::repeat_byte(12) };
    owner.account.handle_identified(5, Identified::Found { hash: B256::repeat_byte(7), block }, owner.time());
    let check = BlockCheck { number: 12, hash: Some(block.hash), finalized_number: 12 };
    owner.account.handle_block(check, owner.time());
    owner.wait(3_000);
    owner.run();
    assert_eq!(owner.account.range().0, 60_000);
    assert_eq!(owner.state("a"), State::Submitted { nonce: 60_000 });
    assert_eq!(owner.state("b"), State::Submitted { nonce: 60_001 });
    assert!(!owner.account.doubts());
}

#[test]
fn a_count_that_no_account_can_have_is_not_taken_in_and_a_leap_only_at_an_operators_word() {
    let mut owner = ready(Config::default());
    let before = owner.view;
    for count in [1 << 60, u64::MAX] {
        (owner.view.latest_count, owner.view.finalized_count) = (count, Some(count));
        owner.wait(3_000);
        owner.run();
        assert_eq!(owner.account.reset(owner.time()), Ok(()), "it resets to what is known");
        owner.run();
        assert_eq!(owner.account.range(), (5, 5));
    }
    (owner.view.latest_count, owner.view.finalized_count) = (3_000_000, Some(3_000_000));
    owner.wait(3_000);
    owner.run();
    assert_eq!((owner.account.range(), owner.account.doubts()), ((5, 5), true));
    assert_eq!(owner.told_account(), [EventKind::ActionRequired]);
    owner.account.reset(owner.time()).unwrap();
    owner.run();
    assert_eq!((owner.account.range(), owner.account.doubts()), ((3_000_000, 3_000_000), false));
    // A chain whose count stays below what was final is shown, too.
    (owner.view.latest_count, owner.view.finalized_count) = (before.latest_count, before.finalized_count);
    for _ in 0..10 {
        owner.wait(10_000);
        owner.run();
    }
    assert_eq!(owner.told_account().len(), 2);
    assert!(owner.account.doubts());
}

#[test]
fn however_many_requests_expire_at_once_a_commit_holds_them() {
    let endpoints = (0..32).map(|n| format!("wh-{n}")).collect();
    let mut owner = ready(Config { endpoints, ..Config::default() });
    owner.account.pause_sending(true);
    for n in 0..3_000 {
        owner.accept_until(&format!("e{n}"), 5_000);
    }
    owner.wait(10_000);
    while owner.account.waiting() > 0 {
        owner.run();
    }
    assert_eq!(owner.state("e2999"), State::Expired);
}

#[test]
fn a_wish_for_a_fee_bump_outlives_its_owner() {
    let mut owner = Owner::new(Config { bumps_max: 1, ..Config::default() });
    owner.accept("a");
    owner.run();
    owner.wait(10_000);
    owner.account.handle_bundled(5, true);
    assert_eq!(owner.account.replace(&id("a"), None, owner.time()), Err(OperationError::Bundled));
    owner.account.handle_bundled(5, false);
    let balance = std::mem::replace(&mut owner.view.balance, U256::from(2_010 * 21_000));
    owner.account.handle_view(owner.view, owner.time());
    assert_eq!(owner.account.replace(&id("a"), None, owner.time()), Err(OperationError::Funds));
    owner.view.balance = balance;
    owner.account.handle_view(owner.view, owner.time());
    let wanted = Fees { max_fee_per_gas: 9_000, max_priority_fee_per_gas: 90 };
    owner.account.replace(&id("a"), Some(wanted), owner.time()).unwrap();
    owner.commit();
    owner.restart();
    owner.run();
    let slot = owner.account.nonce_state(5).unwrap().slot().unwrap().clone();
    assert_eq!((slot.attempts.len(), slot.attempts[1].fees, slot.wish), (2, wanted, None));
    owner.wait(10_000);
    assert_eq!(owner.account.replace(&id("a"), None, owner.time()), Err(OperationError::Replaced(1)));
}

#[test]
fn a_command_that_cannot_be_obeyed_yet_is_kept_for_a_while() {
    let mut owner = Owner::new(Config::default());
    let command = |name: &str, kind, at| Command { id: id(name), account: account_id(), at, kind };
    let reset = command("c1", CommandKind::Reset, owner.time());
    let stranger = command("c2", CommandKind::Cancel(id("nobody")), owner.time());
    for command in [&reset, &stranger] {
        owner.store(command.commit().unwrap());
        owner.account.handle_command(command, owner.time()).unwrap_err();
    }
    owner.commit();
    // The chain was not seen yet, which passes; that there is no such request does not.
    assert_eq!(
        (owner.rows.contains_key(&reset.key()), owner.rows.contains_key(&stranger.key())),
        (true, false)
    );
    owner.run();
    owner.account.handle_command(&reset, owner.time()).unwrap();
    owner.commit();
    assert!(!owner.rows.contains_key(&reset.key()));
    assert_eq!(owner.account.health(owner.time()).nonce_resets.len(), 1);
    // Not for ever.
    owner.restart();
    owner.store(reset.commit().unwrap());
    owner.wait(600_000);
    owner.account.handle_command(&reset, owner.time()).unwrap_err();
    owner.commit();
    assert!(!owner.rows.contains_key(&reset.key()));
}

#[test]
fn what_only_an_outside_signer_could_replace_is_not_said_to_be_cancelling() {
    let mut owner = ready(Config { holds_key: false, ..Config::default() });
    owner.account.reserve("x", until(&owner, 60_000), owner.time()).unwrap();
    owner.account.submit_raw(raw(5, "x"), owner.time()).unwrap();
    owner.run();
    assert_eq!(owner.account.cancel(&id("raw"), owner.time()), Err(OperationError::NoKey(5)));
    assert!(!owner.account.has_changes());
}

#[test]
fn without_old_states_the_book_begins_at_the_newest_count_and_foreign_nonces_become_final_by_their_block() {
    let mut owner = Owner::new(Config::default());
    owner.view.finalized_count = None;
    owner.run();
    assert_eq!(owner.account.range(), (5, 5));
    owner.accept("a");
    owner.run();
    // Another signer uses the nonce after ours, and ours is mined.
    owner.view.latest_count = 7;
    owner.wait(3_000);
    owner.run();
    let block = owner.view.latest;
    let (nonce, hash) = owner.sent[0];
    let found = crate::Inclusion { block, success: true, receipt: None };
    let answer = [(hash, crate::ReceiptAnswer::Found(found))];
    owner.account.handle_receipts(nonce, &answer, owner.time());
    owner.commit();
    assert_eq!(owner.account.range(), (5, 7));
    owner.view.finalized_number = block.number;
    owner.wait(3_000);
    owner.run();
    let check = BlockCheck { number: block.number, hash: Some(block.hash), finalized_number: block.number };
    owner.account.handle_block(check, owner.time());
    owner.commit();
    assert!(matches!(owner.state("a"), State::Confirmed { .. }));
    owner.wait(3_000);
    owner.run();
    assert_eq!(owner.account.range(), (7, 7), "the foreign one needed no old state, and no search");
}

#[test]
fn a_node_that_is_behind_what_is_final_is_not_listened_to() {
    let mut owner = ready(Config::default());
    let behind = crate::View { latest_count: 4, finalized_count: None, balance: U256::ZERO, ..owner.view };
    owner.account.handle_view(behind, owner.time());
    assert_eq!(owner.account.view().unwrap().0.balance, owner.view.balance);
}

#[test]
fn what_waits_for_finality_is_limited_by_memory_and_requests_say_so() {
    let mut owner = ready(Config { unfinal_bytes_max: 2_000, ..Config::default() });
    for name in ["a", "b", "c", "d"] {
        owner.accept(name);
        owner.run();
    }
    assert_eq!(owner.state("c"), State::Submitted { nonce: 7 });
    assert_eq!(owner.state("d"), State::Accepted { held: Some(crate::Held::Unfinal) });
    assert!(owner.account.health(owner.time()).stalled);
    // One is mined and final: there is room.
    let (nonce, hash) = owner.sent[0];
    let block = Head { number: 11, hash: B256::repeat_byte(11) };
    let found = crate::Inclusion { block, success: true, receipt: None };
    owner.account.handle_receipts(nonce, &[(hash, crate::ReceiptAnswer::Found(found))], owner.time());
    let check = BlockCheck { number: 11, hash: Some(block.hash), finalized_number: 11 };
    owner.account.handle_block(check, owner.time());
    owner.commit();
    owner.run();
    assert_eq!(owner.state("d"), State::Submitted { nonce: 8 });
}
