//! Blocks that do not get through: abandoned, tried again, revived, released.

use super::harness::*;
use crate::{Action, Blame, EnqueueError, Record, Sent};

/// Guarantors refuse the lowest bundle until it is abandoned.
fn refuse(world: &mut World, block: u64) {
    world.answer = Some(Sent::Refused);
    while world.state(block) != "Abandoned" {
        let sent = world.send_in_window();
        assert!(sent.iter().all(|(number, ..)| *number == block), "{sent:?}");
        world.blocks(1);
    }
    world.answer = Some(Sent::Taken);
}

fn released(world: &mut World) -> Vec<Vec<(u64, Blame)>> {
    world.send();
    let release = |action: Action| match action {
        Action::Release(blocks) => {
            blocks.into_iter().map(|released| (released.block.number, released.blame)).collect()
        }
        other => panic!("{other:?}"),
    };
    std::mem::take(&mut world.actions).into_iter().map(release).collect()
}

#[test]
fn after_three_refusals_a_block_and_its_descendants_are_abandoned_not_dropped() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(3);
    refuse(&mut world, 1);
    assert_eq!(world.queue.get(1).unwrap().counted(), 3);
    assert_eq!(world.states(1..=3), ["Abandoned", "Abandoned", "Abandoned"]);
    assert_eq!(world.try_seal(1), Err(EnqueueError::Paused(1)));
    assert_eq!(world.send_in_window(), []);
    // Dead at the best block says nothing.
    world.blocks(5);
    assert_eq!((released(&mut world), world.state(1)), (vec![], "Abandoned"));
    world.lines();
    let last = world.last_out(1).version.anchor_height;
    assert!(world.height() >= last + 8);
    world.finalize_best();
    let ids = [1, 2, 3].map(|number| world.queue.block(number).unwrap().id);
    assert_eq!(released(&mut world), [[(1, Blame::Suspect), (2, Blame::None), (3, Blame::None)]]);
    assert_eq!(world.lines(), ids.map(|block| format!("block released block={block} by=chain")));
    assert_eq!(world.states(1..=3), ["Released", "Released", "Released"]);
    assert_eq!(world.journal.last(), Some(&Record::Released { from: 1 }));
    // The numbers are free again, and late news about the old blocks is no news.
    let old = world.last_out(1).version.package;
    assert_eq!(world.try_seal(1), Ok(1));
    for answer in [Sent::Taken, Sent::Refused, Sent::Failed, Sent::Stale] {
        world.sent(1, old, answer);
    }
    assert_eq!((world.state(1), world.queue.bundle_of(&old)), ("Queued", None));
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
}

#[test]
fn it_is_dead_when_the_last_anchor_left_the_final_history_and_not_a_block_earlier() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(1);
    refuse(&mut world, 1);
    let dead = world.last_out(1).version.anchor_height + 8;
    while world.height() + 1 < dead {
        world.blocks(1);
    }
    world.finalize_best();
    assert_eq!((world.height(), released(&mut world)), (dead - 1, vec![]));
    world.blocks(1);
    assert_eq!(released(&mut world), Vec::<Vec<_>>::new());
    world.finalize_best();
    assert_eq!(released(&mut world), [[(1, Blame::Suspect)]]);
}

/// Same bytes as long as the anchor lives, then the next version; three of them, each with its timeouts.
#[test]
fn timeouts_abandon_a_block_too() {
    let mut world = World::running(config());
    world.seal(1);
    let mut seen = vec![];
    while world.state(1) != "Abandoned" {
        seen.extend(world.send_in_window().into_iter().map(|(_, version, _)| version));
        world.blocks(1);
        assert!(seen.len() < 20);
    }
    assert_eq!(seen, [1, 1, 2, 2, 3, 3]);
    assert_eq!(world.queue.get(1).unwrap().counted(), 3);
}

#[test]
fn ancestors_of_an_abandoned_block_go_on_and_descendants_that_are_out_come_back() {
    let mut world = World::running(config());
    world.seal(3);
    assert_eq!(world.send_in_window(), [(1, 1, 0), (2, 1, 1)]);
    world.block(&[(1, 1)], &[]);
    assert_eq!(world.send_in_window(), [(3, 1, 0)]);
    for _ in 0..2 {
        world.answer_to(2, Sent::Refused);
        world.blocks(1);
        assert_eq!(world.send_in_window().len(), 1);
    }
    world.answer_to(2, Sent::Refused);
    assert_eq!(world.states(1..=3), ["Guaranteed", "Abandoned", "Abandoned"]);
    assert_eq!(world.inflight(), (0, false), "the core of the descendant is free");
    world.block(&[], &[0]);
    assert_eq!(world.states(1..=3), ["Accumulated", "Abandoned", "Abandoned"]);
    // A late guarantee of the descendant helps nobody, and is released with the rest.
    world.block(&[(3, 1)], &[]);
    world.block(&[], &[0]);
    assert_eq!(world.states([2, 3]), ["Abandoned", "Guaranteed"]);
    world.blocks(12);
    assert_eq!(released(&mut world), [[(2, Blame::Suspect), (3, Blame::None)]]);
    assert_eq!(world.states(1..=3), ["Finalized", "Released", "Released"]);
}

#[test]
fn an_abandoned_block_that_the_chain_has_after_all_is_revived() {
    let mut world = World::running(config());
    world.seal(2);
    refuse(&mut world, 1);
    world.block(&[(1, 3)], &[]);
    assert_eq!(world.states([1, 2]), ["Guaranteed", "Queued"]);
    assert_eq!(world.try_seal(1), Ok(3));
    let core = world.last_out(1).version.core;
    world.block(&[], &[core]);
    assert_eq!(world.state(1), "Accumulated");
    world.blocks(12);
    assert_eq!((released(&mut world), world.state(1)), (vec![], "Finalized"));
}

#[test]
fn while_finality_stands_still_an_abandoned_block_gets_another_version() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(2);
    refuse(&mut world, 1);
    let lag = |world: &World| world.height() - world.follower.finalized().height;
    while lag(&world) < 12 {
        assert_eq!((world.state(1), world.send_in_window()), ("Abandoned", vec![]));
        world.blocks(1);
    }
    assert_eq!(world.states([1, 2]), ["Queued", "Abandoned"]);
    assert_eq!(world.try_seal(1), Err(EnqueueError::Paused(1)));
    assert_eq!(world.send_in_window().len(), 1);
    // Refused again: abandoned again, and tried again only when this version is dead, too.
    world.answer_to(1, Sent::Refused);
    assert_eq!(world.states([1, 2]), ["Abandoned", "Abandoned"]);
    world.blocks(1);
    assert_eq!((world.state(1), world.queue.get(1).unwrap().versions.len()), ("Abandoned", 4));
    // Finality moves on, and the end is the usual one.
    world.finality_lag = Some(2);
    world.blocks(9);
    assert_eq!(released(&mut world), [[(1, Blame::Suspect), (2, Blame::None)]]);
}

#[test]
fn another_version_that_gets_through_revives_everything() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(2);
    refuse(&mut world, 1);
    while world.state(1) == "Abandoned" {
        world.blocks(1);
    }
    assert_eq!(world.send_in_window(), [(1, 4, 1)]);
    world.block(&[(1, 4)], &[]);
    assert_eq!(world.states([1, 2]), ["Guaranteed", "Queued"]);
    world.block(&[], &[1]);
    world.finalize_best();
    assert_eq!((world.state(1), world.queue.snapshot().abandoned_from), ("Finalized", None));
}

/// The chain says so only when it is already final: applied and final in one step.
#[test]
fn an_abandoned_block_may_become_final_in_one_step() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(2);
    refuse(&mut world, 1);
    let core = world.last_out(1).version.core;
    let queue = std::mem::replace(&mut world.queue, crate::Queue::new(config(), clock(), genesis()));
    let journals = (std::mem::take(&mut world.journal), std::mem::take(&mut world.kept));
    world.block(&[(1, 3)], &[]);
    // Whatever the stand-in thought of it, the real one sees everything at once.
    world.queue = queue;
    (world.journal, world.kept) = journals;
    world.quietly_block(&[core]);
    world.finalize_best();
    assert_eq!(world.states([1, 2]), ["Finalized", "Queued"]);
    assert_eq!(world.queue.snapshot().abandoned_from, None);
}

#[test]
fn only_younger_blocks_put_the_blame_on_a_lone_transaction() {
    let mut world = World::running(config());
    let dies = |world: &mut World, block: u64| {
        refuse(world, block);
        world.blocks(12);
        released(world)
    };
    // Nothing has passed yet: the network may be at fault.
    world.try_seal(1).unwrap();
    assert_eq!(dies(&mut world, 1), [[(1, Blame::Suspect)]]);
    assert!(world.queue.wants_probe());

    // B-1 is sealed, then B-2 with the suspect; B-2 dies, and B-1 passes only afterwards.
    world.try_seal(0).unwrap();
    world.try_seal(1).unwrap();
    assert_eq!(world.send_in_window(), [(1, 1, 0), (2, 1, 1)]);
    world.block(&[(1, 1)], &[]);
    world.answer_to(2, Sent::Refused);
    refuse(&mut world, 2);
    // B-1's report is not there in time, again and again.
    while released(&mut world).is_empty() {
        assert_ne!(world.state(1), "Accumulated");
        world.go_to_window();
        world.answer = None;
        let sent = world.send();
        let reports = sent.iter().map(|(block, version, _)| (*block, *version)).collect::<Vec<_>>();
        world.block(&reports, &[]);
    }
    world.answer = Some(Sent::Taken);
    world.try_seal(1).unwrap();
    while world.state(1) != "Finalized" {
        let sent = world.send_in_window();
        let reports = sent.into_iter().map(|(block, version, _)| (block, version));
        let reports = reports.filter(|(block, _)| *block == 1).collect::<Vec<_>>();
        let busy = (0..2).filter(|core| world.follower.view().core(*core).is_some()).collect::<Vec<_>>();
        world.block(&reports, &busy);
    }
    assert!(!world.queue.abandonment.has_passed_since_release(), "B-1 is older than the release");
    if world.state(2) == "Submitted" {
        world.answer_to(2, Sent::Refused);
    }
    assert_eq!(dies(&mut world, 2), [[(2, Blame::Suspect)]]);

    // A probe that is younger passes, and the lone transaction fails once more.
    world.try_seal(0).unwrap();
    assert_eq!(world.send_in_window().len(), 1);
    let core = world.last_out(2).version.core;
    world.block(&[(2, 1)], &[]);
    world.block(&[], &[core]);
    world.try_seal(1).unwrap();
    assert_eq!(dies(&mut world, 3), [[(3, Blame::Alone)]]);
    // Two transactions are never alone.
    world.try_seal(0).unwrap();
    world.send_in_window();
    let core = world.last_out(3).version.core;
    world.block(&[(3, 1)], &[]);
    world.block(&[], &[core]);
    world.try_seal(2).unwrap();
    assert_eq!(dies(&mut world, 4), [[(4, Blame::Suspect)]]);
}

#[test]
fn what_the_operator_gives_up_is_released_when_it_is_dead() {
    let mut world = World::running(config());
    world.seal(3);
    world.send_in_window();
    assert!(!world.give_up(7));
    assert!(world.give_up(2));
    assert!(!world.give_up(2));
    assert_eq!(world.states(2..=3), ["Abandoned", "Abandoned"]);
    assert_eq!(world.try_seal(1), Err(EnqueueError::Paused(2)));
    // Who gave it up is not forgotten by a restart.
    world.restart();
    world.lines();
    let mut gone = vec![];
    while gone.is_empty() {
        assert!(world.height() < 40, "it is released at last");
        world.blocks(1);
        world.finalize_best();
        gone = released(&mut world);
    }
    assert_eq!(gone, [[(2, Blame::None), (3, Blame::None)]], "the order says nothing about the transactions");
    assert!(
        world
            .lines()
            .iter()
            .any(|line| line.starts_with("block released block=2:") && line.ends_with("by=operator"))
    );
    assert_eq!(world.states(2..=3), ["Released", "Released"]);
    assert_ne!(world.state(1), "Released");
}

/// Between the moment at which a release is due and the one at which it is taken a block below can be given up: by the
/// operator, or by a timeout in the same step.
#[test]
fn a_block_that_is_given_up_while_one_above_is_to_be_released_is_released_too() {
    let mut world = World::running(config());
    world.seal(3);
    assert!(world.give_up(3));
    // It was never sent, so it is dead at once.
    world.blocks(1);
    assert!(world.give_up(1));
    assert_eq!(released(&mut world), [[(3, Blame::None)]]);
    assert_eq!(world.states(1..=3), ["Abandoned", "Abandoned", "Released"]);
    assert_eq!(world.try_seal(1), Err(EnqueueError::Paused(1)));
    world.blocks(1);
    assert_eq!(released(&mut world), [[(1, Blame::None), (2, Blame::None)]]);
    assert_eq!(world.try_seal(1), Ok(1));
}
