//! What the chain gives and takes back: availability, forks, order, finality, a foreign head.

use super::harness::*;
use crate::{Action, CommitSubmissionError, EnqueueError, State};
use jam::PackageHash;
use std::collections::BTreeSet;
use types::{BlockId, Run};

/// B-1 and B-2 are guaranteed on cores 0 and 1.
fn guaranteed() -> World {
    let mut world = World::running(config());
    world.seal(2);
    world.send_in_window();
    world.block(&[(1, 1), (2, 1)], &[]);
    world.lines();
    world
}

#[test]
fn a_report_that_does_not_become_available_is_sent_as_the_next_version() {
    let mut world = guaranteed();
    world.block(&[], &[0]);
    world.blocks(3);
    assert_eq!(world.states([1, 2]), ["Finalized", "Guaranteed"]);
    world.block(&[], &[]);
    assert_eq!(world.state(2), "Queued");
    assert!(world.lines().contains(&"Queue: Requeued bundleID=B-2 version=2".to_owned()));
    assert_eq!(world.send_in_window(), [(2, 2, 0)]);
    assert_eq!(world.queue.get(2).unwrap().counted(), 0);
    world.block(&[(2, 2)], &[]);
    world.block(&[], &[0]);
    assert_eq!(world.state(2), "Accumulated");
}

#[test]
fn a_guarantee_on_a_losing_fork_is_none() {
    let mut world = World::running(config());
    world.seal(1);
    world.send_in_window();
    let (fork, slot) = (world.head(), world.follower.view().head().slot);
    world.block(&[(1, 1)], &[]);
    assert_eq!(world.state(1), "Guaranteed");
    world.lines();
    let other = world.block_on(fork, slot + 2, &[], &[]);
    world.block_on(other, slot + 3, &[], &[]);
    assert_eq!(world.state(1), "Queued");
    assert_eq!(world.lines().last().unwrap(), "Queue: Requeued bundleID=B-1 version=2");
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
}

/// The losing fork wins again: what was guaranteed there is guaranteed, and the new version is not needed.
#[test]
fn a_fork_that_comes_back_brings_its_guarantees_back() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(1);
    world.send_in_window();
    let (fork, slot) = (world.head(), world.follower.view().head().slot);
    let first = world.block(&[(1, 1)], &[]);
    let other = world.block_on(fork, slot + 2, &[], &[]);
    world.block_on(other, slot + 3, &[], &[]);
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
    let first = world.block_on(first, slot + 4, &[], &[]);
    world.block_on(first, slot + 5, &[], &[0]);
    assert_eq!((world.state(1), world.inflight()), ("Accumulated", (0, false)));
    assert_eq!((world.send_in_window(), world.queue.stats().timeouts), (vec![], 0));
}

#[test]
fn an_accumulated_block_can_be_reorged_away() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(2);
    world.send_in_window();
    let (fork, slot) = (world.head(), world.follower.view().head().slot);
    world.block(&[(1, 1), (2, 1)], &[]);
    world.block(&[], &[0, 1]);
    assert_eq!(world.states([1, 2]), ["Accumulated", "Accumulated"]);
    // The other side guaranteed only B-2, which therefore waits in the service.
    let other = world.block_on(fork, slot + 3, &[(2, 1)], &[]);
    let other = world.block_on(other, slot + 4, &[], &[1]);
    world.block_on(other, slot + 5, &[], &[]);
    assert_eq!(world.states([1, 2]), ["Queued", "Guaranteed"]);
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
}

#[test]
fn what_is_accumulated_before_its_parent_waits_in_the_service() {
    let mut world = guaranteed();
    world.block(&[], &[1]);
    assert_eq!(world.states([1, 2]), ["Guaranteed", "Guaranteed"]);
    assert_eq!(world.queue.get(2).unwrap().state, State::Guaranteed { version: 1, core: None });
    // B-1's report is dropped; its next version lets both pass.
    world.blocks(4);
    assert_eq!(world.states([1, 2]), ["Queued", "Guaranteed"]);
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
    world.block(&[(1, 2)], &[]);
    world.block(&[], &[1]);
    assert_eq!(world.states([1, 2]), ["Accumulated", "Accumulated"]);
    world.blocks(2);
    assert_eq!(world.states([1, 2]), ["Finalized", "Finalized"]);
}

/// A report that is available, but whose claim the service did not take: it stands on nothing the service knows.
#[test]
fn accumulated_is_not_applied() {
    let mut world = World::running(config());
    world.seal(1);
    world.send_in_window();
    let mut report = world.report(1, 1);
    report.digests[0].result = jam::WorkResult::Failed(jam::WorkError::Panic);
    let slot = world.follower.view().head().slot + 1;
    world.raw_block_on(world.head(), slot, vec![report], &[]);
    assert_eq!(world.state(1), "Guaranteed");
    world.block(&[], &[0]);
    assert_eq!(world.state(1), "Queued");
    assert_eq!(world.send_in_window(), [(1, 2, 1)]);
}

#[test]
fn a_foreign_head_halts_everything() {
    let mut world = World::running(config());
    world.seal(3);
    world.send_in_window();
    let mut foreign = world.last_out(1);
    foreign.run = Run::of(BlockId::new(1, [0xfa; 32].into()));
    foreign.version.package = PackageHash([0xfa; 32].into());
    let slot = world.follower.view().head().slot + 1;
    world.raw_block_on(world.head(), slot, vec![world.report_of(&foreign)], &[]);
    // Asked for before, committed after.
    world.go_to_window();
    world.answer_to(2, crate::Sent::Failed);
    let before = world.next_submission();
    world.block(&[], &[0]);
    world.go_to_window();
    let committed = world.queue.commit_submission(&before, package_of(&before), world.now);
    assert_eq!(committed, Err(CommitSubmissionError::Moved));
    assert_eq!(
        (world.send(), world.actions.clone()),
        (vec![], vec![Action::Halt { head: foreign.run.last }])
    );
    assert_eq!(world.try_seal(1), Err(EnqueueError::Halted));
    let line = format!("service head was not built here, building stops chain={}", foreign.run.last);
    assert_eq!(world.lines().iter().filter(|found| **found == line).count(), 1);
    world.blocks(1);
    assert_eq!((world.send_in_window(), world.actions.len()), (vec![], 1));
}

#[test]
fn an_input_that_comes_again_changes_nothing() {
    let mut world = guaranteed();
    world.seal(2);
    world.send_in_window();
    world.block(&[], &[0]);
    let before = world.queue.snapshot();
    let (records, _) = (world.journal.len(), world.lines());
    let packages = world.out.iter().map(|out| out.version.package).collect::<BTreeSet<_>>();
    for _ in 0..2 {
        world.deliver_parts(&packages, &(0..2).collect());
        world.deliver_parts(&BTreeSet::new(), &BTreeSet::new());
    }
    let after = world.queue.snapshot();
    assert_eq!((after.bundles, after.stats), (before.bundles, before.stats));
    assert_eq!((world.journal.len(), world.lines()), (records, vec![]));
}

#[test]
fn a_clock_that_goes_back_harms_nothing() {
    let mut world = World::running(config());
    world.seal(1);
    world.send_in_window();
    let now = world.now;
    world.now = now - ms(10_000);
    world.deliver_parts(&BTreeSet::new(), &(0..2).collect());
    world.queue.handle_timeout(world.now);
    assert_eq!(world.queue.poll_timeout(world.now), Some(now + ms(18_000)));
    world.now = now;
    world.block(&[(1, 1)], &[]);
    assert_eq!(world.state(1), "Guaranteed");
}

/// Finality may pick a branch whose cores are not those of the branch that was the best one.
#[test]
fn finality_against_the_best_branch_frees_its_cores() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(1);
    world.send_in_window();
    let (fork, slot) = (world.head(), world.follower.view().head().slot);
    let other = world.block_on(fork, slot + 1, &[], &[]);
    let report = vec![world.stranger(0)];
    let best = world.raw_block_on(fork, slot + 2, report, &[]);
    world.block_on(best, slot + 3, &[], &[]);
    // The stranger holds core 0, until it turns out that it never did.
    assert_eq!(world.queue.get(1).unwrap().timer, None);
    world.finalize(other);
    assert!(world.queue.get(1).unwrap().timer.is_some());
}

/// Blocks come in the wrong order, after the validators called the last of them final.
#[test]
fn finality_may_jump_over_blocks_that_nobody_has_seen() {
    let mut world = World::running(config());
    world.finality_lag = None;
    world.seal(2);
    world.send_in_window();
    let mut twin = World::running(config());
    twin.finality_lag = None;
    twin.seal(2);
    twin.send_in_window();
    twin.block(&[(1, 1), (2, 1)], &[]);
    twin.block(&[], &[0, 1]);
    let last = twin.block(&[], &[]);
    world.import_late(&twin, last);
    assert_eq!(world.head(), last);
    assert_eq!(world.states([1, 2]), ["Finalized", "Finalized"]);
}
