//! Bundles of many blocks: how they are formed, that they stay what they are, and how they end.

use super::harness::*;
use crate::{Action, Blame, CommitSubmissionError, Config, Queue, Record, Sent, Size, model::check};

/// The blocks of each bundle.
fn runs(world: &World) -> Vec<(u64, u64)> {
    world.queue.bundles().map(|bundle| (bundle.run.first.number, bundle.run.last.number)).collect()
}

/// Guarantors refuse a bundle until it is abandoned, and it is dead.
fn die(world: &mut World, bundle: u64) {
    while world.state(bundle) != "Abandoned" {
        world.answer = Some(Sent::Refused);
        world.send_in_window();
        world.blocks(1);
    }
    world.answer = Some(Sent::Taken);
    let last = world.last_out(bundle).version.anchor_height;
    while world.follower.finalized().height < last + 8 {
        world.blocks(1);
    }
}

#[test]
fn all_that_wait_go_in_one_bundle() {
    let mut world = World::running(runs_config());
    world.seal(5);
    assert_eq!(runs(&world), []);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    assert_eq!(runs(&world), [(1, 5)]);
    // What comes later goes in another one, on another core.
    world.seal(2);
    assert_eq!(world.send(), [], "in a later window");
    world.blocks(1);
    assert_eq!(world.send_in_window(), [(6, 1, 1)]);
    world.block(&[(1, 1), (6, 1)], &[]);
    assert_eq!(world.states([1, 5, 6, 7]), ["Guaranteed"; 4]);
    world.block(&[], &[0, 1]);
    assert_eq!(world.states([1, 5, 6, 7]), ["Accumulated"; 4]);
    world.blocks(2);
    assert_eq!((world.queue.unfinished_len(), world.queue.newest().number), (0, 7));
}

#[test]
fn a_package_is_filled_before_a_second_core_is_used() {
    let mut world = World::running(runs_config());
    world.package_blocks = 4;
    world.seal(6);
    assert_eq!(world.send_in_window(), [(1, 1, 0), (5, 1, 1)]);
    assert_eq!(runs(&world), [(1, 4), (5, 6)]);

    let max = Size { bytes: 3000, ..Size::MAX };
    let mut world = World::running(Config { run_max: max, ..runs_config() });
    world.seal(7);
    world.send_in_window();
    assert_eq!(runs(&world), [(1, 3), (4, 6)], "two cores are not enough for a third one");
    assert_eq!(world.state(7), "Queued");
}

#[test]
fn a_block_that_must_be_alone_is() {
    let mut world = World::running(runs_config());
    world.seal(2);
    world.try_seal_as(0, true).unwrap();
    world.seal(1);
    world.send_in_window();
    assert_eq!(runs(&world), [(1, 2), (3, 3)]);
    world.block(&[(1, 1), (3, 1)], &[]);
    world.send_in_window();
    assert_eq!(runs(&world), [(1, 2), (3, 3), (4, 4)]);
}

#[test]
fn a_bundle_stays_what_it_was_first_sent_as() {
    let mut world = World::running(runs_config());
    world.seal(3);
    world.answer = Some(Sent::Stale);
    world.send_in_window();
    world.seal(2);
    world.restart();
    world.blocks(1);
    world.answer = Some(Sent::Taken);
    assert_eq!(world.send_in_window(), [(1, 2, 1), (4, 1, 0)]);
    assert_eq!(runs(&world), [(1, 3), (4, 5)]);
}

#[test]
fn a_run_that_missed_its_window_is_packed_again_with_what_came_since() {
    let mut world = World::running(runs_config());
    world.seal(2);
    world.go_to_window();
    let late = world.next_submission();
    world.seal(1);
    world.blocks(1);
    world.go_to_window();
    assert_eq!(world.send(), [(1, 1, 0)]);
    assert_eq!(runs(&world), [(1, 3)]);
    let committed = world.queue.commit_submission(&late, package_of(&late), world.now);
    assert_eq!(committed, Err(CommitSubmissionError::Moved));
}

#[test]
fn what_cannot_be_packed_is_tried_again_in_another_slot() {
    let mut world = World::running(runs_config());
    world.seal(1);
    world.go_to_window();
    assert!(matches!(world.queue.poll_action(world.now), Some(Action::Pack(_))));
    world.queue.pack_failed(1);
    assert_eq!(world.queue.poll_action(world.now), None);
    let opens = clock().next_start(world.now) + ms(3000);
    assert_eq!(world.queue.poll_timeout(world.now), Some(opens), "when the next window opens");
    world.blocks(1);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
}

#[test]
fn a_dead_bundle_is_dissolved_into_halves_down_to_one_block() {
    let mut world = World::running(runs_config());
    world.seal(4);
    let blocks = (1..=4).map(|number| world.queue.block(number).copied()).collect::<Vec<_>>();
    world.send_in_window();
    die(&mut world, 1);
    assert_eq!(world.send(), []);
    assert_eq!((runs(&world), world.actions.len()), (vec![(1, 2), (3, 4)], 0), "nothing is released");
    assert_eq!(world.states(1..=4), ["Queued"; 4]);
    assert_eq!(world.queue.stats().dissolved, 1);
    assert_eq!(world.journal.last(), Some(&Record::Dissolved { first: 1, second: 3, last: 4 }));
    // The first half gets through, the second does not.
    assert_eq!(world.send_in_window(), [(1, 1, 0), (3, 1, 1)]);
    world.block(&[(1, 1)], &[]);
    world.block(&[], &[0]);
    world.answer_to(3, Sent::Refused);
    die(&mut world, 3);
    world.send();
    assert_eq!(runs(&world), [(3, 3), (4, 4)]);
    let now = (3..=4).map(|number| world.queue.block(number).copied()).collect::<Vec<_>>();
    assert_eq!(now, blocks[2..], "the same blocks");
    // A single block is released, with what stands on it.
    world.answer = Some(Sent::Refused);
    world.send_in_window();
    die(&mut world, 3);
    world.send();
    let Some(Action::Release(released)) = world.actions.pop() else { panic!() };
    let released = released.iter().map(|block| (block.block.number, block.blame)).collect::<Vec<_>>();
    assert_eq!(released, [(3, Blame::Suspect), (4, Blame::None)]);
    assert_eq!((world.queue.newest().number, world.try_seal(1)), (2, Ok(3)));
}

#[test]
fn what_stands_on_a_dissolved_bundle_goes_on() {
    let mut world = World::running(runs_config());
    world.seal(2);
    world.send_in_window();
    world.seal(2);
    world.blocks(1);
    world.send_in_window();
    assert_eq!(runs(&world), [(1, 2), (3, 4)]);
    world.seal(1);
    world.block(&[(3, 1)], &[]);
    world.answer_to(1, Sent::Refused);
    die(&mut world, 1);
    assert!(world.try_seal(1).is_err(), "nothing is built on what is abandoned");
    world.send();
    assert_eq!(runs(&world), [(1, 1), (2, 2), (3, 4)]);
    assert_eq!(world.try_seal(1), Ok(6));
}

/// Wherever the process dies, also after records about final blocks were dropped, dissolved bundles are the same.
#[test]
fn a_dissolved_bundle_survives_restarts() {
    let mut world = World::running(runs_config());
    world.seal(4);
    world.send_in_window();
    world.seal(2);
    world.blocks(1);
    world.send_in_window();
    world.answer_to(1, Sent::Refused);
    die(&mut world, 1);
    world.send();
    assert_eq!(runs(&world), [(1, 2), (3, 4), (5, 6)]);
    world.restart();
    world.blocks(1);
    let sent = world.send_in_window();
    let (_, version, core) = sent[0];
    world.block(&[(1, version)], &[]);
    world.block(&[], &[core]);
    world.blocks(3);
    assert_eq!(runs(&world), [(3, 4), (5, 6)]);
    let has_formed = |first| {
        let formed =
            |record: &Record| matches!(record, Record::Formed { first: found, .. } if *found == first);
        world.kept.iter().any(formed)
    };
    assert_eq!([1, 3, 5].map(has_formed), [false, false, true], "only the dissolution says what is left");
    for len in 0..=world.journal.len() {
        let prefix = || world.journal[..len].iter().cloned();
        let mut restored = Queue::restore(runs_config(), clock(), genesis(), prefix(), world.now).unwrap();
        check::indexes(&restored);
        let records = prefix().chain(restored.take_records()).collect::<Vec<_>>();
        check::journal(&restored, &records);
    }
}

#[test]
fn the_operator_gives_up_whole_bundles_and_single_blocks_that_are_in_none() {
    let mut world = World::running(runs_config());
    world.seal(3);
    world.send_in_window();
    world.seal(3);
    assert_eq!(world.queue.would_give_up(2), Some(1..=6), "its bundle, and all that stand on it");
    assert_eq!(world.queue.would_give_up(5), Some(5..=6));
    assert_eq!(world.queue.would_give_up(7), None);
    assert!(world.give_up(5));
    assert_eq!(world.states([3, 4, 5, 6]), ["Submitted", "Queued", "Abandoned", "Abandoned"]);
    assert!(world.try_seal(1).is_err());
    world.blocks(1);
    world.send();
    assert!(matches!(&world.actions[..], [Action::Release(blocks)] if blocks.len() == 2));
    assert_eq!(world.try_seal(1), Ok(5));
    // A bundle that was sent is released as a whole once it is dead.
    world.actions.clear();
    assert!(world.give_up(2));
    let last = world.last_out(1).version.anchor_height;
    while world.follower.finalized().height < last + 8 {
        world.blocks(1);
    }
    world.send();
    let [Action::Release(blocks)] = &world.actions[..] else { panic!("{:?}", world.actions) };
    assert!(blocks.iter().all(|block| block.blame == Blame::None));
    assert_eq!((blocks.len(), world.queue.unfinished_len()), (5, 0));
}

#[test]
fn records_that_form_no_bundle_are_refused() {
    let mut world = World::running(runs_config());
    world.seal(2);
    world.try_seal_as(1, true).unwrap();
    let with = |more: &[Record]| {
        let records = world.journal.iter().chain(more).cloned();
        Queue::replay(runs_config(), clock(), genesis(), records).is_ok()
    };
    let formed = |first, last| Record::Formed { first, last };
    assert!(with(&[formed(1, 2), formed(3, 3)]));
    for wrong in [
        vec![formed(1, 3)],
        vec![formed(2, 2)],
        vec![formed(2, 1)],
        vec![formed(1, 9)],
        vec![formed(1, 2), formed(2, 2)],
        vec![formed(1, 2), Record::Dissolved { first: 1, second: 1, last: 2 }],
        vec![formed(1, 2), Record::Dissolved { first: 1, second: 2, last: 3 }],
        vec![Record::Dissolved { first: 1, second: 2, last: 2 }],
    ] {
        assert!(!with(&wrong), "{wrong:?}");
    }
}
