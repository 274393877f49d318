//! Which nonce comes next: behind all that blocks took, and behind what can be paid for.

use super::world::{Draft, HEAD, draft, names, pool, rich, sender, tx};
use crate::{Account, Code, Error, Pool, Returned, StateChange, Status, Verdict};
use alloy_primitives::{Address, B256, U256};
use types::{BlockId, Time};

const NOW: Time = Time::from_millis(1_000);

fn update(pool: &mut Pool, accounts: &[(Address, Account)]) {
    pool.update(&StateChange { head: HEAD, accounts });
}

#[test]
fn what_cannot_be_paid_for_does_not_count() {
    let mut pool = pool();
    let delegated = Account { code: Code::Delegated, ..rich(0) };
    pool.insert(tx(0, 0, 1), delegated, NOW).unwrap();
    assert_eq!(pool.next_nonce(&sender(0)), Some(1));
    // Its code moves all that it owns: what waits cannot be executed, and the next one takes its nonce.
    update(&mut pool, &[(sender(0), Account { balance: U256::from(1), ..delegated })]);
    assert_eq!(pool.get(&tx(0, 0, 1).hash()).unwrap().status, Status::Queued);
    assert_eq!(pool.next_nonce(&sender(0)), Some(0));
    update(&mut pool, &[(sender(0), delegated)]);
    assert_eq!(pool.next_nonce(&sender(0)), Some(1));
}

#[test]
fn a_nonce_that_an_authorization_in_the_open_block_took_is_refused() {
    let mut pool = pool();
    let set_code = Draft { authorities: vec![sender(0)], ..draft(1, 0, 1) }.make();
    pool.insert(set_code.clone(), rich(0), NOW).unwrap();
    assert_eq!(pool.next_nonce(&sender(0)), None);
    assert!(pool.mark_open(&set_code.hash()));
    pool.mark_consumed([(sender(0), 1)]);
    assert_eq!(pool.consumed().collect::<Vec<_>>(), [sender(0)]);
    assert_eq!(pool.next_nonce(&sender(0)), Some(1), "also of an account that has nothing here");
    let error = pool.insert(tx(0, 0, 1), rich(0), NOW).unwrap_err();
    assert_eq!(error, Error::NonceTooLow { next: 1, nonce: 0 });
    assert_eq!(pool.insert(tx(0, 1, 1), rich(0), NOW).unwrap().status, Status::Pending);
    assert_eq!(pool.next_nonce(&sender(0)), Some(2));
    let error = pool.insert(tx(0, 2, 1), rich(0), NOW).unwrap_err();
    assert_eq!(error, Error::DelegatedLimit, "the account is delegated from this block on");

    // Once the block is sealed the account shows it.
    pool.mark_bundled(BlockId::new(1, B256::ZERO), [&set_code]);
    update(&mut pool, &[(sender(0), rich(1)), (sender(1), rich(1))]);
    assert_eq!((pool.consumed().count(), pool.next_nonce(&sender(0))), (0, Some(2)));
}

#[test]
fn what_waits_with_a_nonce_that_was_taken_is_kept_until_the_block_is_sealed() {
    let mut pool = pool();
    let set_code = Draft { authorities: vec![sender(0)], ..draft(1, 0, 9) }.make();
    pool.insert(tx(0, 0, 1), rich(0), NOW).unwrap();
    pool.insert(set_code.clone(), rich(0), NOW).unwrap();
    assert!(pool.mark_open(&set_code.hash()));
    names(&mut pool);
    pool.mark_consumed([(sender(0), 1)]);
    assert_eq!(names(&mut pool), ["demoted"]);
    assert_eq!(pool.best().next(), None, "the builder does not get it");
    assert_eq!(pool.next_nonce(&sender(0)), Some(1));

    // The open block is given up: the nonce is free again.
    let accounts = [(sender(1), rich(0))];
    let returned = [Returned { tx: set_code.clone(), verdict: Verdict::Innocent }];
    pool.reinsert(returned, &StateChange { head: HEAD, accounts: &accounts }, NOW);
    assert_eq!(pool.stats().pending, 2);
    assert_eq!(pool.next_nonce(&sender(0)), Some(1), "behind the one that waits");

    // The next one is sealed: what waits has lost its nonce.
    assert!(pool.mark_open(&set_code.hash()));
    pool.mark_consumed([(sender(0), 1)]);
    pool.mark_bundled(BlockId::new(1, B256::ZERO), [&set_code]);
    names(&mut pool);
    update(&mut pool, &[(sender(0), rich(1)), (sender(1), rich(1))]);
    assert_eq!(names(&mut pool), ["dropped"]);
}
