//! The journal gives the queue back: at every prefix, and with nothing lost or sent without need.

use super::harness::*;
use crate::{Queue, Sent, model::check};
use std::collections::BTreeSet;

fn versions(world: &World, block: u64) -> Vec<(u32, u32, bool)> {
    let bundle = world.queue.get(block).unwrap();
    bundle.versions.iter().map(|version| (version.number, version.sends, version.counted)).collect()
}

/// The first view after a restart, without any change named.
fn look(world: &mut World) {
    world.deliver_parts(&BTreeSet::new(), &BTreeSet::new());
}

/// Wherever the process dies, what is restored is consistent, and what it adds to the journal leads to the same queue.
#[test]
fn a_crash_after_any_record_is_survived() {
    let mut world = World::running(config());
    world.seal(6);
    for step in 0..40 {
        world.answer = [Some(Sent::Taken), Some(Sent::Refused), None, Some(Sent::Failed)][step % 4];
        world.go_to_window();
        if step % 4 != 3 {
            world.send();
        }
        world.blocks(1);
    }
    let kinds = world.journal.iter().map(|record| format!("{record:?}"));
    let kinds = kinds.map(|text| text.split([' ', '{']).next().unwrap().to_owned()).collect::<BTreeSet<_>>();
    let expected = ["Abandoned", "Enqueued", "Formed", "Released", "Requeued", "Submitted", "Taken"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected, "the story must tell something");
    for len in 0..=world.journal.len() {
        let prefix = || world.journal[..len].iter().cloned();
        let mut restored = Queue::restore(config(), clock(), genesis(), prefix(), world.now).unwrap();
        check::indexes(&restored);
        let records = prefix().chain(restored.take_records()).collect::<Vec<_>>();
        check::journal(&restored, &records);
    }
}

#[test]
fn what_was_sent_without_an_answer_is_sent_again() {
    let mut world = World::running(config());
    world.answer = None;
    world.seal(1);
    world.send_in_window();
    world.restart();
    assert_eq!(world.state(1), "Queued");
    look(&mut world);
    assert_eq!(world.send(), [(1, 1, 1)]);
    assert_eq!(world.out[0].version.package, world.out[1].version.package);
}

#[test]
fn a_resend_without_an_answer_is_sent_again_after_a_restart() {
    let mut world = World::running(config());
    world.seal(1);
    world.send_in_window();
    world.answer_to(1, Sent::Failed);
    world.answer = None;
    // In the next window: this one's guarantors were tried.
    world.go(ms(6000));
    assert_eq!(world.send(), [(1, 1, 1)]);
    world.restart();
    look(&mut world);
    assert_eq!((world.state(1), world.send()), ("Queued", vec![(1, 1, 0)]));
}

/// Nobody listened while the process was down.
#[test]
fn a_restart_gives_what_is_out_its_whole_timeout_again() {
    let mut world = World::running(config());
    world.seal(1);
    world.send_in_window();
    world.blocks(2);
    world.go(ms(5000));
    world.restart();
    let restarted = world.now;
    look(&mut world);
    assert_eq!(world.state(1), "Submitted");
    world.go(ms(17_999));
    assert_eq!(world.state(1), "Submitted");
    assert_eq!(world.queue.poll_timeout(world.now), Some(restarted + ms(18_000)));
    world.go(ms(1));
    assert_eq!((world.state(1), versions(&world, 1)), ("Queued", vec![(1, 1, false)]), "no block came since");
}

#[test]
fn a_timeout_before_the_first_view_is_no_timeout() {
    let mut world = World::running(config());
    world.seal(1);
    world.send_in_window();
    world.restart();
    world.go(ms(60_000));
    assert_eq!((world.state(1), world.queue.poll_timeout(world.now)), ("Submitted", None));
    look(&mut world);
    assert_eq!(world.queue.poll_timeout(world.now), Some(world.now + ms(18_000)));
}

#[test]
fn the_first_view_finds_the_busy_cores() {
    let mut world = World::running(config());
    world.seal(1);
    world.send_in_window();
    world.restart();
    // While the process was away somebody else's reports took both cores.
    let queue = std::mem::replace(&mut world.queue, Queue::new(config(), clock(), genesis()));
    let journals = (std::mem::take(&mut world.journal), std::mem::take(&mut world.kept));
    world.strangers_block(&[0, 1], &[]);
    world.queue = queue;
    (world.journal, world.kept) = journals;
    look(&mut world);
    assert_eq!(world.queue.get(1).unwrap().timer, None);
}

/// B-1 left core 0 by a guarantee, which the journal does not know, and B-2 took it. The guarantee is lost in a fork
/// while the process is down.
#[test]
fn after_a_restart_a_core_belongs_to_one_bundle() {
    for late_answer in [false, true] {
        let mut world = World::running(crate::Config { max_inflight: 1, ..config() });
        world.finality_lag = None;
        world.seal(3);
        let (fork, slot) = (world.head(), world.follower.view().head().slot);
        world.strangers_block(&[1], &[]);
        assert_eq!(world.send_in_window(), [(1, 1, 0)]);
        world.block(&[(1, 1)], &[]);
        world.block(&[], &[1]);
        world.strangers_block(&[1], &[]);
        assert_eq!(world.queue.get(1).unwrap().state.name(), "Guaranteed");
        let sent = world.send_in_window();
        assert_eq!(sent, [(2, 1, 0)], "both cores are busy; the first one is taken");
        if late_answer {
            world.answer_to(1, Sent::Taken);
        }
        world.restart();
        // The other branch wins: it has no guarantee.
        let mut other = fork;
        for i in 0..6 {
            other = world.block_on(other, slot + 5 + i, &[], &[]);
        }
        assert_eq!(world.head(), other);
        world.answer_to(2, Sent::Failed);
        assert_eq!(world.states(1..=3), ["Queued", "Queued", "Queued"]);
        assert_eq!(world.send_in_window(), [(1, 2, 1)]);
        world.block(&[(1, 2)], &[]);
        assert_eq!(world.state(1), "Guaranteed");
    }
}

#[test]
fn what_the_chain_said_is_seen_again_after_a_restart() {
    let mut world = World::running(config());
    world.seal(4);
    world.send_in_window();
    world.block(&[(1, 1), (2, 1)], &[]);
    world.send_in_window();
    world.block(&[(3, 1), (4, 1)], &[0, 1]);
    let before = world.states(1..=4);
    assert_eq!(before, ["Accumulated", "Accumulated", "Guaranteed", "Guaranteed"]);
    world.restart();
    look(&mut world);
    assert_eq!(world.states(1..=4), before);
    world.block(&[], &[0, 1]);
    world.blocks(2);
    assert_eq!(world.states(1..=4), ["Finalized"; 4]);
    world.restart();
    look(&mut world);
    assert_eq!((world.queue.newest().number, world.queue.bundles().len()), (4, 0));
    assert_eq!(world.send_in_window(), []);
}
