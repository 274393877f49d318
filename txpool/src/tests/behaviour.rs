//! One story per test.

use super::world::{Draft, GWEI, HEAD, draft, names, pool, rich, sender, tx};
use crate::{
    Account, Config, Error, Head, Inserted, Pool, Returned, SenderContent, StateChange, Status, Verdict,
};
use alloy_primitives::{Address, B256, U256};
use types::{BlockId, Duration, Event, Reason, Time, Transaction};

const NOW: Time = Time::from_millis(1_000);

fn insert(pool: &mut Pool, tx: &Transaction) -> Status {
    pool.insert(tx.clone(), rich(0), NOW).unwrap().status
}

fn update(pool: &mut Pool, accounts: &[(Address, Account)]) {
    pool.update(&StateChange { head: HEAD, accounts });
}

fn order(pool: &mut Pool) -> Vec<(Address, u64)> {
    use alloy_consensus::Transaction as _;
    pool.best().map(|best| (best.tx.sender(), best.tx.nonce())).collect()
}

fn block(number: u64) -> BlockId {
    BlockId::new(number, B256::with_last_byte(number as u8))
}

/// Deadlines of what has left are thrown away when there are many of them, but never that of what comes just then.
#[test]
fn everything_that_waits_has_a_deadline_however_many_came_and_went() {
    let one = tx(0, 0, 1);
    let change = StateChange { head: HEAD, accounts: &[] };
    for count in 1020..1030 {
        let mut came = pool();
        for _ in 0..count {
            insert(&mut came, &one);
            came.remove(&one.hash(), Reason::NonceTooLow);
        }
        insert(&mut came, &one);
        assert!(came.poll_timeout().is_some(), "after {count} that were removed");
        let mut returned = pool();
        insert(&mut returned, &one);
        for round in 0..count {
            returned.mark_bundled(block(round), [&one]);
            let back = Returned { tx: one.clone(), verdict: Verdict::Innocent };
            returned.reinsert([back], &change, NOW + Duration::from_millis(round));
        }
        assert!(returned.poll_timeout().is_some(), "after {count} releases");
    }
}

#[test]
fn a_gap_is_waited_for_and_filled() {
    let mut pool = pool();
    assert_eq!(insert(&mut pool, &tx(0, 0, 1)), Status::Pending);
    assert_eq!(insert(&mut pool, &tx(0, 2, 1)), Status::Queued);
    assert_eq!(insert(&mut pool, &tx(0, 3, 1)), Status::Queued);
    assert_eq!(pool.next_nonce(&sender(0)), Some(1));
    assert_eq!(names(&mut pool), ["added pending", "added queued", "added queued"]);
    assert_eq!(insert(&mut pool, &tx(0, 1, 1)), Status::Pending);
    assert_eq!(names(&mut pool), ["added pending", "promoted", "promoted"]);
    assert_eq!(pool.next_nonce(&sender(0)), Some(4));
    assert_eq!(pool.next_nonce(&sender(1)), None);
    pool.remove(&tx(0, 1, 1).hash(), Reason::Flushed).unwrap();
    assert_eq!(names(&mut pool), ["dropped", "demoted", "demoted"]);
    assert_eq!(pool.size(), 3);
}

#[test]
fn the_best_tip_first_but_nonces_in_order_and_ties_by_arrival() {
    let mut pool = pool();
    for (n, nonce, tip) in [(0, 0, 1), (0, 1, 9), (1, 0, 5), (2, 0, 5), (1, 1, 2), (3, 1, 99)] {
        insert(&mut pool, &tx(n, nonce, tip));
    }
    let expected = [(1, 0), (2, 0), (1, 1), (0, 0), (0, 1)].map(|(n, nonce)| (sender(n), nonce));
    assert_eq!(order(&mut pool), expected);
    assert_eq!(order(&mut pool), [], "each is handed out once");
    pool.rewind();
    assert_eq!(order(&mut pool), expected);
}

#[test]
fn the_tip_is_what_the_base_fee_leaves() {
    let mut pool = pool();
    let tight = Draft { fee: 3 * GWEI, ..draft(0, 0, 3) }.make();
    insert(&mut pool, &tight);
    insert(&mut pool, &tx(1, 0, 2));
    assert_eq!(pool.best().next().unwrap().tip_wei, 2 * GWEI, "three minus a base fee of one");
    assert_eq!(order(&mut pool), [(sender(1), 0)]);
    pool.update(&StateChange { head: Head { base_fee_wei: 2 * GWEI as u64, ..HEAD }, accounts: &[] });
    assert_eq!(order(&mut pool), [(sender(1), 0), (sender(0), 0)]);
    pool.drain_events();
    pool.update(&StateChange { head: Head { base_fee_wei: 4 * GWEI as u64, ..HEAD }, accounts: &[] });
    assert_eq!(names(&mut pool), ["demoted"]);
    assert_eq!(order(&mut pool), [(sender(1), 0)]);
    pool.update(&StateChange { head: HEAD, accounts: &[] });
    assert_eq!(names(&mut pool), ["promoted"]);
}

#[test]
fn an_invalid_one_takes_only_its_descendants_along() {
    let mut pool = pool();
    for (n, nonce) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        insert(&mut pool, &tx(n, nonce, 5));
    }
    let first = pool.best().next().unwrap();
    assert_eq!(first.tx, tx(0, 0, 5));
    pool.best().mark_invalid(&first.tx.hash());
    insert(&mut pool, &tx(0, 2, 99));
    assert_eq!(order(&mut pool), [(sender(1), 0), (sender(1), 1)]);
    // Another one with its nonce is another chance, in the same block.
    insert(&mut pool, &tx(0, 0, 50));
    assert_eq!(order(&mut pool), [(sender(0), 0), (sender(0), 1), (sender(0), 2)]);
}

#[test]
fn building_goes_on_while_inserts_go_on() {
    let mut pool = pool();
    insert(&mut pool, &tx(0, 0, 5));
    insert(&mut pool, &tx(1, 0, 3));
    let mut taken = vec![];
    let mut take = |pool: &mut Pool| {
        let best = pool.best().next()?;
        assert!(pool.mark_open(&best.tx.hash()));
        taken.push(best.tx.clone());
        Some(best.tx)
    };
    assert_eq!(take(&mut pool), Some(tx(0, 0, 5)));
    insert(&mut pool, &tx(2, 0, 9));
    insert(&mut pool, &tx(0, 1, 4));
    assert_eq!(take(&mut pool), Some(tx(2, 0, 9)));
    assert_eq!(take(&mut pool), Some(tx(0, 1, 4)));
    assert_eq!(take(&mut pool), Some(tx(1, 0, 3)));
    assert_eq!(take(&mut pool), None);
    insert(&mut pool, &tx(1, 1, 1));
    assert_eq!(take(&mut pool), Some(tx(1, 1, 1)));
    assert_eq!((pool.size(), pool.stats().bundled), (0, 5));
    assert_eq!(pool.mark_bundled(block(1), &taken), 5);
    assert_eq!(pool.get(&tx(1, 1, 1).hash()).unwrap().status, Status::Bundled(block(1)));
    assert_eq!(pool.next_nonce(&sender(0)), Some(2));
}

#[test]
fn from_acceptance_to_finality() {
    let mut pool = pool();
    let txs = [tx(0, 0, 5), tx(0, 1, 5)];
    for tx in &txs {
        insert(&mut pool, tx);
        assert!(pool.mark_open(&tx.hash()));
    }
    assert_eq!(pool.get(&txs[0].hash()).unwrap().status, Status::Open);
    pool.drain_events();
    assert_eq!(pool.mark_bundled(block(7), &txs), 2);
    update(&mut pool, &[(sender(0), rich(2))]);
    assert!(pool.remove(&txs[0].hash(), Reason::Flushed).is_none(), "what is in a block stays");
    assert_eq!(pool.cleanup(Time::MAX), 0, "and does not expire");
    assert_eq!(pool.mark_final(block(7)), 2);
    assert_eq!(names(&mut pool), ["bundled", "bundled", "final", "final"]);
    assert!(pool.get(&txs[0].hash()).is_none());
    assert_eq!(pool.stats().senders, 0);
    assert_eq!(pool.stats().totals.finalized, 2);
}

#[test]
fn a_release_gives_everything_back_in_order_with_suspects_last() {
    let mut pool = pool();
    let dead = [tx(0, 0, 9), tx(1, 0, 9), tx(0, 1, 9)];
    let child = [tx(0, 2, 9)];
    for tx in dead.iter().chain(&child) {
        insert(&mut pool, tx);
        assert!(pool.mark_open(&tx.hash()));
    }
    pool.mark_bundled(block(1), &dead);
    pool.mark_bundled(block(2), &child);
    update(&mut pool, &[(sender(0), rich(3)), (sender(1), rich(1))]);
    pool.insert(tx(2, 0, 1), rich(0), NOW).unwrap();
    pool.insert(tx(0, 3, 9), rich(3), NOW).unwrap();
    pool.drain_events();
    let suspects = dead.iter().map(|tx| Returned { tx: tx.clone(), verdict: Verdict::Suspect });
    let innocent = child.iter().map(|tx| Returned { tx: tx.clone(), verdict: Verdict::Innocent });
    let accounts = [(sender(0), rich(0)), (sender(1), rich(0))];
    let later = NOW + Duration::from_secs(3600);
    pool.reinsert(
        suspects.chain(innocent).collect::<Vec<_>>(),
        &StateChange { head: HEAD, accounts: &accounts },
        later,
    );
    let events = names(&mut pool);
    assert_eq!(events.iter().filter(|name| **name == "returned").count(), 4);
    assert_eq!(pool.get(&dead[0].hash()).unwrap().attempts, 1);
    assert_eq!(pool.get(&child[0].hash()).unwrap().attempts, 0);
    let expected = [(2, 0), (0, 0), (1, 0), (0, 1), (0, 2), (0, 3)].map(|(n, nonce)| (sender(n), nonce));
    assert_eq!(order(&mut pool), expected, "the small tip of the innocent goes first");
    assert_eq!(pool.cleanup(later + Duration::from_secs(3600)), 2, "their time starts anew");
    assert_eq!((pool.mark_final(block(1)), pool.mark_final(block(2))), (0, 0), "the blocks are forgotten");
}

#[test]
fn a_release_judges_what_can_be_paid_by_the_state_that_holds_then() {
    // Enough for three; the block with the first one leaves enough for the other two alone. Counted against that, with
    // the first one back, the third could not be paid: it must not even for a moment be demoted.
    let mut pool = pool();
    let cost = U256::from(100_000 * 101 * GWEI + 1);
    let account = |nonce, txs| Account { balance: cost * U256::from(txs), ..rich(nonce) };
    let all = [0, 1, 2].map(|nonce| tx(0, nonce, 1));
    for tx in &all {
        pool.insert(tx.clone(), account(0, 3), NOW).unwrap();
    }
    pool.mark_bundled(block(1), [&all[0]]);
    update(&mut pool, &[(sender(0), account(1, 2))]);
    pool.drain_events();
    let accounts = [(sender(0), account(0, 3))];
    let returned = Returned { tx: all[0].clone(), verdict: Verdict::Innocent };
    pool.reinsert([returned], &StateChange { head: HEAD, accounts: &accounts }, NOW);
    assert_eq!(names(&mut pool), ["returned", "promoted"]);
    assert_eq!(pool.pending(), all);
}

#[test]
fn what_comes_back_is_not_stale_even_if_its_account_is_not_told() {
    let mut pool = pool();
    insert(&mut pool, &tx(0, 0, 1));
    pool.mark_bundled(block(1), [&tx(0, 0, 1)]);
    update(&mut pool, &[(sender(0), rich(1))]);
    let returned = Returned { tx: tx(0, 0, 1), verdict: Verdict::Innocent };
    pool.reinsert([returned], &StateChange { head: HEAD, accounts: &[] }, NOW);
    assert_eq!(order(&mut pool), [(sender(0), 0)]);
}

#[test]
fn a_poisonous_one_is_dropped_after_three_lone_failures() {
    let mut pool = pool();
    let poison = tx(0, 0, 9);
    insert(&mut pool, &poison);
    insert(&mut pool, &tx(0, 1, 9));
    let accounts = [(sender(0), rich(0))];
    let change = StateChange { head: HEAD, accounts: &accounts };
    for attempt in 1..=4 {
        assert!(pool.mark_open(&poison.hash()));
        pool.mark_bundled(block(attempt), [&poison]);
        update(&mut pool, &[(sender(0), rich(1))]);
        pool.drain_events();
        // The first time it was not alone; only the other three count.
        let verdict = if attempt == 1 { Verdict::Suspect } else { Verdict::Alone };
        pool.reinsert([Returned { tx: poison.clone(), verdict }], &change, NOW);
    }
    let dropped =
        Event::Dropped { hash: poison.hash(), sender: sender(0), reason: Reason::Poisonous { attempts: 4 } };
    assert!(pool.drain_events().any(|event| event == dropped));
    assert_eq!(pool.get(&tx(0, 1, 9).hash()).unwrap().status, Status::Queued);
    insert(&mut pool, &tx(0, 0, 1));
    assert_eq!(pool.stats().pending, 2, "another of its nonce sets free what followed");
}

#[test]
fn a_returned_transaction_that_the_pool_does_not_know_is_taken_in() {
    let mut pool = pool();
    let accounts = [(sender(0), rich(4))];
    let returned = [3, 4].map(|nonce| Returned { tx: tx(0, nonce, 1), verdict: Verdict::Innocent });
    pool.reinsert(returned, &StateChange { head: HEAD, accounts: &accounts }, NOW);
    assert_eq!(names(&mut pool), ["returned", "returned", "dropped", "promoted"], "one has a used nonce");
    assert_eq!(order(&mut pool), [(sender(0), 4)]);

    // Nor can it push out what is in a block.
    assert!(pool.mark_open(&tx(0, 4, 1).hash()));
    pool.mark_bundled(block(1), [&tx(0, 4, 1)]);
    pool.drain_events();
    let other = Returned { tx: tx(0, 4, 2), verdict: Verdict::Suspect };
    pool.reinsert([other], &StateChange { head: HEAD, accounts: &accounts }, NOW);
    assert_eq!(names(&mut pool), ["dropped"]);
    assert_eq!(pool.mark_final(block(1)), 1);
}

#[test]
fn the_state_promotes_demotes_and_drops() {
    let mut pool = pool();
    for nonce in 0..4 {
        insert(&mut pool, &tx(0, nonce, 1));
    }
    pool.drain_events();
    let cost = U256::from(100_000 * 101 * GWEI + 1);
    let poor = Account { balance: cost * U256::from(2), ..rich(1) };
    update(&mut pool, &[(sender(0), poor)]);
    assert_eq!(names(&mut pool), ["dropped", "demoted"]);
    assert_eq!((pool.stats().pending, pool.stats().queued), (2, 1));
    update(&mut pool, &[(sender(0), rich(1))]);
    assert_eq!(names(&mut pool), ["promoted"]);
    update(&mut pool, &[(sender(0), rich(9))]);
    assert_eq!(names(&mut pool), ["dropped", "dropped", "dropped"]);
    assert_eq!(pool.stats().senders, 0);
}

/// A clock that was hours behind or ahead dated transactions; when it is corrected their dates say nothing.
#[test]
fn what_a_wrong_clock_dated_begins_anew() {
    let mut pool = pool();
    let ttl = pool.config().ttl;
    let corrected = NOW + 5 * ttl;
    insert(&mut pool, &tx(0, 0, 1));
    pool.insert(tx(0, 1, 1), rich(0), corrected - ttl / 2).unwrap();
    pool.insert(tx(0, 2, 1), rich(0), corrected + 5 * ttl).unwrap();
    pool.renew(corrected);
    assert_eq!(pool.poll_timeout(), Some(corrected + ttl + Duration::from_millis(1)));
    assert_eq!(pool.cleanup(corrected + ttl), 0);
    assert_eq!(pool.cleanup(corrected + ttl + Duration::from_millis(1)), 3);
    assert_eq!(pool.poll_timeout(), None);
}

#[test]
fn old_ones_expire_to_the_millisecond() {
    let mut pool = pool();
    let ttl = pool.config().ttl;
    insert(&mut pool, &tx(0, 0, 1));
    pool.insert(tx(0, 1, 1), rich(0), NOW + Duration::from_millis(5)).unwrap();
    assert_eq!(pool.poll_timeout(), Some(NOW + ttl + Duration::from_millis(1)));
    assert_eq!(pool.cleanup(NOW + ttl), 0);
    pool.drain_events();
    assert_eq!(pool.cleanup(NOW + ttl + Duration::from_millis(1)), 1);
    assert_eq!(names(&mut pool), ["expired", "demoted"]);
    assert_eq!(pool.cleanup(NOW + ttl + Duration::from_millis(6)), 1);
    assert_eq!(pool.poll_timeout(), None);
}

#[test]
fn a_full_pool_gives_up_the_cheapest_for_what_pays_more_and_of_equals_the_largest_sender_s_last() {
    let mut pool = Pool::new(Config { pending_max: 4, ..Config::default() }, HEAD);
    for (n, nonce, tip) in [(0, 0, 5), (1, 0, 5), (1, 1, 5), (1, 2, 5)] {
        insert(&mut pool, &tx(n, nonce, tip));
    }
    pool.drain_events();
    // The same price is refused, however few its sender has: nobody is evicted who paid as much.
    for (n, tip) in [(2, 5), (2, 4), (0, 5)] {
        let nonce = u64::from(n == 0);
        let error = pool.insert(tx(n, nonce, tip), rich(0), NOW).unwrap_err();
        assert_eq!(error, Error::Underpriced);
        assert_eq!(error.to_string(), "transaction underpriced");
    }
    assert_eq!(pool.drain_events().count(), 0);
    assert_eq!(pool.next_nonce(&sender(1)), Some(3), "the largest sender has no gap");
    // A later one that pays much is worth no more than the earlier one that it needs.
    assert!(pool.insert(tx(0, 1, 9), rich(0), NOW).is_err());
    insert(&mut pool, &tx(3, 0, 9));
    let evicted = Event::Evicted { hash: tx(1, 2, 5).hash(), sender: sender(1) };
    assert_eq!(pool.drain_events().next(), Some(evicted));
    assert_eq!(pool.stats().pending, 4);
}

#[test]
fn what_waits_for_room_in_pending_gets_it() {
    let mut pool = Pool::new(Config { pending_max: 2, ..Config::default() }, HEAD);
    insert(&mut pool, &tx(0, 1, 1));
    insert(&mut pool, &tx(0, 2, 1));
    insert(&mut pool, &tx(1, 0, 9));
    insert(&mut pool, &tx(0, 0, 1));
    assert_eq!((pool.stats().pending, pool.stats().queued), (2, 2));
    assert_eq!(pool.next_nonce(&sender(0)), Some(3), "they follow each other all the same");
    pool.drain_events();
    assert!(pool.mark_open(&tx(1, 0, 9).hash()));
    assert_eq!(names(&mut pool), ["promoted"]);
    assert!(pool.mark_open(&tx(0, 0, 1).hash()));
    assert_eq!((pool.stats().pending, pool.stats().queued), (2, 0));
}

#[test]
fn at_the_sender_limit_a_nearer_nonce_takes_the_place_of_the_furthest_gapped_one() {
    let mut pool = Pool::new(Config { sender_txs_max: 3, ..Config::default() }, HEAD);
    for nonce in [1, 2, 3] {
        insert(&mut pool, &tx(0, nonce, 1));
    }
    pool.drain_events();
    assert_eq!(insert(&mut pool, &tx(0, 0, 1)), Status::Pending);
    assert_eq!(names(&mut pool), ["evicted", "added pending", "promoted", "promoted"]);
}

#[test]
fn bytes_make_room_for_bytes() {
    let large = |n, tip| Draft { data: 900, ..draft(n, 0, tip) };
    let len = large(0, 1).make().encoded().len();
    let mut pool = Pool::new(Config { pool_bytes_max: 2 * len, ..Config::default() }, HEAD);
    insert(&mut pool, &large(0, 1).make());
    for n in 1..5 {
        insert(&mut pool, &tx(n, 0, 2));
    }
    pool.drain_events();
    insert(&mut pool, &large(5, 3).make());
    assert_eq!(names(&mut pool), ["evicted", "added pending"]);
    assert!(pool.stats().bytes <= 2 * len);
    assert!(pool.get(&large(0, 1).make().hash()).is_none());
}

#[test]
fn a_restart_restores_every_place() {
    let mut old = pool();
    for (n, nonce) in [(0, 0), (0, 1), (0, 2), (1, 5)] {
        insert(&mut old, &tx(n, nonce, 3));
    }
    let bundled = tx(0, 0, 3);
    old.mark_open(&bundled.hash());
    old.mark_bundled(block(1), [&bundled]);
    old.mark_open(&tx(0, 1, 3).hash());
    let mut new = pool();
    for tx in [tx(0, 0, 3), tx(0, 1, 3), tx(0, 2, 3), tx(1, 5, 3)] {
        new.restore(old.get(&tx.hash()).unwrap(), rich(0));
    }
    update(&mut new, &[(sender(0), rich(1))]);
    assert_eq!(new.get(&bundled.hash()).unwrap().status, Status::Bundled(block(1)));
    assert_eq!((new.stats().pending, new.stats().queued, new.stats().bundled), (2, 1, 1));
    assert_eq!(order(&mut new), [(sender(0), 1), (sender(0), 2)]);
    assert_eq!(new.mark_final(block(1)), 1);
    let timeout = new.poll_timeout();
    assert_eq!(timeout, Some(NOW + new.config().ttl + Duration::from_millis(1)));
}

#[test]
fn content_and_statistics() {
    let mut pool = pool();
    for (n, nonce) in [(1, 0), (1, 2), (0, 0)] {
        insert(&mut pool, &tx(n, nonce, 1));
    }
    let second = SenderContent { sender: sender(1), pending: vec![tx(1, 0, 1)], queued: vec![tx(1, 2, 1)] };
    let first = SenderContent { sender: sender(0), pending: vec![tx(0, 0, 1)], queued: vec![] };
    assert_eq!(pool.content(), [first, second.clone()]);
    assert_eq!(pool.content_of(&sender(1)), second);
    assert_eq!(pool.content_of(&sender(9)).pending, []);
    assert_eq!(pool.pending(), [tx(1, 0, 1), tx(0, 0, 1)]);
    assert_eq!(pool.pending_limit(1), [tx(1, 0, 1)]);
    assert!(pool.insert(tx(1, 0, 1), rich(0), NOW).is_err());
    let bytes = [tx(1, 0, 1), tx(1, 2, 1), tx(0, 0, 1)].iter().map(|tx| tx.encoded().len()).sum();
    let stats = pool.stats();
    assert_eq!((stats.pending, stats.queued, stats.senders, stats.bytes), (2, 1, 2, bytes));
    assert_eq!((stats.totals.added, stats.totals.rejected), (3, 1));
    assert_eq!(pool.remove_sender(&sender(1), &Reason::Flushed), 2);
    assert_eq!((pool.size(), pool.stats().totals.dropped), (1, 2));
}

#[test]
fn a_replacement_takes_the_place_and_keeps_the_followers() {
    let mut pool = pool();
    for nonce in 0..3 {
        insert(&mut pool, &tx(0, nonce, 1));
    }
    pool.drain_events();
    let dear = tx(0, 1, 20);
    let inserted = pool.insert(dear.clone(), rich(0), NOW).unwrap();
    assert_eq!(inserted, Inserted { status: Status::Pending, replaced: Some(tx(0, 1, 1).hash()) });
    assert_eq!(names(&mut pool), ["replaced", "added pending"]);
    assert_eq!(pool.pending(), [tx(0, 0, 1), dear, tx(0, 2, 1)]);
}

#[test]
fn nobody_is_lost_when_a_lower_nonce_comes_back_alone() {
    // Blocks are released together with their descendants. Should a driver not do so, the lower nonce waits: the one
    // above it is still in a block, and handing out the lower one could apply it twice.
    let mut pool = pool();
    for nonce in 0..2 {
        insert(&mut pool, &tx(0, nonce, 1));
        pool.mark_open(&tx(0, nonce, 1).hash());
        pool.mark_bundled(block(nonce + 1), [&tx(0, nonce, 1)]);
    }
    let accounts = [(sender(0), rich(0))];
    let change = StateChange { head: HEAD, accounts: &accounts };
    let returned = |nonce| Returned { tx: tx(0, nonce, 1), verdict: Verdict::Innocent };
    pool.reinsert([returned(0)], &change, NOW);
    assert_eq!(pool.get(&tx(0, 0, 1).hash()).unwrap().status, Status::Queued);
    assert_eq!(order(&mut pool), []);
    pool.reinsert([returned(1)], &change, NOW);
    assert_eq!(order(&mut pool), [(sender(0), 0), (sender(0), 1)]);
}
