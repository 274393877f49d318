//! Why a bundle is slow: the sentences, over states that the queue really comes into.

use super::harness::*;
use crate::{Hold, Sent, why_slow, why_unbundled};
use types::Time;

fn sentence_since(world: &World, block: u64, since: Option<Time>) -> Option<String> {
    let outlook = world.queue.outlook(world.now);
    let sentence = match world.queue.get(block) {
        Some(bundle) => why_slow(bundle, &outlook, since, world.now),
        None => why_unbundled(&world.queue.unbundled().unwrap(), &outlook, world.now),
    };
    // Why; is that safe; what next.
    sentence.inspect(|sentence| {
        assert_eq!(sentence.matches("; ").count(), 2, "{sentence}");
        assert!(sentence.ends_with('.') && !sentence.trim_end_matches('.').contains(". "), "{sentence}");
    })
}

fn sentence(world: &World, block: u64) -> Option<String> {
    sentence_since(world, block, None)
}

fn says(world: &World, block: u64, parts: &[&str]) {
    let sentence = sentence(world, block).unwrap();
    for part in parts {
        assert!(sentence.contains(part), "{part:?}: {sentence}");
    }
}

fn hold(world: &World, block: u64) -> Option<Hold> {
    let outlook = world.queue.outlook(world.now);
    outlook.bundles.get(&block).map_or(outlook.unbundled, |ahead| ahead.hold)
}

#[test]
fn what_goes_straight_through_is_never_slow() {
    let mut world = World::running(config());
    world.seal(1);
    assert_eq!(sentence(&world, 1), None);
    world.send_in_window();
    assert_eq!(sentence(&world, 1), None);
    world.block(&[(1, 1)], &[]);
    assert_eq!(sentence_since(&world, 1, Some(world.now)), None);
    let reported = world.now;
    world.block(&[], &[0]);
    assert_eq!((world.state(1), sentence_since(&world, 1, Some(reported))), ("Accumulated", None));
    assert_eq!(world.queue.outlook(world.now).bundles[&1].hold, None);
}

#[test]
fn a_bundle_that_waits_says_for_what() {
    let mut world = World::running(config());
    world.seal(4);
    assert_eq!(hold(&world, 1), Some(Hold::Window));
    world.send_in_window();
    assert_eq!(hold(&world, 3), Some(Hold::Inflight { submitted: 2 }));
    assert_eq!(sentence(&world, 3), None, "it is not old yet");
    world.blocks(3);
    says(&world, 3, &["2 bundles are on their way", "never change", "after one of them is guaranteed"]);
    world.block(&[(1, 1), (2, 1)], &[]);
    says(&world, 3, &["waits for the window"]);
    // A bundle that failed goes before blocks that are in none.
    world.send_in_window();
    world.answer_to(3, Sent::Failed);
    world.answer_to(4, Sent::Failed);
    world.seal(1);
    world.go(ms(60_000));
    assert_eq!(hold(&world, 4), Some(Hold::Behind { bundles: 1 }));
    assert_eq!(hold(&world, 5), Some(Hold::Behind { bundles: 2 }));
}

#[test]
fn before_the_chain_is_seen_that_is_why() {
    let mut world = World::running(config());
    world.seal(1);
    world.restart();
    world.now = world.now + ms(60_000);
    assert_eq!(hold(&world, 1), Some(Hold::NoChain));
    says(&world, 1, &["has not been seen since the start", "once validators answer"]);
}

#[test]
fn a_chain_that_stands_still_is_why_for_all() {
    let mut world = World::running(config());
    world.seal(1);
    world.now = world.now + ms(5 * SLOT_MS);
    says(
        &world,
        1,
        &["No block of JAM has come for 5 slots", "silence counts against no bundle", "with the next block"],
    );
}

#[test]
fn a_missing_guarantee_says_when_it_is_given_up_and_what_is_sent_then() {
    let mut world = World::running(config());
    world.seal(1);
    world.send_in_window();
    world.blocks(3);
    // Sent two seconds before a slot; three blocks later fourteen seconds have passed.
    says(
        &world,
        1,
        &[
            "took version 1 14.0 s ago",
            "applied once",
            "in 4.0 s the same bytes",
            "or a new version",
            "(3 blocks left)",
        ],
    );
    world.go_to(world.last_out(1).version.sent_at + ms(18_000));
    says(&world, 1, &["Version 1 was not guaranteed", "the same bytes of version 1", "2 more failures"]);
    world.send();
    says(&world, 1, &["took version 1 0.0 s ago", "in 18.0 s the same bytes"]);
    world.go_to(world.last_out(1).version.sent_at + ms(18_000));
    world.blocks(2);
    world.send_in_window();
    says(&world, 1, &["took version 2 0.0 s ago", "in 18.0 s the same bytes"]);
}

#[test]
fn a_package_that_nobody_took_and_a_core_that_is_busy_say_so() {
    let mut world = World::running(config());
    world.answer = None;
    world.seal(1);
    world.send_in_window();
    world.blocks(3);
    says(&world, 1, &["no guarantor has taken it yet"]);

    let mut world = World::running(config());
    world.answer = None;
    world.seal(1);
    world.send_in_window();
    world.blocks(1);
    world.strangers_block(&[0], &[]);
    world.blocks(1);
    says(&world, 1, &["Another report keeps core 0 busy", "stands still", "once the core is free"]);
    world.answer_to(1, Sent::Failed);
    assert_eq!(world.state(1), "Queued");
}

#[test]
fn a_report_that_does_not_become_available_and_one_that_waits_for_its_parent() {
    let mut world = World::running(config());
    world.seal(2);
    world.send_in_window();
    world.block(&[(2, 1)], &[]);
    let reported = world.now;
    world.blocks(4);
    assert_eq!(sentence_since(&world, 2, Some(reported)), None);
    world.go(ms(1000));
    let text = sentence_since(&world, 2, Some(reported)).unwrap();
    assert!(text.contains("too few validators") && text.contains("sent again as a new version"), "{text}");

    let mut world = World::running(config());
    world.seal(2);
    world.send_in_window();
    world.block(&[(2, 1)], &[]);
    world.block(&[], &[1]);
    assert_eq!(world.state(2), "Guaranteed");
    world.blocks(5);
    says(&world, 2, &["waits in the service for its parent B-1", "in order or not at all"]);
}

#[test]
fn finality_that_lags_is_told_from_finality_that_comes() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(1);
    world.send_in_window();
    world.block(&[(1, 1)], &[]);
    world.block(&[], &[0]);
    assert_eq!((world.state(1), sentence(&world, 1)), ("Accumulated", None));
    world.blocks(5);
    says(&world, 1, &["finality is 9 blocks behind", "a fork", "caught up"]);
}

#[test]
fn an_abandoned_bundle_says_when_its_transactions_come_back() {
    let mut world = World::running(config());
    world.seal(2);
    world.send_in_window();
    assert!(world.give_up(1));
    assert_eq!(world.states([1, 2]), ["Abandoned", "Abandoned"]);
    // Anchored two below the best block, which is two above the finalized one: eight more.
    says(&world, 1, &["The operator gave it up", "nothing of it is lost", "after 8 more final blocks"]);
    says(&world, 2, &["stands on B-1", "together with those of B-1"]);
    world.blocks(7);
    says(&world, 1, &["after one more final block"]);
}

#[test]
fn a_bundle_too_far_ahead_and_one_without_an_anchor_say_so() {
    let mut world = World::running(crate::Config { submit_ahead_max: 2, ..config() });
    world.seal(3);
    world.send_in_window();
    // The higher one is guaranteed first; the lowest that waits is three above the applied head.
    world.block(&[(2, 1)], &[]);
    assert_eq!(hold(&world, 3), Some(Hold::TooFar { applied: 0 }));
    world.blocks(2);
    says(&world, 3, &["has applied block 0", "at most 2 bundles are sent ahead"]);

    let mut world = World::running(crate::Config { lookup_age_max: 3, ..config() });
    world.finality_lag = None;
    world.seal(1);
    world.blocks(4);
    assert_eq!(hold(&world, 1), Some(Hold::NoAnchor));
    says(&world, 1, &["No recent block can be its anchor", "no version is spent"]);
}

#[test]
fn the_next_departure_is_the_window_that_is_open_or_comes_next() {
    let mut world = World::running(config());
    let start = world.now;
    assert_eq!(world.queue.next_departure(start), None, "nothing waits");
    world.seal(1);
    let run = types::Run::of(world.queue.block(1).unwrap().id);
    assert_eq!(world.queue.next_departure(start), Some((run, start + ms(5000))));
    assert_eq!(world.queue.next_departure(start + ms(5000)), Some((run, start + ms(11_000))));
    world.send_in_window();
    assert_eq!(world.queue.next_departure(world.now), None, "it is on its way");
}

/// What is sealed while a window is open, or after a run was sent in it, need not leave with it: nothing is missed then.
#[test]
fn what_is_sealed_too_late_for_a_window_departs_with_the_next() {
    let mut world = World::running(config());
    let start = world.now;
    world.seal(1);
    world.send_in_window();
    world.seal(2);
    let second = types::Run::of(world.queue.block(2).unwrap().id);
    let departure = world.queue.next_departure(world.now);
    assert_eq!(departure, Some((second, start + ms(11_000))));
    let mut world = World::running(config());
    world.go_to_window();
    world.seal(1);
    let first = types::Run::of(world.queue.block(1).unwrap().id);
    assert_eq!(world.queue.next_departure(world.now), Some((first, start + ms(11_000))));
}
