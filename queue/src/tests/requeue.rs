//! Timeouts, errors, stale anchors: when a bundle is sent again, as what, and whether that counts.

use super::harness::*;
use crate::{CommitSubmissionError, Hold, Queue, Sent};
use jam::PackageHash;

fn versions(world: &World, block: u64) -> Vec<(u32, u32, bool)> {
    let bundle = world.queue.get(block).unwrap();
    bundle.versions.iter().map(|version| (version.number, version.sends, version.counted)).collect()
}

/// B-1 is out, was taken, and `blocks` blocks came since.
fn submitted(config: crate::Config, blocks: usize) -> World {
    let mut world = World::running(config);
    world.seal(1);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    world.blocks(blocks);
    world.lines();
    world
}

#[test]
fn after_eighteen_seconds_the_same_bytes_while_the_anchor_lives() {
    let mut world = submitted(config(), 3);
    let due = world.last_out(1).version.sent_at + ms(18_000);
    assert_eq!(world.queue.poll_timeout(world.now), Some(due));
    world.go_to(due - ms(1));
    assert_eq!(world.state(1), "Submitted");
    world.go_to(due);
    assert_eq!(world.state(1), "Queued");
    assert_eq!(world.lines(), ["Queue: Timeout detected - will requeue bundleID=B-1 version=1"]);
    // On the other core, and with the bytes that were sent before.
    assert_eq!(world.send(), [(1, 1, 1)]);
    assert_eq!(world.out[0].version.package, world.out[1].version.package);
    assert_eq!(versions(&world, 1), [(1, 2, true)]);
}

#[test]
fn under_the_specification_every_timeout_makes_a_version() {
    let mut world = submitted(spec_config(), 3);
    world.go_to(world.last_out(1).version.sent_at + ms(18_000));
    assert_eq!(world.send(), [(1, 2, 1)]);
    assert_ne!(world.out[0].version.package, world.out[1].version.package);
    assert_eq!(versions(&world, 1), [(1, 1, true), (2, 1, false)]);
}

#[test]
fn an_anchor_older_than_six_blocks_is_replaced_before_submission() {
    let mut world = submitted(config(), 3);
    world.answer = None;
    // The anchor was two back, is five back now and seven when it is to be sent.
    world.go_to(world.last_out(1).version.sent_at + ms(18_000));
    world.blocks(2);
    world.lines();
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
    let lines = world.lines();
    assert_eq!(lines[1], "Queue Runner: Bundle anchor getting stale, will rebuild bundleID=B-1");
    assert_eq!(versions(&world, 1), [(1, 1, true), (2, 1, false)]);
    assert_eq!(world.height() - world.last_out(1).version.anchor_height, 2);
}

#[test]
fn an_anchor_of_six_blocks_is_good_enough() {
    let mut world = submitted(config(), 3);
    world.go_to(world.last_out(1).version.sent_at + ms(18_000));
    world.blocks(1);
    assert_eq!(world.height() - world.last_out(1).version.anchor_height, 6);
    assert_eq!(world.send_in_window(), [(1, 1, 1)]);
}

#[test]
fn a_submitted_bundle_whose_anchor_dies_gets_a_new_version() {
    let mut world = World::running(config());
    world.seal(1);
    world.strangers_block(&[0, 1], &[]);
    world.send_in_window();
    // Strangers keep the cores busy, so no timeout runs.
    for _ in 0..6 {
        assert_eq!(world.state(1), "Submitted");
        world.strangers_block(&[0, 1], &[0, 1]);
    }
    assert_eq!(world.state(1), "Queued");
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
    assert_eq!(versions(&world, 1), [(1, 1, false), (2, 1, false)], "busy cores are no evidence");
    assert_eq!(world.queue.stats().timeouts, 0);
}

#[test]
fn the_timeout_runs_only_while_the_core_is_free() {
    let mut world = World::running(config());
    world.strangers_block(&[0, 1], &[]);
    world.seal(1);
    world.send_in_window();
    world.go(ms(18_000));
    assert_eq!(world.state(1), "Submitted");
    let slot = clock().slot_at(world.now);
    world.block_at(slot, &[], &[0, 1]);
    let free = world.now;
    assert_eq!(world.queue.poll_timeout(world.now), Some(free + ms(18_000)));
    world.blocks(2);
    world.go_to(free + ms(18_000));
    assert_eq!((world.state(1), versions(&world, 1)), ("Queued", vec![(1, 1, true)]));
}

/// Blocks that came while the core was busy say nothing about the time after.
#[test]
fn no_blocks_since_the_core_became_free_is_no_evidence() {
    let mut world = World::running(config());
    world.strangers_block(&[0, 1], &[]);
    world.seal(1);
    world.send_in_window();
    world.blocks(2);
    world.block(&[], &[0, 1]);
    world.go(ms(18_000));
    assert_eq!((world.state(1), versions(&world, 1)), ("Queued", vec![(1, 1, false)]));
}

#[test]
fn no_blocks_is_no_evidence() {
    let mut world = submitted(config(), 1);
    world.go(ms(18_000));
    assert_eq!(versions(&world, 1), [(1, 1, false)]);
    assert_eq!(world.state(1), "Queued");
}

#[test]
fn without_an_answer_silence_is_no_evidence() {
    let mut world = World::running(config());
    world.answer = None;
    world.seal(1);
    world.send_in_window();
    world.blocks(4);
    assert_eq!((world.state(1), versions(&world, 1)), ("Queued", vec![(1, 1, false)]));
}

#[test]
fn a_network_error_sends_the_same_bytes_without_a_new_version() {
    let mut world = World::running(config());
    world.answer = Some(Sent::Failed);
    world.seal(1);
    world.go_to_window();
    let submission = world.next_submission();
    let package = package_of(&submission);
    world.queue.commit_submission(&submission, package, world.now).unwrap();
    world.sent(1, package, Sent::Failed);
    assert_eq!(world.state(1), "Queued");
    // All connected guarantors of the core were tried: not once more in this window, and no busy loop until the next.
    assert_eq!(world.queue.poll_action(world.now), None);
    let next = clock().next_start(world.now) + ms(3000);
    assert_eq!(world.queue.poll_timeout(world.now), Some(next));
    assert_eq!(world.queue.next_departure(world.now).map(|(_, closes)| closes), Some(next + ms(2000)));
    world.now = next;
    let again = world.next_submission();
    assert_eq!((again.version, again.package, &again.context), (1, Some(package), &submission.context));
    // Other bytes under the same version are refused, even if an old submission is committed again.
    let other = PackageHash([1; 32].into());
    for submission in [&again, &submission] {
        let error = world.queue.commit_submission(submission, other, world.now);
        assert_eq!(error, Err(CommitSubmissionError::Rebuilt { block: 1, version: 1 }));
    }
    world.queue.commit_submission(&again, package, world.now).unwrap();
    assert_eq!(versions(&world, 1), [(1, 2, false)]);
}

/// All validators were stopped with 51 transfers sent: one bundle was "sent" 12,143 times in 70 s, with a sync and four
/// log lines each.
#[test]
fn without_a_connected_guarantor_nothing_is_submitted_and_nothing_spins() {
    let mut world = World::running(config());
    world.queue.set_unreachable([0, 1].into());
    world.seal(2);
    world.lines();
    let mut wakes = 0;
    let end = world.now + ms(60_000);
    while world.now < end {
        assert_eq!((world.send(), world.queue.take_records()), (vec![], vec![]));
        assert_eq!(world.queue.next_departure(world.now), None, "no window can be missed");
        let next = world.queue.poll_timeout(world.now).unwrap();
        assert!(next > world.now, "the driver would spin");
        world.go_to(next);
        wakes += 1;
    }
    assert!(wakes <= 11, "woken {wakes} times in ten slots");
    assert_eq!(world.queue.outlook(world.now).unbundled, Some(Hold::NoGuarantor));
    let lines = world.lines();
    assert!(lines.iter().all(|line| line.contains("canSubmit=false")), "{lines:?}");
    assert!(lines.len() <= 11, "{lines:?}");
    // A guarantor of one core is back: one bundle leaves in the next window, on that core.
    world.queue.set_unreachable([0].into());
    assert_eq!(world.send_in_window(), [(1, 1, 1)]);
}

/// The clock was an hour ahead when a version was sent, and was corrected.
#[test]
fn a_timeout_does_not_wait_for_a_time_that_never_was() {
    let mut world = World::running(config());
    world.seal(1);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    let hour_ago = world.now - ms(3_600_000);
    world.queue.set_back(hour_ago);
    assert_eq!(world.queue.poll_timeout(hour_ago), Some(hour_ago + ms(18_000)));
    // The same after a restart: the journal has the wrong time.
    let mut records = world.journal.clone();
    records.extend(world.queue.take_records());
    let restored = Queue::restore(config(), clock(), world.queue.bundles.base(), records, hour_ago).unwrap();
    let sent = restored.get(1).unwrap().versions[0].sent_at;
    assert_eq!(sent, hour_ago);
}

#[test]
fn a_refused_version_counts() {
    let mut world = World::running(config());
    world.answer = Some(Sent::Refused);
    world.seal(1);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    assert_eq!(versions(&world, 1), [(1, 1, true)]);
    world.blocks(1);
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
    assert_eq!(versions(&world, 1), [(1, 1, true), (2, 1, true)]);
}

/// Without a new block the anchor would be the same, and the "new" version would be the bytes that were refused.
#[test]
fn a_new_version_has_another_context() {
    for answer in [Sent::Refused, Sent::Stale] {
        let mut world = World::running(config());
        world.answer = Some(answer);
        world.seal(1);
        assert_eq!(world.send_in_window(), [(1, 1, 0)]);
        assert_eq!((world.state(1), world.send()), ("Queued", vec![]));
        assert_eq!(world.queue.poll_timeout(world.now), None, "only a block can change it");
        world.blocks(1);
        assert_eq!(world.send_in_window(), [(1, 2, 1)]);
        assert_ne!(world.out[0].version.package, world.out[1].version.package);
    }
}

#[test]
fn a_stale_answer_makes_a_version_and_does_not_count() {
    let mut world = World::running(config());
    world.answer = Some(Sent::Stale);
    world.seal(1);
    for version in 1..6 {
        let sent = world.send_in_window();
        assert_eq!(
            sent.iter().map(|(block, version, _)| (*block, *version)).collect::<Vec<_>>(),
            [(1, version)]
        );
        world.blocks(1);
    }
    assert_eq!(world.queue.get(1).unwrap().counted(), 0);
}

/// The specification's race: v1 is guaranteed after its timeout, when v2 is about to be sent.
#[test]
fn a_late_guarantee_prevents_the_next_version() {
    let mut world = submitted(spec_config(), 1);
    // The chain pauses, so v1's anchor is still good when it goes on.
    world.go_to(world.last_out(1).version.sent_at + ms(18_000));
    assert_eq!(world.state(1), "Queued");
    let second = world.next_submission();
    assert_eq!(second.version, 2);
    let slot = clock().slot_at(world.now) + 1;
    world.block_at(slot, &[(1, 1)], &[]);
    assert_eq!(world.state(1), "Guaranteed");
    world.go_to_window();
    let committed = world.queue.commit_submission(&second, package_of(&second), world.now);
    assert_eq!(committed, Err(CommitSubmissionError::Moved));
    assert_eq!(world.send(), []);
    world.block(&[], &[0]);
    assert_eq!((world.state(1), world.send_in_window()), ("Accumulated", vec![]));
    assert_eq!(world.queue.stats().packages, 1);
}

/// Both versions on their way: the timer of v2 must not fire after v1 was guaranteed.
#[test]
fn both_versions_guaranteed_is_one_bundle_and_counted_once() {
    let mut world = submitted(spec_config(), 0);
    world.answer_to(1, Sent::Stale);
    world.blocks(1);
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
    world.block(&[(1, 1)], &[]);
    assert_eq!((world.state(1), world.inflight()), ("Guaranteed", (0, false)));
    assert_eq!(world.queue.stats().duplicate_guarantees, 0);
    world.block(&[(1, 2)], &[]);
    assert_eq!(world.queue.stats().duplicate_guarantees, 1);
    world.block(&[], &[0]);
    world.block(&[], &[1]);
    assert_eq!((world.state(1), world.queue.stats().duplicate_guarantees), ("Accumulated", 1));
    assert_eq!(world.queue.stats().timeouts, 0);
    world.blocks(3);
    assert_eq!(world.state(1), "Finalized");
}

/// The first version may be accumulated already when the second one is guaranteed.
#[test]
fn a_second_guarantee_is_counted_after_accumulation_too() {
    let mut world = submitted(config(), 0);
    world.finality_lag = None;
    world.answer_to(1, Sent::Stale);
    world.blocks(1);
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
    world.block(&[(1, 1)], &[]);
    world.block(&[], &[0]);
    assert_eq!((world.state(1), world.queue.stats().duplicate_guarantees), ("Accumulated", 0));
    world.block(&[(1, 2)], &[]);
    assert_eq!((world.state(1), world.queue.stats().duplicate_guarantees), ("Accumulated", 1));
}

/// A build that takes longer than the anchor has.
#[test]
fn what_was_built_too_slowly_is_not_sent() {
    let mut world = World::running(spec_config());
    world.seal(1);
    world.go_to_window();
    let submission = world.next_submission();
    world.blocks(1);
    world.go_to_window();
    let committed = world.queue.commit_submission(&submission, package_of(&submission), world.now);
    assert_eq!(committed, Err(CommitSubmissionError::Moved), "the anchor is seven blocks old");
    assert_eq!(world.send(), [(1, 1, 0)]);
}

/// The same bytes, although their anchor lives, are worth nothing once the lookup anchor is too old.
#[test]
fn an_old_lookup_anchor_is_stale_too() {
    let mut world = World::running(config());
    world.answer = Some(Sent::Failed);
    world.seal(1);
    world.go_to_window();
    let submission = world.next_submission();
    let package = package_of(&submission);
    world.queue.commit_submission(&submission, package, world.now).unwrap();
    world.sent(1, package, Sent::Failed);
    // Two blocks, many slots apart.
    for _ in 0..2 {
        let slot = world.follower.view().head().slot + 10;
        world.block_at(slot, &[], &[]);
    }
    world.finalize_best();
    world.go_to_window();
    let again = world.next_submission();
    assert_eq!((again.version, again.package), (2, None));
}

/// A new version after each timeout, and after three of them the end.
#[test]
fn under_the_specification_three_timeouts_abandon_a_block() {
    let mut world = submitted(spec_config(), 3);
    for version in 2..=3 {
        world.go_to(world.last_out(1).version.sent_at + ms(18_000));
        let sent = world.send();
        assert_eq!(
            sent.iter().map(|(block, version, _)| (*block, *version)).collect::<Vec<_>>(),
            [(1, version)]
        );
        world.blocks(3);
    }
    assert_eq!(world.state(1), "Submitted");
    world.go_to(world.last_out(1).version.sent_at + ms(18_000));
    assert_eq!((world.state(1), world.queue.stats().timeouts), ("Abandoned", 3));
    assert_eq!(versions(&world, 1), [(1, 1, true), (2, 1, true), (3, 1, true)]);
}

/// The first time it was taken, the second time it never left.
#[test]
fn a_resend_that_nobody_took_is_no_evidence() {
    let mut world = submitted(config(), 1);
    world.go(ms(18_000));
    assert_eq!(versions(&world, 1), [(1, 1, false)]);
    world.answer = None;
    assert_eq!(world.send_in_window(), [(1, 1, 1)]);
    world.blocks(2);
    world.go_to(world.last_out(1).version.sent_at + ms(18_000));
    assert_eq!((world.state(1), versions(&world, 1)), ("Queued", vec![(1, 2, false)]));
}
