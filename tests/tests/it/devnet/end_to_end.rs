//! A bundle's way through a network: submitted in the window, guaranteed in the next block, accumulated in the one after.

use harness::devnet::Network;
use jam::params::SEGMENT_BYTES;
use network::SegmentRequest;

/// Blocks of so many bytes through a network in this process; all must be applied exactly once.
async fn straight_through(bytes: usize, slot_ms: u64, tries: u64) {
    let mut network = Network::start(slot_ms).await;
    assert!(network.straight_through(bytes, tries).await, "none of {tries} went straight through");
    network.heals().await;
}

/// That they go straight through is for the optimised judge, too: here three guarantors need longer than a window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_bundles_at_fast_slots() {
    let mut network = Network::start(300).await;
    network.straight_through(200_000, 3).await;
    network.heals().await;
}

/// The largest ones, of 12 MB, are for the optimised judge (`validator straight`): three guarantors refine each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bundles_at_slots_of_six_seconds() {
    straight_through(1_500_000, 6000, 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_exported_can_be_had_and_is_the_block() {
    let mut network = Network::start(super::SLOT_MS).await;
    let number = network.seal(20_000);
    network.builder.run_until("the block is final", |builder| builder.is_final(number)).await;
    let context = network.builder.context().unwrap();
    let packaged = network.builder.package(number, context);
    let count = packaged.bundle.package.items[0].export_count;
    let root = network.builder.exports_root(number);
    let request = SegmentRequest { trees: vec![(root, (0..count).collect())] };
    let mut found = 0;
    for connection in network.builder.endpoint.connections() {
        // Only the guarantors have them.
        let Ok(segments) = connection.segments(&request).await else { continue };
        assert!(segments.iter().all(|import| import.segment.len() == SEGMENT_BYTES));
        let segments = segments.into_iter().map(|import| import.segment).collect::<Vec<_>>();
        let (block, receipts) = service::exports::import(&segments).unwrap().remove(0);
        assert_eq!((block.header.number, receipts.len()), (number, 1));
        found += 1;
    }
    assert!(found >= 2, "two or three guarantors have them");
    network.heals().await;
}
