//! Windows, cores, depths: when something may be sent or enter.

use super::harness::*;
use crate::{Action, CommitSubmissionError, Config, EnqueueError, Sent};
use jam::{Params, SlotClock};
use types::{BlockId, Time};

#[test]
fn the_window_opens_three_seconds_before_a_slot_and_closes_one_second_before() {
    let mut world = World::running(config());
    world.seal(1);
    let slot = clock().next_start(world.now);
    for (before, open) in [(3001, false), (3000, true), (1001, true), (1000, false), (0, false)] {
        assert_eq!(world.queue.in_window(slot - ms(before)), open, "{before} ms before");
    }
    assert_eq!(world.queue.poll_action(slot - ms(3001)), None);
    assert_eq!(world.queue.poll_timeout(world.now), Some(slot - ms(3000)));
    assert_eq!(world.queue.poll_timeout(slot - ms(2500)), Some(slot - ms(2500)));
    assert_eq!(world.queue.poll_timeout(slot - ms(1000)), Some(slot + ms(3000)));
    assert!(matches!(world.queue.poll_action(slot - ms(3000)), Some(Action::Pack(_))));
    assert_eq!(world.queue.poll_timeout(slot - ms(2500)), None, "it waits until that is packed");
    world.queue.packed(1, 1);
    assert_eq!(world.queue.poll_timeout(slot - ms(2500)), Some(slot - ms(2500)));
    assert!(matches!(world.queue.poll_action(slot - ms(2500)), Some(Action::Submit(_))));
}

#[test]
fn the_window_scales_with_the_slot() {
    let config = Config::new(&Params::TINY, 600);
    let queue = crate::Queue::new(config, SlotClock::starting_at(Time::ZERO, 600), genesis());
    let open = (0..600).filter(|ms| queue.in_window(Time::from_millis(*ms))).collect::<Vec<_>>();
    assert_eq!(open, (300..500).collect::<Vec<_>>());
}

#[test]
fn a_submission_is_refused_outside_the_window() {
    let mut world = World::running(config());
    world.seal(1);
    world.go_to_window();
    let submission = world.next_submission();
    let package = package_of(&submission);
    let late = clock().next_start(world.now) - ms(1000);
    assert_eq!(world.queue.commit_submission(&submission, package, late), Err(CommitSubmissionError::Window));
    assert_eq!(world.state(1), "Queued");
    assert_eq!(world.queue.commit_submission(&submission, package, late - ms(1)), Ok(()));
    assert_eq!(
        world.queue.commit_submission(&submission, package, late - ms(1)),
        Err(CommitSubmissionError::Moved)
    );
}

#[test]
fn one_submitted_bundle_per_core_lowest_block_first() {
    let mut world = World::running(config());
    world.seal(5);
    assert_eq!(world.send_in_window(), [(1, 1, 0), (2, 1, 1)]);
    assert_eq!(world.send(), []);
    world.block(&[(2, 1)], &[]);
    // Core 1 is ours no more, although the report still keeps it busy: it may become free in the next block.
    assert_eq!(world.send_in_window(), [(3, 1, 1)]);
    world.block(&[], &[1]);
    world.answer_to(1, Sent::Failed);
    world.answer_to(3, Sent::Failed);
    assert_eq!(world.send_in_window(), [(1, 1, 1), (3, 1, 0)]);
}

#[test]
fn fewer_in_flight_than_cores_if_so_configured() {
    let mut world = World::running(Config { max_inflight: 1, ..config() });
    world.seal(2);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    assert_eq!(world.inflight(), (1, false));
}

#[test]
fn the_queue_takes_no_more_than_it_may() {
    let mut world = World::running(spec_config());
    world.seal(12);
    assert_eq!(world.try_seal(1), Err(EnqueueError::Full { blocks: 12, bytes: 12_000 }));
    assert_eq!(world.send_in_window().len(), 2);
    world.seal(2);
    assert_eq!(world.queue.may_enqueue(), Err(EnqueueError::Full { blocks: 12, bytes: 12_000 }));

    // By size: what is unsent, and what is not final.
    let three = crate::Size { bytes: 3000, ..crate::Size::MAX };
    let mut world = World::running(Config { unsent_max: three, ..runs_config() });
    world.seal(2);
    assert_eq!((world.queue.fullness(), world.queue.may_enqueue()), (666, Ok(())));
    world.seal(1);
    assert_eq!(world.try_seal(1), Err(EnqueueError::Full { blocks: 3, bytes: 3000 }));
    world.send_in_window();
    assert_eq!((world.queue.fullness(), world.try_seal(1)), (0, Ok(4)));

    let mut world = World::running(Config { unfinished_max: three, ..config() });
    world.seal(3);
    world.send_in_window();
    world.block(&[(1, 1), (2, 1)], &[]);
    assert_eq!(world.try_seal(1), Err(EnqueueError::Full { blocks: 3, bytes: 3000 }));
    world.block(&[], &[0, 1]);
    assert_eq!(world.states(1..=3), ["Accumulated", "Accumulated", "Queued"]);
    assert!(world.try_seal(1).is_err());
    world.blocks(2);
    assert_eq!(world.try_seal(1), Ok(4));
}

fn empty(id: BlockId) -> crate::QueuedBlock {
    let size = crate::Size::default();
    crate::QueuedBlock { id, transactions: 0, is_alone: false, size, sealed_at: Time::ZERO }
}

#[test]
fn a_block_must_stand_on_the_newest_one() {
    let mut world = World::running(config());
    world.seal(1);
    let newest = world.queue.newest();
    let stranger = BlockId::new(1, [7; 32].into());
    for (block, parent) in [(2, genesis()), (2, stranger), (3, newest), (1, newest)] {
        let found = world.queue.enqueue(empty(BlockId::new(block, [1; 32].into())), parent);
        assert_eq!(found, Err(EnqueueError::Parent { found: parent, newest }));
    }
}

#[test]
fn nothing_far_above_the_applied_head_is_sent() {
    let mut world = World::running(Config { submit_ahead_max: 3, ..config() });
    world.seal(6);
    let sent = world.send_in_window();
    assert_eq!(sent, [(1, 1, 0), (2, 1, 1)]);
    world.block(&[(1, 1), (2, 1)], &[]);
    assert_eq!(world.send_in_window(), [(3, 1, 0)]);
    world.block(&[], &[0]);
    assert_eq!(world.state(1), "Accumulated");
    assert_eq!(world.send_in_window(), [(4, 1, 1)]);
}

#[test]
fn without_a_block_whose_roots_are_known_nothing_is_sent() {
    let mut world = World::new(config());
    world.seal(1);
    assert_eq!(world.send_in_window(), []);
    assert!(world.queue.get(1).is_none(), "nothing was sent");
    // The state root after the first block comes with the second one.
    world.blocks(2);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
}

#[test]
fn what_is_held_does_not_keep_the_driver_awake() {
    let mut world = World::new(config());
    world.seal(1);
    world.go_to_window();
    assert_eq!(world.queue.poll_action(world.now), None);
    assert_eq!(world.queue.poll_timeout(world.now), None, "only the chain can change it");
    world.blocks(3);
    assert!(world.queue.poll_timeout(world.now).is_some());
}

#[test]
fn an_old_lookup_anchor_holds_everything() {
    let mut world = World::running(config());
    world.finality_lag = None;
    let room = world.queue.config().lookup_age_max as usize;
    world.blocks(room - 2);
    world.seal(1);
    // Finality was two blocks behind when it stopped.
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    world.block(&[(1, 1)], &[]);
    world.block(&[], &[0]);
    world.seal(1);
    assert_eq!(world.send_in_window(), []);
    assert!(world.queue.get(2).is_none(), "no version is spent");
    world.finalize_best();
    assert_eq!(world.send_in_window(), [(2, 1, 0)]);
}

#[test]
fn a_chain_without_new_blocks_holds_everything() {
    let mut world = World::running(config());
    world.seal(1);
    world.go(ms(SLOT_MS * 20));
    assert_eq!(world.send_in_window(), [], "the next block would find the lookup anchor too old");
    let slot = clock().slot_at(world.now) + 1;
    world.block_at(slot, &[], &[]);
    assert_eq!(world.send_in_window(), [], "and so would the one after it");
    world.blocks(3);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
}

#[test]
fn numbers_end_at_the_largest() {
    let last = BlockId::new(u64::MAX, [1; 32].into());
    let before = BlockId::new(u64::MAX - 1, [2; 32].into());
    let mut queue = crate::Queue::new(config(), clock(), before);
    queue.enqueue(empty(last), before).unwrap();
    let after = BlockId::new(0, [3; 32].into());
    let error = EnqueueError::Parent { found: last, newest: last };
    assert_eq!(queue.enqueue(empty(after), last), Err(error));
    let mut records = queue.take_records();
    records.push(crate::Record::Formed { first: u64::MAX, last: u64::MAX });
    records.push(crate::Record::Finalized { through: last });
    let queue = crate::Queue::replay(config(), clock(), before, records).unwrap();
    assert_eq!((queue.newest(), queue.unfinished_len()), (last, 0));
}
