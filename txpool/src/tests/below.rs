//! Transactions whose fee cap is below the base fee: accepted, kept, and executable by themselves once it falls.

use super::world::{Draft, GWEI, HEAD, draft, names, rich, sender};
use crate::{Account, Advice, Config, Head, Pool, SenderContent, StateChange, Status};
use alloy_primitives::{Address, U256};
use types::{Event, Time, Transaction};

const NOW: Time = Time::from_millis(1_000);
const FLOOR: u64 = GWEI as u64;

/// The next block's base fee is so many gwei.
fn at(gwei: u64) -> Head {
    Head { base_fee_wei: gwei * FLOOR, ..HEAD }
}

/// A transfer that pays at most `gwei`.
fn paying(n: u8, nonce: u64, gwei: u128) -> Transaction {
    Draft { fee: gwei * GWEI, tip: GWEI, ..draft(n, nonce, 1) }.make()
}

fn insert(pool: &mut Pool, tx: &Transaction) -> Status {
    pool.insert(tx.clone(), rich(0), NOW).unwrap().status
}

fn update(pool: &mut Pool, gwei: u64, accounts: &[(Address, Account)]) {
    pool.update(&StateChange { head: at(gwei), accounts });
}

fn hashes(pool: &mut Pool) -> Vec<Transaction> {
    pool.best().map(|best| best.tx).collect()
}

#[test]
fn it_is_accepted_waits_with_its_descendants_and_is_promoted_when_the_base_fee_falls() {
    let mut pool = Pool::new(Config::default(), at(4));
    let all = [paying(0, 0, 9), paying(0, 1, 3), paying(0, 2, 9)];
    let statuses = all.each_ref().map(|tx| insert(&mut pool, tx));
    assert_eq!(statuses, [Status::Pending, Status::BelowBaseFee, Status::BelowBaseFee]);
    assert_eq!(insert(&mut pool, &paying(0, 4, 3)), Status::Queued, "a nonce before it is missing");
    assert_eq!(hashes(&mut pool), all[..1], "the builder does not see them");
    assert_eq!(pool.next_nonce(&sender(0)), Some(3));
    names(&mut pool);
    update(&mut pool, 4, &[]);
    assert_eq!(hashes(&mut pool), all[..1]);
    assert_eq!(names(&mut pool), Vec::<&str>::new());
    update(&mut pool, 3, &[]);
    assert_eq!(names(&mut pool), ["promoted", "promoted"]);
    assert_eq!(hashes(&mut pool), all);
    update(&mut pool, 4, &[]);
    assert_eq!(names(&mut pool), ["demoted", "demoted"]);
    assert_eq!(pool.get(&all[2].hash()).unwrap().status, Status::BelowBaseFee);
}

#[test]
fn it_is_shown_as_pending_as_go_ethereum_shows_it() {
    let mut pool = Pool::new(Config::default(), at(4));
    let all = [paying(0, 0, 9), paying(0, 1, 3), paying(0, 2, 9), paying(0, 4, 9)];
    for tx in &all {
        insert(&mut pool, tx);
    }
    let stats = pool.stats();
    assert_eq!((stats.pending, stats.queued, stats.below_base_fee), (1, 3, 2));
    let content = SenderContent { sender: sender(0), pending: all[..3].to_vec(), queued: all[3..].to_vec() };
    assert_eq!(pool.content_of(&sender(0)), content);
    assert_eq!(pool.content(), [content]);
    assert_eq!(pool.pending(), all[..1], "only what can be executed is in the order for building");
}

#[test]
fn the_pool_knows_whether_a_lower_base_fee_sets_one_free() {
    let mut pool = Pool::new(Config::default(), at(4));
    assert!(!pool.waits_for_base_fee(0));
    insert(&mut pool, &paying(0, 0, 9));
    insert(&mut pool, &paying(1, 1, 3));
    assert!(!pool.waits_for_base_fee(0), "executable, and behind a gap");
    insert(&mut pool, &paying(2, 0, 3));
    assert!(pool.waits_for_base_fee(3 * FLOOR) && !pool.waits_for_base_fee(3 * FLOOR + 1));
    insert(&mut pool, &paying(3, 0, 2));
    assert!(pool.waits_for_base_fee(3 * FLOOR));
    // The first of its sender decides; a later one that pays more waits for that.
    insert(&mut pool, &paying(4, 0, 1));
    insert(&mut pool, &paying(4, 1, 9));
    assert!(!pool.waits_for_base_fee(3 * FLOOR + 1));

    let poor = Account { balance: U256::from(1), ..rich(0) };
    update(&mut pool, 4, &[(sender(2), poor)]);
    assert!(pool.waits_for_base_fee(2 * FLOOR) && !pool.waits_for_base_fee(3 * FLOOR), "funds lack too");
    update(&mut pool, 2, &[]);
    assert!(pool.waits_for_base_fee(FLOOR) && !pool.waits_for_base_fee(2 * FLOOR), "one is pending now");
    assert_eq!(pool.remove_sender(&sender(4), &types::Reason::Flushed), 2);
    assert!(!pool.waits_for_base_fee(0));
}

#[test]
fn replacing_it_follows_the_rules_of_replacement() {
    let mut pool = Pool::new(Config::default(), at(4));
    insert(&mut pool, &paying(0, 0, 2));
    insert(&mut pool, &paying(0, 1, 9));
    let little = Draft { fee: 2 * GWEI + 1, tip: GWEI, ..draft(0, 0, 1) }.make();
    let error = pool.insert(little, rich(0), NOW).unwrap_err();
    assert_eq!(error.to_string(), "replacement transaction underpriced");
    let more = Draft { fee: 3 * GWEI, tip: 2 * GWEI, ..draft(0, 0, 1) }.make();
    assert_eq!(insert(&mut pool, &more), Status::BelowBaseFee);
    assert!(pool.waits_for_base_fee(3 * FLOOR));
    let enough = Draft { fee: 9 * GWEI, tip: 3 * GWEI, ..draft(0, 0, 1) }.make();
    assert_eq!(insert(&mut pool, &enough), Status::Pending);
    assert_eq!((pool.stats().pending, pool.stats().below_base_fee), (2, 0));
    assert!(!pool.waits_for_base_fee(0));
}

#[test]
fn it_makes_room_for_what_can_be_executed_and_never_the_other_way_round() {
    let len = paying(0, 0, 3).encoded().len();
    let config = Config { pool_bytes_max: 2 * len, ..Config::default() };
    let mut pool = Pool::new(config, at(4));
    insert(&mut pool, &paying(0, 0, 3));
    insert(&mut pool, &paying(1, 0, 4));
    // It pays no tip at all, but it can be executed.
    assert_eq!(insert(&mut pool, &paying(2, 0, 4)), Status::Pending);
    assert!(pool.get(&paying(0, 0, 3).hash()).is_none());
    let error = pool.insert(paying(3, 0, 3), rich(0), NOW).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.advice()), ("transaction underpriced", Advice::RaiseFee));
}

#[test]
fn of_those_that_wait_the_one_that_pays_least_goes_first() {
    let mut pool = Pool::new(Config { queued_max: 2, ..Config::default() }, at(9));
    insert(&mut pool, &paying(0, 0, 3));
    insert(&mut pool, &paying(1, 0, 2));
    let error = pool.insert(paying(2, 0, 1), rich(0), NOW).unwrap_err();
    assert_eq!(error.to_string(), "transaction underpriced");
    pool.drain_events();
    insert(&mut pool, &paying(2, 0, 4));
    let evicted = Event::Evicted { hash: paying(1, 0, 2).hash(), sender: sender(1) };
    assert_eq!(pool.drain_events().next(), Some(evicted));
    assert_eq!(pool.stats().below_base_fee, 2);
}

#[test]
fn a_restart_keeps_it() {
    let mut old = Pool::new(Config::default(), at(4));
    let all = [paying(0, 0, 3), paying(0, 1, 9)];
    for tx in &all {
        insert(&mut old, tx);
    }
    let mut new = Pool::new(Config::default(), at(4));
    for tx in &all {
        new.restore(old.get(&tx.hash()).unwrap(), rich(0));
    }
    update(&mut new, 4, &[]);
    assert_eq!(new.stats().below_base_fee, 2);
    assert!(new.waits_for_base_fee(3 * FLOOR));
    update(&mut new, 3, &[]);
    assert_eq!(hashes(&mut new), all);
}
