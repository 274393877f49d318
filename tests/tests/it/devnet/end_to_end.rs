//! A bundle's way through a network: submitted in the window, guaranteed in the next block, accumulated in the one after.

use devnet::Devnet;
use tests::devnet::{Driver, Setup, applied_once};

/// Sends blocks of so many bytes through a network in this process, one after the other.
async fn blocks_of(bytes: usize, slot_ms: u64, count: u64) {
    let setup = Setup::new();
    let devnet = Devnet::start(setup.devnet(slot_ms)).await.unwrap();
    let mut driver = Driver::connect(devnet.chain_spec(), slot_ms, &setup);
    driver.run_until("the chain can be anchored on", |driver| driver.context().is_some()).await;
    let mut nonce = 0;
    let mut prompt = 0;
    for number in 1..=count {
        let transactions = setup.transactions(nonce, bytes);
        nonce += transactions.len() as u64;
        let block = driver.seal(&transactions);
        driver
            .run_until("the block is accumulated", |driver| !driver.way(number).accumulated.is_empty())
            .await;
        let way = driver.way(number);
        println!("block {block}: {way:?}");
        let sent = *way.sent.last().unwrap();
        prompt += u64::from(
            way.reported.first() == Some(&(sent + 1)) && way.accumulated.first() == Some(&(sent + 2)),
        );
    }
    driver.run_until("all blocks are final", |driver| driver.is_final(count)).await;
    let applied = devnet.with_tree(0, |tree| applied_once(tree, &setup)).unwrap();
    assert!(applied.values().all(|times| *times == 1) && applied.len() as u64 == count, "{applied:?}");
    println!(
        "{prompt} of {count} blocks of {bytes} bytes at {slot_ms} ms: guaranteed in the next block, accumulated in the one after"
    );
    assert!(prompt > 0, "none was guaranteed in the next block and accumulated in the one after");
    devnet.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_blocks_at_fast_slots() {
    blocks_of(200_000, 300, 3).await;
}
