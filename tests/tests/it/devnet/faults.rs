//! One test per fault. Each ends healed, with every block applied exactly once.

use super::SLOT_MS;
use devnet::faults::SubmissionFault;
use harness::devnet::{Builder, Network};
use queue::Sent;
use std::time::Duration;

/// With this fault a submission must end as told; then the fault goes.
async fn submissions_end(fault: SubmissionFault, ends: Sent) {
    let mut network = Network::start(SLOT_MS).await;
    network.devnet.faults().submissions(Some(fault));
    let number = network.seal(1000);
    let ended = |builder: &Builder| builder.way(number).answers.contains(&ends);
    network.builder.run_until("the submission ends as the fault wants", ended).await;
    assert!(network.builder.way(number).reported.is_empty(), "nothing came of it");
    network.devnet.faults().clear();
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submissions_are_dropped() {
    submissions_end(SubmissionFault::Dropped, Sent::Failed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submissions_are_refused() {
    submissions_end(SubmissionFault::Refused, Sent::Refused).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submissions_are_taken_in_silence() {
    submissions_end(SubmissionFault::Silent, Sent::Taken).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submissions_are_delayed() {
    let mut network = Network::start(SLOT_MS).await;
    let by = Duration::from_millis(3 * SLOT_MS / 2);
    network.devnet.faults().submissions(Some(SubmissionFault::Delayed(by)));
    let number = network.seal(1000);
    // No answer in the window, but it is looked at later, and the same bytes come again meanwhile.
    let reported = |builder: &Builder| !builder.way(number).reported.is_empty();
    network.builder.run_until("it is reported nevertheless", reported).await;
    let way = network.builder.way(number);
    assert!(way.answers.contains(&Sent::Failed) && way.reported[0] > way.sent[0] + 1, "{way:?}");
    network.devnet.faults().clear();
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submissions_arrive_twice() {
    let mut network = Network::start(SLOT_MS).await;
    network.devnet.faults().submissions(Some(SubmissionFault::Doubled));
    let number = network.seal(1000);
    network.builder.run_until("the block is final", |builder| builder.is_final(number)).await;
    network.devnet.faults().clear();
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_are_skipped() {
    let mut network = Network::start(SLOT_MS).await;
    network.devnet.skip_slots(5);
    let skipped = network.devnet.faults().view().skipped;
    let number = network.seal(1000);
    network.builder.run_until("the block is final", |builder| builder.is_final(number)).await;
    let slots = network.devnet.with_tree(0, |tree| {
        let mut next = Some(tree.best().hash);
        let below = std::iter::from_fn(|| {
            let block = tree.block(next?)?;
            next = Some(block.header.parent);
            Some(block.header.slot)
        });
        below.collect::<Vec<_>>()
    });
    let slots = slots.unwrap();
    assert!(slots.iter().any(|slot| *slot >= skipped.end) && slots.iter().any(|slot| *slot < skipped.start));
    assert!(!slots.iter().any(|slot| skipped.contains(slot)), "{skipped:?} {slots:?}");
    network.heals().await;
}

/// A fork of this depth, with the report on the losing side.
async fn fork_of(depth: u64) {
    let mut network = Network::start(SLOT_MS).await;
    network.devnet.faults().fork(depth);
    let number = network.seal(1000);
    let reported_twice = |builder: &Builder| builder.way(number).reported.len() > 1;
    network.builder.run_until("it is lost and reported again", reported_twice).await;
    let way = network.builder.way(number);
    assert!(way.reported[1] > way.reported[0] + depth as u32, "{way:?}");
    assert_eq!(network.devnet.faults().view().fork, None, "the fork is over");
    network.builder.run_until("the block is final", |builder| builder.is_final(number)).await;
    // The block that reported it first is on no chain any more.
    let lost = way.reported[0];
    let kept = network.devnet.with_tree(0, |tree| {
        let mut next = tree.block(tree.best().hash);
        std::iter::from_fn(|| {
            let block = next?;
            next = tree.block(block.header.parent);
            Some(block.header.slot)
        })
        .any(|slot| slot == lost)
    });
    assert_eq!(kept, Some(false));
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_of_one_block() {
    fork_of(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_deeper_than_finality_lags() {
    fork_of(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_becomes_available_for_a_while() {
    let mut network = Network::start(SLOT_MS).await;
    network.devnet.faults().no_availability(true);
    let number = network.seal(1000);
    let dropped = |builder: &Builder| !builder.way(number).timed_out.is_empty();
    network.builder.run_until("the report is dropped", dropped).await;
    assert!(network.builder.way(number).accumulated.is_empty());
    network.devnet.faults().no_availability(false);
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finality_stands_still() {
    let mut network = Network::start(SLOT_MS).await;
    network.devnet.faults().stall_finality(true);
    // Words that are on their way may still arrive.
    let height = |builder: &Builder| builder.follower.view().head().height;
    let start = height(&network.builder);
    network.builder.run_until("two more blocks", |builder| height(builder) >= start + 2).await;
    let stalled = network.builder.follower.finalized();
    let number = network.seal(1000);
    let far = |builder: &Builder| height(builder) >= start + 8 && !builder.way(number).accumulated.is_empty();
    network.builder.run_until("the chain goes on", far).await;
    assert_eq!(network.builder.follower.finalized(), stalled);
    network.devnet.faults().stall_finality(false);
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_in_two_halves() {
    let mut network = Network::start(SLOT_MS).await;
    network.devnet.faults().partition(&[vec![0, 1, 2], vec![3, 4, 5]]);
    let number = network.seal(1000);
    let devnet = &network.devnet;
    let best = |index: u16| devnet.with_tree(index, |tree| (tree.best().hash, tree.best().height)).unwrap();
    let knows = |index: u16, hash| devnet.with_tree(index, |tree| tree.contains(hash)).unwrap();
    let grown = |start: u64| {
        let ((a, on_a), (b, on_b)) = (best(0), best(3));
        on_a > start && on_b > start && !knows(3, a) && !knows(0, b)
    };
    let start = best(0).1.max(best(3).1);
    network.builder.run_until("both halves have a chain of their own", |_| grown(start)).await;
    network.devnet.faults().reunite();
    network.builder.run_until("the block is final", |builder| builder.is_final(number)).await;
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validator_goes_down_and_comes_back() {
    let mut network = Network::start(SLOT_MS).await;
    assert!(network.devnet.stop_validator(5).await);
    assert_eq!(network.devnet.faults().view().down, [5].into());
    // Five of six are enough for everything.
    let number = network.seal(1000);
    network.builder.run_until("the block is final", |builder| builder.is_final(number)).await;
    assert!(network.devnet.start_validator(5).await.unwrap());
    network.seal(1000);
    // It kept nothing, so it fetches the whole chain.
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_few_validators_are_up_for_a_while() {
    let mut network = Network::start(SLOT_MS).await;
    for index in [0, 3] {
        network.devnet.stop_validator(index).await;
    }
    let number = network.seal(1000);
    let height = |builder: &Builder| builder.follower.view().head().height;
    let start = height(&network.builder);
    network.builder.run_until("the chain goes on", |builder| height(builder) >= start + 4).await;
    assert!(network.builder.way(number).accumulated.is_empty(), "four of six make nothing available");
    for index in [0, 3] {
        network.devnet.start_validator(index).await.unwrap();
    }
    network.heals().await;
}
