//! Requests whose callers do not wait any longer.

use super::harness::{Owner, id};
use crate::{Command, CommandKind, Config, Held, Intent, State, Withdrawal};
use alloy_primitives::U256;

fn dear(owner: &Owner) -> Intent {
    Intent { value: owner.view.balance, ..Intent::default() }
}

#[test]
fn what_has_not_left_is_cancelled_and_what_has_goes_on_without_a_noop() {
    let mut owner = Owner::new(Config::default());
    owner.accept("sent");
    owner.run();
    owner.accept_intent("dear", dear(&owner));
    owner.run();
    let now = owner.time();
    assert_eq!(owner.account.withdraw(&id("dear"), now), Ok(Withdrawal::Withdrawn));
    assert_eq!(owner.account.withdraw(&id("sent"), now), Ok(Withdrawal::TooLate));
    owner.commit();
    assert_eq!(owner.stored("dear").state, State::Cancelled);
    assert!(owner.account.withdraw(&id("dear"), now).is_err(), "it has ended");
    // Also if another process leaves it as a command.
    let kind = CommandKind::Withdraw(id("sent"));
    let command = Command { id: id("c"), account: owner.account.id(), at: now, kind };
    owner.account.handle_command(&command, now).unwrap();
    owner.run();
    assert_eq!(owner.stored("sent").state, State::Submitted { nonce: 5 });
    let slot = owner.account.nonce_state(5).unwrap().slot().unwrap().clone();
    assert_eq!((slot.cancel, slot.attempts.len()), (None, 1));
}

#[test]
fn a_hold_is_judged_by_a_look_that_came_after_the_acceptance() {
    let mut owner = Owner::new(Config::default());
    owner.accept("first");
    owner.run();
    owner.accept_intent("dear", dear(&owner));
    owner.run();
    assert_eq!(owner.stored("dear").state, State::Accepted { held: Some(Held::Funds) });
    assert_eq!(owner.account.verdict(&id("dear"), owner.time()), None, "the look is older than the request");
    owner.now += 1;
    owner.run();
    assert_eq!(owner.account.verdict(&id("dear"), owner.time()), Some(Held::Funds));
    // Money comes, and the row does not say so yet.
    owner.view.balance *= U256::from(3);
    owner.now += 1;
    let (view, now) = (owner.view, owner.time());
    owner.account.handle_view(view, now);
    assert_eq!(owner.stored("dear").state, State::Accepted { held: Some(Held::Funds) });
    assert_eq!(owner.account.verdict(&id("dear"), now), None);
    owner.account.pause_sending(true);
    assert_eq!(owner.account.verdict(&id("dear"), now), Some(Held::Paused));
}
