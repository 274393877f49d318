//! Requests that need what an earlier one of the same account does: approve, then use.

use super::{harness::Owner, id};
use crate::{AcceptError, Basis, Config, Failure, Held, Intent, RequestOptions, Simulate, State, accept};

/// An account with "approve" and "use", where the second needs the first.
fn dependents(simulates_on_top: bool) -> Owner {
    let mut owner = Owner::new(Config::default());
    owner.simulates_on_top = simulates_on_top;
    owner.needs.insert(id("use"), id("approve"));
    owner.accept("approve");
    owner.accept("use");
    owner
}

const HELD: State = State::Accepted { held: Some(Held::Parent) };

#[test]
fn one_that_needs_another_waits_until_that_is_mined_and_the_others_go_on() {
    let mut owner = dependents(false);
    owner.accept("other");
    owner.run();
    assert_eq!(owner.state("approve"), State::Submitted { nonce: 5 });
    assert_eq!(owner.state("use"), HELD);
    assert_eq!(owner.state("other"), State::Submitted { nonce: 6 });
    // While nothing has changed it stays so, also for the next owner.
    owner.wait(30_000);
    owner.run();
    owner.restart();
    owner.run();
    assert_eq!(owner.state("use"), HELD);
    owner.mine_next();
    owner.wait(1_000);
    owner.run();
    assert_eq!(owner.state("use"), State::Submitted { nonce: 7 });
}

#[test]
fn where_nodes_simulate_on_top_of_others_it_follows_at_once() {
    let mut owner = dependents(true);
    owner.run();
    assert_eq!(owner.state("approve"), State::Submitted { nonce: 5 });
    assert_eq!(owner.state("use"), State::Submitted { nonce: 6 });
}

#[test]
fn a_revert_on_top_of_all_others_is_an_end_and_says_so() {
    let mut owner = dependents(true);
    owner.needs.insert(id("use"), id("nothing"));
    owner.run();
    let State::Failed(Failure::Simulation { on, reason, .. }) = owner.state("use") else { panic!() };
    assert_eq!((on, reason.as_str()), (Basis::InFlight, "no allowance"));
}

#[test]
fn one_whose_parent_has_ended_fails_on_the_newest_state() {
    let mut owner = dependents(false);
    owner.needs.insert(id("use"), id("nothing"));
    owner.run();
    assert_eq!(owner.state("use"), HELD);
    owner.mine_next();
    // The node that was asked may not have the block yet.
    owner.wait(2_000);
    owner.run();
    assert_eq!(owner.state("use"), HELD);
    owner.wait(10_000);
    owner.run();
    let State::Failed(Failure::Simulation { on, .. }) = owner.state("use") else { panic!() };
    assert_eq!(on, Basis::Newest);
}

#[test]
fn after_parent_asks_nobody_before() {
    let mut owner = Owner::new(Config::default());
    owner.accept("first");
    let options = RequestOptions { simulate: Simulate::AfterParent, ..RequestOptions::default() };
    owner.accept_with("second", Intent::noop(super::account_id().address, 50_000), options);
    owner.run();
    assert_eq!(owner.state("second"), HELD);
    owner.mine_next();
    owner.wait(1_000);
    owner.run();
    assert_eq!(owner.state("second"), State::Submitted { nonce: 6 });
}

#[test]
fn what_is_not_simulated_names_its_gas() {
    let mut owner = Owner::new(Config::default());
    owner.needs.insert(id("blind"), id("nothing"));
    let options = RequestOptions { simulate: Simulate::Never, ..RequestOptions::default() };
    owner.accept_with("blind", Intent::noop(super::account_id().address, 50_000), options.clone());
    owner.run();
    assert_eq!(owner.state("blind"), State::Submitted { nonce: 5 });
    let mut new = super::new_request("other");
    new.options = options;
    let refused = accept::decide(new, None, 0, &Config::default(), owner.time());
    assert!(matches!(refused, Err(AcceptError::NoGas)));
}

#[test]
fn one_that_needs_a_request_that_is_held_waits_with_it() {
    let mut owner = Owner::new(Config::default());
    owner.simulates_on_top = true;
    owner.needs.insert(id("use"), id("approve"));
    owner.accept_intent("approve", Intent { value: owner.view.balance, ..super::plain() });
    owner.accept("use");
    owner.run();
    assert_eq!(owner.state("approve"), State::Accepted { held: Some(Held::Funds) });
    assert_eq!(owner.state("use"), HELD);
}
