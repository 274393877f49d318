//! The life of requests, step by step.

use super::harness::{Owner, id};
use crate::{
    BlockCheck, CancelOutcome, CommitError, Config, Draft, EventKind, Failure, FeeCap, Head, Held,
    Identified, Inclusion, Intent, NonceState, ReceiptAnswer, SendClass, Simulation, State, StateName,
    UsedName, key, retention,
};
use alloy_primitives::{B256, Bytes, U256};

fn found(block: Head) -> ReceiptAnswer {
    ReceiptAnswer::Found(Inclusion { block, success: true, receipt: None })
}

#[test]
fn from_accepted_to_confirmed_with_every_event() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.run();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
    let (nonce, hash) = owner.sent[0];
    let block = Head { number: 11, hash: B256::repeat_byte(11) };
    owner.account.handle_receipts(nonce, &[(hash, found(block))], owner.time());
    owner.commit();
    assert_eq!(owner.state("a"), State::Mined { nonce: 5 });
    // Not final yet: nothing.
    let check = |hash, finalized_number| BlockCheck { number: 11, hash, finalized_number };
    owner.account.handle_block(check(Some(block.hash), 10), owner.time());
    owner.account.handle_block(check(None, 10), owner.time());
    assert!(!owner.account.has_changes());
    owner.account.handle_block(check(Some(block.hash), 11), owner.time());
    owner.commit();
    assert!(matches!(owner.state("a"), State::Confirmed { nonce: 5, .. }));
    use EventKind::{Accepted, Confirmed, Mined, Submitted};
    assert_eq!(owner.told("a"), [Accepted, Submitted, Mined, Confirmed]);
    assert_eq!(owner.account.range(), (6, 6));
}

#[test]
fn a_block_that_goes_away_returns_the_request_to_submitted() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.run();
    let (nonce, hash) = owner.sent[0];
    let block = Head { number: 11, hash: B256::repeat_byte(11) };
    owner.account.handle_receipts(nonce, &[(hash, found(block))], owner.time());
    let other = BlockCheck { number: 11, hash: Some(B256::repeat_byte(99)), finalized_number: 8 };
    owner.account.handle_block(other, owner.time());
    owner.commit();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
    // And it is sent again at once.
    owner.sent.clear();
    owner.run();
    assert_eq!(owner.sent, [(nonce, hash)]);
}

#[test]
fn silence_changes_nothing() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.run_with(&SendClass::Unknown);
    assert_eq!(owner.state("a"), State::Bound { nonce: 5 });
    let (nonce, hash) = owner.sent[0];
    // The nonce is used up and no receipt is there, or nobody answers: still nothing.
    owner.view.latest_count = 6;
    owner.wait(3_000);
    owner.run_with(&SendClass::Unknown);
    for answer in [ReceiptAnswer::NotFound, ReceiptAnswer::Error] {
        owner.account.handle_receipts(nonce, &[(hash, answer)], owner.time());
    }
    owner.account.handle_identified(nonce, Identified::Unknown, owner.time());
    owner.account.handle_identified(nonce, Identified::NotBelow(12), owner.time());
    owner.commit();
    assert_eq!(owner.state("a"), State::Bound { nonce: 5 });
    // Only when its user is known, and in a block that is final.
    let block = Head { number: 12, hash: B256::repeat_byte(12) };
    let foreign = Identified::Found { hash: B256::repeat_byte(7), block };
    owner.account.handle_identified(nonce, foreign, owner.time());
    let check = |hash, finalized_number| BlockCheck { number: 12, hash: Some(hash), finalized_number };
    owner.account.handle_block(check(block.hash, 11), owner.time());
    owner.commit();
    assert_eq!(owner.state("a"), State::Bound { nonce: 5 });
    // That block goes away, and the other transaction with it.
    owner.account.handle_block(check(B256::ZERO, 11), owner.time());
    owner.account.handle_block(check(block.hash, 12), owner.time());
    owner.commit();
    assert_eq!(owner.state("a"), State::Bound { nonce: 5 });
    owner.account.handle_identified(nonce, foreign, owner.time());
    owner.account.handle_block(check(block.hash, 12), owner.time());
    owner.commit();
    assert_eq!(owner.state("a"), State::Accepted { held: None });
    assert_eq!(owner.told("a").last(), Some(&EventKind::Replaced));
    owner.run();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 6 });
}

#[test]
fn after_a_restart_the_same_bytes_are_sent_in_the_order_of_nonces() {
    let mut owner = Owner::new(Config::default());
    ["a", "b", "c"].iter().for_each(|name| owner.accept(name));
    owner.run();
    let sent = owner.sent.clone();
    assert_eq!(sent.iter().map(|(nonce, _)| *nonce).collect::<Vec<_>>(), [5, 6, 7]);
    owner.restart();
    owner.run();
    assert_eq!(owner.sent, sent);
}

#[test]
fn nothing_leaves_before_it_is_durable() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    let now = owner.time();
    // Look, simulate, sign; but nobody commits.
    for _ in 0..5 {
        for action in owner.account.poll(now) {
            use crate::{Action, Signed};
            match action {
                Action::FetchView { .. } => owner.account.handle_view(owner.view, now),
                Action::Simulate { id, .. } => {
                    owner.account.handle_simulation(&id, Simulation::Gas(21_000), now)
                }
                Action::Sign(draft) => {
                    let signed = Signed { hash: B256::repeat_byte(3), bytes: Bytes::new() };
                    owner.account.handle_signed(draft.ticket, signed, now);
                }
                other => panic!("{other:?} before the commit"),
            }
        }
    }
    assert_eq!(owner.account.request(&id("a")).unwrap().state, State::Bound { nonce: 5 });
    // While the commit is under way it is not durable either.
    let commit = owner.account.take_commit().unwrap().unwrap();
    assert_eq!(owner.account.poll(now), []);
    // Nor may another be made on top of it.
    owner.account.pause_sending(true);
    assert!(matches!(owner.account.take_commit(), Err(CommitError::UnderWay)));
    owner.account.pause_sending(false);
    owner.store(commit);
    owner.account.committed();
    assert_eq!(owner.account.poll(now).len(), 1);
}

#[test]
fn a_request_that_was_never_sent_is_cancelled_at_once_and_one_that_was_needs_a_noop() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.accept("b");
    owner.run();
    assert_eq!(owner.account.cancel(&id("a"), owner.time()), Ok(CancelOutcome::Cancelling));
    owner.commit();
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
    owner.wait(10_000);
    owner.run();
    assert_eq!(owner.state("a"), State::Cancelling { nonce: 5 });
    assert!(matches!(owner.account.nonce_state(5).unwrap().slot(), Some(slot) if slot.attempts.len() == 2));
    owner.accept("c");
    assert_eq!(owner.account.cancel(&id("c"), owner.time()), Ok(CancelOutcome::Cancelled));
    owner.commit();
    assert_eq!((owner.state("c"), owner.told("c").len()), (State::Cancelled, 2));
    // The noop wins.
    let noop = owner.account.nonce_state(5).unwrap().slot().unwrap().last().unwrap().hash;
    let block = Head { number: 12, hash: B256::repeat_byte(12) };
    owner.account.handle_receipts(5, &[(noop, found(block))], owner.time());
    let check = BlockCheck { number: 12, hash: Some(block.hash), finalized_number: 12 };
    owner.account.handle_block(check, owner.time());
    owner.commit();
    assert_eq!((owner.state("a"), owner.told("a").last()), (State::Cancelled, Some(&EventKind::Cancelled)));
    assert_eq!(owner.state("b"), State::Submitted { nonce: 6 });
}

#[test]
fn an_old_copy_never_begins_a_request_again() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    let copy = owner.stored("a");
    owner.account.cancel(&id("a"), owner.time()).unwrap();
    owner.commit();
    // Whoever ended it remembers.
    owner.account.admit(copy.clone());
    assert_eq!(owner.account.waiting(), 0);
    // The next owner does not; the store refuses what it would write.
    owner.restart();
    owner.account.admit(copy.clone());
    owner.run_refused();
    assert_eq!((owner.state("a"), owner.told("a").len()), (State::Cancelled, 2));
    owner.restart();
    owner.account.admit(copy);
    assert_eq!(owner.account.cancel(&id("a"), owner.time()), Ok(CancelOutcome::Cancelled));
    assert!(!owner.try_commit());
    // One that really is new is written.
    owner.restart();
    owner.accept("b");
    owner.run();
    assert_eq!(owner.state("b"), State::Submitted { nonce: 5 });
}

#[test]
fn what_would_be_reverted_fails_without_a_nonce() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    let now = owner.time();
    owner.account.poll(now);
    owner.account.handle_view(owner.view, now);
    owner.account.poll(now);
    let reverted =
        Simulation::Reverted { reason: "no".into(), data: Bytes::from_static(b"x"), on_top: false };
    owner.account.handle_simulation(&id("a"), reverted, now);
    owner.commit();
    assert!(matches!(owner.state("a"), State::Failed(Failure::Simulation { .. })));
    assert_eq!(owner.account.range(), (5, 5));
}

#[test]
fn one_that_nodes_refuse_fails_when_a_noop_is_final_and_stops_nobody() {
    let mut owner = Owner::new(Config::default());
    owner.accept("bad");
    owner.run_with(&SendClass::Rejected("exceeds block gas limit".into()));
    owner.accept("good");
    owner.run();
    assert_eq!(owner.state("good"), State::Submitted { nonce: 6 });
    owner.wait(15_000);
    owner.run();
    assert_eq!(owner.state("bad"), State::Cancelling { nonce: 5 });
    let noop = owner.account.nonce_state(5).unwrap().slot().unwrap().last().unwrap().hash;
    let block = Head { number: 12, hash: B256::repeat_byte(12) };
    owner.account.handle_receipts(5, &[(noop, found(block))], owner.time());
    let check = BlockCheck { number: 12, hash: Some(block.hash), finalized_number: 12 };
    owner.account.handle_block(check, owner.time());
    owner.commit();
    assert_eq!(owner.state("bad"), State::Failed(Failure::Rejected("exceeds block gas limit".into())));
}

#[test]
fn who_cannot_be_paid_for_is_held_and_the_others_go_on() {
    let mut owner = Owner::new(Config::default());
    let much = Intent { value: owner.view.balance, ..Intent::default() };
    owner.accept_intent("dear", much);
    owner.accept_intent("picky", Intent { fee_cap: Some(FeeCap(10)), ..Intent::default() });
    owner.accept("cheap");
    owner.run();
    assert_eq!(owner.state("dear"), State::Accepted { held: Some(Held::Funds) });
    assert_eq!(owner.state("picky"), State::Accepted { held: Some(Held::FeeTooHigh) });
    assert_eq!(owner.state("cheap"), State::Submitted { nonce: 5 });
    owner.view.balance *= U256::from(3);
    owner.view.quote.base_fee_per_gas = 1;
    owner.wait(3_000);
    owner.run();
    assert_eq!(owner.state("dear"), State::Submitted { nonce: 6 });
    assert_eq!(owner.state("picky"), State::Submitted { nonce: 7 });
}

#[test]
fn what_the_signer_refuses_is_held_and_the_others_go_on() {
    let mut owner = Owner::new(Config::default());
    let forbidden = |draft: &Draft| draft.intent.value == U256::from(13);
    owner.accept("a");
    owner.accept_intent("forbidden", Intent { value: U256::from(13), ..Intent::default() });
    owner.accept("b");
    owner.run_refusing(forbidden);
    assert_eq!(owner.state("forbidden"), State::Accepted { held: Some(Held::Policy) });
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
    assert_eq!(owner.state("b"), State::Submitted { nonce: 6 });
    // The signer is asked again, and if it signs now, well.
    owner.wait(30_000);
    owner.run();
    assert_eq!(owner.state("forbidden"), State::Accepted { held: Some(Held::Policy) });
    owner.wait(30_000);
    owner.run();
    assert_eq!(owner.state("forbidden"), State::Submitted { nonce: 7 });
}

#[test]
fn a_replacement_that_the_signer_refuses_delays_no_other() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.accept("b");
    owner.run();
    for name in ["a", "b"] {
        owner.account.cancel(&id(name), owner.time()).unwrap();
    }
    owner.wait(10_000);
    owner.run_refusing(|draft| draft.nonce == 5);
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
    assert_eq!(owner.state("b"), State::Cancelling { nonce: 6 });
    owner.wait(60_000);
    owner.run();
    assert_eq!(owner.state("a"), State::Cancelling { nonce: 5 });
}

#[test]
fn that_money_is_lacking_is_told_once_however_many_others_there_are() {
    let mut owner = Owner::new(Config { drafts_max: 2, ..Config::default() });
    for name in ["a", "b", "c"] {
        owner.accept(name);
    }
    let much = Intent { value: owner.view.balance, ..Intent::default() };
    owner.accept_intent("dear", much);
    owner.run();
    // As many as are looked at in one pass come before it, again and again.
    for round in 0..3 {
        owner.now -= 1_000_000;
        (0..3).for_each(|n| owner.accept(&format!("r{round}-{n}")));
        owner.now += 1_000_000;
        owner.wait(1_000);
        owner.run();
    }
    assert_eq!(owner.state("dear"), State::Accepted { held: Some(Held::Funds) });
    assert_eq!(owner.told_account(), [EventKind::LowBalance]);
}

#[test]
fn an_account_without_work_tells_that_it_could_pay_for_none() {
    let mut owner = Owner::new(Config::default());
    owner.run();
    assert_eq!(owner.told_account(), []);
    // One plain transaction at twice the base fee and the tip.
    let least = U256::from(2_010 * 21_000);
    assert_eq!(owner.account.health(owner.time()).balance_threshold, least);
    for balance in [least - U256::from(1), U256::ZERO] {
        owner.view.balance = balance;
        owner.wait(3_000);
        owner.run();
        assert_eq!(owner.told_account(), [EventKind::LowBalance]);
    }
    owner.view.balance = least;
    owner.wait(3_000);
    owner.run();
    owner.view.balance = U256::ZERO;
    owner.wait(3_000);
    owner.run();
    assert_eq!(owner.told_account(), [EventKind::LowBalance, EventKind::LowBalance]);
}

#[test]
fn the_fees_of_a_nonce_that_stands_still_are_bumped_until_the_cap() {
    let config = Config { fee_cap: 3_000, bumps_max: 50, ..Config::default() };
    let mut owner = Owner::new(config);
    owner.accept("a");
    owner.run();
    for _ in 0..10 {
        owner.wait(61_000);
        owner.run();
    }
    let NonceState::Bound(slot) = owner.account.nonce_state(5).unwrap() else { panic!("it is bound") };
    let fees: Vec<u128> = slot.attempts.iter().map(|attempt| attempt.fees.max_fee_per_gas).collect();
    // 2,010, then a fifth more, then what leaves room for a noop.
    assert_eq!(fees, [2_010, 2_412, 2_727]);
    // At the cap the last bytes are sent again.
    assert_eq!(owner.sent.last().unwrap().1, slot.attempts[2].hash);
}

#[test]
fn while_nothing_is_sealed_no_fees_are_bumped() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.run();
    owner.wait(61_000);
    owner.view.latest.number -= 1;
    owner.run();
    assert_eq!(owner.account.nonce_state(5).unwrap().slot().unwrap().attempts.len(), 1);
    owner.wait(1_000);
    owner.account.handle_bundled(5, true);
    owner.run();
    assert_eq!(owner.account.nonce_state(5).unwrap().slot().unwrap().attempts.len(), 1);
}

#[test]
fn a_record_is_forgotten_a_day_after_its_end_with_all_that_belongs_to_it() {
    let config = Config { endpoints: vec!["one".into()], ..Config::default() };
    let mut owner = Owner::new(config);
    owner.accept("a");
    owner.run();
    owner.account.cancel(&id("a"), owner.time()).unwrap();
    owner.accept("b");
    owner.account.cancel(&id("b"), owner.time()).unwrap();
    owner.commit();
    let request =
        |owner: &Owner, name: &str| serde_json::from_slice(&owner.rows[&key::request(&id(name))]).unwrap();
    let now = owner.time() + types::Duration::from_millis(owner.config.retention_ms);
    // One that goes on is never forgotten, and one that has ended not before its time.
    assert_eq!(retention::forget(&request(&owner, "a"), 1, &owner.config, now).unwrap(), None);
    let ended = request(&owner, "b");
    assert_eq!(retention::forget(&ended, 1, &owner.config, owner.time()).unwrap(), None);
    let commit = retention::forget(&ended, 1, &owner.config, now).unwrap().unwrap();
    // It waits until everybody was told.
    let waits = commit.preconditions.iter().filter(|p| owner.rows.contains_key(p.key())).count();
    assert_eq!((waits, commit.preconditions.len()), (3, 5));
    owner.store(commit);
    let left: Vec<_> = owner.rows.keys().filter(|key| key.contains("/b")).cloned().collect();
    let kept =
        |key: &String| key.starts_with("d/") || *key == key::used_name(&id("b")) || key.starts_with("u/");
    assert!(left.iter().all(kept), "{left:?}");
    // Its name stays used for longer, and goes by itself.
    let used: UsedName = serde_json::from_slice(&owner.rows[&key::used_name(&id("b"))]).unwrap();
    assert_eq!(used.outcome, StateName::Cancelled);
    assert_eq!(retention::forget_name(&used, 1, &owner.config, now).unwrap(), None);
    let later = owner.time() + types::Duration::from_millis(owner.config.name_retention_ms);
    owner.store(retention::forget_name(&used, 1, &owner.config, later).unwrap().unwrap());
    let left = owner.rows.keys().filter(|key| key.contains("/b")).count();
    assert_eq!(left, owner.rows.keys().filter(|key| key.starts_with("d/") && key.contains("/b")).count());
}

#[test]
fn an_estimate_that_no_transaction_can_do_with_is_none() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.run_with(&SendClass::Taken);
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
    owner.accept_intent(
        "b",
        Intent { to: Some(Default::default()), data: vec![0, 1].into(), ..Intent::default() },
    );
    let now = owner.time();
    let asked = |action: &crate::Action| matches!(action, crate::Action::Simulate { .. });
    assert!(owner.account.poll(now).iter().any(asked));
    for gas in [0, 21_019] {
        owner.account.handle_simulation(&id("b"), Simulation::Gas(gas), now);
        owner.commit();
        assert_eq!(owner.state("b"), State::Accepted { held: None }, "it is asked again");
    }
    owner.wait(owner.config.backoff_max_ms);
    owner.run();
    assert_eq!(owner.state("b"), State::Submitted { nonce: 6 });
}
