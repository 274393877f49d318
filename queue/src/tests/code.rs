//! The service gets another code while bundles are in every state: each is reissued once, and nothing counts against it.

use super::harness::*;
use crate::{Record, State};
use jam::Hash;
use service::order::{Action, Order};

const NEW: Hash = Hash::repeat_byte(0x77);

fn order(number: u64, action: Action) -> Order {
    Order { number, action, code_hash: NEW, code_len: 5 }
}

/// An order of the owner is reported on a core, and accumulated in the next block.
fn obey(world: &mut World, order: &Order, core: u16) {
    let report = world.report_of_order(order, core);
    let (parent, slot) = (world.head(), world.follower.view().head().slot + 1);
    world.raw_block_on(parent, slot, vec![report], &[]);
    world.block(&[], &[core]);
}

/// A chain on which the new code is requested.
fn requested() -> World {
    let mut world = World::running(config());
    obey(&mut world, &order(1, Action::Request), 1);
    world
}

fn upgrade(world: &mut World, core: u16) {
    obey(world, &order(2, Action::Upgrade), core);
    assert_eq!(world.queue.code_hash(), Some(NEW));
}

fn codes(world: &World, block: u64) -> Vec<(u32, bool, bool)> {
    let bundle = world.queue.get(block).unwrap();
    bundle
        .versions
        .iter()
        .map(|version| (version.number, version.code_hash == NEW, version.counted))
        .collect()
}

#[test]
fn what_is_out_gets_a_version_for_the_new_code_that_counts_against_nothing() {
    let mut world = requested();
    world.seal(1);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    upgrade(&mut world, 1);
    assert_eq!(world.state(1), "Queued");
    assert!(matches!(world.journal.last(), Some(Record::Requeued { counted: false, again: false, .. })));
    assert_eq!(world.send_in_window().iter().map(|sent| sent.1).collect::<Vec<_>>(), [2]);
    assert_eq!(codes(&world, 1), [(1, false, false), (2, true, false)]);
    world.block(&[(1, 2)], &[]);
    let core = world.last_out(1).version.core;
    world.block(&[], &[core]);
    assert_eq!(world.state(1), "Accumulated");
}

#[test]
fn a_report_with_the_former_code_still_counts() {
    let mut world = requested();
    world.seal(1);
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    let upgrade = world.report_of_order(&order(2, Action::Upgrade), 1);
    let ours = world.report(1, 1);
    let (parent, slot) = (world.head(), world.follower.view().head().slot + 1);
    world.raw_block_on(parent, slot, vec![ours, upgrade], &[]);
    world.block(&[], &[1]);
    assert_eq!(world.queue.code_hash(), Some(NEW));
    assert_eq!(world.state(1), "Guaranteed");
    world.block(&[], &[0]);
    assert_eq!(world.state(1), "Accumulated");
    assert_eq!(codes(&world, 1), [(1, false, false)]);
}

#[test]
fn a_fork_without_the_upgrade_has_the_former_code_again() {
    let mut world = requested();
    world.finality_lag = None;
    world.seal(1);
    let fork = world.head();
    upgrade(&mut world, 1);
    assert_eq!(world.send_in_window().len(), 1);
    assert_eq!(codes(&world, 1), [(1, true, false)]);
    let mut parent = fork;
    let mut slot = world.follower.view().head().slot;
    for _ in 0..6 {
        slot += 1;
        parent = world.raw_block_on(parent, slot, vec![], &[]);
    }
    assert_ne!(world.queue.code_hash(), Some(NEW));
    assert_eq!(world.state(1), "Queued");
    assert_eq!(world.send_in_window().len(), 1);
    assert_eq!(codes(&world, 1), [(1, true, false), (2, false, false)]);
}

#[test]
fn a_restart_does_not_send_the_former_bytes() {
    let mut world = requested();
    world.seal(1);
    world.answer = None;
    assert_eq!(world.send_in_window(), [(1, 1, 0)]);
    upgrade(&mut world, 1);
    world.restart();
    world.block(&[], &[]);
    world.answer = Some(crate::Sent::Taken);
    assert_eq!(world.send_in_window().len(), 1);
    assert_eq!(codes(&world, 1), [(1, false, false), (2, true, false)]);
    assert!(matches!(world.queue.get(1).unwrap().state, State::Submitted { version: 2, .. }));
}
