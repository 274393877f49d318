//! Chains with EIP-1559 and without it.

use super::harness::{Owner, id};
use crate::{Attempt, AttemptKind, CancelOutcome, Config, Fees, Intent, NonceState, Quote, SendClass, State};

fn attempts(owner: &Owner, nonce: u64) -> Vec<Attempt> {
    owner.account.nonce_state(nonce).and_then(NonceState::slot).unwrap().attempts.clone()
}

fn on_gas_prices() -> Owner {
    let mut owner = Owner::new(Config::default());
    owner.view.quote = Quote::gas_price(1_000);
    owner
}

const PRICE: Fees = Fees { max_fee_per_gas: 1_000, max_priority_fee_per_gas: 1_000 };

#[test]
fn without_a_base_fee_everything_has_one_gas_price() {
    let mut owner = on_gas_prices();
    owner.accept("a");
    owner.run();
    let first = &attempts(&owner, 5)[0];
    assert!(first.legacy);
    assert_eq!(first.fees, PRICE);
    assert!(!owner.stored("a").intent.legacy, "what the caller wanted is kept as it was");
    // The noop that cancels it, too.
    assert_eq!(owner.account.cancel(&id("a"), owner.time()), Ok(CancelOutcome::Cancelling));
    owner.wait(owner.config.replacement_interval_ms);
    owner.run();
    let noop = attempts(&owner, 5).pop().unwrap();
    assert_eq!((noop.kind, noop.legacy), (AttemptKind::Noop, true));
    assert!(noop.fees.may_replace(&PRICE));
}

#[test]
fn a_gap_is_filled_with_a_transaction_that_the_chain_takes() {
    let mut owner = on_gas_prices();
    owner.run();
    let until = owner.time() + types::Duration::from_millis(1);
    owner.account.reserve("token", until, owner.time()).unwrap();
    owner.commit();
    owner.wait(1);
    owner.run();
    let filled = &attempts(&owner, 5)[0];
    assert_eq!((filled.kind, filled.legacy, filled.fees), (AttemptKind::Noop, true, PRICE));
}

#[test]
fn what_was_signed_for_the_wrong_market_is_signed_again_however_often_it_was_bumped() {
    let config = Config { bumps_max: 2, ..Config::default() };
    let mut owner = Owner::new(config);
    owner.accept("a");
    owner.accept("b");
    for _ in 0..5 {
        owner.run_with(&SendClass::Unknown);
        owner.wait(owner.config.stall_ms);
    }
    assert_eq!(attempts(&owner, 5).len(), 3, "no more bumps are left");
    assert_eq!(owner.account.cancel(&id("b"), owner.time()), Ok(CancelOutcome::Cancelling));
    owner.view.quote = Quote::gas_price(1_000);
    owner.wait(1);
    owner.run();
    let (a, b) = (attempts(&owner, 5).pop().unwrap(), attempts(&owner, 6).pop().unwrap());
    assert_eq!((a.kind, a.legacy), (AttemptKind::Payload, true));
    assert_eq!((b.kind, b.legacy), (AttemptKind::Noop, true));
    assert!(owner.sent.contains(&(5, a.hash)) && owner.sent.contains(&(6, b.hash)));
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
    // Once is enough.
    owner.wait(owner.config.replacement_interval_ms);
    owner.run();
    assert_eq!(attempts(&owner, 5).len(), 4);
}

#[test]
fn a_node_that_refuses_the_type_is_believed_although_blocks_have_a_base_fee() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.run_with(&SendClass::TypeRefused);
    assert!(!attempts(&owner, 5)[0].legacy);
    owner.wait(owner.config.replacement_interval_ms);
    owner.accept("b");
    owner.run();
    assert!(attempts(&owner, 5)[1].legacy && attempts(&owner, 6)[0].legacy);
    assert_eq!(owner.state("a"), State::Submitted { nonce: 5 });
}

#[test]
fn a_type_that_is_refused_although_it_is_the_oldest_one_cannot_be_helped() {
    let mut owner = on_gas_prices();
    owner.accept_intent("a", Intent { access_list: vec![Default::default()], ..Intent::default() });
    owner.run_with(&SendClass::TypeRefused);
    owner.wait(owner.config.replacement_interval_ms);
    owner.run();
    assert_eq!(attempts(&owner, 5)[1].kind, AttemptKind::Noop, "a noop takes its nonce");
}
