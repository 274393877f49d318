//! The specification's "Complete Flow Example", step by step.

use super::harness::*;

/// The log lines of a step.
fn assert_lines(world: &mut World, expected: &[&str]) {
    assert_eq!(world.lines(), expected);
}

/// 51 transactions, five per bundle: eleven bundles on two cores.
#[test]
fn the_complete_flow_example() {
    let mut world = World::running(spec_config());
    // 1, 2. Bundles of transactions 1-5, 6-10, .. 51 are built and wait.
    for bundle in 0..11 {
        world.try_seal(if bundle < 10 { 5 } else { 1 }).unwrap();
    }
    let transactions = (1..=11).map(|number| world.queue.block(number).unwrap().transactions).sum::<u32>();
    assert_eq!((transactions, world.queue.counts()), (51, (11, 0, 0)));
    assert_eq!(world.inflight(), (0, true));

    // 3. The window opens. Both are anchored six blocks back.
    assert_eq!(world.send_in_window(), [(1, 1, 0), (2, 1, 1)]);
    assert_eq!(world.states([1, 2, 3]), ["Submitted", "Submitted", "Queued"]);
    assert_eq!(world.inflight(), (2, false));
    assert_eq!([1, 2].map(|block| world.height() - world.last_out(block).version.anchor_height), [6, 6]);
    assert_lines(
        &mut world,
        &[
            "Queue Runner: In submission window queued=11 inflightMapSize=0 effectiveInflight=0 canSubmit=true",
            "Queue: Marked submitted bundleID=B-1 blockNumber=1 version=1 core=0",
            "Queue: Marked submitted bundleID=B-2 blockNumber=2 version=1 core=1",
        ],
    );

    // 4. Block N arrives with E_G containing B-1 and B-2: the cores are available at once.
    world.block(&[(1, 1), (2, 1)], &[]);
    assert_eq!(world.states([1, 2, 3]), ["Guaranteed", "Guaranteed", "Queued"]);
    assert_eq!((world.inflight(), world.queue.counts()), ((0, true), (9, 0, 2)));
    assert_lines(
        &mut world,
        &[
            "Queue: Marked guaranteed bundleID=B-1 version=1 (core now free!)",
            "Queue: Marked guaranteed bundleID=B-2 version=1 (core now free!)",
        ],
    );

    // 5. The next bundles are submitted.
    assert_eq!(world.send_in_window(), [(3, 1, 0), (4, 1, 1)]);
    assert_lines(
        &mut world,
        &[
            "Queue Runner: In submission window queued=9 inflightMapSize=2 effectiveInflight=0 canSubmit=true",
            "Queue: Marked submitted bundleID=B-3 blockNumber=3 version=1 core=0",
            "Queue: Marked submitted bundleID=B-4 blockNumber=4 version=1 core=1",
        ],
    );

    // 6. Block N+1 arrives with E_A containing B-1 and B-2.
    world.block(&[(3, 1), (4, 1)], &[0, 1]);
    assert_eq!(world.states(1..=5), ["Accumulated", "Accumulated", "Guaranteed", "Guaranteed", "Queued"]);
    assert_lines(
        &mut world,
        &[
            "Queue: Marked accumulated bundleID=B-1 (cleanup)",
            "Queue: Marked accumulated bundleID=B-2 (cleanup)",
            "Queue: Marked guaranteed bundleID=B-3 version=1 (core now free!)",
            "Queue: Marked guaranteed bundleID=B-4 version=1 (core now free!)",
        ],
    );

    // 7. And so on, until all bundles are processed.
    send_and_report(&mut world, 5..=11);
    assert_all_finalize(&mut world);
}

/// The last bundle is accumulated, and then all eleven become final in their order.
fn assert_all_finalize(world: &mut World) {
    world.block(&[], &[0]);
    assert_eq!(world.state(11), "Accumulated");
    world.blocks(3);
    assert!((1..=11).all(|block| world.state(block) == "Finalized"));
    assert_eq!((world.queue.counts(), world.inflight()), ((0, 0, 0), (0, false)));
    let stats = world.queue.stats();
    assert_eq!((stats.packages, stats.sends, stats.guaranteed, stats.timeouts), (11, 11, 11, 0));
    let order = world.lines().into_iter().filter(|line| line.contains("finalized")).collect::<Vec<_>>();
    let finalized = |block| format!("Queue: Marked finalized bundleID=B-{block}");
    assert_eq!(order, (1..=11).map(finalized).collect::<Vec<_>>());
}

/// Two bundles in each window, and a block that reports both and has the two before them available.
fn send_and_report(world: &mut World, blocks: std::ops::RangeInclusive<u64>) {
    for pair in blocks.collect::<Vec<_>>().chunks(2) {
        let sent = world.send_in_window().into_iter().map(|(block, version, _)| (block, version));
        let sent = sent.collect::<Vec<_>>();
        assert_eq!(sent, pair.iter().map(|block| (*block, 1)).collect::<Vec<_>>());
        world.block(&sent, &[0, 1]);
    }
}

#[test]
fn the_window_line_comes_once_per_window() {
    let mut world = World::running(config());
    world.seal(3);
    world.send_in_window();
    world.go(ms(500));
    world.send();
    let windows = |world: &mut World| {
        world.lines().into_iter().filter(|line| line.contains("In submission window")).count()
    };
    assert_eq!(windows(&mut world), 1);
    world.send_in_window();
    assert_eq!(windows(&mut world), 1);
}
